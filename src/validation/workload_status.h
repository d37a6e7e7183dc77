#pragma once

#include "json/value.h"
#include "validation/field_error.h"

namespace drachma::validation {

// The rules of the status of kinds that make pods (pkg/apis/apps/validation): `status` now and
// before.
[[nodiscard]] ErrorList ValidateDeploymentStatus(const json::Value& status, const json::Value& old);
[[nodiscard]] ErrorList ValidateReplicaSetStatus(const json::Value& status, const json::Value& old);
[[nodiscard]] ErrorList ValidateStatefulSetStatus(const json::Value& status,
                                                  const json::Value& old);
[[nodiscard]] ErrorList ValidateDaemonSetStatus(const json::Value& status, const json::Value& old);

}  // namespace drachma::validation
