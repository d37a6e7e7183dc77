#include "cli/files.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

namespace drachma::cli {

Result<std::string> ReadFile(const std::string& path) {
  if (path == "-") {
    return std::string(std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>());
  }
  std::error_code problem;
  if (std::filesystem::is_directory(path, problem)) {
    return BadInput(fmt::format("{}: is a directory", path));
  }
  const auto size = std::filesystem::file_size(path, problem);
  if (!problem && size > kFileBytesMax) {
    return BadInput(fmt::format("{}: larger than {} bytes", path, kFileBytesMax));
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) return Fail(Code::kNotFound, fmt::format("{}: {}", path, std::strerror(errno)));
  return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

Status WriteFile(const std::string& path, std::string_view text) {
  const std::string next = path + ".new";
  {
    std::ofstream file(next, std::ios::binary | std::ios::trunc);
    file << text;
    file.flush();
    if (!file) {
      std::remove(next.c_str());
      return Fail(Code::kForbidden, fmt::format("{}: cannot be written", path));
    }
  }
  std::error_code problem;
  const auto mode = std::filesystem::status(path, problem).permissions();
  if (!problem) std::filesystem::permissions(next, mode, problem);
  std::filesystem::rename(next, path, problem);
  if (problem) return Fail(Code::kInternal, fmt::format("{}: {}", path, problem.message()));
  return {};
}

}  // namespace drachma::cli
