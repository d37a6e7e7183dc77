#include "cluster/gpu_admission.h"

#include <algorithm>
#include <array>

#include "validation/gpu_config.h"

namespace drachma::cluster {
namespace {

constexpr std::array<std::string_view, 3> kResources = {"deviceclasses", "resourceclaims",
                                                        "resourceclaimtemplates"};

}  // namespace

Status GpuConfigAdmission::Validate(apiserver::AdmissionRequest& request,
                                    const apiserver::ObjectReader& /*objects*/) {
  const bool concerned = request.group == "resource.k8s.io" && request.subresource.empty() &&
                         (request.operation == apiserver::Operation::kCreate ||
                          request.operation == apiserver::Operation::kUpdate) &&
                         std::ranges::find(kResources, request.resource) != kResources.end();
  if (!concerned) return {};
  // Simulated GPUs can do all that the driver's gates switch on.
  return validation::CheckGpuConfigs(request.kind, request.object,
                                     [](std::string_view /*gate*/) { return true; });
}

}  // namespace drachma::cluster
