#pragma once

#include <string>
#include <utility>

#include "base/result.h"

namespace drachma::node {

// The right to a driver's state folder: two drivers that both remember what is prepared would each
// overwrite what the other has learnt. Ends with the process, however that ends.
class StateLock {
 public:
  // Makes the folder where it is missing. ERRORS: kConflict while another process has it;
  // kUnavailable when the system refuses.
  [[nodiscard]] static Result<StateLock> Take(const std::string& dir);

  StateLock(StateLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  StateLock& operator=(StateLock&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~StateLock();

 private:
  explicit StateLock(int fd) : fd_(fd) {}

  int fd_;
};

}  // namespace drachma::node
