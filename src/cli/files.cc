#include "cli/files.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "cluster/manifests.h"

namespace drachma::cli {

Result<std::string> ReadFile(const std::string& path) {
  std::ifstream opened;
  if (path != "-") {
    std::error_code problem;
    if (std::filesystem::is_directory(path, problem)) {
      return BadInput(fmt::format("{}: is a directory", path));
    }
    opened.open(path, std::ios::binary);
    if (!opened) return Fail(Code::kNotFound, fmt::format("{}: {}", path, std::strerror(errno)));
  }
  std::istream& stream = path == "-" ? std::cin : opened;
  std::string text;
  std::array<char, 1 << 16> block{};
  while (stream.read(block.data(), block.size()), stream.gcount() > 0) {
    text.append(block.data(), static_cast<std::size_t>(stream.gcount()));
    if (text.size() > kFileBytesMax) {
      return BadInput(fmt::format("{}: larger than {} bytes", path, kFileBytesMax));
    }
  }
  if (stream.bad()) return BadInput(fmt::format("{}: cannot be read to its end", path));
  return text;
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

Result<std::vector<lint::FileText>> ReadManifestTexts(const std::vector<std::string>& arguments) {
  std::vector<lint::FileText> files;
  for (const std::string& argument : arguments) {
    const std::vector<std::string> paths = cluster::FilesOf(argument);
    if (paths.empty()) return BadInput(argument + ": holds no .yaml, .yml or .json file");
    for (const std::string& path : paths) {
      DRA_ASSIGN(std::string text, ReadFile(path));
      files.push_back({path == "-" ? std::string(kStandardInput) : path, std::move(text)});
    }
  }
  return files;
}

}  // namespace drachma::cli
