#pragma once

#include <string>

#include "json/value.h"
#include "validation/field_error.h"

namespace drachma::validation {

// Parts of the rules of a JobSpec (pkg/apis/batch/validation); `path` is that of the spec.
[[nodiscard]] ErrorList ValidateManagedBy(const json::Value& spec, const std::string& path);
[[nodiscard]] ErrorList ValidateFailurePolicy(const json::Value& spec, const std::string& path);
// REQUIRES: the job is indexed.
[[nodiscard]] ErrorList ValidateSuccessPolicy(const json::Value& spec, const std::string& path);
[[nodiscard]] ErrorList ValidateReplacementPolicy(const json::Value& spec, const std::string& path);

}  // namespace drachma::validation
