#include "node/state_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

namespace drachma::node {

Result<StateLock> StateLock::Take(const std::string& dir) {
  std::error_code error;
  std::filesystem::create_directories(dir, error);
  if (error) return Fail(Code::kUnavailable, fmt::format("{}: {}", dir, error.message()));
  const std::string path = dir + "/driver.lock";
  StateLock lock(open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
  if (lock.fd_ < 0) {
    return Fail(Code::kUnavailable,
                fmt::format("{}: {}", path, std::generic_category().message(errno)));
  }
  if (flock(lock.fd_, LOCK_EX | LOCK_NB) != 0) {
    return Fail(Code::kConflict, fmt::format("{}: another driver uses this folder", dir));
  }
  return lock;
}

StateLock::~StateLock() {
  if (fd_ >= 0) close(fd_);
}

}  // namespace drachma::node
