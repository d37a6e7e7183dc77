#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "json/value.h"
#include "validation/field_error.h"
#include "validation/strategy.h"

// The rules of pods and of the templates of pods
// (k8s.io/kubernetes/pkg/apis/core/validation/validation.go), as far as people and controllers meet
// them. The options that upstream takes from feature gates stand at 1.37's defaults.
namespace drachma::validation {

// Whether a pod spec stands in a Pod or in the template of another kind.
enum class PodPlace : std::uint8_t { kPod, kTemplate };

using NameSet = std::set<std::string, std::less<>>;

// What rules of containers need to know of the pod around them.
struct PodFacts {
  std::map<std::string, json::Value, std::less<>> volumes;  // those without faults, by name
  NameSet claims;                                           // names in resourceClaims
  json::Value grace_period;  // terminationGracePeriodSeconds, null when unset
  std::string restart_policy;
  bool host_users = true;
};

[[nodiscard]] ErrorList ValidatePodSpec(const json::Value& spec, const json::Value* meta,
                                        PodPlace place, const std::string& path);
// A PodTemplateSpec at `path`.
[[nodiscard]] ErrorList ValidatePodTemplate(const json::Value& pod_template,
                                            const std::string& path);
[[nodiscard]] ErrorList ValidatePodAnnotations(const json::Value& annotations,
                                               const json::Value& spec, const std::string& path);

// --- Parts (each in the file of its name).

// pod_containers.cc
[[nodiscard]] ErrorList ValidateContainers(const json::Value& containers, const PodFacts& facts,
                                           const std::string& path);
[[nodiscard]] ErrorList ValidateInitContainers(const json::Value& spec, const PodFacts& facts,
                                               const std::string& path);
[[nodiscard]] ErrorList ValidateEphemeralContainers(const json::Value& spec, const PodFacts& facts,
                                                    const std::string& path);
// Images of pods (not of templates) have no spaces around them.
[[nodiscard]] ErrorList ValidateImagesOfPod(const json::Value& containers, const std::string& path);

// pod_resources.cc
enum class ResourceHolder : std::uint8_t { kContainer, kPod };
[[nodiscard]] ErrorList ValidateResources(const json::Value& resources, ResourceHolder holder,
                                          const NameSet& claims, const std::string& path);
// A name in a list of resources: a standard one, or qualified.
[[nodiscard]] ErrorList ValidateResourceName(std::string_view name, const std::string& path);
// The same in a list of a container's resources.
[[nodiscard]] ErrorList ValidateContainerResourceName(std::string_view name,
                                                      const std::string& path);
// A quantity that is not negative, and whole where the resource is counted.
[[nodiscard]] ErrorList ValidateResourceQuantity(std::string_view name, const json::Value& quantity,
                                                 const std::string& path);

// pod_handlers.cc: probes and lifecycle hooks
[[nodiscard]] ErrorList ValidateProbes(const json::Value& container, const PodFacts& facts,
                                       const std::string& path);
[[nodiscard]] ErrorList ValidateLifecycle(const json::Value& lifecycle, const PodFacts& facts,
                                          const std::string& path);
[[nodiscard]] ErrorList ValidatePortOrName(const json::Value& port, const std::string& path);

// pod_volumes.cc. Fills the volumes that containers may mount.
[[nodiscard]] ErrorList ValidateVolumes(const json::Value& volumes, PodFacts& facts,
                                        const std::string& path);
[[nodiscard]] ErrorList ValidateVolumeMounts(const json::Value& container, const PodFacts& facts,
                                             const std::string& path);
[[nodiscard]] ErrorList ValidateFieldRef(const json::Value& ref,
                                         std::span<const std::string_view> supported,
                                         const std::string& path);
[[nodiscard]] ErrorList ValidateResourceFieldRef(const json::Value& ref, bool in_volume,
                                                 const std::string& path);

// pod_placement.cc
[[nodiscard]] ErrorList ValidateAffinity(const json::Value& affinity, const std::string& path);
[[nodiscard]] ErrorList ValidateSpreadConstraints(const json::Value& constraints,
                                                  const std::string& path);
[[nodiscard]] ErrorList ValidateTolerations(const json::Value& tolerations,
                                            const std::string& path);
[[nodiscard]] ErrorList ValidateTaintEffect(std::string_view effect, const std::string& path);

// pod_update.cc
[[nodiscard]] ErrorList ValidatePodMetadataAndSpec(const json::Value& pod);
[[nodiscard]] ErrorList ValidatePodUpdate(const json::Value& pod, const json::Value& old);
[[nodiscard]] ErrorList ValidateEphemeralContainersUpdate(const json::Value& pod,
                                                          const json::Value& old);
[[nodiscard]] ErrorList ValidatePodResize(const json::Value& pod, const json::Value& old);
[[nodiscard]] ErrorList ValidatePodAnnotationsUpdate(const json::Value& pod,
                                                     const json::Value& old);

// pod_status.cc
[[nodiscard]] ErrorList ValidatePodStatus(const json::Value& pod, const json::Value& old);
[[nodiscard]] ErrorList ValidatePodBinding(const json::Value& binding);

// --- Small helpers.

// NotSupported unless `value` is among them; Required when it is empty.
[[nodiscard]] ErrorList ValidateChoice(std::string_view value,
                                       std::span<const std::string_view> supported,
                                       const std::string& path);
[[nodiscard]] ErrorList ValidateQualifiedNameAt(std::string_view name, const std::string& path);
[[nodiscard]] ErrorList ValidatePositive(std::int64_t number, const std::string& path);
[[nodiscard]] ErrorList ValidateDnsLabelAt(std::string_view name, const std::string& path);
[[nodiscard]] ErrorList ValidateDnsSubdomainAt(std::string_view name, const std::string& path);
[[nodiscard]] ErrorList ValidateIp(std::string_view ip, const std::string& path);
inline constexpr std::string_view kMirrorPod = "kubernetes.io/config.mirror";

// The spec of a PersistentVolumeClaim.
[[nodiscard]] ErrorList ValidateVolumeClaimSpec(const json::Value& spec, const std::string& path);

}  // namespace drachma::validation
