#pragma once

#include "api/decode.h"
#include "apiserver/admission.h"
#include "apiserver/core.h"
#include "apiserver/kind.h"
#include "apiserver/webhook_match.h"
#include "base/result.h"
#include "json/value.h"

namespace drachma::apiserver {

// Objects of admission in the form that a webhook or a policy asks for.

// The other resources and versions that hold the objects of `kinds` (upstream's
// EquivalentResourceMapper). `kinds` must outlive the result.
[[nodiscard]] Equivalents EquivalentsOf(const KindTable& kinds);

// `object` of the request, which may be null, in the form; those of subresources that speak another
// kind are Scales and Bindings. ERRORS: kNotFound for a form that nothing serves.
[[nodiscard]] Result<json::Value> InForm(const KindTable& kinds, const AdmissionRequest& request,
                                         const json::Value& object, const ResourceKind& form);

// The object of the request, in its storage version, after `changed` has been made of it in the
// form: what it holds of a Scale, nothing of a Binding. ERRORS: kInternal for what is no object of
// the form, with kReport also for fields that a built-in kind does not have.
[[nodiscard]] Result<json::Value> FromForm(const Core& core, const AdmissionRequest& request,
                                           const ResourceKind& form, const json::Value& changed,
                                           api::StrictFields strict);

// What a review tells of the form and of the user (admission.k8s.io's AdmissionRequest).
[[nodiscard]] json::Value ShownKind(const ResourceKind& form);
[[nodiscard]] json::Value ShownResource(const ResourceKind& form);
[[nodiscard]] json::Value ShownUser(const User& user);

}  // namespace drachma::apiserver
