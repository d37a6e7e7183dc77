#pragma once

// What the driver uses of NVML (libnvidia-ml.so.1), declared here so that nothing of NVIDIA's is
// needed to build it. Names, values and layouts are those of nvml.h; a struct with `version` holds
// its size and version there, which the library checks.
extern "C" {

using nvmlReturn_t = int;
using nvmlDevice_t = struct nvmlDevice_st*;
using nvmlGpuInstance_t = struct nvmlGpuInstance_st*;
using nvmlComputeInstance_t = struct nvmlComputeInstance_st*;
using nvmlEventSet_t = struct nvmlEventSet_st*;

inline constexpr nvmlReturn_t NVML_SUCCESS = 0;
inline constexpr nvmlReturn_t NVML_ERROR_INVALID_ARGUMENT = 2;
inline constexpr nvmlReturn_t NVML_ERROR_NOT_SUPPORTED = 3;
inline constexpr nvmlReturn_t NVML_ERROR_NO_PERMISSION = 4;
inline constexpr nvmlReturn_t NVML_ERROR_NOT_FOUND = 6;
inline constexpr nvmlReturn_t NVML_ERROR_INSUFFICIENT_SIZE = 7;
inline constexpr nvmlReturn_t NVML_ERROR_TIMEOUT = 10;
inline constexpr nvmlReturn_t NVML_ERROR_GPU_IS_LOST = 15;
inline constexpr nvmlReturn_t NVML_ERROR_RESET_REQUIRED = 16;
inline constexpr nvmlReturn_t NVML_ERROR_IN_USE = 19;
inline constexpr nvmlReturn_t NVML_ERROR_INSUFFICIENT_RESOURCES = 23;

inline constexpr unsigned int NVML_GPU_INSTANCE_PROFILE_COUNT = 0x12;
inline constexpr unsigned int NVML_COMPUTE_INSTANCE_PROFILE_COUNT = 0x9;
inline constexpr unsigned int NVML_COMPUTE_INSTANCE_PROFILE_1_SLICE_REV1 = 0x7;
inline constexpr unsigned int NVML_COMPUTEMODE_DEFAULT = 0;
inline constexpr unsigned int NVML_COMPUTEMODE_EXCLUSIVE_PROCESS = 3;
inline constexpr unsigned int NVML_DEVICE_ARCH_AMPERE = 7;
inline constexpr unsigned int NVML_FI_DEV_GET_GPU_RECOVERY_ACTION = 230;
inline constexpr unsigned int NVML_GPU_RECOVERY_ACTION_NONE = 0;
inline constexpr unsigned long long kNvmlEventXid = 0x8;  // nvmlEventTypeXidCriticalError

inline constexpr unsigned int kNvmlTextMax = 96;  // the longest of NVML's buffer sizes

struct nvmlPciInfo_t {
  char busIdLegacy[16];
  unsigned int domain;
  unsigned int bus;
  unsigned int device;
  unsigned int pciDeviceId;
  unsigned int pciSubSystemId;
  char busId[32];
};
struct nvmlMemory_t {
  unsigned long long total;  // bytes
  unsigned long long free;
  unsigned long long used;
};
struct nvmlGpuInstancePlacement_t {
  unsigned int start;
  unsigned int size;
};
struct nvmlGpuInstanceProfileInfo_v2_t {
  unsigned int version;
  unsigned int id;
  unsigned int isP2pSupported;
  unsigned int sliceCount;  // of compute
  unsigned int instanceCount;
  unsigned int multiprocessorCount;
  unsigned int copyEngineCount;
  unsigned int decoderCount;
  unsigned int encoderCount;
  unsigned int jpegCount;
  unsigned int ofaCount;
  unsigned long long memorySizeMB;
  char name[kNvmlTextMax];
};
struct nvmlGpuInstanceInfo_t {
  nvmlDevice_t device;
  unsigned int id;
  unsigned int profileId;
  nvmlGpuInstancePlacement_t placement;
};
struct nvmlComputeInstanceProfileInfo_v2_t {
  unsigned int version;
  unsigned int id;
  unsigned int sliceCount;
  unsigned int instanceCount;
  unsigned int multiprocessorCount;
  unsigned int sharedCopyEngineCount;
  unsigned int sharedDecoderCount;
  unsigned int sharedEncoderCount;
  unsigned int sharedJpegCount;
  unsigned int sharedOfaCount;
  char name[kNvmlTextMax];
};
struct nvmlEventData_t {
  nvmlDevice_t device;
  unsigned long long eventType;
  unsigned long long eventData;  // the XID
  unsigned int gpuInstanceId;    // 0xFFFFFFFF: none
  unsigned int computeInstanceId;
};
struct nvmlFieldValue_t {
  unsigned int fieldId;
  unsigned int scopeId;
  long long timestamp;
  long long latencyUsec;
  int valueType;
  nvmlReturn_t nvmlReturn;
  union {
    double dVal;
    unsigned int uiVal;
    unsigned long long ullVal;
  } value;
};
struct nvmlDeviceAddressingMode_v1_t {
  unsigned int version;
  unsigned int value;  // 0 none, 1 HMM, 2 ATS
};

}  // extern "C"

namespace drachma::gpu {

// NVML_STRUCT_VERSION: what a versioned struct of this type holds in `version`.
template <typename T>
constexpr unsigned int NvmlVersion(unsigned int version) {
  return static_cast<unsigned int>(sizeof(T)) | (version << 24U);
}

}  // namespace drachma::gpu

// X(NAME, PARAMETERS): a function nvmlNAME that every driver that can be used has.
#define DRA_NVML_FUNCTIONS(X)                                                                    \
  X(Init_v2, (void))                                                                             \
  X(Shutdown, (void))                                                                            \
  X(SystemGetDriverVersion, (char*, unsigned int))                                               \
  X(SystemGetCudaDriverVersion_v2, (int*))                                                       \
  X(DeviceGetCount_v2, (unsigned int*))                                                          \
  X(DeviceGetHandleByIndex_v2, (unsigned int, nvmlDevice_t*))                                    \
  X(DeviceGetMinorNumber, (nvmlDevice_t, unsigned int*))                                         \
  X(DeviceGetUUID, (nvmlDevice_t, char*, unsigned int))                                          \
  X(DeviceGetName, (nvmlDevice_t, char*, unsigned int))                                          \
  X(DeviceGetBrand, (nvmlDevice_t, unsigned int*))                                               \
  X(DeviceGetArchitecture, (nvmlDevice_t, unsigned int*))                                        \
  X(DeviceGetCudaComputeCapability, (nvmlDevice_t, int*, int*))                                  \
  X(DeviceGetMemoryInfo, (nvmlDevice_t, nvmlMemory_t*))                                          \
  X(DeviceGetPciInfo_v3, (nvmlDevice_t, nvmlPciInfo_t*))                                         \
  X(DeviceGetMigMode, (nvmlDevice_t, unsigned int*, unsigned int*))                              \
  X(DeviceSetMigMode, (nvmlDevice_t, unsigned int, nvmlReturn_t*))                               \
  X(DeviceSetComputeMode, (nvmlDevice_t, unsigned int))                                          \
  X(DeviceGetGpuInstanceProfileInfoV,                                                            \
    (nvmlDevice_t, unsigned int, nvmlGpuInstanceProfileInfo_v2_t*))                              \
  X(DeviceGetGpuInstancePossiblePlacements_v2,                                                   \
    (nvmlDevice_t, unsigned int, nvmlGpuInstancePlacement_t*, unsigned int*))                    \
  X(DeviceCreateGpuInstanceWithPlacement,                                                        \
    (nvmlDevice_t, unsigned int, const nvmlGpuInstancePlacement_t*, nvmlGpuInstance_t*))         \
  X(DeviceGetGpuInstances, (nvmlDevice_t, unsigned int, nvmlGpuInstance_t*, unsigned int*))      \
  X(GpuInstanceGetInfo, (nvmlGpuInstance_t, nvmlGpuInstanceInfo_t*))                             \
  X(GpuInstanceDestroy, (nvmlGpuInstance_t))                                                     \
  X(GpuInstanceGetComputeInstanceProfileInfoV,                                                   \
    (nvmlGpuInstance_t, unsigned int, unsigned int, nvmlComputeInstanceProfileInfo_v2_t*))       \
  X(GpuInstanceCreateComputeInstance, (nvmlGpuInstance_t, unsigned int, nvmlComputeInstance_t*)) \
  X(GpuInstanceGetComputeInstances,                                                              \
    (nvmlGpuInstance_t, unsigned int, nvmlComputeInstance_t*, unsigned int*))                    \
  X(ComputeInstanceDestroy, (nvmlComputeInstance_t))                                             \
  X(DeviceGetMaxMigDeviceCount, (nvmlDevice_t, unsigned int*))                                   \
  X(DeviceGetMigDeviceHandleByIndex, (nvmlDevice_t, unsigned int, nvmlDevice_t*))                \
  X(DeviceGetGpuInstanceId, (nvmlDevice_t, unsigned int*))                                       \
  X(DeviceGetComputeInstanceId, (nvmlDevice_t, unsigned int*))                                   \
  X(EventSetCreate, (nvmlEventSet_t*))                                                           \
  X(DeviceRegisterEvents, (nvmlDevice_t, unsigned long long, nvmlEventSet_t))                    \
  X(EventSetWait_v2, (nvmlEventSet_t, nvmlEventData_t*, unsigned int))                           \
  X(EventSetFree, (nvmlEventSet_t))                                                              \
  X(DeviceGetFieldValues, (nvmlDevice_t, int, nvmlFieldValue_t*))

// Those that older drivers lack; null there.
#define DRA_NVML_OPTIONAL_FUNCTIONS(X)                  \
  X(DeviceGetNumaNodeId, (nvmlDevice_t, unsigned int*)) \
  X(DeviceGetAddressingMode, (nvmlDevice_t, nvmlDeviceAddressingMode_v1_t*))
