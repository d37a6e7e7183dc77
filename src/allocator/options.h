#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace drachma::allocator {

// Upstream's allocator features (structured/internal/types.go), with the state that Kubernetes
// 1.37's default gates give them.
struct Features {
  bool admin_access = true;
  bool binding_conditions = true;  // DRADeviceBindingConditions+DRAResourceClaimDeviceStatus
  bool compatibility_groups = false;
  bool consumable_capacity = true;
  bool derived_attributes = false;
  bool device_taints = true;
  bool device_taint_rules = true;  // DRADeviceTaintRules: rules reach the devices' taints
  bool fractional_capacity_range = false;
  bool list_type_attributes = false;
  bool optional_node_operations = false;
  bool partitionable_devices = true;
  bool prioritized_list = true;

  // Exactly the features named, as the allocator oracle names them; unknown names are ignored.
  [[nodiscard]] static Features Named(const std::vector<std::string>& names);
  // 1.37's defaults changed by feature gates ("DRAConsumableCapacity" -> false).
  [[nodiscard]] static Features FromGates(const std::map<std::string, bool>& gates);

  friend bool operator==(const Features&, const Features&) = default;
};

// kFirstFit takes upstream's first solution. kBestFit prefers, in this order: whole constraint
// groups, large partitions that stay possible, the least slack, upstream's order.
enum class DeviceOrder : std::uint8_t { kFirstFit, kBestFit };

// A selector that fails at run time on a device: kFail ends the attempt (upstream), kSkip makes the
// device one that does not match and reports a SelectorFault.
enum class SelectorErrors : std::uint8_t { kFail, kSkip };

// Steps after which a search gives up with Failure::Scope::kLimit, a second or a few; a step with
// counting weighs as many. Inputs that need so many are not known from practice.
inline constexpr std::uint64_t kWorkMax = 5'000'000;
// resource.k8s.io's AllocationResultsMaxSize.
inline constexpr int kResultsMax = 32;

struct Options {
  Features features;
  DeviceOrder order = DeviceOrder::kFirstFit;
  SelectorErrors selector_errors = SelectorErrors::kFail;
  std::uint64_t work_max = kWorkMax;
};

}  // namespace drachma::allocator
