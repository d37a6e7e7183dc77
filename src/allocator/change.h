#pragma once

#include <optional>

#include "allocator/allocator.h"

namespace drachma::allocator {

// A smallest change that would make the claims fit. Ends of claims (kReleaseClaims) are tried: with
// them Allocate succeeds. The others are what counting shows to be missing at the request that
// lacks most; they are not tried. Private to this folder.
[[nodiscard]] std::optional<Change> SmallestChange(const Problem& problem, NodeIndex node,
                                                   const Overlay& overlay, const Misfit& misfit);

}  // namespace drachma::allocator
