#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace drachma::gpu {

// A feature gate of the NVIDIA DRA driver.
struct Gate {
  std::string_view name;
  bool enabled = false;    // in NVIDIA's driver when nothing is said
  bool simulated = false;  // simulated GPUs can do it
  std::string_view needs;  // another gate; empty: none
  std::vector<std::string_view> excludes;
};

[[nodiscard]] std::span<const Gate> Gates();

// Whether these gates may be on together on simulated GPUs. ERRORS: kInvalid: an unknown one, one
// that is not simulated, one that needs another or excludes one.
[[nodiscard]] Status CheckGates(std::span<const std::string> on);

}  // namespace drachma::gpu
