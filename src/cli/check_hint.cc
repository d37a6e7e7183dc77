#include "cli/check_hint.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "cli/files.h"
#include "cli/output.h"
#include "cluster/manifests.h"
#include "lint/check.h"

namespace drachma::cli {
namespace {

bool HasFaults(const std::string& path) {
  const Result<std::string> text = ReadFile(path);
  if (!text) return false;
  return std::ranges::any_of(
      lint::CheckText(path, *text, {}).findings,
      [](const lint::Finding& finding) { return finding.severity == lint::Severity::kError; });
}

}  // namespace

std::string CheckHint(const Error& error, const std::vector<std::string>& files) {
  if (error.code == Code::kNotFound) return {};
  for (const std::string& argument : files) {
    for (const std::string& path : cluster::FilesOf(argument)) {
      if (path != "-" && !HasFaults(path)) continue;
      return fmt::format("drachma check -f {} tells what to write instead (--fix writes it)",
                         path == "-" ? "FILE" : path);
    }
  }
  return {};
}

int PrintManifestError(const Error& error, const std::vector<std::string>& files, int code) {
  PrintError(error, code);
  if (const std::string hint = CheckHint(error, files); !hint.empty()) {
    std::fprintf(stderr, "%s\n", hint.c_str());
  }
  return code;
}

}  // namespace drachma::cli
