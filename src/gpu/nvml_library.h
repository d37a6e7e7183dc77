#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "gpu/nvml_abi.h"

namespace drachma::gpu {

// NVML, opened when it is wanted: the program runs on machines without it. Every function is a
// member under NVML's name without "nvml"; those may be called from any thread.
class NvmlLibrary {
 public:
  // ERRORS: kUnavailable with what to do: there is no such library, it lacks a function, the
  // kernel's driver does not run.
  [[nodiscard]] static Result<std::unique_ptr<NvmlLibrary>> Open(const std::string& file);
  ~NvmlLibrary();
  NvmlLibrary(const NvmlLibrary&) = delete;
  NvmlLibrary& operator=(const NvmlLibrary&) = delete;

#define DRA_NVML_MEMBER(name, parameters) nvmlReturn_t(*name) parameters = nullptr;
  DRA_NVML_FUNCTIONS(DRA_NVML_MEMBER)
  DRA_NVML_OPTIONAL_FUNCTIONS(DRA_NVML_MEMBER)
#undef DRA_NVML_MEMBER

  // The outcome of a call as a status; `doing` says what it was for.
  [[nodiscard]] static Status Check(nvmlReturn_t outcome, std::string_view doing);

 private:
  explicit NvmlLibrary(void* handle) : handle_(handle) {}
  void* handle_;
  bool started_ = false;
};

}  // namespace drachma::gpu
