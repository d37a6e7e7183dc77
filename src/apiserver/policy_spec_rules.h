#pragma once

#include <string>

#include "apiserver/policy_expression.h"
#include "json/value.h"
#include "validation/field_error.h"

namespace drachma::apiserver {

// What is wrong with the spec of a policy (with defaults), its expressions included; `old` is the
// one it replaces, null for a create (upstream's validateValidatingAdmissionPolicySpec and
// validateMutatingAdmissionPolicySpec). Pure; any thread.
[[nodiscard]] validation::ErrorList ValidatingPolicyFaults(const json::Value& policy,
                                                           const json::Value& old);
[[nodiscard]] validation::ErrorList MutatingPolicyFaults(const json::Value& policy,
                                                         const json::Value& old);
// Why an expression could not be compiled, at `path`; nothing when it was.
[[nodiscard]] validation::ErrorList FaultOf(const PolicyExpression& expression,
                                            const std::string& path);

}  // namespace drachma::apiserver
