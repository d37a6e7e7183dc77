// MIG through NVML: GPU instances, each with one compute instance that fills it.
#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "gpu/nvml_backend.h"

namespace drachma::gpu {
namespace {

// The instances that one of NVML's listing functions gives.
template <typename Handle, typename List>
std::vector<Handle> ListInstances(List list) {
  constexpr unsigned int kInstancesMax = 8;  // of a profile
  std::vector<Handle> handles(kInstancesMax);
  unsigned int count = kInstancesMax;
  if (list(handles.data(), &count) != NVML_SUCCESS) count = 0;
  handles.resize(count);
  return handles;
}

}  // namespace

// A GPU instance without its compute instance, as a crash leaves one behind, and one that was cut
// further have no UUID of the kind that containers can use: they are parts under a name of ours,
// which can be destroyed and are not published.
Status NvmlBackend::ReadInstances(Gpu& gpu) {
  for (const MigProfile& profile : gpu.board.model->profiles) {
    const auto id = static_cast<unsigned int>(profile.id);
    for (nvmlGpuInstance_t handle :
         ListInstances<nvmlGpuInstance_t>([&](nvmlGpuInstance_t* handles, unsigned int* count) {
           return nvml_->DeviceGetGpuInstances(gpu.handle, id, handles, count);
         })) {
      nvmlGpuInstanceInfo_t info = {};
      DRA_TRY(
          NvmlLibrary::Check(nvml_->GpuInstanceGetInfo(handle, &info), "reading a GPU instance"));
      gpu.instances.push_back({.handle = handle,
                               .id = info.id,
                               .part = {.uuid = fmt::format("instance-{}", info.id),
                                        .profile = profile.id,
                                        .start = static_cast<int>(info.placement.start)}});
    }
  }
  unsigned int most = 0;
  DRA_TRY(NvmlLibrary::Check(nvml_->DeviceGetMaxMigDeviceCount(gpu.handle, &most),
                             "counting MIG devices"));
  std::map<unsigned int, int> devices;  // of each GPU instance
  for (unsigned int i = 0; i < most; ++i) {
    nvmlDevice_t device = nullptr;
    unsigned int id = 0;
    unsigned int compute_id = 0;
    if (nvml_->DeviceGetMigDeviceHandleByIndex(gpu.handle, i, &device) != NVML_SUCCESS ||
        nvml_->DeviceGetGpuInstanceId(device, &id) != NVML_SUCCESS ||
        nvml_->DeviceGetComputeInstanceId(device, &compute_id) != NVML_SUCCESS) {
      continue;
    }
    DRA_ASSIGN(std::string uuid,
               NvmlText("reading a MIG device's UUID", [&](char* text, unsigned int size) {
                 return nvml_->DeviceGetUUID(device, text, size);
               }));
    const auto instance = std::ranges::find(gpu.instances, id, &Instance::id);
    if (instance == gpu.instances.end()) continue;
    const bool only = ++devices[id] == 1;
    instance->part.uuid = only ? std::move(uuid) : fmt::format("instance-{}", id);
    instance->compute_id = compute_id;
  }
  return {};
}

Status NvmlBackend::SetMigMode(int minor, bool enabled) {
  DRA_ASSIGN(Gpu* const gpu, Find(minor));
  const std::string doing =
      fmt::format("switching MIG {} on GPU {}", enabled ? "on" : "off", minor);
  unsigned int current = 0;
  unsigned int pending = 0;
  DRA_TRY(NvmlLibrary::Check(nvml_->DeviceGetMigMode(gpu->handle, &current, &pending), doing));
  const unsigned int wanted = enabled ? 1 : 0;
  if (current == wanted && pending == wanted) return {};
  nvmlReturn_t activation = NVML_SUCCESS;
  DRA_TRY(NvmlLibrary::Check(nvml_->DeviceSetMigMode(gpu->handle, wanted, &activation), doing));
  if (activation == NVML_SUCCESS) {
    gpu->board.mig_enabled = enabled;
    return {};
  }
  // A mode that waits for a reset would make the GPU useless at the next one: as it was.
  nvmlReturn_t ignored = NVML_SUCCESS;
  nvml_->DeviceSetMigMode(gpu->handle, current, &ignored);
  return NvmlLibrary::Check(activation, doing);
}

// Several profiles may fill an instance (7 slices have two), and not each GPU has each of them.
Status NvmlBackend::CreateCompute(nvmlGpuInstance_t instance, const MigProfile& profile) {
  unsigned int fullest = 0;
  std::vector<nvmlComputeInstanceProfileInfo_v2_t> infos;
  for (unsigned int i = 0; i < NVML_COMPUTE_INSTANCE_PROFILE_COUNT; ++i) {
    if (i == NVML_COMPUTE_INSTANCE_PROFILE_1_SLICE_REV1) continue;
    nvmlComputeInstanceProfileInfo_v2_t info = {};
    info.version = NvmlVersion<nvmlComputeInstanceProfileInfo_v2_t>(2);
    if (nvml_->GpuInstanceGetComputeInstanceProfileInfoV(instance, i, 0, &info) != NVML_SUCCESS) {
      continue;
    }
    fullest = std::max(fullest, info.sliceCount);
    infos.push_back(info);
  }
  const std::string doing = fmt::format("making the compute instance of a {}", profile.name);
  Status last = Fail(kNotSupported, doing + ": the GPU has no profile for it");
  for (const nvmlComputeInstanceProfileInfo_v2_t& info : infos) {
    if (info.sliceCount != fullest) continue;
    nvmlComputeInstance_t made = nullptr;
    last = NvmlLibrary::Check(nvml_->GpuInstanceCreateComputeInstance(instance, info.id, &made),
                              doing);
    if (last) break;
  }
  return last;
}

Status NvmlBackend::DestroyInstance(nvmlGpuInstance_t instance) {
  for (unsigned int i = 0; i < NVML_COMPUTE_INSTANCE_PROFILE_COUNT; ++i) {
    nvmlComputeInstanceProfileInfo_v2_t info = {};
    info.version = NvmlVersion<nvmlComputeInstanceProfileInfo_v2_t>(2);
    if (nvml_->GpuInstanceGetComputeInstanceProfileInfoV(instance, i, 0, &info) != NVML_SUCCESS) {
      continue;
    }
    for (nvmlComputeInstance_t compute : ListInstances<nvmlComputeInstance_t>(
             [&](nvmlComputeInstance_t* handles, unsigned int* count) {
               return nvml_->GpuInstanceGetComputeInstances(instance, info.id, handles, count);
             })) {
      DRA_TRY(NvmlLibrary::Check(nvml_->ComputeInstanceDestroy(compute),
                                 "destroying a compute instance"));
    }
  }
  return NvmlLibrary::Check(nvml_->GpuInstanceDestroy(instance), "destroying a GPU instance");
}

Result<std::string> NvmlBackend::CreatePart(int minor, const MigProfile& profile, int start) {
  DRA_ASSIGN(Gpu* const gpu, Find(minor));
  if (!gpu->board.mig_enabled) {
    return Fail(Code::kConflict, fmt::format("MIG is off on GPU {}", minor));
  }
  const nvmlGpuInstancePlacement_t placement = {.start = static_cast<unsigned int>(start),
                                                .size = static_cast<unsigned int>(profile.slices)};
  nvmlGpuInstance_t instance = nullptr;
  DRA_TRY(NvmlLibrary::Check(
      nvml_->DeviceCreateGpuInstanceWithPlacement(
          gpu->handle, static_cast<unsigned int>(profile.id), &placement, &instance),
      fmt::format("making a {} at slice {} of GPU {}", profile.name, start, minor)));
  Status made = CreateCompute(instance, profile);
  gpu->instances.clear();
  if (made) made = ReadInstances(*gpu);
  const auto part = std::ranges::find_if(gpu->instances, [&](const Instance& entry) {
    return entry.part.profile == profile.id && entry.part.start == start;
  });
  if (made && (part == gpu->instances.end() || !part->part.uuid.starts_with("MIG-"))) {
    made =
        Fail(Code::kUnavailable, fmt::format("the {} of GPU {} has no UUID", profile.name, minor));
  }
  if (made) return part->part.uuid;
  if (const Status undone = DestroyInstance(instance); !undone) {
    Log(LogLevel::kWarning, "gpu", "GPU {}: {}", minor, undone.error().message);
  }
  return std::unexpected(std::move(made.error()));
}

Status NvmlBackend::DestroyPart(int minor, const std::string& uuid) {
  DRA_ASSIGN(Gpu* const gpu, Find(minor));
  gpu->instances.clear();
  DRA_TRY(ReadInstances(*gpu));
  const auto instance = std::ranges::find_if(
      gpu->instances, [&](const Instance& entry) { return entry.part.uuid == uuid; });
  if (instance == gpu->instances.end()) {
    return Fail(Code::kNotFound, fmt::format("GPU {} has no part {}", minor, uuid));
  }
  DRA_TRY(DestroyInstance(instance->handle));
  gpu->instances.erase(instance);
  return {};
}

}  // namespace drachma::gpu
