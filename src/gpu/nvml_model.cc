#include "gpu/nvml_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace drachma::gpu {
namespace {

constexpr std::int64_t kBytesPerMib = 1024 * 1024;

// Names of NVML_DEVICE_ARCH_*, from 2 on.
constexpr std::string_view kArchitectures[] = {"Kepler",       "Maxwell", "Pascal",
                                               "Volta",        "Turing",  "Ampere",
                                               "Ada Lovelace", "Hopper",  "Blackwell"};
constexpr unsigned int kFirstArchitecture = 2;

std::string_view ArchitectureName(unsigned int architecture) {
  const unsigned int place = architecture - kFirstArchitecture;
  return place < std::size(kArchitectures) ? kArchitectures[place] : "Unknown";
}

// "1g.10gb+me" of "MIG 1g.10gb+me".
std::string ProfileName(std::string_view name) {
  constexpr std::string_view kPrefix = "MIG ";
  if (name.starts_with(kPrefix)) name.remove_prefix(kPrefix.size());
  return std::string(name);
}

// The placements of a profile, as many as there are. ERRORS: NVML's.
Result<std::vector<nvmlGpuInstancePlacement_t>> PlacementsOf(const NvmlLibrary& nvml,
                                                             nvmlDevice_t device,
                                                             unsigned int profile) {
  constexpr std::string_view kDoing = "reading the placements of a MIG profile";
  unsigned int count = 0;
  DRA_TRY(NvmlLibrary::Check(
      nvml.DeviceGetGpuInstancePossiblePlacements_v2(device, profile, nullptr, &count), kDoing));
  std::vector<nvmlGpuInstancePlacement_t> placements(count);
  DRA_TRY(NvmlLibrary::Check(
      nvml.DeviceGetGpuInstancePossiblePlacements_v2(device, profile, placements.data(), &count),
      kDoing));
  placements.resize(count);
  std::ranges::sort(placements, {}, &nvmlGpuInstancePlacement_t::start);
  return placements;
}

// Placement i starts at slice i * size on all boards that are known.
bool IsRegular(const std::vector<nvmlGpuInstancePlacement_t>& placements) {
  for (std::size_t i = 0; i < placements.size(); ++i) {
    if (placements[i].size != placements[0].size || placements[i].start != i * placements[i].size) {
      return false;
    }
  }
  return !placements.empty();
}

Status ReadProfile(const NvmlLibrary& nvml, nvmlDevice_t device,
                   const nvmlGpuInstanceProfileInfo_v2_t& info, OwnedModel& owned) {
  DRA_ASSIGN(const auto placements, PlacementsOf(nvml, device, info.id));
  std::string name = ProfileName(info.name);
  if (!IsRegular(placements)) {
    Log(LogLevel::kWarning, "gpu", "MIG profile {} has placements that are not known here", name);
    return {};
  }
  const int slices = static_cast<int>(placements[0].size);
  const int count = static_cast<int>(placements.size());
  owned.model.memory_slices = std::max(owned.model.memory_slices, slices);
  owned.profiles.push_back(
      {.name = owned.Keep(std::move(name)),
       .id = static_cast<int>(info.id),
       .slices = slices,
       .placements = count,
       .instances_max = static_cast<int>(info.instanceCount),
       .memory_mib = static_cast<std::int64_t>(info.memorySizeMB),
       .engines = {static_cast<int>(info.multiprocessorCount),
                   static_cast<int>(info.copyEngineCount), static_cast<int>(info.decoderCount),
                   static_cast<int>(info.encoderCount), static_cast<int>(info.jpegCount),
                   static_cast<int>(info.ofaCount)}});
  return {};
}

}  // namespace

Status ReadModel(const NvmlLibrary& nvml, nvmlDevice_t device, OwnedModel& owned) {
  DRA_ASSIGN(std::string product,
             NvmlText("reading a GPU's name", [&](char* text, unsigned int size) {
               return nvml.DeviceGetName(device, text, size);
             }));
  unsigned int architecture = 0;
  int major = 0;
  int minor = 0;
  nvmlMemory_t memory = {};
  DRA_TRY(NvmlLibrary::Check(nvml.DeviceGetArchitecture(device, &architecture),
                             "reading a GPU's architecture"));
  DRA_TRY(NvmlLibrary::Check(nvml.DeviceGetCudaComputeCapability(device, &major, &minor),
                             "reading a GPU's compute capability"));
  DRA_TRY(NvmlLibrary::Check(nvml.DeviceGetMemoryInfo(device, &memory), "reading a GPU's memory"));
  owned.model.key = owned.model.product = owned.Keep(std::move(product));
  owned.model.architecture = ArchitectureName(architecture);
  owned.model.compute_capability = owned.Keep(fmt::format("{}.{}.0", major, minor));
  owned.model.memory_mib = static_cast<std::int64_t>(memory.total) / kBytesPerMib;
  owned.model.mig_needs_reset = architecture == NVML_DEVICE_ARCH_AMPERE;
  for (unsigned int profile = 0; profile < NVML_GPU_INSTANCE_PROFILE_COUNT; ++profile) {
    nvmlGpuInstanceProfileInfo_v2_t info = {};
    info.version = NvmlVersion<nvmlGpuInstanceProfileInfo_v2_t>(2);
    if (nvml.DeviceGetGpuInstanceProfileInfoV(device, profile, &info) != NVML_SUCCESS) continue;
    DRA_TRY(ReadProfile(nvml, device, info, owned));
  }
  owned.model.profiles = owned.profiles;
  return {};
}

}  // namespace drachma::gpu
