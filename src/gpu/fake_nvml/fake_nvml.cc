// A libnvidia-ml.so.1 for tests: GPUs of the catalogue, with NVML's rules and error codes.
#include "gpu/fake_nvml/fake_nvml.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "gpu/catalogue.h"
#include "gpu/nvml_abi.h"

using drachma::gpu::MigProfile;
using drachma::gpu::Model;

struct nvmlComputeInstance_st {
  nvmlGpuInstance_t instance;
  unsigned int id;
  unsigned int profile;
};

struct nvmlGpuInstance_st {
  nvmlDevice_t device;
  unsigned int id;
  const MigProfile* profile;
  nvmlGpuInstancePlacement_t placement;
  std::vector<std::unique_ptr<nvmlComputeInstance_st>> computes;
};

// A GPU, or the handle of a MIG device.
struct nvmlDevice_st {
  int index = 0;
  const Model* model = nullptr;
  bool mig = false;
  int facts[kFakeFactCount] = {};
  std::vector<std::unique_ptr<nvmlGpuInstance_st>> instances;
  unsigned int next_instance = 1;
  nvmlComputeInstance_t compute = nullptr;  // of a MIG device
};

struct nvmlEventSet_st {};

namespace {

constexpr nvmlReturn_t kUninitialized = 1;

struct Machine {
  std::mutex mutex;
  std::condition_variable heard;
  bool started = false;
  std::vector<std::unique_ptr<nvmlDevice_st>> gpus;
  std::deque<nvmlDevice_st> mig_devices;  // handles that were given out
  std::deque<nvmlEventData_t> events;
  int changes = 0;
  nvmlEventSet_st set;
};

Machine& machine() {
  static Machine instance;
  return instance;
}

bool IsGpu(nvmlDevice_t device) { return device->compute == nullptr; }
bool Is(nvmlDevice_t device, FakeNvmlFact fact) { return device->facts[fact] > 0; }

nvmlReturn_t CopyText(const char* from, char* to, unsigned int size) {
  if (std::strlen(from) >= size) return NVML_ERROR_INSUFFICIENT_SIZE;
  std::strcpy(to, from);
  return NVML_SUCCESS;
}

int ComputeSlices(const MigProfile& profile) { return std::atoi(profile.name.data()); }

// Slices of NVML_COMPUTE_INSTANCE_PROFILE_*.
constexpr int kComputeSlices[] = {1, 2, 3, 4, 7, 8, 6, 1, 7};

bool HasComputeProfile(nvmlGpuInstance_t instance, unsigned int profile) {
  // The second profile of 7 slices came with Hopper.
  if (profile == 8 && instance->device->model->mig_needs_reset) return false;
  return profile < NVML_COMPUTE_INSTANCE_PROFILE_COUNT &&
         kComputeSlices[profile] <= ComputeSlices(*instance->profile);
}

const MigProfile* ProfileById(nvmlDevice_t device, unsigned int id) {
  const auto found =
      std::ranges::find(device->model->profiles, static_cast<int>(id), &MigProfile::id);
  return found == device->model->profiles.end() ? nullptr : &*found;
}

using Lock = std::lock_guard<std::mutex>;

}  // namespace

extern "C" {

void fakeNvmlSetUp(const char* model, int count) {
  const Lock lock(machine().mutex);
  machine().gpus.clear();
  machine().mig_devices.clear();
  machine().events.clear();
  machine().changes = 0;
  for (int i = 0; i < count; ++i) {
    auto gpu = std::make_unique<nvmlDevice_st>();
    gpu->index = i;
    gpu->model = drachma::gpu::FindModel(model);
    machine().gpus.push_back(std::move(gpu));
  }
}

void fakeNvmlRaiseXid(int gpu, int xid, unsigned int instance) {
  const Lock lock(machine().mutex);
  machine().events.push_back({.device = machine().gpus.at(static_cast<std::size_t>(gpu)).get(),
                              .eventType = 0x8,
                              .eventData = static_cast<unsigned long long>(xid),
                              .gpuInstanceId = instance,
                              .computeInstanceId = 0xFFFFFFFF});
  machine().heard.notify_all();
}

void fakeNvmlSetFact(int gpu, int fact, int value) {
  const Lock lock(machine().mutex);
  machine().gpus.at(static_cast<std::size_t>(gpu))->facts[fact] = value;
}

int fakeNvmlGetFact(int gpu, int fact) {
  const Lock lock(machine().mutex);
  return machine().gpus.at(static_cast<std::size_t>(gpu))->facts[fact];
}

int fakeNvmlChanges() {
  const Lock lock(machine().mutex);
  return machine().changes;
}

nvmlReturn_t nvmlInit_v2() {
  machine().started = true;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlShutdown() {
  machine().started = false;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlSystemGetDriverVersion(char* text, unsigned int size) {
  return CopyText("535.54.03", text, size);
}
nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int* version) {
  *version = 12020;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int* count) {
  const Lock lock(machine().mutex);
  if (!machine().started) return kUninitialized;
  *count = static_cast<unsigned int>(machine().gpus.size());
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t* device) {
  const Lock lock(machine().mutex);
  if (index >= machine().gpus.size()) return NVML_ERROR_INVALID_ARGUMENT;
  *device = machine().gpus[index].get();
  return Is(*device, kFakeLost) ? NVML_ERROR_GPU_IS_LOST : NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned int* minor) {
  *minor = static_cast<unsigned int>(device->index);
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char* text, unsigned int size) {
  char uuid[kNvmlTextMax];
  if (IsGpu(device)) {
    std::snprintf(uuid, sizeof(uuid), "GPU-fake-%d", device->index);
  } else {
    std::snprintf(uuid, sizeof(uuid), "MIG-fake-%d-%u-%u", device->index,
                  device->compute->instance->id, device->compute->id);
  }
  return CopyText(uuid, text, size);
}
nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char* text, unsigned int size) {
  return CopyText(device->model->product.data(), text, size);
}
nvmlReturn_t nvmlDeviceGetBrand(nvmlDevice_t, unsigned int* brand) {
  *brand = 14;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetArchitecture(nvmlDevice_t device, unsigned int* architecture) {
  *architecture = device->model->architecture == "Ampere"   ? NVML_DEVICE_ARCH_AMPERE
                  : device->model->architecture == "Hopper" ? 9
                                                            : 8;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int* major, int* minor) {
  std::sscanf(device->model->compute_capability.data(), "%d.%d", major, minor);
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t* memory) {
  *memory = {.total = static_cast<unsigned long long>(device->model->memory_mib) << 20U,
             .free = 0,
             .used = 0};
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t* pci) {
  *pci = {};
  pci->bus = 0x10U + static_cast<unsigned int>(device->index);
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned int* current,
                                  unsigned int* pending) {
  const Lock lock(machine().mutex);
  if (device->model->profiles.empty()) return NVML_ERROR_NOT_SUPPORTED;
  *current = device->mig ? 1 : 0;
  *pending = Is(device, kFakePendingMig) ? 1 : *current;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceSetMigMode(nvmlDevice_t device, unsigned int mode,
                                  nvmlReturn_t* activation) {
  const Lock lock(machine().mutex);
  if (device->model->profiles.empty()) return NVML_ERROR_NOT_SUPPORTED;
  if (!device->instances.empty()) return NVML_ERROR_IN_USE;
  ++machine().changes;
  *activation = NVML_SUCCESS;
  device->facts[kFakePendingMig] = 0;
  if (device->mig == (mode != 0)) return NVML_SUCCESS;
  if (Is(device, kFakeNeedsReset)) {
    *activation = NVML_ERROR_RESET_REQUIRED;
    device->facts[kFakePendingMig] = mode != 0 ? 1 : 0;
    return NVML_SUCCESS;
  }
  device->mig = mode != 0;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceSetComputeMode(nvmlDevice_t device, unsigned int mode) {
  const Lock lock(machine().mutex);
  ++machine().changes;
  device->facts[kFakeComputeMode] = static_cast<int>(mode);
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetGpuInstanceProfileInfoV(nvmlDevice_t device, unsigned int profile,
                                                  nvmlGpuInstanceProfileInfo_v2_t* info) {
  if (info->version != drachma::gpu::NvmlVersion<nvmlGpuInstanceProfileInfo_v2_t>(2)) {
    return NVML_ERROR_INVALID_ARGUMENT;
  }
  if (profile >= device->model->profiles.size()) return NVML_ERROR_NOT_SUPPORTED;
  const MigProfile& from = device->model->profiles[profile];
  info->id = static_cast<unsigned int>(from.id);
  info->sliceCount = static_cast<unsigned int>(ComputeSlices(from));
  info->instanceCount = static_cast<unsigned int>(from.instances_max);
  unsigned int* const engines[] = {&info->multiprocessorCount, &info->copyEngineCount,
                                   &info->decoderCount,        &info->encoderCount,
                                   &info->jpegCount,           &info->ofaCount};
  for (std::size_t i = 0; i < std::size(engines); ++i) {
    *engines[i] = static_cast<unsigned int>(from.engines[i]);
  }
  info->memorySizeMB = static_cast<unsigned long long>(from.memory_mib);
  std::snprintf(info->name, sizeof(info->name), "MIG %s", from.name.data());
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetGpuInstancePossiblePlacements_v2(nvmlDevice_t device, unsigned int id,
                                                           nvmlGpuInstancePlacement_t* placements,
                                                           unsigned int* count) {
  const MigProfile* profile = ProfileById(device, id);
  if (profile == nullptr) return NVML_ERROR_NOT_SUPPORTED;
  const auto slices = static_cast<unsigned int>(profile->slices);
  const auto all = static_cast<unsigned int>(profile->placements);
  if (placements != nullptr) {
    if (*count < all) return NVML_ERROR_INSUFFICIENT_SIZE;
    // In no order, as NVML lists them.
    for (unsigned int i = 0; i < all; ++i) placements[all - 1 - i] = {i * slices, slices};
  }
  *count = all;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceCreateGpuInstanceWithPlacement(nvmlDevice_t device, unsigned int id,
                                                      const nvmlGpuInstancePlacement_t* placement,
                                                      nvmlGpuInstance_t* made) {
  const Lock lock(machine().mutex);
  const MigProfile* profile = ProfileById(device, id);
  if (!device->mig || profile == nullptr) return NVML_ERROR_NOT_SUPPORTED;
  if (placement->size != static_cast<unsigned int>(profile->slices) ||
      placement->start % placement->size != 0) {
    return NVML_ERROR_INVALID_ARGUMENT;
  }
  for (const auto& other : device->instances) {
    if (placement->start < other->placement.start + other->placement.size &&
        other->placement.start < placement->start + placement->size) {
      return NVML_ERROR_INSUFFICIENT_RESOURCES;
    }
  }
  ++machine().changes;
  device->instances.push_back(std::unique_ptr<nvmlGpuInstance_st>(
      new nvmlGpuInstance_st{device, device->next_instance++, profile, *placement, {}}));
  *made = device->instances.back().get();
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlGpuInstanceDestroy(nvmlGpuInstance_t instance) {
  const Lock lock(machine().mutex);
  if (!instance->computes.empty()) return NVML_ERROR_IN_USE;
  ++machine().changes;
  std::erase_if(instance->device->instances,
                [&](const auto& entry) { return entry.get() == instance; });
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetGpuInstances(nvmlDevice_t device, unsigned int id,
                                       nvmlGpuInstance_t* instances, unsigned int* count) {
  const Lock lock(machine().mutex);
  *count = 0;
  for (const auto& instance : device->instances) {
    if (instance->profile->id == static_cast<int>(id)) instances[(*count)++] = instance.get();
  }
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlGpuInstanceGetInfo(nvmlGpuInstance_t instance, nvmlGpuInstanceInfo_t* info) {
  const Lock lock(machine().mutex);
  *info = {.device = instance->device,
           .id = instance->id,
           .profileId = static_cast<unsigned int>(instance->profile->id),
           .placement = instance->placement};
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlGpuInstanceGetComputeInstanceProfileInfoV(
    nvmlGpuInstance_t instance, unsigned int profile, unsigned int,
    nvmlComputeInstanceProfileInfo_v2_t* info) {
  if (info->version != drachma::gpu::NvmlVersion<nvmlComputeInstanceProfileInfo_v2_t>(2)) {
    return NVML_ERROR_INVALID_ARGUMENT;
  }
  if (!HasComputeProfile(instance, profile)) return NVML_ERROR_NOT_SUPPORTED;
  info->id = profile;
  info->sliceCount = static_cast<unsigned int>(kComputeSlices[profile]);
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlGpuInstanceCreateComputeInstance(nvmlGpuInstance_t instance, unsigned int profile,
                                                  nvmlComputeInstance_t* made) {
  const Lock lock(machine().mutex);
  if (!HasComputeProfile(instance, profile)) return NVML_ERROR_NOT_SUPPORTED;
  if (Is(instance->device, kFakeNoCompute)) return NVML_ERROR_INSUFFICIENT_RESOURCES;
  ++machine().changes;
  instance->computes.push_back(std::unique_ptr<nvmlComputeInstance_st>(new nvmlComputeInstance_st{
      instance, static_cast<unsigned int>(instance->computes.size()), profile}));
  *made = instance->computes.back().get();
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlGpuInstanceGetComputeInstances(nvmlGpuInstance_t instance, unsigned int profile,
                                                nvmlComputeInstance_t* computes,
                                                unsigned int* count) {
  const Lock lock(machine().mutex);
  *count = 0;
  for (const auto& compute : instance->computes) {
    if (compute->profile == profile) computes[(*count)++] = compute.get();
  }
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlComputeInstanceDestroy(nvmlComputeInstance_t compute) {
  const Lock lock(machine().mutex);
  nvmlGpuInstance_t instance = compute->instance;
  if (Is(instance->device, kFakeInUse)) return NVML_ERROR_IN_USE;
  ++machine().changes;
  std::erase_if(instance->computes, [&](const auto& entry) { return entry.get() == compute; });
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t, unsigned int* count) {
  *count = 7;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned int index,
                                                 nvmlDevice_t* mig) {
  const Lock lock(machine().mutex);
  for (const auto& instance : device->instances) {
    for (const auto& compute : instance->computes) {
      if (index-- > 0) continue;
      nvmlDevice_st handle;
      handle.index = device->index;
      handle.model = device->model;
      handle.compute = compute.get();
      machine().mig_devices.push_back(std::move(handle));
      *mig = &machine().mig_devices.back();
      return NVML_SUCCESS;
    }
  }
  return NVML_ERROR_NOT_FOUND;
}
nvmlReturn_t nvmlDeviceGetGpuInstanceId(nvmlDevice_t device, unsigned int* id) {
  if (IsGpu(device)) return NVML_ERROR_INVALID_ARGUMENT;
  *id = device->compute->instance->id;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetComputeInstanceId(nvmlDevice_t device, unsigned int* id) {
  if (IsGpu(device)) return NVML_ERROR_INVALID_ARGUMENT;
  *id = device->compute->id;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t* set) {
  *set = &machine().set;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t device, unsigned long long, nvmlEventSet_t) {
  return Is(device, kFakeNoEvents) ? NVML_ERROR_NOT_SUPPORTED : NVML_SUCCESS;
}
nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t, nvmlEventData_t* data, unsigned int milliseconds) {
  std::unique_lock<std::mutex> lock(machine().mutex);
  const bool heard = machine().heard.wait_for(lock, std::chrono::milliseconds(milliseconds),
                                              [] { return !machine().events.empty(); });
  if (!heard) return NVML_ERROR_TIMEOUT;
  *data = machine().events.front();
  machine().events.pop_front();
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlEventSetFree(nvmlEventSet_t) { return NVML_SUCCESS; }
nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t* values) {
  const Lock lock(machine().mutex);
  if (count != 1 || values->fieldId != NVML_FI_DEV_GET_GPU_RECOVERY_ACTION) {
    return NVML_ERROR_INVALID_ARGUMENT;
  }
  const int action = device->facts[kFakeRecoveryAction];
  values->nvmlReturn = action < 0 ? NVML_ERROR_NOT_SUPPORTED : NVML_SUCCESS;
  values->value.uiVal = static_cast<unsigned int>(std::max(action, 0));
  return NVML_SUCCESS;
}

}  // extern "C"
