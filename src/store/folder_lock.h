#pragma once

#include <string>

#include "base/result.h"

namespace drachma::store {

// Keeps other processes (and other stores of this one) out of a data folder. The lock ends with the
// process, however it ends, so that nothing is to be cleaned up after a crash.
class FolderLock {
 public:
  // Makes the folder (0700) when it is missing, and locks it.
  // ERRORS: kConflict when somebody has it, with the pid; kForbidden when the folder cannot be
  // made or written; kUnavailable when the disk is full; kInternal.
  [[nodiscard]] static Result<FolderLock> Take(const std::string& folder);

  ~FolderLock();
  FolderLock(FolderLock&& other) noexcept;
  FolderLock& operator=(FolderLock&&) = delete;

 private:
  explicit FolderLock(int file) : file_(file) {}
  int file_;
};

}  // namespace drachma::store
