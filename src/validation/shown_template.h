#pragma once

#include <string>

#include "json/value.h"

namespace drachma::validation {

// The spec of a ResourceClaimTemplate as errors of upstream show it. Go's encoder prints the
// internal type there, which has no JSON names: all fields, in their order, with null for what is
// not set.
[[nodiscard]] std::string ShownTemplateSpec(const json::Value& spec);

}  // namespace drachma::validation
