#pragma once

#include <cstddef>

#include "json/value.h"

namespace drachma::json {

// Whether arrays and objects nest deeper than `levels` (a scalar has none). Most of what works on
// values recurses: whoever takes them from outside bounds them by this first.
[[nodiscard]] bool NestsDeeperThan(const Value& value, std::size_t levels);

}  // namespace drachma::json
