#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace drachma::gpu {

// The engines of a GPU or a part of it, in the order of kEngineCapacities.
using Engines = std::array<int, 6>;
// Names of the engines as device capacities, and as counters.
inline constexpr std::array<std::string_view, 6> kEngineCapacities = {
    "multiprocessors", "copyEngines", "decoders", "encoders", "jpegEngines", "ofaEngines"};
inline constexpr std::array<std::string_view, 6> kEngineCounters = {
    "multiprocessors", "copy-engines", "decoders", "encoders", "jpeg-engines", "ofa-engines"};

// A way to cut a part out of a GPU (an NVML GPU instance profile, with one compute instance that
// fills it).
struct MigProfile {
  std::string_view name;  // "1g.10gb+me"
  int id = 0;             // GPU instance profile id
  int slices = 0;         // memory slices of one placement
  int placements = 0;     // placement i starts at slice i * slices
  int instances_max = 0;  // at once on an empty GPU
  std::int64_t memory_mib = 0;
  Engines engines = {};
};

// A GPU model of the built-in catalogue.
struct Model {
  std::string_view key;      // "H100-80GB", as fleets name it
  std::string_view product;  // NVML's product name
  std::string_view architecture;
  std::string_view compute_capability;  // as a semantic version
  std::int64_t memory_mib = 0;          // total memory as NVML reports it
  int memory_slices = 0;                // 0 without MIG
  bool mig_needs_reset = false;         // Ampere: MIG is switched on by hand
  std::span<const MigProfile> profiles;
};

[[nodiscard]] std::span<const Model> Models();
// Null when no model has that key.
[[nodiscard]] const Model* FindModel(std::string_view key);

}  // namespace drachma::gpu
