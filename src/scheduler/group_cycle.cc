#include "scheduler/group_cycle.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "scheduler/reservation.h"

namespace drachma::scheduler {
namespace {

using state::PodPtr;

// Upstream's PlacementFeasible: whether the group has enough members, may still have them, or not.
enum class Feasible : std::uint8_t { kYes, kNotYet, kNo };

Feasible Judge(std::size_t min_count, std::size_t scheduled, std::size_t remaining) {
  if (scheduled + remaining < min_count) return Feasible::kNo;
  return scheduled < min_count ? Feasible::kNotYet : Feasible::kYes;
}

}  // namespace

std::size_t GroupOutcome::placed() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      members, [](const GroupMember& member) { return member.placed.has_value(); }));
}

GroupCycle::GroupCycle(state::ClusterState& state, Cycle& cycle, Nominations& nominations,
                       const Options& options)
    : state_(state), cycle_(cycle), nominations_(nominations), gates_(GroupGatesOf(options)) {}

// Whether the pods ask for the same, so that their order cannot matter.
bool GroupCycle::AreAlike(const std::vector<PodPtr>& pods) const {
  const auto specs = [this](const state::PodView& pod) {
    std::vector<std::pair<std::string, std::uint64_t>> ids;
    for (const state::PodClaim& entry : pod.claims) {
      const state::ClaimPtr claim = state_.claims.Find(pod.ns + "/" + entry.claim_name);
      ids.emplace_back(entry.name, claim ? claim->spec_id : 0);
    }
    return ids;
  };
  return std::ranges::all_of(pods, [&](const PodPtr& pod) {
    const state::PodView& first = *pods.front();
    return pod->placement_id == first.placement_id && pod->requests == first.requests &&
           !pod->has_pod_affinity && !pod->has_topology_spread && pod->host_ports.empty() &&
           specs(*pod) == specs(first);
  });
}

GroupOutcome GroupCycle::Place(const state::GroupView& group, const std::vector<PodPtr>& pods) {
  std::vector<std::size_t> order(pods.size());
  std::iota(order.begin(), order.end(), 0);
  GroupOutcome first = PlaceInOrder(group, pods, order);
  if (first.kind != GroupOutcome::Kind::kMisfit || pods.size() < 2 || AreAlike(pods)) return first;
  GroupOutcome last = first;
  for (int i = 1; i < kOrdersMax; ++i) {
    const auto has_no_place = [&last](std::size_t place) {
      return last.members[place].unplaced.has_value();
    };
    if (std::ranges::is_partitioned(order, has_no_place)) break;  // they were first already
    std::ranges::stable_partition(order, has_no_place);
    last = PlaceInOrder(group, pods, order);
    if (last.kind == GroupOutcome::Kind::kFits) return last;
    if (last.kind != GroupOutcome::Kind::kMisfit) break;
  }
  return first;
}

GroupOutcome GroupCycle::PlaceInOrder(const state::GroupView& group,
                                      const std::vector<PodPtr>& pods,
                                      const std::vector<std::size_t>& order) {
  GroupOutcome outcome;
  for (const PodPtr& pod : pods) outcome.members.push_back({.pod = pod});
  outcome.scheduled = ScheduledMembers(state_, group);
  std::size_t scheduled = outcome.scheduled;
  std::size_t remaining = pods.size();
  std::vector<Nomination> set_aside;
  PendingAllocations pending;
  bool postponed = false;
  Feasible feasible = Judge(group.min_count, scheduled, remaining);
  for (const std::size_t place : order) {
    if (feasible == Feasible::kNo) break;
    GroupMember& member = outcome.members[place];
    Attempt attempt = cycle_.Schedule(member.pod, &pending);
    if (auto* placed = std::get_if<Placed>(&attempt)) {
      for (const ClaimDecision& decision : placed->allocations) {
        pending.insert_or_assign(decision.claim->uid, decision.allocation);
      }
      // From here on the reservation keeps the room, not the nomination.
      if (const Nomination* nomination = nominations_.Find(member.pod->uid)) {
        set_aside.push_back(*nomination);
        nominations_.Remove(member.pod->uid);
      }
      Reserve(state_, member.pod, *placed);
      member.placed = std::move(*placed);
      ++scheduled;
    } else if (auto* unplaced = std::get_if<Unplaced>(&attempt)) {
      member.unplaced = std::move(*unplaced);
    } else if (const auto* error = std::get_if<Errored>(&attempt)) {
      outcome.kind = GroupOutcome::Kind::kError;
      outcome.message = fmt::format("failed to schedule other pod from a pod group: pod {}: {}",
                                    member.pod->key(), error->message);
      break;
    } else {
      postponed = true;
    }
    --remaining;
    feasible = Judge(group.min_count, scheduled, remaining);
  }
  if (outcome.kind != GroupOutcome::Kind::kError) {
    if (feasible == Feasible::kYes && outcome.placed() > 0) {
      outcome.kind = GroupOutcome::Kind::kFits;
      return outcome;
    }
    if (postponed) outcome.kind = GroupOutcome::Kind::kPostponed;
    outcome.message =
        feasible == Feasible::kYes
            ? "pod group is unschedulable"
            : fmt::format("minCount ({}) cannot be satisfied: {} scheduled, {} remaining",
                          group.min_count, scheduled, remaining);
  }
  TakeBack(outcome);
  for (Nomination& nomination : set_aside) nominations_.Put(std::move(nomination));
  return outcome;
}

// The last one first; what each would have got stays in the account.
void GroupCycle::TakeBack(GroupOutcome& outcome) {
  for (auto member = outcome.members.rbegin(); member != outcome.members.rend(); ++member) {
    if (member->placed) Unreserve(state_, *member->pod, *member->placed);
  }
}

}  // namespace drachma::scheduler
