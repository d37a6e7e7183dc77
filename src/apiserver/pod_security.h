#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "json/value.h"
#include "validation/field_error.h"

namespace drachma::apiserver {

// The Pod Security Standards (k8s.io/pod-security-admission): levels of pods by version. Pure.

enum class SecurityLevel : std::uint8_t { kPrivileged, kBaseline, kRestricted };

// A level as of a minor version of 1.x.
struct SecurityPolicy {
  static constexpr int kLatest = INT32_MAX;

  SecurityLevel level = SecurityLevel::kPrivileged;
  int minor = kLatest;

  friend bool operator==(const SecurityPolicy&, const SecurityPolicy&) = default;
  // "baseline:latest", "restricted:v1.25".
  [[nodiscard]] std::string ToString() const;
};

// What a namespace's labels (an object or null) ask for. Labels that cannot be read count as the
// strictest for `enforce` and as none for the others; `errors` tells of them.
struct SecurityPolicies {
  SecurityPolicy enforce;
  SecurityPolicy audit;
  SecurityPolicy warn;
  validation::ErrorList errors;
};
[[nodiscard]] SecurityPolicies SecurityPoliciesOf(const json::Value& labels);

// What a pod does that a policy forbids.
struct SecurityViolation {
  std::string reason;  // "host namespaces"
  std::string detail;  // "hostNetwork=true"; may be empty
};
// `pod` has metadata and spec: a pod or a template of pods.
[[nodiscard]] std::vector<SecurityViolation> SecurityViolations(const SecurityPolicy& policy,
                                                                const json::Value& pod);
// "host namespaces (hostNetwork=true), privileged (…)".
[[nodiscard]] std::string DetailsOf(const std::vector<SecurityViolation>& violations);
// "host namespaces, privileged".
[[nodiscard]] std::string ReasonsOf(const std::vector<SecurityViolation>& violations);

}  // namespace drachma::apiserver
