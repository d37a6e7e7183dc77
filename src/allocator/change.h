#pragma once

#include <optional>

#include "allocator/allocator.h"

namespace drachma::allocator {

// A smallest change that would make the claims fit, found by counting and then tried: the change
// that is returned is one with which Allocate succeeds, except for kMoreDevices, which says what is
// missing. Private to this folder.
[[nodiscard]] std::optional<Change> SmallestChange(const Problem& problem, NodeIndex node,
                                                   const Overlay& overlay, const Misfit& misfit);

}  // namespace drachma::allocator
