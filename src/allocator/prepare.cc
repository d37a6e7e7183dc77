#include "allocator/prepare.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace drachma::allocator {
namespace {

using Fault = std::optional<std::string>;

std::string Where(const Attempt& attempt, const RequestPlan& plan) {
  return "claim " + attempt.problem().claims[plan.claim].Ref() + ", request " + plan.own_name;
}

// Every matching device with enough capacity by itself; whether it is free shows later, since a
// device in use must make the request fail.
Fault CollectAll(Attempt& attempt, std::uint32_t index, Demand& demand) {
  const RequestPlan& plan = attempt.plan(index);
  const NodeView& view = attempt.view();
  std::size_t next = 0;  // slices stand in the order of their pools
  for (std::uint32_t p = 0; p < view.pools.size(); ++p) {
    const PoolView& pool = *view.pools[p];
    if (pool.state != PoolView::State::kUsable) {
      return Where(attempt, plan) + ": asks for all devices, but resource pool " + pool.pool->Id() +
             " is currently " +
             (pool.state == PoolView::State::kInvalid ? "invalid" : "being updated");
    }
    for (; next < view.slices.size() && view.slices[next].pool == p; ++next) {
      for (std::uint32_t i = 0; i < view.slices[next].devices; ++i) {
        const std::uint32_t position = view.slices[next].first_position + i;
        Verdict verdict = attempt.Selectable(plan, position);
        if (verdict == Verdict::kYes) {
          verdict = attempt.HasCapacity(index, position, Attempt::CapacityUse::kEmpty);
        }
        if (verdict == Verdict::kError) return attempt.error();
        if (verdict == Verdict::kYes) demand.all.push_back(position);
      }
    }
  }
  demand.devices = static_cast<std::int64_t>(demand.all.size());
  return {};
}

}  // namespace

std::expected<Demands, std::string> PrepareDemands(Attempt& attempt) {
  const Problem::Impl& problem = attempt.problem();
  Demands demands(problem.plans.size(), attempt.arena());
  for (std::uint32_t c = 0; c < problem.claims.size(); ++c) {
    std::int64_t total = 0;
    const ClaimPlan& claim = problem.plans_by_claim[c];
    for (std::size_t r = 0; r < claim.requests.size(); ++r) {
      const RequestGroup& group = claim.requests[r];
      if (!group.fault.empty()) return std::unexpected(group.fault);
      std::int64_t least = std::numeric_limits<std::int64_t>::max();
      for (const std::uint32_t p : group.plans) {
        const RequestPlan& plan = problem.plans[p];
        if (!plan.fault.empty()) return std::unexpected(plan.fault);
        demands[p].devices = plan.count;
        if (plan.all) {
          if (Fault fault = CollectAll(attempt, p, demands[p])) return std::unexpected(*fault);
        }
        least = std::min(least, demands[p].devices);
      }
      if (least > kResultsMax - total) {
        return std::unexpected("claim " + problem.claims[c].Ref() + ", request " +
                               problem.claims[c].requests[r].name + ": adding " +
                               std::to_string(least) + " devices exceeds the claim limit of " +
                               std::to_string(kResultsMax) + ", with " + std::to_string(total) +
                               " already accounted for");
      }
      total += least;
    }
    if (!claim.constraint_fault.empty()) return std::unexpected(claim.constraint_fault);
  }
  return demands;
}

}  // namespace drachma::allocator
