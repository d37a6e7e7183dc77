#pragma once

#include <expected>
#include <string>
#include <vector>

#include "allocator/attempt.h"
#include "allocator/search.h"

namespace drachma::allocator {

// Checks the claims on this node and finds out how many devices each request needs, in upstream's
// order of faults: upstream's validateDeviceRequest. The error is fatal for the attempt. Private to
// this folder.
[[nodiscard]] std::expected<Demands, std::string> PrepareDemands(Attempt& attempt);

}  // namespace drachma::allocator
