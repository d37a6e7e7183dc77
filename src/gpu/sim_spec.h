#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gpu/board.h"
#include "gpu/mig_plan.h"

namespace drachma::gpu {

inline constexpr int kGpusPerNodeMax = 256;

// The simulated GPUs of a node, all alike.
struct SimSpec {
  const Model* model = nullptr;
  int count = 0;
  MigMode mig = MigMode::kOff;
  std::vector<WantedParts> parts;  // of each GPU; kStatic only
  Shares shares;
  std::vector<std::string> gates;  // of the NVIDIA driver, besides those that the rest implies
};

// The spec in the words of the annotation drachma.dev/simulated-gpu: "H100-80GB x8",
// "H100-80GB x8 mig=dynamic", "H100-80GB x8 mig=static parts=1g.10gb:4,3g.40gb:1", with
// "shares=memory" (unlimited, a number) and "gates=DRAListTypeAttributes,…" behind.
[[nodiscard]] std::string WriteSimSpec(const SimSpec& spec);
// ERRORS: kInvalid: an unknown model or profile, parts that do not fit, gates that exclude each
// other.
[[nodiscard]] Result<SimSpec> ParseSimSpec(std::string_view text);
// Whether its gates, and those that the rest of it implies, go together. ERRORS: of CheckGates.
[[nodiscard]] Status CheckSpecGates(const SimSpec& spec);
// "memory", "unlimited", "disabled" or the number of shares. ERRORS: kInvalid.
[[nodiscard]] Result<Shares> ParseShares(std::string_view text);
[[nodiscard]] std::string WriteShares(const Shares& shares);

}  // namespace drachma::gpu
