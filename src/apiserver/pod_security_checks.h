#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "apiserver/pod_security.h"
#include "json/value.h"

namespace drachma::apiserver {

// One rule of the Pod Security Standards, in one of its versions.
struct SecurityCheck {
  std::string_view id;  // upstream's
  SecurityLevel level;
  int since;  // the minor version of 1.x from which on it counts
  std::optional<SecurityViolation> (*check)(const json::Value& pod);
  // The rule of the baseline that it takes the place of when the policy is restricted.
  std::string_view overrides = {};
};

// By id: the order in which violations are told, those of the baseline first.
[[nodiscard]] std::span<const SecurityCheck> BaselineSecurityChecks();
[[nodiscard]] std::span<const SecurityCheck> RestrictedSecurityChecks();

}  // namespace drachma::apiserver
