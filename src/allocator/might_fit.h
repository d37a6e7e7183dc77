#pragma once

#include "allocator/problem.h"

namespace drachma::allocator {

// Whether counting leaves open that an attempt on the node of `view` ends otherwise than with a
// misfit: true when enough devices may match, or when the attempt may fail. Usage counts unless an
// overlay may have changed it. Private to this folder.
[[nodiscard]] bool MayNotMisfit(const Problem::Impl& problem, const NodeView& view,
                                bool usage_counts);

}  // namespace drachma::allocator
