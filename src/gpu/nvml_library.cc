#include "gpu/nvml_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "gpu/backend.h"

namespace drachma::gpu {
namespace {

struct Outcome {
  nvmlReturn_t value;
  Code code;
  std::string_view text;
};
constexpr Outcome kOutcomes[] = {
    {NVML_ERROR_INVALID_ARGUMENT, Code::kInvalid, "invalid argument"},
    {NVML_ERROR_NOT_SUPPORTED, kNotSupported, "not supported"},
    {NVML_ERROR_NO_PERMISSION, Code::kForbidden, "no permission: the driver must run as root"},
    {NVML_ERROR_NOT_FOUND, Code::kNotFound, "not found"},
    {NVML_ERROR_INSUFFICIENT_SIZE, Code::kInternal, "insufficient size"},
    {NVML_ERROR_GPU_IS_LOST, Code::kUnavailable, "the GPU is lost"},
    {NVML_ERROR_RESET_REQUIRED, Code::kConflict, "the GPU must be reset first"},
    {NVML_ERROR_IN_USE, Code::kConflict, "in use by a program"},
    {NVML_ERROR_INSUFFICIENT_RESOURCES, Code::kConflict, "insufficient resources"},
    {8, Code::kUnavailable, "a power cable of the GPU is not attached"},
    {9, Code::kUnavailable, "the NVIDIA kernel driver is not loaded"},
    {17, Code::kUnavailable, "the operating system blocks the GPU's device files"},
    {18, Code::kUnavailable, "the library and the kernel driver are of different versions"},
};

template <typename Function>
bool Resolve(void* handle, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(handle, name));
  return function != nullptr;
}

}  // namespace

Status NvmlLibrary::Check(nvmlReturn_t outcome, std::string_view doing) {
  if (outcome == NVML_SUCCESS) return {};
  const auto known = std::ranges::find(kOutcomes, outcome, &Outcome::value);
  if (known == std::end(kOutcomes)) {
    return Fail(Code::kUnavailable, fmt::format("{}: NVML error {}", doing, outcome));
  }
  return Fail(known->code, fmt::format("{}: {}", doing, known->text));
}

Result<std::unique_ptr<NvmlLibrary>> NvmlLibrary::Open(const std::string& file) {
  void* const handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return Fail(Code::kUnavailable,
                fmt::format("cannot open NVML ({}): install the NVIDIA driver on this machine, "
                            "name its library, or simulate GPUs with --backend sim",
                            dlerror()));
  }
  std::unique_ptr<NvmlLibrary> library(new NvmlLibrary(handle));
  const char* missing = nullptr;
#define DRA_NVML_RESOLVE(name, parameters) \
  if (!Resolve(handle, "nvml" #name, library->name)) missing = "nvml" #name;
  DRA_NVML_OPTIONAL_FUNCTIONS(DRA_NVML_RESOLVE)
  missing = nullptr;
  DRA_NVML_FUNCTIONS(DRA_NVML_RESOLVE)
#undef DRA_NVML_RESOLVE
  if (missing != nullptr) {
    return Fail(Code::kUnavailable,
                fmt::format("{} has no {}: the NVIDIA driver is too old", file, missing));
  }
  DRA_TRY(Check(library->Init_v2(), "starting NVML"));
  library->started_ = true;
  return library;
}

NvmlLibrary::~NvmlLibrary() {
  if (started_) Shutdown();
  dlclose(handle_);
}

}  // namespace drachma::gpu
