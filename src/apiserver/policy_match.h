#pragma once

#include <optional>

#include "apiserver/admission.h"
#include "apiserver/webhook_match.h"
#include "base/result.h"
#include "json/value.h"

namespace drachma::apiserver {

// Whether a request is one of `resources`, the MatchResources of an admission policy or of its
// binding (apiserver's pkg/admission/plugin/policy/matching): rules that want and rules that
// exclude, both selectors, and with matchPolicy Equivalent rules for other versions. Without
// rules every resource fits. The form that the rules ask for, or nothing.
// ERRORS: kNotFound for a namespace that does not exist, kInternal for a selector that is none.
[[nodiscard]] Result<std::optional<ResourceKind>> MatchPolicyResources(
    const json::Value& resources, const AdmissionRequest& request, const ObjectReader& objects,
    const Equivalents& equivalents);

}  // namespace drachma::apiserver
