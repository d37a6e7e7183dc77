#pragma once

#include <string_view>

#include "apiserver/admission.h"
#include "apiserver/pod_security.h"

namespace drachma::apiserver {

// Upstream's PodSecurity with its default configuration: the labels pod-security.kubernetes.io/… of
// a namespace say which pods it takes, which are recorded and of which is warned, in controllers'
// templates, too.
class PodSecurity final : public AdmissionPlugin {
 public:
  // Pods of a namespace that are looked at when its level is raised.
  static constexpr std::size_t kPodsMax = 3000;

  [[nodiscard]] std::string_view name() const override { return "PodSecurity"; }
  // ERRORS: kForbidden `violates PodSecurity "…"`; kInvalid for labels of a namespace.
  Status Validate(AdmissionRequest& request, const ObjectReader& objects) override;

 private:
  static Status ValidateNamespace(AdmissionRequest& request, const ObjectReader& objects);
  static Status ValidatePod(AdmissionRequest& request, const SecurityPolicies& policies);
};

}  // namespace drachma::apiserver
