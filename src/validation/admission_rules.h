#pragma once

#include <string>

#include "json/value.h"
#include "validation/field_error.h"

namespace drachma::validation {

// Rules of admissionregistration.k8s.io that need no CEL (pkg/apis/admissionregistration's
// validation). Objects have their defaults.

// One of the rules (RuleWithOperations) of a policy or a webhook.
[[nodiscard]] ErrorList ValidateOperationRule(const json::Value& rule, const std::string& path);
// MatchResources of a policy or of a binding; null is fine.
[[nodiscard]] ErrorList ValidateMatchResources(const json::Value& resources,
                                               const std::string& path);
// The kind of a policy's parameters; null is fine.
[[nodiscard]] ErrorList ValidateParamKind(const json::Value& kind, const std::string& path);
// MatchResources of a MutatingAdmissionPolicy or its binding: that no rule asks for deletes.
[[nodiscard]] ErrorList ValidateMutatingOperations(const json::Value& resources,
                                                   const std::string& path);
// The spec of a ValidatingAdmissionPolicyBinding or of a MutatingAdmissionPolicyBinding.
[[nodiscard]] ErrorList ValidatePolicyBindingSpec(const json::Value& spec, const std::string& path);
[[nodiscard]] ErrorList ValidateMutatingBindingSpec(const json::Value& spec,
                                                    const std::string& path);

}  // namespace drachma::validation
