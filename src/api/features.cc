#include "api/features.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

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
    {kResourceHealthStatus, "ResourceHealthStatus", kBeta, true, false, kDra},
    {kResourceHealthStatusMessage, "ResourceHealthStatusMessage", kBeta, true, false, kHealth},
    {kSchedulerPreQueueingHints, "SchedulerPreQueueingHints", kAlpha, false, false, {}},
    {kTopologyAwareWorkloadScheduling, "TopologyAwareWorkloadScheduling", kAlpha, false, false,
     kWorkload},
};
static_assert(std::size(kGates) == static_cast<std::size_t>(kCount) - 1);

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
  DRA_ASSIGN(const std::vector<Assignment> assignments, ParseAssignments(text));
  FeatureGates next = *this;
  std::vector<std::string> errors;
  // Groups first: what is named by itself is not touched by them.
  for (const auto& [group, stage] : {std::pair("AllAlpha", kAlpha), std::pair("AllBeta", kBeta)}) {
    const auto found = std::ranges::find(assignments, std::string_view(group), &Assignment::name);
    if (found == assignments.end()) continue;
    for (const GateInfo& info : kGates) {
      if (info.stage == stage) next.Set(info.gate, found->on);
    }
  }
  for (const Assignment& assignment : assignments) {
    if (assignment.name == "AllAlpha" || assignment.name == "AllBeta") continue;
    const auto info = std::ranges::find(kGates, assignment.name, &GateInfo::name);
    if (info == std::end(kGates)) {
      return BadInput(fmt::format("unrecognized feature gate: {}", assignment.name));
    }
    if (info->locked && info->default_on != assignment.on) {
      errors.push_back(fmt::format("cannot set feature gate {} to {}, feature is locked to {}",
                                   info->name, assignment.on, info->default_on));
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
  *this = next;
  return {};
}

}  // namespace drachma::api
