#include "api/features.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "api/emulated_gates.h"
#include "base/check.h"

namespace drachma::api {

namespace {

using enum Gate;
using enum Stage;

constexpr Gate kDra[] = {kDynamicResourceAllocation};
constexpr Gate kDraStatus[] = {kDynamicResourceAllocation, kDRAResourceClaimDeviceStatus};
constexpr Gate kDraPartitions[] = {kDynamicResourceAllocation, kDRAPartitionableDevices};
constexpr Gate kTaints[] = {kDRADeviceTaints};
constexpr Gate kCapacity[] = {kDRAConsumableCapacity};
constexpr Gate kDraDeclared[] = {kDynamicResourceAllocation, kNodeDeclaredFeatures};
constexpr Gate kPartitionStatus[] = {kDynamicResourceAllocation, kDRAPartitionableDevices,
                                     kDRAResourcePoolStatus};
constexpr Gate kDraWorkload[] = {kDynamicResourceAllocation, kGenericWorkload};
constexpr Gate kWorkload[] = {kGenericWorkload};
constexpr Gate kWorkloadTopology[] = {kGenericWorkload, kTopologyAwareWorkloadScheduling};
constexpr Gate kHealth[] = {kResourceHealthStatus};

// DRAFractionalCapacityRange is on only for components that need not work with 1.36, which is not
// the default.
constexpr GateInfo kGates[] = {
    {kCompositePodGroup, "CompositePodGroup", kAlpha, false, false, kWorkloadTopology},
    {kDRAAdminAccess, "DRAAdminAccess", kGA, true, true, kDra},
    {kDRAConsumableCapacity, "DRAConsumableCapacity", kBeta, true, false, kDra},
    {kDRADerivedAttributes, "DRADerivedAttributes", kAlpha, false, false, kDra},
    {kDRADeviceBindingConditions, "DRADeviceBindingConditions", kBeta, true, false, kDraStatus},
    {kDRADeviceCompatibilityGroups, "DRADeviceCompatibilityGroups", kAlpha, false, false,
     kDraPartitions},
    {kDRADeviceTaintRules, "DRADeviceTaintRules", kGA, true, false, kTaints},
    {kDRADeviceTaints, "DRADeviceTaints", kGA, true, false, kDra},
    {kDRAExtendedResource, "DRAExtendedResource", kGA, true, true, kDra},
    {kDRAFractionalCapacityRange, "DRAFractionalCapacityRange", kBeta, false, false, kCapacity},
    {kDRAListTypeAttributes, "DRAListTypeAttributes", kAlpha, false, false, kDra},
    {kDRANodeAllocatableResources, "DRANodeAllocatableResources", kAlpha, false, false, kDra},
    {kDRAOptionalNodeOperations, "DRAOptionalNodeOperations", kAlpha, false, false, kDraDeclared},
    {kDRAPartitionableDevices, "DRAPartitionableDevices", kBeta, true, false, kDra},
    {kDRAPartitionableDevicesType, "DRAPartitionableDevicesType", kAlpha, false, false,
     kPartitionStatus},
    {kDRAPrioritizedList, "DRAPrioritizedList", kGA, true, true, kDra},
    {kDRAResourceClaimDeviceStatus, "DRAResourceClaimDeviceStatus", kGA, true, true, {}},
    {kDRAResourceClaimGranularStatusAuthorization, "DRAResourceClaimGranularStatusAuthorization",
     kBeta, true, false, kDraStatus},
    {kDRAResourcePoolStatus, "DRAResourcePoolStatus", kAlpha, false, false, kDra},
    {kDRASchedulerFilterTimeout, "DRASchedulerFilterTimeout", kBeta, true, false, kDra},
    {kDRAWorkloadResourceClaims, "DRAWorkloadResourceClaims", kBeta, false, false, kDraWorkload},
    {kDynamicResourceAllocation, "DynamicResourceAllocation", kGA, true, true, {}},
    {kEvictionRequestAPI, "EvictionRequestAPI", kAlpha, false, false, {}},
    {kGenericWorkload, "GenericWorkload", kBeta, false, false, {}},
    {kKubeletPodResourcesDynamicResources,
     "KubeletPodResourcesDynamicResources",
     kGA,
     true,
     true,
     {}},
    {kKubeletPodResourcesGet, "KubeletPodResourcesGet", kGA, true, true, {}},
    {kNodeDeclaredFeatures, "NodeDeclaredFeatures", kGA, true, true, {}},
    {kPodGroupPreemptionPolicy, "PodGroupPreemptionPolicy", kAlpha, false, false, kWorkload},
    {kResourceHealthStatus, "ResourceHealthStatus", kBeta, true, false, kDra},
    {kResourceHealthStatusMessage, "ResourceHealthStatusMessage", kBeta, true, false, kHealth},
    {kSchedulerPreQueueingHints, "SchedulerPreQueueingHints", kAlpha, false, false, {}},
    {kTopologyAwareWorkloadScheduling, "TopologyAwareWorkloadScheduling", kAlpha, false, false,
     kWorkload},
};
static_assert(std::size(kGates) == static_cast<std::size_t>(kCount) - 1);

// How a gate was up to and including 1.`until`; rows of one gate by rising version. What does not
// stand here was as it is in 1.37.
struct GateSpec {
  Stage stage = kAlpha;
  bool default_on = false;
  bool locked = false;
  bool exists = true;
};
struct Past {
  Gate gate;
  int until;
  GateSpec spec;
};
constexpr GateSpec kMissing = {.exists = false};
constexpr GateSpec kAlphaOff = {.stage = kAlpha, .default_on = false};
constexpr GateSpec kBetaOff = {.stage = kBeta, .default_on = false};
constexpr GateSpec kBetaOn = {.stage = kBeta, .default_on = true};
constexpr GateSpec kGAOn = {.stage = kGA, .default_on = true};
constexpr Past kPast[] = {
    {kCompositePodGroup, 36, kMissing},
    {kDRAAdminAccess, 35, kBetaOn},
    {kDRAConsumableCapacity, 35, kAlphaOff},
    {kDRADerivedAttributes, 36, kMissing},
    {kDRADeviceBindingConditions, 35, kAlphaOff},
    {kDRADeviceCompatibilityGroups, 36, kMissing},
    {kDRADeviceTaintRules, 34, kMissing},
    {kDRADeviceTaintRules, 35, kAlphaOff},
    {kDRADeviceTaintRules, 36, kBetaOff},
    {kDRADeviceTaints, 35, kAlphaOff},
    {kDRADeviceTaints, 36, kBetaOn},
    {kDRAExtendedResource, 35, kAlphaOff},
    {kDRAExtendedResource, 36, kBetaOn},
    {kDRAFractionalCapacityRange, 36, kMissing},
    {kDRAListTypeAttributes, 35, kMissing},
    {kDRANodeAllocatableResources, 35, kMissing},
    {kDRAOptionalNodeOperations, 36, kMissing},
    {kDRAPartitionableDevices, 35, kAlphaOff},
    {kDRAPartitionableDevicesType, 36, kMissing},
    {kDRAPrioritizedList, 35, kBetaOn},
    {kDRAPrioritizedList, 36, kGAOn},
    {kDRAResourceClaimDeviceStatus, 36, kBetaOn},
    {kDRAResourceClaimGranularStatusAuthorization, 35, kMissing},
    {kDRAResourcePoolStatus, 35, kMissing},
    {kDRAWorkloadResourceClaims, 35, kMissing},
    {kDRAWorkloadResourceClaims, 36, kAlphaOff},
    {kDynamicResourceAllocation, 34, kGAOn},
    {kEvictionRequestAPI, 36, kMissing},
    {kGenericWorkload, 34, kMissing},
    {kGenericWorkload, 36, kAlphaOff},
    {kKubeletPodResourcesDynamicResources, 35, kBetaOn},
    {kKubeletPodResourcesGet, 35, kBetaOn},
    {kNodeDeclaredFeatures, 34, kMissing},
    {kNodeDeclaredFeatures, 35, kAlphaOff},
    {kNodeDeclaredFeatures, 36, kBetaOn},
    {kPodGroupPreemptionPolicy, 36, kMissing},
    {kResourceHealthStatus, 35, kAlphaOff},
    {kResourceHealthStatusMessage, 35, kMissing},
    {kSchedulerPreQueueingHints, 36, kMissing},
    {kTopologyAwareWorkloadScheduling, 35, kMissing},
};

struct Assignment {
  std::string_view name;
  bool on = false;
};

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

// Go's strconv.ParseBool.
Result<bool> ParseBool(std::string_view name, std::string_view text) {
  static constexpr std::string_view kTrue[] = {"1", "t", "T", "true", "TRUE", "True"};
  static constexpr std::string_view kFalse[] = {"0", "f", "F", "false", "FALSE", "False"};
  if (std::ranges::find(kTrue, text) != std::end(kTrue)) return true;
  if (std::ranges::find(kFalse, text) != std::end(kFalse)) return false;
  return BadInput(
      fmt::format("invalid value of {}={}, err: strconv.ParseBool: parsing \"{}\": invalid syntax",
                  name, text, text));
}

// A later assignment of the same name replaces the earlier one, as in upstream's map.
Result<std::vector<Assignment>> ParseAssignments(std::string_view text) {
  std::vector<Assignment> assignments;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
    if (part.empty()) continue;
    const std::size_t equals = part.find('=');
    const std::string_view name = Trim(part.substr(0, equals));
    if (equals == std::string_view::npos) {
      return BadInput(fmt::format("missing bool value for {}", name));
    }
    DRA_ASSIGN(const bool on, ParseBool(name, Trim(part.substr(equals + 1))));
    std::erase_if(assignments, [name](const Assignment& a) { return a.name == name; });
    assignments.push_back({name, on});
  }
  return assignments;
}

std::size_t Bit(Gate gate) { return static_cast<std::size_t>(gate); }

GateSpec SpecOf(const GateInfo& info, int minor) {
  for (const Past& past : kPast) {
    if (past.gate == info.gate && minor <= past.until) return past.spec;
  }
  return {.stage = info.stage, .default_on = info.default_on, .locked = info.locked};
}

// `next` with the assignments in 1.`minor`. ERRORS: as FeatureGates::Set.
Result<FeatureGates> Assigned(FeatureGates next, int minor, std::string_view text) {
  DRA_ASSIGN(const std::vector<Assignment> assignments, ParseAssignments(text));
  std::vector<std::string> errors;
  // Groups first: what is named by itself is not touched by them.
  for (const auto& [group, stage] : {std::pair("AllAlpha", kAlpha), std::pair("AllBeta", kBeta)}) {
    const auto found = std::ranges::find(assignments, std::string_view(group), &Assignment::name);
    if (found == assignments.end()) continue;
    for (const GateInfo& info : kGates) {
      const GateSpec spec = SpecOf(info, minor);
      if (spec.exists && spec.stage == stage) next.Set(info.gate, found->on);
    }
  }
  for (const Assignment& assignment : assignments) {
    if (assignment.name == "AllAlpha" || assignment.name == "AllBeta") continue;
    const auto info = std::ranges::find(kGates, assignment.name, &GateInfo::name);
    if (info == std::end(kGates)) {
      return BadInput(fmt::format("unrecognized feature gate: {}", assignment.name));
    }
    const GateSpec spec = SpecOf(*info, minor);
    if (spec.locked && spec.default_on != assignment.on) {
      errors.push_back(fmt::format("cannot set feature gate {} to {}, feature is locked to {}",
                                   info->name, assignment.on, spec.default_on));
      continue;
    }
    if (!spec.exists && assignment.on) {
      errors.push_back(fmt::format(
          "cannot set feature gate {} to {}, feature is PreAlpha at emulated version 1.{}",
          info->name, assignment.on, minor));
      continue;
    }
    next.Set(info->gate, assignment.on);
  }
  if (errors.empty()) {
    for (const GateInfo& info : kGates) {
      if (!next.On(info.gate)) continue;
      std::vector<std::string_view> off;
      for (const Gate gate : info.dependencies) {
        if (!next.On(gate)) off.push_back(InfoOf(gate).name);
      }
      if (off.empty()) continue;
      errors.push_back(fmt::format("{} is enabled, but depends on features that are disabled: [{}]",
                                   info.name, fmt::join(off, " ")));
    }
  }
  // As apimachinery's aggregate: one error stands alone, several in brackets.
  if (errors.size() == 1) return BadInput(errors.front());
  if (!errors.empty()) return BadInput(fmt::format("[{}]", fmt::join(errors, ", ")));
  return next;
}

}  // namespace

std::span<const GateInfo> AllGates() { return kGates; }

const GateInfo& InfoOf(Gate gate) {
  DRA_CHECK(gate != kNone && gate != kCount);
  const GateInfo& info = kGates[Bit(gate) - 1];
  DRA_CHECK(info.gate == gate);
  return info;
}

FeatureGates::FeatureGates() {
  for (const GateInfo& info : kGates) Set(info.gate, info.default_on);
}

void FeatureGates::Set(Gate gate, bool on) { on_.set(Bit(gate), on); }

bool FeatureGates::On(Gate gate) const { return gate == kNone || on_.test(Bit(gate)); }

Status FeatureGates::Set(std::string_view text) {
  DRA_ASSIGN(*this, Assigned(*this, kMinorMax, text));
  return {};
}

Result<FeatureGates> EmulatedGates(int minor, std::string_view assignments) {
  DRA_CHECK(minor >= kMinorMin && minor <= kMinorMax);
  FeatureGates gates;
  for (const GateInfo& info : kGates) gates.Set(info.gate, SpecOf(info, minor).default_on);
  return Assigned(std::move(gates), minor, assignments);
}

}  // namespace drachma::api
