#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace drachma::node {

// A folder of small files that outlive the process: the journal of a driver, the specs that it
// writes for the container runtime. An interface, so that tests can end a process at any write.
// One owner at a time. ERRORS of all: kForbidden, kUnavailable (the disk is full), kInternal; the
// message names the file.
class Folder {
 public:
  virtual ~Folder() = default;
  // Nothing when there is no such file.
  [[nodiscard]] virtual Result<std::optional<std::string>> Read(const std::string& name) = 0;
  // The whole text or the old one, also when the power is cut: written beside, synced, renamed.
  [[nodiscard]] virtual Status Write(const std::string& name, const std::string& text) = 0;
  // Replaces `to`.
  [[nodiscard]] virtual Status Rename(const std::string& from, const std::string& to) = 0;
  // A file that is not there is no error.
  [[nodiscard]] virtual Status Remove(const std::string& name) = 0;
  // The names of the files, sorted. What Write left behind when it was cut short is no file.
  [[nodiscard]] virtual Result<std::vector<std::string>> List() = 0;
};

// The folder at `path`, made when it is missing.
[[nodiscard]] Result<std::shared_ptr<Folder>> OpenFolder(const std::string& path);

// Which boot of the machine this is; empty where the system does not say.
[[nodiscard]] std::string ReadBootId();

}  // namespace drachma::node
