#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gpu/catalogue.h"
#include "gpu/nvml_library.h"

namespace drachma::gpu {

// A GPU model as NVML tells it, with the texts that the model points to.
struct OwnedModel {
  std::deque<std::string> texts;
  std::vector<MigProfile> profiles;
  Model model;

  std::string_view Keep(std::string text) { return texts.emplace_back(std::move(text)); }
};

// Fills in the model of a GPU. ERRORS: NVML's.
[[nodiscard]] Status ReadModel(const NvmlLibrary& nvml, nvmlDevice_t device, OwnedModel& owned);

// The text that one of NVML's functions writes into a buffer. ERRORS: NVML's.
template <typename Call>
[[nodiscard]] Result<std::string> NvmlText(std::string_view doing, Call call) {
  char buffer[kNvmlTextMax] = {};
  DRA_TRY(NvmlLibrary::Check(call(buffer, kNvmlTextMax), doing));
  return std::string(buffer);
}

}  // namespace drachma::gpu
