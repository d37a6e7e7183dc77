#pragma once

#include <string_view>

#include "apiserver/admission.h"
#include "apiserver/core.h"
#include "apiserver/policy_hooks.h"
#include "apiserver/validating_policy.h"
#include "base/result.h"

namespace drachma::apiserver {

// The ValidatingAdmissionPolicies of the store with their bindings (upstream's plugin of this
// name): refuses, warns and records.
class ValidatingPolicies final : public AdmissionPlugin {
 public:
  // `core` must outlive this.
  explicit ValidatingPolicies(Core& core);

  [[nodiscard]] std::string_view name() const override { return "ValidatingAdmissionPolicy"; }
  // ERRORS: what the first refusal says, with its reason.
  [[nodiscard]] Status Validate(AdmissionRequest& request, const ObjectReader& objects) override;

 private:
  using Hook = PolicyHooks<ValidatingPolicy>::Hook;
  class Dispatch;

  Core& core_;
  PolicyHooks<ValidatingPolicy> hooks_;
};

}  // namespace drachma::apiserver
