#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"
#include "node/dra_plugin.h"
#include "node/folder.h"

namespace drachma::node {

enum class ClaimState : std::uint8_t {
  // Something may have been done to the hardware for it, and is to be undone before anything else:
  // a Prepare that did not finish, or an Unprepare that did not.
  kPrepareStarted,
  kPrepareCompleted,
};

// What a driver remembers of a claim over its own end.
struct JournalRecord {
  ClaimRef claim;
  ClaimState state = ClaimState::kPrepareStarted;
  std::vector<PreparedDevice> devices;  // of a completed one: the answer to Prepare
  json::Value detail;                   // the driver's own: what it takes to undo it
};

// The claims of one driver of one node, so that a driver that was killed at any moment knows what
// it had begun, whose devices are in use, and what to answer. Every change is on disk when the call
// returns. Upstream's checkpoint, with a checksum over the bytes.
//
// A file of another boot of the machine counts as empty: nothing of what it tells is left. A
// damaged file is put aside and the driver starts without memory (lost()), rather than not at all.
class Journal {
 public:
  // Versions of the file's form that can be read.
  static constexpr int kVersion = 1;

  // Without a folder nothing outlives the journal (simulated nodes). `driver` names the file:
  // "DRIVER.journal". ERRORS: the folder's; kInvalid: the file is of a newer version.
  [[nodiscard]] static Result<Journal> Open(std::shared_ptr<Folder> folder, std::string_view driver,
                                            std::string boot_id);

  using Records = std::map<std::string, JournalRecord, std::less<>>;  // by claim uid
  [[nodiscard]] const Records& records() const { return records_; }
  // Null when the claim is not known.
  [[nodiscard]] const JournalRecord* Find(std::string_view claim_uid) const;
  // ERRORS: the folder's; the record is as before then.
  [[nodiscard]] Status Put(JournalRecord record);
  [[nodiscard]] Status Erase(std::string_view claim_uid);
  // Whether a damaged file was put aside, so that hardware may be set up for claims that nobody
  // remembers.
  [[nodiscard]] bool lost() const { return lost_; }

 private:
  Journal(std::shared_ptr<Folder> folder, std::string file, std::string boot_id)
      : folder_(std::move(folder)), file_(std::move(file)), boot_id_(std::move(boot_id)) {}
  [[nodiscard]] Status Load(const std::string& text);
  [[nodiscard]] Status PutAside(std::string_view fault);
  [[nodiscard]] Status Save() const;

  std::shared_ptr<Folder> folder_;
  std::string file_;
  std::string boot_id_;
  Records records_;
  bool lost_ = false;
};

}  // namespace drachma::node
