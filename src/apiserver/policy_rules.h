#pragma once

#include <string>
#include <string_view>

#include "apiserver/admission.h"
#include "apiserver/core.h"
#include "json/value.h"
#include "validation/field_error.h"

namespace drachma::apiserver {

// What is wrong with the matchConditions of a policy or a webhook, which see no variables;
// `params`: whether they see parameters. Pure; any thread.
[[nodiscard]] validation::ErrorList MatchConditionFaults(const json::Value& conditions, bool params,
                                                         const std::string& path);

// Refuses policies and webhook configurations with faults, and policies and bindings whose writer
// may not read the parameters that they name.
class PolicyRules final : public AdmissionPlugin {
 public:
  // `core` must outlive this.
  explicit PolicyRules(const Core& core) : core_(core) {}
  [[nodiscard]] std::string_view name() const override { return "AdmissionPolicyRules"; }
  // ERRORS: kInvalid with all faults.
  [[nodiscard]] Status Validate(AdmissionRequest& request, const ObjectReader& objects) override;

 private:
  [[nodiscard]] validation::ErrorList ParamKindFaults(const AdmissionRequest& request) const;
  [[nodiscard]] validation::ErrorList ParamRefFaults(const AdmissionRequest& request,
                                                     const ObjectReader& objects) const;
  [[nodiscard]] bool May(const AdmissionRequest& request, Attributes attributes) const;

  const Core& core_;
};

}  // namespace drachma::apiserver
