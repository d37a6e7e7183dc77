#include "store/database.h"

#include <sqlite3.h>

#include <utility>

namespace drachma::store {
namespace {

std::unexpected<Error> DatabaseError(sqlite3* database, int code, const std::string& path) {
  std::string reason = database != nullptr ? sqlite3_errmsg(database) : sqlite3_errstr(code);
  const int extended = database != nullptr ? sqlite3_extended_errcode(database) : code;
  if (reason == "disk I/O error") reason += " (" + std::to_string(extended) + ")";
  const std::string text = path + ": " + reason;
  switch (code & 0xFF) {
    case SQLITE_FULL:
      return Fail(Code::kUnavailable,
                  "the store cannot write: the disk is full (" + text + "); free some space");
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return Fail(Code::kUnavailable,
                  "the store cannot write: the data folder is read-only (" + text + ")");
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return Fail(Code::kInvalid, "the database is corrupt (" + text +
                                      "); restore the data folder from a backup or remove it");
    case SQLITE_BUSY:
      return Fail(Code::kConflict, "the database is in use by another program (" + text + ")");
    default:
      return Fail(Code::kInternal, "the store cannot use its database (" + text + ")");
  }
}

sqlite3* DatabaseOf(sqlite3_stmt* statement) { return sqlite3_db_handle(statement); }

}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

void Statement::Bind(int index, std::int64_t value) {
  sqlite3_bind_int64(statement_.get(), index + 1, value);
}

void Statement::BindText(int index, std::string_view bytes) {
  sqlite3_bind_text64(statement_.get(), index + 1, bytes.data(), bytes.size(), SQLITE_STATIC,
                      SQLITE_UTF8);
}

void Statement::BindBlob(int index, std::string_view bytes) {
  sqlite3_bind_blob64(statement_.get(), index + 1, bytes.data(), bytes.size(), SQLITE_STATIC);
}

Status Statement::Run() {
  sqlite3_step(statement_.get());
  // The reset tells the error of the step, with its full text.
  const int code = sqlite3_reset(statement_.get());
  if (code != SQLITE_OK) return DatabaseError(DatabaseOf(statement_.get()), code, path_);
  return {};
}

Result<bool> Statement::Next() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) {
    sqlite3_reset(statement_.get());
    return false;
  }
  auto error = DatabaseError(DatabaseOf(statement_.get()), code, path_);
  sqlite3_reset(statement_.get());
  return error;
}

std::int64_t Statement::Integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

std::string_view Statement::Bytes(int column) const {
  const void* bytes = sqlite3_column_blob(statement_.get(), column);
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return {static_cast<const char*>(bytes), static_cast<std::size_t>(size)};
}

bool Statement::IsNull(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

// SQLite's own way takes two syncs, seconds on a busy disk, while somebody waits for the process to
// end. The log, which is durable, stays beside the database instead: the next start reads it, so
// that pages that a power cut tears here do not matter.
void Database::Close::operator()(sqlite3* database) const {
  sqlite3_exec(database, "PRAGMA synchronous=OFF", nullptr, nullptr, nullptr);
  sqlite3_wal_checkpoint_v2(database, nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
  sqlite3_close_v2(database);
}

Result<Database> Database::Open(const std::string& path, const std::string& vfs) {
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(
      path.c_str(), &raw,
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE,
      vfs.empty() ? nullptr : vfs.c_str());
  Database database;
  database.path_ = path;
  database.database_.reset(raw);
  if (code != SQLITE_OK) return DatabaseError(raw, code, path);
  sqlite3_extended_result_codes(raw, 1);
  // Close does it without waiting for the disk.
  sqlite3_db_config(raw, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  // The page size holds for new databases only: three objects of 2 KB in a page waste little, and a
  // single write does not cost much more than its size. Exclusive use needs no shared memory file.
  DRA_TRY(
      database.Execute("PRAGMA page_size=8192;"
                       "PRAGMA locking_mode=EXCLUSIVE;"
                       "PRAGMA journal_mode=WAL;"
                       "PRAGMA synchronous=FULL;"
                       "PRAGMA cache_size=-2048;"
                       "PRAGMA temp_store=MEMORY;"
                       "PRAGMA journal_size_limit=67108864"));
  DRA_ASSIGN(const std::int64_t is_wal,
             database.Query("SELECT journal_mode='wal' FROM pragma_journal_mode"));
  if (is_wal == 0) return Fail(Code::kInternal, path + ": SQLite cannot use a write-ahead log");
  DRA_ASSIGN(database.wal_->page_size, database.Query("PRAGMA page_size"));
  sqlite3_wal_hook(
      raw,
      [](void* wal, sqlite3*, const char*, int pages) {
        static_cast<Wal*>(wal)->bytes = pages * static_cast<Wal*>(wal)->page_size;
        return SQLITE_OK;
      },
      database.wal_.get());
  return database;
}

Status Database::Execute(const char* sql) {
  const int code = sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return DatabaseError(database_.get(), code, path_);
  return {};
}

Result<Statement> Database::Prepare(const char* sql) {
  sqlite3_stmt* raw = nullptr;
  const int code =
      sqlite3_prepare_v3(database_.get(), sql, -1, SQLITE_PREPARE_PERSISTENT, &raw, nullptr);
  if (code != SQLITE_OK) return DatabaseError(database_.get(), code, path_);
  Statement statement;
  statement.statement_.reset(raw);
  statement.path_ = path_;
  return statement;
}

Result<std::int64_t> Database::Query(const char* sql) {
  DRA_ASSIGN(Statement statement, Prepare(sql));
  DRA_ASSIGN(const bool found, statement.Next());
  return found ? statement.Integer(0) : 0;
}

Status Database::Transaction(const std::function<Status()>& body) {
  Status status = Execute("BEGIN");
  if (status) status = body();
  if (status) status = Execute("COMMIT");
  // Some errors have rolled back already.
  if (!status && sqlite3_get_autocommit(database_.get()) == 0) {
    sqlite3_exec(database_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
  }
  return status;
}

Status Database::Checkpoint() {
  const int code = sqlite3_wal_checkpoint_v2(database_.get(), nullptr, SQLITE_CHECKPOINT_RESTART,
                                             nullptr, nullptr);
  if (code != SQLITE_OK) return DatabaseError(database_.get(), code, path_);
  wal_->bytes = 0;
  return {};
}

}  // namespace drachma::store
