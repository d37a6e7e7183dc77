#pragma once

#include <cstdint>

#include "allocator/attempt.h"
#include "allocator/search.h"

namespace drachma::allocator {

// Replaces the search's first solution, which stands in the attempt, by the one whose devices cost
// least, chosen one after the other: whole constraint groups, then large partitions that stay
// possible, then the least slack, then upstream's order. Alternatives stay as they were found.
// Returns what the choice costs. Private to this folder.
double PreferBestFit(Attempt& attempt, Search& search, std::uint64_t& work);

}  // namespace drachma::allocator
