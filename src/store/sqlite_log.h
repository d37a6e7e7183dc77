#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/database.h"
#include "store/engine.h"

namespace drachma::store {

inline constexpr int kSchemaVersion = 1;

// The store on disk: one row per change, numbered by its revision (docs/store.md). A row stays
// until the change that made it out of date has left the history. One thread.
class SqliteLog {
 public:
  // Opens the log at `path` or makes an empty one.
  // ERRORS: kInvalid for a newer schema, a foreign or a corrupt database; as Database.
  [[nodiscard]] static Result<SqliteLog> Open(const std::string& path,
                                              const SqliteOptions& options);

  // Reads everything. To be called once, first. ERRORS: kInvalid for rows that are corrupt.
  [[nodiscard]] Result<Contents> Load(const StoreOptions& options);
  // Writes the events in one transaction; they are durable on return. When the disk is full it
  // first tries to make room in the write-ahead log.
  [[nodiscard]] Status Append(const std::vector<EventPtr>& events);
  // Notes that these events have left the history.
  void Forget(const std::vector<EventPtr>& events);
  // Removes rows that are of no more use, once there are enough of them, and keeps the write-ahead
  // log short. Errors are logged: it is tried again.
  void Tidy();

 private:
  [[nodiscard]] Status Prepare();
  [[nodiscard]] Status CheckSchema();
  [[nodiscard]] Status Insert(const std::vector<EventPtr>& events);
  [[nodiscard]] Status RemoveStale();

  Database database_;
  Statement insert_;
  Statement remove_;
  Statement set_compacted_;
  std::string folder_;
  std::vector<std::shared_ptr<const std::string>> texts_;  // of the objects being written
  std::vector<Revision> stale_;                            // rows that may go
  Revision compacted_ = 1;  // the newest event that has left the history
  bool tidy_failed_ = false;
};

}  // namespace drachma::store
