#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace drachma::store {

// A prepared SQL statement. Parameters and columns count from 0.
class Statement {
 public:
  void Bind(int index, std::int64_t value);
  // `bytes` must stay until Run() or Reset(). A null data pointer binds NULL.
  void BindText(int index, std::string_view bytes);
  void BindBlob(int index, std::string_view bytes);

  // Runs a statement without rows and resets it. ERRORS: see Database.
  [[nodiscard]] Status Run();
  // Steps to the next row; false at the end, when the statement has been reset.
  [[nodiscard]] Result<bool> Next();

  [[nodiscard]] std::int64_t Integer(int column) const;
  // Valid until the next step.
  [[nodiscard]] std::string_view Bytes(int column) const;
  [[nodiscard]] bool IsNull(int column) const;

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  std::string path_;
};

// A SQLite database file of which this process has the exclusive use. One thread.
//
// ERRORS of all functions, with a text for people: kUnavailable when the disk is full or the file
// has become read-only, kInvalid when the file is corrupt or no database, kInternal else.
class Database {
 public:
  // Opens `path`, making it when missing, in WAL mode with synchronous=FULL: a commit that
  // succeeded survives a power cut. `vfs` empty means the system's.
  [[nodiscard]] static Result<Database> Open(const std::string& path, const std::string& vfs);

  // Runs one or more statements without parameters or rows.
  [[nodiscard]] Status Execute(const char* sql);
  [[nodiscard]] Result<Statement> Prepare(const char* sql);
  // The first column of the first row of a query; 0 without any row.
  [[nodiscard]] Result<std::int64_t> Query(const char* sql);
  // Runs `body` in a transaction: commits when it succeeds, else rolls back.
  [[nodiscard]] Status Transaction(const std::function<Status()>& body);

  // Bytes of the write-ahead log since it was last copied into the database.
  [[nodiscard]] std::int64_t wal_bytes() const { return wal_->bytes; }
  // Copies the write-ahead log into the database, so that it starts over.
  [[nodiscard]] Status Checkpoint();

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  struct Wal {
    std::int64_t bytes = 0;
    std::int64_t page_size = 0;
  };

  std::string path_;
  std::unique_ptr<Wal> wal_ = std::make_unique<Wal>();  // at a fixed place for SQLite's hook
  std::unique_ptr<sqlite3, Close> database_;
};

}  // namespace drachma::store
