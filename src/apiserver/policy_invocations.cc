#include "apiserver/policy_invocations.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "apiserver/admission_form.h"
#include "apiserver/policy_hooks.h"
#include "apiserver/policy_match.h"
#include "apiserver/policy_params.h"

namespace drachma::apiserver {

using json::Value;

bool IsExemptFromPolicies(const AdmissionRequest& request) {
  static constexpr auto kReviews = std::to_array<std::string_view>(
      {"selfsubjectreviews", "tokenreviews", "localsubjectaccessreviews",
       "selfsubjectaccessreviews", "selfsubjectrulesreviews", "subjectaccessreviews"});
  if (request.group == "authentication.k8s.io" || request.group == "authorization.k8s.io") {
    return std::ranges::find(kReviews, request.resource) != kReviews.end();
  }
  return request.group == kPolicyGroup &&
         (request.resource.starts_with("validatingadmissionpolic") ||
          request.resource.starts_with("mutatingadmissionpolic"));
}

PolicyInvocations::PolicyInvocations(const KindTable& kinds, const AdmissionRequest& request,
                                     const ObjectReader& objects)
    : kinds_(kinds), request_(request), objects_(objects), equivalents_(EquivalentsOf(kinds)) {}

Status PolicyInvocations::ForEach(const Value& spec, std::span<const Value> bindings,
                                  const Fault& fault, const Visit& visit) const {
  const auto misconfigured = [&](const Value* binding, const Error& error) {
    fault(binding, fmt::format("failed to configure {}: {}",
                               binding == nullptr ? "policy" : "binding", error.message));
  };
  const auto form =
      MatchPolicyResources(spec["matchConstraints"], request_, objects_, equivalents_);
  if (!form) {
    misconfigured(nullptr, form.error());
    return {};
  }
  if (!*form) return {};
  if (spec["paramKind"].IsObject()) {
    if (const auto kind = ParamKindOf(kinds_, spec["paramKind"]); !kind) {
      misconfigured(nullptr, kind.error());
      return {};
    }
  }
  for (const Value& binding : bindings) {
    const Value& resources = binding["spec"]["matchResources"];
    if (resources.IsObject()) {
      const auto fits = MatchPolicyResources(resources, request_, objects_, equivalents_);
      if (!fits) misconfigured(&binding, fits.error());
      if (!fits || !*fits) continue;
    }
    const auto params = CollectParams(kinds_, objects_, spec["paramKind"],
                                      binding["spec"]["paramRef"], SubjectOf(request_).ns);
    if (!params) {
      misconfigured(&binding, params.error());
      continue;
    }
    for (const Value& param : *params) DRA_TRY(visit(binding, **form, param));
  }
  return {};
}

}  // namespace drachma::apiserver
