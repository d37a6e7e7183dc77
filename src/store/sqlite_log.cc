#include "store/sqlite_log.h"

#include <zlib.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/log.h"
#include "json/json.h"

namespace drachma::store {
namespace {

// "DRAC": tells our databases from others.
constexpr int kApplicationId = 0x44524143;

// Removing rows touches old pages; many at once touch fewer.
constexpr std::size_t kStaleRowsMax = 4096;
// Beyond this the write-ahead log is copied into the database.
constexpr std::int64_t kWalBytesMax = 16 << 20;
// What an event takes beside key and text, about.
constexpr std::size_t kRowOverheadBytes = 256;

constexpr char kSchema[] = R"(
CREATE TABLE log (
  revision INTEGER PRIMARY KEY,
  key      TEXT NOT NULL,
  created  INTEGER NOT NULL,
  checksum INTEGER NOT NULL,
  value    BLOB
);
CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO meta VALUES ('compacted', 1);
)";

std::int64_t Checksum(std::string_view key, std::string_view value) {
  const auto add = [](uLong sum, std::string_view bytes) {
    return crc32_z(sum, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  };
  return static_cast<std::int64_t>(add(add(crc32_z(0, nullptr, 0), key), value));
}

std::unexpected<Error> CorruptRow(Revision revision, const std::string& why) {
  return Fail(Code::kInvalid, "the database is corrupt (row " + std::to_string(revision) + ": " +
                                  why + "); restore the data folder from a backup or remove it");
}

// A row of the log.
struct Row {
  Revision revision = 0;
  std::string_view key;
  Revision created = 0;
  std::optional<std::string_view> value;
};

Result<Row> ReadRow(const Statement& statement) {
  Row row{
      .revision = statement.Integer(0), .key = statement.Bytes(1), .created = statement.Integer(2)};
  if (!statement.IsNull(4)) row.value = statement.Bytes(4);
  if (statement.Integer(3) != Checksum(row.key, row.value.value_or(""))) {
    return CorruptRow(row.revision, "its checksum is wrong");
  }
  return row;
}

// The change that a row tells of, given the state before.
EventPtr ToEvent(const Row& row, RecordPtr previous, const StoreOptions& options) {
  auto event = std::make_shared<Event>();
  event->bytes = row.key.size() + kRowOverheadBytes;
  std::string key(row.key);
  if (row.value) {
    event->bytes += row.value->size();
    event->record =
        Record::OfText(std::move(key), row.created, row.revision, std::string(*row.value));
    event->type = row.created == row.revision ? EventType::kCreated : EventType::kModified;
    if (event->type == EventType::kCreated) previous = nullptr;
  } else {
    event->record = previous != nullptr
                        ? Record::OfDeletion(previous, row.revision, options.stamp)
                        : Record::OfObject(std::move(key), row.created, row.revision, {});
    event->type = EventType::kDeleted;
  }
  event->previous = std::move(previous);
  return event;
}

}  // namespace

Result<SqliteLog> SqliteLog::Open(const std::string& path, const SqliteOptions& options) {
  SqliteLog log;
  DRA_ASSIGN(log.database_, Database::Open(path, options.vfs));
  log.folder_ = options.folder;
  DRA_TRY(log.CheckSchema());
  DRA_TRY(log.Prepare());
  return log;
}

Status SqliteLog::CheckSchema() {
  DRA_ASSIGN(const std::int64_t application, database_.Query("PRAGMA application_id"));
  DRA_ASSIGN(const std::int64_t version, database_.Query("PRAGMA user_version"));
  DRA_ASSIGN(const std::int64_t tables, database_.Query("SELECT count(*) FROM sqlite_schema"));
  if (application == 0 && version == 0 && tables == 0) {
    const std::string marks = "PRAGMA application_id=" + std::to_string(kApplicationId) +
                              ";PRAGMA user_version=" + std::to_string(kSchemaVersion);
    return database_.Transaction([&]() -> Status {
      DRA_TRY(database_.Execute(kSchema));
      return database_.Execute(marks.c_str());
    });
  }
  if (application != kApplicationId) {
    return Fail(Code::kInvalid, "the database in " + folder_ + " belongs to another program");
  }
  if (version > kSchemaVersion) {
    return Fail(Code::kInvalid, "the store in " + folder_ +
                                    " was written by a newer drachma "
                                    "(schema " +
                                    std::to_string(version) + ", this one knows up to " +
                                    std::to_string(kSchemaVersion) +
                                    "); use that version or another data folder");
  }
  return {};
}

Status SqliteLog::Prepare() {
  DRA_ASSIGN(insert_, database_.Prepare("INSERT INTO log VALUES (?,?,?,?,?)"));
  DRA_ASSIGN(remove_, database_.Prepare("DELETE FROM log WHERE revision=?"));
  DRA_ASSIGN(set_compacted_, database_.Prepare("UPDATE meta SET value=? WHERE name='compacted'"));
  return {};
}

Result<Contents> SqliteLog::Load(const StoreOptions& options) {
  DRA_ASSIGN(compacted_, database_.Query("SELECT value FROM meta WHERE name='compacted'"));
  Contents contents{.table = {},
                    .history = History(compacted_, options.history_events_max, kHistoryBytesMax)};
  DRA_ASSIGN(Statement rows,
             database_.Prepare(
                 "SELECT revision, key, created, checksum, value FROM log ORDER BY revision"));
  for (;;) {
    DRA_ASSIGN(const bool more, rows.Next());
    if (!more) return contents;
    DRA_ASSIGN(const Row row, ReadRow(rows));
    EventPtr event = ToEvent(row, contents.table.Find(row.key), options);
    contents.table.Apply(*event);
    if (row.revision > contents.history.forgotten()) {
      Forget(contents.history.Append(std::move(event)));
    } else {
      Forget({event});  // only the state that it made is of use
    }
  }
}

Status SqliteLog::Append(const std::vector<EventPtr>& events) {
  texts_.clear();
  for (const EventPtr& event : events) {
    const bool deleted = event->type == EventType::kDeleted;
    texts_.push_back(deleted ? nullptr : event->record->Json());
  }
  Status status = Insert(events);
  if (!status && status.error().code == Code::kUnavailable && database_.Checkpoint()) {
    status = Insert(events);
  }
  if (!status) Log(LogLevel::kError, "store", "{}", status.error().message);
  return status;
}

Status SqliteLog::Insert(const std::vector<EventPtr>& events) {
  return database_.Transaction([&]() -> Status {
    for (std::size_t i = 0; i < events.size(); ++i) {
      const Record& record = *events[i]->record;
      insert_.Bind(0, record.revision);
      insert_.BindText(1, record.key);
      insert_.Bind(2, record.created);
      const bool deleted = texts_[i] == nullptr;
      insert_.Bind(3, Checksum(record.key, deleted ? std::string_view("") : *texts_[i]));
      insert_.BindBlob(4, deleted ? std::string_view() : *texts_[i]);
      DRA_TRY(insert_.Run());
    }
    return {};
  });
}

void SqliteLog::Forget(const std::vector<EventPtr>& events) {
  for (const EventPtr& event : events) {
    if (event->previous != nullptr) stale_.push_back(event->previous->revision);
    if (event->type == EventType::kDeleted) stale_.push_back(event->revision());
    compacted_ = std::max(compacted_, event->revision());
  }
}

void SqliteLog::Tidy() {
  Status status;
  if (stale_.size() >= kStaleRowsMax) {
    status = RemoveStale();
    if (status) stale_.clear();
  }
  if (status && database_.wal_bytes() >= kWalBytesMax) status = database_.Checkpoint();
  if (!status && !tidy_failed_) {
    Log(LogLevel::kWarning, "store", "cannot tidy up, trying on: {}", status.error().message);
  }
  tidy_failed_ = !status;
}

Status SqliteLog::RemoveStale() {
  // In order, so that each page is visited once.
  std::ranges::sort(stale_);
  return database_.Transaction([&]() -> Status {
    for (const Revision revision : stale_) {
      remove_.Bind(0, revision);
      DRA_TRY(remove_.Run());
    }
    set_compacted_.Bind(0, compacted_);
    return set_compacted_.Run();
  });
}

}  // namespace drachma::store
