#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "node/dra_plugin.h"

namespace drachma::node {

// dra-health/v1's HealthStatus.
enum class Health : std::uint8_t { kUnknown, kHealthy, kUnhealthy };

// What a kubelet shows in the status of the pods that have the device.
struct DeviceHealth {
  std::string pool;
  std::string device;
  Health health = Health::kHealthy;
  std::string message;  // the taints that say so: "gpu.nvidia.com/xid=79"

  friend bool operator==(const DeviceHealth&, const DeviceHealth&) = default;
};

// The health of every device of `pools`, as the driver's own taints tell it: one that keeps pods
// away (NoSchedule, NoExecute) is a fault, one without an effect a remark. The taint
// "DRIVER/unmonitored" says that nothing is known.
[[nodiscard]] std::vector<DeviceHealth> HealthOf(std::string_view driver,
                                                 std::span<const Pool> pools);

}  // namespace drachma::node
