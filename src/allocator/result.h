#pragma once

#include <span>
#include <vector>

#include "allocator/search.h"
#include "base/random.h"

namespace drachma::allocator {

// What a search came to. `attempt` may be null where no device is shared.
struct Solution {
  const Problem::Impl& problem;
  const NodeView& view;
  const Node& node;
  std::span<const Pick> picks;        // by claim
  std::span<const int> alternatives;  // as Alternatives; empty: there are none
  Attempt* attempt = nullptr;
};

// The allocation results of the solution, as upstream writes them. ERRORS: kInvalid for a node
// selector that cannot be merged. Private to this folder.
[[nodiscard]] Result<std::vector<api::AllocationResult>> BuildResults(const Solution& solution,
                                                                      Random& random);

}  // namespace drachma::allocator
