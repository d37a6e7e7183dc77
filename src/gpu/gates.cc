#include "gpu/gates.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace drachma::gpu {

std::span<const Gate> Gates() {
  static const std::vector<Gate> gates = {
      {.name = "TimeSlicingSettings", .simulated = true},
      {.name = "MPSSupport", .simulated = true},
      {.name = "IMEXDaemonsWithDNSNames", .enabled = true, .simulated = true},
      {.name = "PassthroughSupport", .excludes = {"NVMLDeviceHealthCheck"}},
      {.name = "DynamicMIG",
       .simulated = true,
       .excludes = {"PassthroughSupport", "NVMLDeviceHealthCheck", "MPSSupport"}},
      {.name = "NVMLDeviceHealthCheck", .simulated = true},
      {.name = "ComputeDomainCliques",
       .enabled = true,
       .simulated = true,
       .needs = "IMEXDaemonsWithDNSNames"},
      {.name = "CrashOnNVLinkFabricErrors", .enabled = true, .simulated = true},
      {.name = "DeviceMetadata", .needs = "PassthroughSupport"},
      {.name = "DRAListTypeAttributes", .simulated = true},
      {.name = "FabricManagerPartitioning"},
      {.name = "HostManagedIMEXDaemon"},
      {.name = "ConsumableShares", .simulated = true},
  };
  return gates;
}

Status CheckGates(std::span<const std::string> on) {
  const auto is_on = [&](std::string_view name) {
    const auto gate = std::ranges::find(Gates(), name, &Gate::name);
    return gate->enabled || std::ranges::find(on, name) != on.end();
  };
  for (const std::string& name : on) {
    const auto gate = std::ranges::find(Gates(), name, &Gate::name);
    if (gate == Gates().end()) {
      std::vector<std::string_view> names;
      for (const Gate& known : Gates()) names.push_back(known.name);
      return Fail(Code::kInvalid,
                  fmt::format("unknown gate \"{}\"; known are {}", name, fmt::join(names, ", ")));
    }
    if (!gate->needs.empty() && !is_on(gate->needs)) {
      return Fail(Code::kInvalid, fmt::format("{} needs {}", name, gate->needs));
    }
    for (const std::string_view other : gate->excludes) {
      if (is_on(other)) return Fail(Code::kInvalid, fmt::format("{} excludes {}", name, other));
    }
    if (!gate->simulated) {
      return Fail(Code::kInvalid, fmt::format("{} is not simulated", name));
    }
  }
  return {};
}

}  // namespace drachma::gpu
