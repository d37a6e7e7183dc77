#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/record.h"

namespace drachma::store {

// What a write expects to find.
inline constexpr Revision kMustNotExist = 0;  // only for Put: the key has no value
inline constexpr Revision kAnyRevision = -1;  // whatever is there (Delete still needs something)

// Named limits.
inline constexpr std::size_t kHistoryEventsDefault = 16'384;  // events a watch may start behind
inline constexpr std::size_t kWatchLagDefault = 16'384;       // events waiting in one watch
inline constexpr std::size_t kPendingWritesMax = 65'536;      // then kTooManyRequests
inline constexpr std::size_t kPendingBytesMax = 512 << 20;    // likewise, about
inline constexpr std::size_t kHistoryBytesMax = 512 << 20;    // huge objects: fewer events are kept
inline constexpr std::size_t kKeyBytesMax = 1024;             // longer keys are kBadRequest

struct StoreOptions {
  std::size_t history_events_max = kHistoryEventsDefault;
  // Writes the revision of a change into its object, under the store's lock: short and pure.
  void (*stamp)(json::Value& object, Revision revision) = &StampResourceVersion;
};

// Records of one moment, in order of their keys.
struct Page {
  std::vector<RecordPtr> records;
  Revision revision = 0;       // the moment: a watch from here misses nothing and repeats nothing
  bool more = false;           // the limit cut the list: go on after records.back()->key
  std::int64_t remaining = 0;  // how many records follow when `more`
};

struct ListOptions {
  // Only keys greater than this one; empty starts at the beginning.
  std::string after_key;
  // 0 means all.
  std::size_t limit = 0;
  // List as things were at this revision (continue tokens, resourceVersionMatch=Exact); 0 means
  // now. ERRORS: kExpired when the history does not reach back, kTimeout when it is in the future.
  Revision at = 0;
  // Of the records with a mark (Record::mark()) those that lack any of these bits may be left out,
  // and do not count to the limit; of those behind it they do count to `remaining`.
  std::uint64_t marks = 0;
};

// What waited in a watch.
struct WatchBatch {
  std::vector<EventPtr> events;  // in order of revision; may be empty
  // Everything up to this revision is in this batch or was in an earlier one: what a bookmark may
  // promise once the batch has been sent. The newest durable revision, unless `more`.
  Revision through = 0;
  bool more = false;  // `events_max` left some behind: Take() again, `ready` will not be called
};

// A subscription to the changes of a scope. Its events wait in the store until they are taken, so a
// reader that cannot go on (a client that does not read) simply does not take. Destroying it ends
// the subscription; `ready` is not running and will not run once the destructor has returned
// (unless the destructor runs inside it). Any thread, one at a time. The store must outlive it.
class Watch {
 public:
  virtual ~Watch() = default;
  // Moves out what waits; at most about `events_max` events (whole commits at a time, at least
  // one). May be called at any time: without news it tells how far the watch has come, which is
  // what bookmarks need.
  // ERRORS: kExpired when more than the lag limit waited: the events are lost, list again.
  [[nodiscard]] virtual Result<WatchBatch> Take(std::size_t events_max = SIZE_MAX) = 0;
};

struct WatchOptions {
  std::size_t lag_events_max = kWatchLagDefault;
};

// Figures for metrics and for people.
struct StoreStats {
  Revision revision = 0;
  Revision compacted = 0;  // watches from before this revision get kExpired
  std::size_t keys = 0;
  std::size_t pending_writes = 0;
  std::size_t watches = 0;
  std::size_t history_events = 0;
  std::int64_t disk_bytes = 0;  // 0 in memory
  std::uint64_t commits = 0;
  std::uint64_t failed_commits = 0;
};

// A revisioned map from keys to JSON objects with watches, the whole of it in memory, and on disk
// too with the SQLite backend.
//
// Writes are checked at once against the newest state (writes under way included), get their
// revision at once, and are answered once they are durable. Readers and watches see only durable
// states, hence nobody can learn of a change that a power cut could take back. Should a commit
// fail, every write under way fails with it and the state is the last durable one.
//
// A scope is a key prefix that is empty or ends in '/' ("/registry/pods/default/"), or the exact
// name of one key. Any thread may call anything. Callbacks come one at a time in order of revision
// — from the writer's thread (SQLite), or from whichever thread writes (memory: before Put returns,
// unless it is called from inside a callback or while another thread is at it) — and must be short:
// they hold up all other writers. They may call the store again, except Flush().
class Store {
 public:
  // The state that a write made (for Delete the last state, stamped with the deletion's revision).
  using Done = std::move_only_function<void(Result<RecordPtr>)>;

  virtual ~Store() = default;

  // Sets `key` to `object`, which gets the new revision stamped in.
  // `expected` is the revision of the state that the write replaces, or kMustNotExist, or
  // kAnyRevision.
  // ERRORS (through `done`, and only when the state that it collides with is durable):
  // kAlreadyExists (kMustNotExist and there is one), kNotFound (a revision, and there is none),
  // kConflict (another revision), kBadRequest (empty or too long key), kTooManyRequests (too many
  // writes under way), kUnavailable (the disk is full or the store is closing: nothing was
  // written), kInternal (I/O error).
  virtual void Put(std::string key, json::Value object, Revision expected, Done done) = 0;
  // Removes `key`. ERRORS as Put; kNotFound when there is none.
  virtual void Delete(std::string key, Revision expected, Done done) = 0;

  // The durable state of `key`; null when there is none.
  [[nodiscard]] virtual RecordPtr Get(std::string_view key) const = 0;
  // The state that the next write of `key` will meet, writes under way included: for
  // read-modify-write only. A write based on it fails when the write it is based on fails. Must
  // not be shown to clients.
  [[nodiscard]] virtual RecordPtr Head(std::string_view key) const = 0;
  // The records of a scope. ERRORS: see ListOptions::at.
  [[nodiscard]] virtual Result<Page> List(std::string_view scope,
                                          const ListOptions& options = {}) const = 0;
  // The number of records in a scope.
  [[nodiscard]] virtual std::size_t Count(std::string_view scope) const = 0;
  // The newest durable revision.
  [[nodiscard]] virtual Revision Current() const = 0;

  // Subscribes to the changes of `scope` after revision `after`. Begin with a Take(): events may
  // wait already. From then on `ready` is called (as all callbacks) when events have come, and not
  // again before the next Take(). It may call Take().
  // ERRORS: kExpired when events after `after` were forgotten ("too old resource version"),
  // kTimeout when `after` was not reached yet ("Too large resource version").
  [[nodiscard]] virtual Result<std::unique_ptr<Watch>> Subscribe(
      std::string_view scope, Revision after, std::move_only_function<void()> ready,
      const WatchOptions& options = {}) = 0;

  // Figures of this moment.
  [[nodiscard]] virtual StoreStats Stats() const = 0;
  // Forgets the events up to `revision`, so that older watches get kExpired (etcd's compaction).
  virtual void Compact(Revision revision) = 0;
  // Waits until all writes under way are answered. Must not be called from a callback.
  virtual void Flush() = 0;
};

// A store that lives as long as the object: no thread, no file. Callbacks run in the thread of the
// writer, so under a VirtualExecutor everything stays in its one thread.
std::unique_ptr<Store> OpenMemoryStore(const StoreOptions& options = {});

struct SqliteOptions : StoreOptions {
  // The folder of the database ("store.db") and the lock file ("store.lock"); made (0700) when
  // missing.
  std::string folder;
  // A SQLite VFS to use instead of the system's (tests).
  std::string vfs;
};

// Opens or makes the store in a folder.
// ERRORS: kConflict when another process has it open (with its pid), kInvalid when it was written
// by a newer schema, kForbidden when the folder cannot be written, kInternal when the database is
// corrupt. The text says what to do.
Result<std::unique_ptr<Store>> OpenSqliteStore(const SqliteOptions& options);

}  // namespace drachma::store
