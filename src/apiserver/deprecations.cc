#include "apiserver/deprecations.h"

#include <fmt/format.h>

namespace drachma::apiserver {
namespace {

// Facts of k8s.io/api's prerelease-lifecycle tags, for what is still served in 1.37. Minor versions
// of 1.x; an empty kind means all of the group's version.
struct Lifecycle {
  std::string_view group;
  std::string_view version;
  std::string_view kind;
  int deprecated;
  int removed;  // 0: never
  std::string_view replacement;
};

constexpr Lifecycle kLifecycles[] = {
    {"", "v1", "ComponentStatus", 19, 0, ""},
    {"", "v1", "Endpoints", 33, 0, "discovery.k8s.io/v1 EndpointSlice"},
    {"admissionregistration.k8s.io", "v1alpha1", "MutatingAdmissionPolicy", 35, 38, ""},
    {"admissionregistration.k8s.io", "v1alpha1", "MutatingAdmissionPolicyBinding", 35, 38, ""},
    {"admissionregistration.k8s.io", "v1beta1", "MutatingAdmissionPolicy", 37, 40,
     "admissionregistration.k8s.io/v1 MutatingAdmissionPolicy"},
    {"admissionregistration.k8s.io", "v1beta1", "MutatingAdmissionPolicyBinding", 37, 40,
     "admissionregistration.k8s.io/v1 MutatingAdmissionPolicyBinding"},
    {"certificates.k8s.io", "v1beta1", "ClusterTrustBundle", 37, 40,
     "certificates.k8s.io/v1 ClusterTrustBundle"},
    {"certificates.k8s.io", "v1beta1", "PodCertificateRequest", 37, 40,
     "certificates.k8s.io/v1 PodCertificateRequest"},
    {"coordination.k8s.io", "v1alpha2", "LeaseCandidate", 35, 38, ""},
    {"coordination.k8s.io", "v1beta1", "LeaseCandidate", 36, 39, ""},
    {"resource.k8s.io", "v1alpha3", "DeviceTaintRule", 36, 39, ""},
    {"resource.k8s.io", "v1beta1", "", 35, 38, ""},
    {"resource.k8s.io", "v1beta2", "DeviceClass", 36, 39, ""},
    {"resource.k8s.io", "v1beta2", "ResourceClaim", 36, 39, ""},
    {"resource.k8s.io", "v1beta2", "ResourceClaimTemplate", 36, 39, ""},
    {"resource.k8s.io", "v1beta2", "ResourceSlice", 36, 39, ""},
    {"storagemigration.k8s.io", "v1beta1", "StorageVersionMigration", 37, 40,
     "storagemigration.k8s.io/v1 StorageVersionMigration"},
};

}  // namespace

std::optional<Deprecation> DeprecationOf(std::string_view group, std::string_view version,
                                         std::string_view kind) {
  for (const Lifecycle& entry : kLifecycles) {
    if (entry.group != group || entry.version != version ||
        (!entry.kind.empty() && entry.kind != kind)) {
      continue;
    }
    Deprecation found{
        .warning = fmt::format("{}{}{} {} is deprecated in v1.{}+", group, group.empty() ? "" : "/",
                               version, kind, entry.deprecated),
        .removed_release = {}};
    if (entry.removed != 0) {
      found.removed_release = fmt::format("1.{}", entry.removed);
      found.warning += fmt::format(", unavailable in v{}+", found.removed_release);
    }
    if (!entry.replacement.empty()) found.warning += fmt::format("; use {}", entry.replacement);
    return found;
  }
  return std::nullopt;
}

}  // namespace drachma::apiserver
