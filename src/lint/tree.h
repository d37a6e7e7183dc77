#pragma once

#include <string_view>

#include "json/value.h"

namespace drachma::lint {

// The value at a path of a document ("spec.devices.requests[0]"); null when it is not there.
[[nodiscard]] const json::Value& ValueAt(const json::Value& root, std::string_view path);

}  // namespace drachma::lint
