#pragma once

#include <vector>

#include "allocator/attempt.h"
#include "base/random.h"

namespace drachma::allocator {

// The allocation results of the attempt's picks, as upstream writes them. ERRORS: kInvalid for a
// node selector that cannot be merged. Private to this folder.
[[nodiscard]] Result<std::vector<api::AllocationResult>> BuildResults(
    Attempt& attempt, const std::vector<std::vector<int>>& alternatives, Random& random);

}  // namespace drachma::allocator
