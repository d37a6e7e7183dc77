#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace drachma::gpu {

// Runs a program of the NVIDIA driver (nvidia-smi, nvidia-cuda-mps-control) to its end and returns
// what it printed on either stream. `environment` is added to this program's own.
// ERRORS: kNotFound: it cannot be started; kUnavailable: it failed, with its last words.
[[nodiscard]] Result<std::string> RunTool(
    const std::vector<std::string>& command, const std::string& input = {},
    const std::map<std::string, std::string>& environment = {});

}  // namespace drachma::gpu
