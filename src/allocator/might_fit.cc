#include <bit>

#include "allocator/allocator.h"
#include "allocator/inventory_impl.h"
#include "allocator/problem.h"

namespace drachma::allocator {
namespace {

// Devices of a slice's word that the plan may match: known matches, failures and those that nobody
// evaluated.
std::uint64_t MayMatch(const Problem::Impl& problem, const RequestPlan& plan,
                       std::size_t table_word, std::uint64_t bits) {
  Conjunction conjunction(bits);
  for (const ExpressionIndex index : plan.expressions) {
    conjunction.Add(problem.table->memo.expression(index), table_word);
  }
  return conjunction.bits();
}

// Whether enough devices may match. Usage counts unless an overlay may have changed it.
bool EnoughFor(const Problem::Impl& problem, const RequestPlan& plan, const NodeView& view,
               bool usage_counts) {
  std::int64_t found = 0;
  for (const NodeSlice& slice : view.slices) {
    for (std::size_t w = 0; w < WordsFor(slice.devices); ++w) {
      const std::size_t table_word = slice.slice->first_word + w;
      const std::size_t left = slice.devices - w * kWordBits;
      std::uint64_t bits = left >= kWordBits ? ~std::uint64_t{0} : (std::uint64_t{1} << left) - 1;
      if (usage_counts) bits &= ~problem.table->exclusive[table_word];
      if (!slice.node_mask.empty()) bits &= slice.node_mask[w] | slice.node_fault[w];
      if (bits != 0) bits = MayMatch(problem, plan, table_word, bits);
      found += std::popcount(bits);
      if (found >= plan.count) return true;
    }
  }
  return found >= plan.count;
}

// Without a look at the devices: attempts that fail must not be filtered away.
bool MustBeTried(const Problem::Impl& problem, const NodeView& view) {
  return !view.fault.empty() || view.any_invalid || problem.any_all ||
         problem.epoch != problem.table->memo.epoch();
}

bool PlanSkipsCounting(const Problem::Impl& problem, const RequestPlan& plan) {
  if (!plan.fault.empty() || plan.admin) return true;
  for (const ExpressionIndex index : plan.expressions) {
    if (!problem.table->memo.expression(index).program) return true;
  }
  return false;
}

}  // namespace

bool MightFit(const Problem& problem, NodeIndex node, const Overlay& overlay) {
  const Problem::Impl& impl = problem.impl();
  const NodeView& view = impl.table->ViewOf(node);
  if (MustBeTried(impl, view)) return true;
  for (const ClaimPlan& claim : impl.plans_by_claim) {
    if (!claim.constraint_fault.empty()) return true;
    for (const RequestGroup& group : claim.requests) {
      if (!group.fault.empty()) return true;
      bool enough = false;
      for (const std::uint32_t p : group.plans) {
        const RequestPlan& plan = impl.plans[p];
        enough =
            enough || PlanSkipsCounting(impl, plan) || EnoughFor(impl, plan, view, overlay.empty());
      }
      if (!enough) return false;
    }
  }
  return true;
}

void FilterNodes(const Problem& problem, std::span<const NodeIndex> nodes,
                 std::vector<NodeIndex>& passed) {
  const Overlay nothing;
  for (const NodeIndex node : nodes) {
    if (MightFit(problem, node, nothing)) passed.push_back(node);
  }
}

}  // namespace drachma::allocator
