#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"
#include "json/value.h"
#include "num/quantity.h"

namespace drachma::validation {

// The opaque parameters of the GPU drivers (resource.nvidia.com/v1beta1) in claims and classes:
// what users write there, what it means, what is refused.

inline constexpr std::string_view kGpuConfigApiVersion = "resource.nvidia.com/v1beta1";
inline constexpr std::string_view kGpuDriver = "gpu.nvidia.com";
inline constexpr std::string_view kComputeDomainDriver = "compute-domain.nvidia.com";

struct TimeSlicing {
  // "Default", "Short", "Medium" or "Long" once valid; unset until normalised.
  std::optional<std::string> interval;
};

// The settings of an MPS control daemon.
struct Mps {
  std::optional<std::int64_t> default_active_thread_percentage;
  std::optional<Quantity> default_pinned_device_memory_limit;
  // By GPU UUID, or by index into the sorted UUIDs of the claim.
  std::map<std::string, Quantity> default_per_device_pinned_memory_limit;
  bool multi_user = false;
};

struct Sharing {
  std::string strategy;  // "TimeSlicing" or "MPS" once valid
  std::optional<TimeSlicing> time_slicing;
  std::optional<Mps> mps;
};

struct GpuConfig {
  std::optional<Sharing> sharing;
};
struct MigDeviceConfig {
  std::optional<Sharing> sharing;  // never has time_slicing
};
struct VfioDeviceConfig {
  std::string backend_policy;  // "LegacyOnly" or "PreferIommuFD" once valid
  bool enable_api_device = false;
};
struct ComputeDomainChannelConfig {
  std::string domain_id;
  std::string allocation_mode;  // "Single" or "All" once valid
};
struct ComputeDomainDaemonConfig {
  std::string domain_id;
};

using GpuOpaqueConfig = std::variant<GpuConfig, MigDeviceConfig, VfioDeviceConfig,
                                     ComputeDomainChannelConfig, ComputeDomainDaemonConfig>;

// Strict refuses fields that are not known (what users write); lenient ignores them (what a newer
// version of the driver left behind).
enum class Decoding : std::uint8_t { kStrict, kLenient };

// Whether a feature gate of the driver is on ("TimeSlicingSettings", "MPSSupport",
// "PassthroughSupport"). Unset: all are off.
using DriverGates = std::function<bool(std::string_view gate)>;

// ERRORS: kBadRequest: no kind, an unknown one, a field of the wrong type or, strictly, an unknown
// field ("strict decoding error: unknown field \"sharing.x\"").
[[nodiscard]] Result<GpuOpaqueConfig> DecodeGpuConfig(const json::Value& parameters,
                                                      Decoding decoding);
// The name of the kind that it holds.
[[nodiscard]] std::string_view KindOf(const GpuOpaqueConfig& config);
// Fills in what was left out: interval Default, backend policy LegacyOnly, allocation mode Single.
void Normalize(GpuOpaqueConfig& config);
// Of a normalised config. ERRORS: kInvalid with the driver's words, which tell a strategy that is
// switched off from one that does not exist.
[[nodiscard]] Status Validate(const GpuOpaqueConfig& config, const DriverGates& enabled);
// The three steps in one.
[[nodiscard]] Result<GpuOpaqueConfig> ReadGpuConfig(const json::Value& parameters,
                                                    Decoding decoding, const DriverGates& enabled);

// The limits that an MPS control daemon gets for the GPUs `uuids` (sorted): "<n>M" by UUID.
// ERRORS: kInvalid: a limit below 1Mi, a key that is neither one of the UUIDs nor an index.
[[nodiscard]] Result<std::map<std::string, std::string>> PinnedMemoryLimits(
    const Mps& mps, std::span<const std::string> uuids);

// What the drivers' admission says of a ResourceClaim, ResourceClaimTemplate or DeviceClass (in
// the shape of v1, v1beta2 or v1beta1: the configs lie in the same place). Faults of several
// configs are one answer. ERRORS: kInvalid.
[[nodiscard]] Status CheckGpuConfigs(std::string_view kind, const json::Value& object,
                                     const DriverGates& enabled);

}  // namespace drachma::validation
