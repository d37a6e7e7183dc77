#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"
#include "validation/gpu_config.h"

namespace drachma::gpu {

enum class DeviceType : std::uint8_t { kGpu, kMig, kChannel, kDaemon };
// The attribute "type": "gpu", "mig", "channel", "daemon".
[[nodiscard]] std::string_view NameOf(DeviceType type);

// A device that a claim got.
struct ClaimedDevice {
  std::string request;  // of the allocation result: "gpu", or "gpu/small" of a prioritized list
  std::string name;
  DeviceType type = DeviceType::kGpu;
};

// Devices that one config decides on. They are set up together: one MPS daemon serves them all.
struct ConfigGroup {
  validation::GpuOpaqueConfig config;  // normalised and valid
  std::vector<std::size_t> devices;    // places in what GroupsOf was given, ascending
};

// Which config each of `devices`, all of `driver`, gets from `allocation` (status.allocation of a
// claim): the last one that applies, those of the claim after those of the class; whole, never
// merged; none of them: the driver's default, which shares nothing and belongs to no domain. One
// that names requests applies to these (also by the name of the request that a subrequest belongs
// to); one that names none applies to all devices of its kind. The NVIDIA drivers' rules. ERRORS:
// kBadRequest, kInvalid: a config that cannot be read or is refused, or is of the wrong kind for a
// device whose request it names.
[[nodiscard]] Result<std::vector<ConfigGroup>> GroupsOf(std::string_view driver,
                                                        const json::Value& allocation,
                                                        std::span<const ClaimedDevice> devices);

}  // namespace drachma::gpu
