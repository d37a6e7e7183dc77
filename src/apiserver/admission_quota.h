#pragma once

#include <map>
#include <string>
#include <string_view>

#include "apiserver/admission.h"
#include "apiserver/core.h"
#include "num/quantity.h"

namespace drachma::apiserver {

// What an object takes of a namespace's quotas, by resource name ("pods", "requests.cpu",
// "count/resourceclaims.resource.k8s.io", "gpu.example.com.deviceclass.resource.k8s.io/devices").
using Usage = std::map<std::string, Quantity, std::less<>>;

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
  Core& core_;
};

// What `object` (in its storage version) takes. `objects` is asked for DeviceClasses, whose
// extended resource names are charged, too, and for the pod that a claim stands in for.
[[nodiscard]] Usage UsageOf(std::string_view group, std::string_view plural,
                            const json::Value& object, const ObjectReader& objects);

}  // namespace drachma::apiserver
