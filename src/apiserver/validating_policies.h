#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/admission.h"
#include "apiserver/core.h"
#include "apiserver/store_changes.h"
#include "apiserver/validating_policy.h"
#include "json/value.h"

namespace drachma::apiserver {

// The ValidatingAdmissionPolicies of the store with their bindings (upstream's plugin of this
// name): refuses, warns and records. Policies are compiled when they have changed and count from
// the next request on; where there are none a request costs one load of an atomic. Policies act in
// the order of their names, and so do the bindings of one.
class ValidatingPolicies final : public AdmissionPlugin {
 public:
  // `core` must outlive this.
  explicit ValidatingPolicies(Core& core);

  [[nodiscard]] std::string_view name() const override { return "ValidatingAdmissionPolicy"; }
  // ERRORS: what the first refusal says, with its reason.
  [[nodiscard]] Status Validate(AdmissionRequest& request, const ObjectReader& objects) override;

 private:
  // A policy that has bindings.
  struct Hook {
    std::shared_ptr<const ValidatingPolicy> policy;
    std::vector<json::Value> bindings;
  };
  class Dispatch;

  void Refresh(const ObjectReader& objects);
  [[nodiscard]] std::shared_ptr<const ValidatingPolicy> Compiled(const json::Value& policy) const;

  Core& core_;
  StoreChanges changes_;
  std::vector<Hook> hooks_;
};

}  // namespace drachma::apiserver
