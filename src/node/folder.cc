#include "node/folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

namespace drachma::node {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kUnfinished = ".unfinished";

std::unexpected<Error> FileError(std::string_view action, const std::string& path, int reason) {
  Code code = Code::kInternal;
  if (reason == EACCES || reason == EPERM || reason == EROFS) code = Code::kForbidden;
  if (reason == ENOSPC || reason == EDQUOT) code = Code::kUnavailable;
  return Fail(code, fmt::format("cannot {} {}: {}", action, path,
                                std::error_code(reason, std::generic_category()).message()));
}

// A file that is closed when it goes.
class File {
 public:
  File(const std::string& path, int flags) : descriptor_(open(path.c_str(), flags, 0644)) {}
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  [[nodiscard]] int get() const { return descriptor_; }

 private:
  const int descriptor_;
};

bool WriteAll(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

class DiskFolder final : public Folder {
 public:
  explicit DiskFolder(std::string path) : path_(std::move(path)) {}

  Result<std::optional<std::string>> Read(const std::string& name) override {
    std::ifstream file(PathOf(name), std::ios::binary);
    if (!file) {
      if (errno == ENOENT) return std::nullopt;
      return FileError("read", PathOf(name), errno);
    }
    return std::string(std::istreambuf_iterator<char>(file), {});
  }

  Status Write(const std::string& name, const std::string& text) override {
    const std::string beside = Beside(name);
    {
      const File file(beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC);
      if (file.get() < 0) return FileError("write", beside, errno);
      if (!WriteAll(file.get(), text) || fsync(file.get()) != 0) {
        const int reason = errno;
        unlink(beside.c_str());
        return FileError("write", beside, reason);
      }
    }
    if (rename(beside.c_str(), PathOf(name).c_str()) != 0) {
      return FileError("write", PathOf(name), errno);
    }
    return Sync();
  }

  Status Rename(const std::string& from, const std::string& to) override {
    if (rename(PathOf(from).c_str(), PathOf(to).c_str()) != 0) {
      return FileError("rename", PathOf(from), errno);
    }
    return Sync();
  }

  Status Remove(const std::string& name) override {
    unlink(Beside(name).c_str());
    if (unlink(PathOf(name).c_str()) != 0) {
      if (errno == ENOENT) return {};
      return FileError("remove", PathOf(name), errno);
    }
    return Sync();
  }

  Result<std::vector<std::string>> List() override {
    std::vector<std::string> names;
    std::error_code failure;
    for (fs::directory_iterator entry(path_, failure), end; !failure && entry != end;
         entry.increment(failure)) {
      std::string name = entry->path().filename().string();
      if (!name.ends_with(kUnfinished)) names.push_back(std::move(name));
    }
    if (failure) return FileError("list", path_, failure.value());
    std::ranges::sort(names);
    return names;
  }

 private:
  [[nodiscard]] std::string PathOf(const std::string& name) const { return path_ + '/' + name; }
  // Container runtimes read every *.json of their folder: this is none.
  [[nodiscard]] std::string Beside(const std::string& name) const {
    return fmt::format("{}/.{}{}", path_, name, kUnfinished);
  }
  // Names are as durable as contents only once the folder is.
  [[nodiscard]] Status Sync() const {
    const File folder(path_, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder.get() < 0 || fsync(folder.get()) != 0) return FileError("sync", path_, errno);
    return {};
  }

  const std::string path_;
};

}  // namespace

Result<std::shared_ptr<Folder>> OpenFolder(const std::string& path) {
  std::error_code failure;
  fs::create_directories(path, failure);
  if (failure) return FileError("make the folder", path, failure.value());
  if (access(path.c_str(), W_OK | X_OK) != 0) return FileError("write to the folder", path, errno);
  return std::make_shared<DiskFolder>(path);
}

std::string ReadBootId() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

}  // namespace drachma::node
