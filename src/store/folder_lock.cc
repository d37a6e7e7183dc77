#include "store/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>

namespace drachma::store {
namespace {

std::unexpected<Error> FolderError(const std::string& folder, int reason) {
  const std::string text = "cannot write to the data folder " + folder + ": " +
                           std::error_code(reason, std::generic_category()).message();
  switch (reason) {
    case EACCES:
    case EPERM:
    case EROFS:
      return Fail(Code::kForbidden, text + "; make it writable or choose another one");
    case ENOSPC:
    case EDQUOT:
      return Fail(Code::kUnavailable, text + "; free some space or choose another one");
    default:
      return Fail(Code::kInternal, text);
  }
}

// The pid that the holder wrote into the file, as text; "?" when it is not there (yet).
std::string HolderOf(int file) {
  char text[32] = {};
  const ssize_t size = pread(file, text, sizeof(text) - 1, 0);
  std::string pid(text, size > 0 ? static_cast<std::size_t>(size) : 0);
  while (!pid.empty() && pid.back() == '\n') pid.pop_back();
  return pid.empty() ? "?" : pid;
}

// A process that was killed holds its lock until its memory has been taken down.
constexpr auto kPatience = std::chrono::milliseconds(500);
constexpr auto kRetry = std::chrono::milliseconds(10);

bool Lock(int file) {
  for (auto waited = std::chrono::milliseconds(0);; waited += kRetry) {
    if (flock(file, LOCK_EX | LOCK_NB) == 0) return true;
    if (errno != EWOULDBLOCK || waited >= kPatience) return false;
    std::this_thread::sleep_for(kRetry);
  }
}

}  // namespace

Result<FolderLock> FolderLock::Take(const std::string& folder) {
  std::error_code failure;
  if (!std::filesystem::is_directory(folder, failure)) {
    const std::filesystem::path parent = std::filesystem::path(folder).parent_path();
    if (!parent.empty()) std::filesystem::create_directories(parent, failure);
    if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return FolderError(folder, errno);
  }
  const std::string path = folder + "/store.lock";
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return FolderError(folder, errno);
  FolderLock lock(file);
  if (!Lock(file)) {
    if (errno != EWOULDBLOCK) return FolderError(folder, errno);
    return Fail(Code::kConflict, "the data folder " + folder + " is in use by process " +
                                     HolderOf(file) + "; stop it or choose another folder");
  }
  const std::string pid = std::to_string(getpid()) + "\n";
  if (ftruncate(file, 0) != 0 || pwrite(file, pid.data(), pid.size(), 0) < 0) {
    return FolderError(folder, errno);
  }
  return lock;
}

FolderLock::~FolderLock() {
  if (file_ >= 0) close(file_);
}

FolderLock::FolderLock(FolderLock&& other) noexcept : file_(std::exchange(other.file_, -1)) {}

}  // namespace drachma::store
