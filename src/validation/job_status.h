#pragma once

#include <string_view>

#include "json/value.h"
#include "validation/strategy.h"

namespace drachma::validation {

// Whether status.conditions has one of that type in that state.
[[nodiscard]] bool HasCondition(const json::Value& job, std::string_view type,
                                std::string_view state = "True");

// The status subresource of Jobs: what a status may hold and how it may change. As upstream with
// JobManagedBy on, most rules only look at what a write changes (pkg/apis/batch/validation and
// pkg/registry/batch/job of Kubernetes).
[[nodiscard]] ErrorList ValidateJobStatusUpdate(const Context& context, const json::Value& job,
                                                const json::Value& old_job);

}  // namespace drachma::validation
