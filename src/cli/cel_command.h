#pragma once

#include <ostream>
#include <span>
#include <string>

#include "json/value.h"
#include "selector/program.h"

namespace drachma::cli {

struct CelOptions {
  std::string expression;
  // As the API server compiles a new object unless the caller says otherwise.
  selector::CompileOptions compile = {.environment = selector::Environment::kNew};
  bool json = false;
};

// `drachma cel EXPRESSION`: tries a selector on every device of `slices` (ResourceSlices in v1) and
// writes which match, at which cost, and why the others do not: a table, or JSON.
// Returns the exit code: 0, or 1 when no device matches, or when the expression does not compile or
// is too expensive for an object (messages on `err`).
int RunCel(const CelOptions& options, std::span<const json::Value> slices, std::ostream& out,
           std::ostream& err);

}  // namespace drachma::cli
