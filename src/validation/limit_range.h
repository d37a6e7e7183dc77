#pragma once

#include <string>

#include "json/value.h"
#include "validation/field_error.h"

namespace drachma::validation {

// The limits of a LimitRange (core/validation.ValidateLimitRange), resources in the order of their
// names.
[[nodiscard]] ErrorList ValidateLimits(const json::Value& limits, const std::string& path);

}  // namespace drachma::validation
