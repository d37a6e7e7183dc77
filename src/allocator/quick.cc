#include "allocator/quick.h"

#include <algorithm>
#include <bit>

namespace drachma::allocator {

bool Quick::Solve() {
  if (view_.words > kWordsMax) return false;
  std::fill_n(taken_.begin(), view_.words, 0);
  for (std::uint32_t p = 0; p < problem_.plans.size(); ++p) {
    if (!TakeFor(p)) return false;
  }
  return true;
}

bool Quick::TakeFor(std::uint32_t index) {
  const RequestPlan& plan = problem_.plans[index];
  const Features& features = problem_.features();
  std::int64_t missing = plan.count;
  for (std::size_t s = 0; s < view_.slices.size() && missing > 0; ++s) {
    const NodeSlice& node_slice = view_.slices[s];
    const Slice& slice = *node_slice.slice;
    for (std::size_t w = 0; w < WordsFor(node_slice.devices) && missing > 0; ++w) {
      const std::size_t table_word = slice.first_word + w;
      const std::size_t left = node_slice.devices - w * kWordBits;
      std::uint64_t bits = left >= kWordBits ? ~std::uint64_t{0} : (std::uint64_t{1} << left) - 1;
      bits &= ~problem_.table->exclusive[table_word] & ~taken_[node_slice.first_word + w];
      std::uint64_t special = slice.special[w];
      if (features.device_taints) special |= slice.blocking_taints[w];
      if (!features.binding_conditions) special |= slice.binding_mask[w];
      std::uint64_t open = 0;
      for (const ExpressionIndex i : plan.expressions) {
        const Expression& expression = problem_.table->memo.expression(i);
        if (!expression.program) return false;
        const std::uint64_t known = expression.known[table_word].load(std::memory_order_acquire);
        open |= bits & (expression.failed[table_word].load(std::memory_order_relaxed) | ~known);
        bits &= expression.match[table_word].load(std::memory_order_relaxed);
      }
      // After the selectors, as in the search: one that fails ends it on another node's device,
      // too.
      if (!node_slice.node_mask.empty()) {
        special |= node_slice.node_fault[w];
        bits &= node_slice.node_mask[w] | node_slice.node_fault[w];
      }
      special = open | (special & bits);
      for (bits |= special; bits != 0 && missing > 0; bits &= bits - 1, --missing) {
        const std::uint64_t bit = bits & -bits;
        if ((special & bit) != 0 || count_ == kPicksMax) return false;
        taken_[node_slice.first_word + w] |= bit;
        picks_[count_++] = {.plan = index,
                            .position = static_cast<std::uint32_t>(
                                node_slice.first_position + w * kWordBits +
                                static_cast<std::size_t>(std::countr_zero(bits)))};
      }
    }
  }
  return missing <= 0;
}

}  // namespace drachma::allocator
