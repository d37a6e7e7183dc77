#include <algorithm>
#include <array>

#include "allocator/options.h"

namespace drachma::allocator {
namespace {

struct Name {
  std::string_view name;  // of the gate, which is also the oracle's name
  bool Features::* feature;
};

constexpr auto kNames = std::to_array<Name>({
    {"DRAAdminAccess", &Features::admin_access},
    {"DRADeviceBindingConditions+DRAResourceClaimDeviceStatus", &Features::binding_conditions},
    {"DRADeviceCompatibilityGroups", &Features::compatibility_groups},
    {"DRAConsumableCapacity", &Features::consumable_capacity},
    {"DRADerivedAttributes", &Features::derived_attributes},
    {"DRADeviceTaints", &Features::device_taints},
    {"DRADeviceTaintRules", &Features::device_taint_rules},
    {"DRAFractionalCapacityRange", &Features::fractional_capacity_range},
    {"DRAListTypeAttributes", &Features::list_type_attributes},
    {"DRAOptionalNodeOperations", &Features::optional_node_operations},
    {"DRAPartitionableDevices", &Features::partitionable_devices},
    {"DRAPrioritizedList", &Features::prioritized_list},
});

}  // namespace

Features Features::Named(const std::vector<std::string>& names) {
  Features features;
  for (const Name& entry : kNames) {
    features.*entry.feature = std::ranges::find(names, entry.name) != names.end();
  }
  return features;
}

Features Features::FromGates(const std::map<std::string, bool>& gates) {
  Features features;
  const auto gate = [&](std::string_view name, bool fallback) {
    const auto found = gates.find(std::string(name));
    return found == gates.end() ? fallback : found->second;
  };
  for (const Name& entry : kNames) {
    features.*entry.feature = gate(entry.name, features.*entry.feature);
  }
  // Two gates make one feature of the allocator.
  features.binding_conditions =
      gate("DRADeviceBindingConditions", true) && gate("DRAResourceClaimDeviceStatus", true);
  return features;
}

}  // namespace drachma::allocator
