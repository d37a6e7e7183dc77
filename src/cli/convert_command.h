#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace drachma::cli {

struct ConvertArguments {
  std::vector<std::string> files;  // "-" is standard input; folders stand for their manifests
  std::string to = "claims";       // or "extended"
  std::string driver = "gpu.nvidia.com";
  std::vector<std::string> keep;  // resources that stay with their device plugins
  bool in_place = false;
  std::string output = "yaml";  // or "json": findings and texts
};

// `drachma convert`: the converted text to `out` (or the files changed in place), findings to
// `error`. Returns 0 when all was converted, 1 when something could not be, 2 when a file cannot be
// read or written.
int RunConvert(const ConvertArguments& arguments, std::ostream& out, std::ostream& error);

}  // namespace drachma::cli
