#pragma once

#include "base/result.h"
#include "json/value.h"

namespace drachma::apiserver {

// Whether all `matchConditions` of a webhook hold (apiserver's matchconditions.Matcher): CEL over
// `object`, `oldObject` and `request`, the members of an AdmissionReview's request. One that is
// false decides; otherwise a condition that fails skips the webhook when its failurePolicy is
// Ignore. Pure; any thread.
// ERRORS: kForbidden with the text of the failure, without the object's name.
[[nodiscard]] Result<bool> MatchConditionsHold(const json::Value& hook,
                                               const json::Value& review_request);

}  // namespace drachma::apiserver
