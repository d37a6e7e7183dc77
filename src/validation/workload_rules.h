#pragma once

#include <string>

#include "json/value.h"
#include "validation/field_error.h"

namespace drachma::validation {

// The rules of kinds that make pods (pkg/apis/apps and pkg/apis/batch of Kubernetes), without their
// metadata.
[[nodiscard]] ErrorList ValidateDeploymentSpec(const json::Value& spec);
[[nodiscard]] ErrorList ValidateReplicaSetSpec(const json::Value& spec);
[[nodiscard]] ErrorList ValidateStatefulSetSpec(const json::Value& spec);
[[nodiscard]] ErrorList ValidateDaemonSetSpec(const json::Value& spec);
// Of a new job: its template's labels must be those that its selector was made from.
[[nodiscard]] ErrorList ValidateGeneratedSelector(const json::Value& job);
// Of every job.
[[nodiscard]] ErrorList ValidateJob(const json::Value& job);
[[nodiscard]] ErrorList ValidateJobSpec(const json::Value& spec, const std::string& path);
[[nodiscard]] ErrorList ValidateCronJobSpec(const json::Value& spec);

// An intstr.IntOrString that is not negative, or a percentage.
[[nodiscard]] ErrorList ValidateIntOrPercent(const json::Value& value, const std::string& path);
[[nodiscard]] ErrorList ValidateAtMost100Percent(const json::Value& value, const std::string& path);

}  // namespace drachma::validation
