#pragma once

#include <string_view>

#include "apiserver/admission.h"

namespace drachma::cluster {

// Refuses claims, templates and classes whose opaque configs of the GPU drivers are wrong: what the
// driver's validating webhook does on a real cluster. Comes with the simulated nodes.
class GpuConfigAdmission final : public apiserver::AdmissionPlugin {
 public:
  [[nodiscard]] std::string_view name() const override { return "GPUConfig"; }
  [[nodiscard]] Status Validate(apiserver::AdmissionRequest& request,
                                const apiserver::ObjectReader& objects) override;
};

}  // namespace drachma::cluster
