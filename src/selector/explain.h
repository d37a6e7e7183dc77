#pragma once

#include <span>
#include <string>
#include <vector>

#include "selector/device.h"
#include "selector/program.h"

namespace drachma::selector {

// One sub-expression that made the answer what it is.
struct Reason {
  int line = 0;            // from 1
  int column = 0;          // from 1, in code points
  std::string expression;  // the source of the sub-expression
  // The same with what came of it and the values it read: `device.driver == "a" is false
  // (device.driver is "b")`, `device.attributes["a"].x > 1: no such key: x`.
  std::string text;
};

// Why a device does not match.
struct Explanation {
  Verdict verdict = Verdict::kNoMatch;
  std::string error;            // for kError, as in Outcome
  std::vector<Reason> reasons;  // the parts that were false (or failed), in order of the source
  std::vector<std::string>
      hints;  // `unknown domain "gpu.nvida.com", did you mean "gpu.nvidia.com"?`

  // Reasons and hints in one line, for tables.
  [[nodiscard]] std::string ToString() const;
};

// Evaluates `program` on `device` (slower than Match) and says which parts were false. Names that
// the expression reads and the device does not have are compared with the names of `device` and
// of `others` (devices of the same slices), nearest first.
[[nodiscard]] Explanation Explain(const Program& program, const Device& device,
                                  std::span<const Device* const> others = {});

}  // namespace drachma::selector
