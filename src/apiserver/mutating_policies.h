#pragma once

#include <string_view>

#include "apiserver/admission.h"
#include "apiserver/core.h"
#include "apiserver/mutating_policy.h"
#include "apiserver/policy_hooks.h"
#include "base/result.h"

namespace drachma::apiserver {

// The MutatingAdmissionPolicies of the store with their bindings (upstream's plugin of this name):
// changes objects that are written. In a second run of the chain it evaluates those with
// reinvocationPolicy IfNeeded again that were evaluated before a later change.
class MutatingPolicies final : public AdmissionPlugin {
 public:
  // `core` must outlive this.
  explicit MutatingPolicies(Core& core);

  [[nodiscard]] std::string_view name() const override { return "MutatingAdmissionPolicy"; }
  // ERRORS: what the policies that fail say (kForbidden), or at once what makes
  // no object (kInternal, kNotFound).
  [[nodiscard]] Status Admit(AdmissionRequest& request, const ObjectReader& objects) override;

 private:
  using Hook = PolicyHooks<MutatingPolicy>::Hook;
  class Dispatch;

  Core& core_;
  PolicyHooks<MutatingPolicy> hooks_;
};

}  // namespace drachma::apiserver
