#pragma once

#include <bitset>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace drachma::api {

// Upstream's feature gates that concern DRA (pkg/features/kube_features.go of 1.37). The order is
// alphabetical, as in the table of features.cc.
enum class Gate : std::uint8_t {
  kNone,
  kCompositePodGroup,
  kDRAAdminAccess,
  kDRAConsumableCapacity,
  kDRADerivedAttributes,
  kDRADeviceBindingConditions,
  kDRADeviceCompatibilityGroups,
  kDRADeviceTaintRules,
  kDRADeviceTaints,
  kDRAExtendedResource,
  kDRAFractionalCapacityRange,
  kDRAListTypeAttributes,
  kDRANodeAllocatableResources,
  kDRAOptionalNodeOperations,
  kDRAPartitionableDevices,
  kDRAPartitionableDevicesType,
  kDRAPrioritizedList,
  kDRAResourceClaimDeviceStatus,
  kDRAResourceClaimGranularStatusAuthorization,
  kDRAResourcePoolStatus,
  kDRASchedulerFilterTimeout,
  kDRAWorkloadResourceClaims,
  kDynamicResourceAllocation,
  kEvictionRequestAPI,
  kGenericWorkload,
  kKubeletPodResourcesDynamicResources,
  kKubeletPodResourcesGet,
  kNodeDeclaredFeatures,
  kPodGroupPreemptionPolicy,
  kResourceHealthStatus,
  kResourceHealthStatusMessage,
  kSchedulerPreQueueingHints,
  kTopologyAwareWorkloadScheduling,
  kCount,
};

enum class Stage : std::uint8_t { kAlpha, kBeta, kGA };

struct GateInfo {
  Gate gate;
  std::string_view name;
  Stage stage;
  bool default_on;
  bool locked;                         // cannot be set to anything but the default
  std::span<const Gate> dependencies;  // must be on when this one is
};
[[nodiscard]] std::span<const GateInfo> AllGates();
[[nodiscard]] const GateInfo& InfoOf(Gate gate);

// Which gates are on. A value type.
class FeatureGates {
 public:
  // 1.37's defaults.
  FeatureGates();

  // Applies "A=true,B=false", also AllAlpha and AllBeta; on error nothing changes. ERRORS:
  // kBadRequest with upstream's text
  // ("unrecognized feature gate: X", "cannot set feature gate X to false, feature is locked to
  // true", "invalid value of X=y, err: …", or for a missing dependency).
  [[nodiscard]] Status Set(std::string_view assignments);
  // Without checks; for tests.
  void Set(Gate gate, bool on);
  [[nodiscard]] bool On(Gate gate) const;

 private:
  std::bitset<static_cast<std::size_t>(Gate::kCount)> on_;
};

}  // namespace drachma::api
