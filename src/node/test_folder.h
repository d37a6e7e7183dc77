#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

namespace drachma::node {

// A folder for a test, removed at its end. In memory where the system has such a place: tests write
// and sync much.
class TestFolder {
 public:
  TestFolder() {
    const std::filesystem::path memory = "/dev/shm";
    std::error_code none;
    const bool in_memory = std::filesystem::is_directory(memory, none);
    const std::filesystem::path parent =
        in_memory ? memory : std::filesystem::temp_directory_path();
    std::string name = (parent / "drachma-node-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~TestFolder() { std::filesystem::remove_all(path_); }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  // Empty: there is no such file.
  [[nodiscard]] std::string ReadFile(const std::string& name) const {
    std::ifstream file(path_ + '/' + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void WriteFile(const std::string& name, const std::string& text) const {
    std::ofstream(path_ + '/' + name, std::ios::binary) << text;
  }

 private:
  std::string path_;
};

}  // namespace drachma::node
