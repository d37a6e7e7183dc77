#include "allocator/might_fit.h"

#include <bit>

#include "allocator/allocator.h"

namespace drachma::allocator {
namespace {

enum class Count : std::uint8_t { kTooFew, kEnough, kMayFail };

// What a look at one word of a slice says: devices that match, and whether a look at one of the
// others may end the attempt (a selector or a policy that fails, or that nobody evaluated).
struct WordCount {
  int matches = 0;
  bool may_fail = false;
};

WordCount CountWord(const Problem::Impl& problem, const RequestPlan& plan, const NodeSlice& slice,
                    std::size_t word, bool usage_counts) {
  const std::size_t table_word = slice.slice->first_word + word;
  const std::size_t left = slice.devices - word * kWordBits;
  std::uint64_t bits = left >= kWordBits ? ~std::uint64_t{0} : (std::uint64_t{1} << left) - 1;
  if (usage_counts) bits &= ~problem.table->exclusive[table_word];
  if (bits == 0) return {};
  std::uint64_t open = 0;
  for (const ExpressionIndex index : plan.expressions) {
    const Expression& expression = problem.table->memo.expression(index);
    if (!expression.program) return {.matches = 0, .may_fail = true};
    const std::uint64_t known = expression.known[table_word].load(std::memory_order_acquire);
    open |= bits & (expression.failed[table_word].load(std::memory_order_relaxed) | ~known);
    bits &= expression.match[table_word].load(std::memory_order_relaxed);
  }
  // After the selectors, as in the search: one that fails ends it on another node's device, too.
  if (!slice.node_mask.empty()) {
    open |= bits & slice.node_fault[word];
    bits &= slice.node_mask[word];
  }
  if (problem.features().consumable_capacity) open |= bits & ~slice.slice->plain_capacity[word];
  return {.matches = std::popcount(bits), .may_fail = open != 0};
}

Count CountFor(const Problem::Impl& problem, const RequestPlan& plan, const NodeView& view,
               bool usage_counts) {
  if (plan.derives ||
      (plan.requirements->capacity_requests && problem.features().consumable_capacity)) {
    return Count::kMayFail;
  }
  std::int64_t found = 0;
  for (const NodeSlice& slice : view.slices) {
    for (std::size_t w = 0; w < WordsFor(slice.devices); ++w) {
      const WordCount count = CountWord(problem, plan, slice, w, usage_counts);
      if (count.may_fail) return Count::kMayFail;
      found += count.matches;
    }
  }
  return found >= plan.count ? Count::kEnough : Count::kTooFew;
}

}  // namespace

bool MayNotMisfit(const Problem::Impl& problem, const NodeView& view, bool usage_counts) {
  if (problem.any_fault || problem.any_all || problem.any_admin || view.any_invalid) return true;
  // In the order of the search: what stands behind a request with too few is never looked at.
  for (const ClaimPlan& claim : problem.plans_by_claim) {
    for (const RequestGroup& group : claim.requests) {
      bool enough = false;
      for (const std::uint32_t p : group.plans) {
        const Count count = CountFor(problem, problem.plans[p], view, usage_counts);
        if (count == Count::kMayFail) return true;
        enough |= count == Count::kEnough;
      }
      if (!enough) return false;
    }
  }
  return true;
}

bool MightFit(const Problem& problem, NodeIndex node, const Overlay& overlay) {
  const Problem::Impl& impl = problem.impl();
  const NodeView& view = impl.table->ViewOf(node);
  return !view.fault.empty() || impl.epoch != impl.table->memo.epoch() ||
         MayNotMisfit(impl, view, overlay.empty());
}

void FilterNodes(const Problem& problem, std::span<const NodeIndex> nodes,
                 std::vector<NodeIndex>& passed) {
  const Overlay nothing;
  for (const NodeIndex node : nodes) {
    if (MightFit(problem, node, nothing)) passed.push_back(node);
  }
}

}  // namespace drachma::allocator
