#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace drachma::cli {

struct CheckArguments {
  std::vector<std::string> files;  // "-" is standard input; folders stand for their manifests
  std::string driver = "gpu.nvidia.com";
  bool fix = false;
  std::string output = "table";  // or "json", "yaml"
};

// `drachma check`: findings with their places, and the corrected text (or, with `fix`, the files
// changed in place; standard input then goes corrected to `out`, and findings to `error`). Returns 0 without errors (warnings may be there), 1 with errors, 2 when a file
// cannot be read or written.
int RunCheck(const CheckArguments& arguments, std::ostream& out, std::ostream& error);

}  // namespace drachma::cli
