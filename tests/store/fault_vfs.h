#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

struct sqlite3_vfs;

namespace drachma::store {

// A file system in memory for SQLite, whose power can be cut and whose disk can be full.
//
// It keeps for each file what programs see and what the disk would hold after a power cut. Sync
// makes the two agree; until then each sector that was written may or may not have reached the
// disk, in any order, and some of them in part only. The same goes for files that were cut short
// and for files that were deleted: they may come back.
class FaultVfs {
 public:
  // Registers with SQLite under `name`; must outlive all databases on it.
  explicit FaultVfs(const std::string& name, std::uint64_t seed);
  ~FaultVfs();
  FaultVfs(const FaultVfs&) = delete;
  FaultVfs& operator=(const FaultVfs&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }

  // Lets `operations` more writes and syncs happen, then cuts the power: all that follows fails.
  void CutPowerAfter(std::int64_t operations);
  [[nodiscard]] bool power_is_cut() const;
  // Power is back: files are what the disk holds. REQUIRES: all databases are closed.
  void PowerOn();

  // Writes that would make the files larger than `bytes` in sum fail with SQLITE_FULL.
  void SetCapacity(std::int64_t bytes);
  // Every write fails as on a file system that was mounted read-only.
  void SetReadOnly(bool read_only);
  // The next `count` syncs fail.
  void FailSyncs(int count);

  [[nodiscard]] std::int64_t operations() const;
  [[nodiscard]] std::int64_t bytes_used() const;

  struct File;       // a file's contents
  struct Interface;  // the functions that SQLite calls

 private:
  friend struct Interface;
  // False when the operation may not happen.
  bool Spend();
  // Whether a change that was not synced reaches the disk.
  bool Reaches();
  // What the disk holds of a file after a power cut.
  std::string OnDisk(const File& file);

  const std::string name_;
  std::unique_ptr<sqlite3_vfs> vfs_;
  mutable std::mutex mutex_;
  std::mt19937_64 random_;
  std::map<std::string, std::shared_ptr<File>> files_;
  std::map<std::string, std::shared_ptr<File>> deleted_;  // the disk may not know yet
  std::int64_t operations_left_ = INT64_MAX;
  std::int64_t operations_ = 0;
  std::int64_t capacity_ = INT64_MAX;
  bool cut_ = false;
  bool read_only_ = false;
  int failing_syncs_ = 0;
};

}  // namespace drachma::store
