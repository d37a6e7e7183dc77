#pragma once

#include <string_view>

#include "apiserver/admission.h"
#include "apiserver/core.h"

namespace drachma::apiserver {

// Upstream's admission plugin ResourceQuota: creations (and updates that take more) are charged to
// every quota of the namespace that limits what they take, and refused when it is not enough. The
// new usage is written to the quota's status in the same breath as the object, so that two requests
// can never take the same rest. A quota whose status has no limits yet limits nothing.
class ResourceQuota final : public AdmissionPlugin {
 public:
  explicit ResourceQuota(Core& core) : core_(core) {}
  std::string_view name() const override { return "ResourceQuota"; }
  Status Validate(AdmissionRequest& request, const ObjectReader& objects) override;

 private:
  [[nodiscard]] bool IsThere(const AdmissionRequest& request) const;

  Core& core_;
};

}  // namespace drachma::apiserver
