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
};

// The spec in the words of the annotation drachma.dev/simulated-gpu: "H100-80GB x8",
// "H100-80GB x8 mig=dynamic", "H100-80GB x8 mig=static parts=1g.10gb:4,3g.40gb:1".
[[nodiscard]] std::string WriteSimSpec(const SimSpec& spec);
// ERRORS: kInvalid: an unknown model or profile, parts that do not fit.
[[nodiscard]] Result<SimSpec> ParseSimSpec(std::string_view text);

}  // namespace drachma::gpu
