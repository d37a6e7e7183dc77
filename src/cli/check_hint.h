#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace drachma::cli {

// "drachma check -f FILE …", when one of `files` (that were not taken because of `error`) holds
// faults that `drachma check` finds; empty otherwise. Standard input has been read and cannot be
// looked at, so it is named whenever `error` is about what it says.
[[nodiscard]] std::string CheckHint(const Error& error, const std::vector<std::string>& files);

// PrintError, and the hint on a line of its own.
int PrintManifestError(const Error& error, const std::vector<std::string>& files, int code);

}  // namespace drachma::cli
