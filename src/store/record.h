#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "json/value.h"

namespace drachma::store {

// The number of a change. One counter for the whole store, as etcd's: it grows with every write
// and never goes back, over restarts and crashes too. The empty store stands at 1, since clients
// give 0 a meaning of its own ("any").
using Revision = std::int64_t;

// One state of one key. Immutable; readers on all threads share it.
//
// The object is there as a tree, as text, or as both, and what is missing is made when it is asked
// for. Text is what clients over HTTP get and what the disk holds, and takes a quarter of the
// memory; trees are what writes, selectors and clients in process work on. Text stays once it was
// made. A tree beside it goes when kWarmTreesMax other records have got both forms since, unless
// somebody else holds the same tree: then it costs nothing.
class Record : public std::enable_shared_from_this<Record> {
 public:
  static constexpr std::size_t kWarmTreesMax = 1024;

  // Either form. `object` already carries the record's revision in metadata.resourceVersion (see
  // StoreOptions::stamp), so that it can be shown as it is; `text` is compact JSON that is known
  // to be valid.
  [[nodiscard]] static std::shared_ptr<const Record> OfObject(std::string key, Revision created,
                                                              Revision revision,
                                                              json::Value object);
  [[nodiscard]] static std::shared_ptr<const Record> OfText(std::string key, Revision created,
                                                            Revision revision, std::string text);
  // The state of a key after its deletion: what `last` was, stamped with the deletion's revision.
  // Made when it is asked for. REQUIRES: last is not null.
  using Stamp = void (*)(json::Value& object, Revision revision);
  [[nodiscard]] static std::shared_ptr<const Record> OfDeletion(std::shared_ptr<const Record> last,
                                                                Revision revision, Stamp stamp);

  const std::string key;
  const Revision created;   // the revision of the write that made the key
  const Revision revision;  // the revision of this state

  // The object: a reference to the shared tree. Any thread.
  [[nodiscard]] json::Value Object() const;
  // The same for a pass over many records: a tree that has to be made for it is not kept.
  [[nodiscard]] json::Value ObjectOnce() const;
  // Its compact JSON, one text for all who hold it. Any thread.
  [[nodiscard]] std::shared_ptr<const std::string> Json() const;
  // The text, or null when nobody has asked for it yet. Any thread.
  [[nodiscard]] std::shared_ptr<const std::string> TextIfMade() const;

  // A word that readers keep with the record, 0 at first: with it a pass over many records tells
  // most of those that it does not look for without reading them. Any thread.
  [[nodiscard]] std::uint64_t mark() const { return mark_.load(std::memory_order_relaxed); }
  void SetMark(std::uint64_t mark) const { mark_.store(mark, std::memory_order_relaxed); }

 private:
  class WarmTrees;
  struct Deletion;
  struct Private {};

 public:  // for std::make_shared
  Record(Private, std::string key_text, Revision created_at, Revision revision_at);
  ~Record();

 private:
  // The tree of OfDeletion(); else null.
  [[nodiscard]] json::Value TreeOfDeletion() const;

  mutable std::atomic<std::uint64_t> mark_ = 0;
  // Both guarded by a lock shared by many records.
  mutable json::Value object_;
  mutable std::shared_ptr<const std::string> text_;
  std::unique_ptr<const Deletion> deletion_;  // null but for OfDeletion()
};
using RecordPtr = std::shared_ptr<const Record>;

enum class EventType : std::uint8_t { kCreated, kModified, kDeleted };

// One change of one key.
struct Event {
  EventType type = EventType::kCreated;
  // The new state. For kDeleted the last state, stamped with the deletion's revision (as
  // Kubernetes shows the object of a DELETED event). Never null.
  RecordPtr record;
  // The state before; null for kCreated. A watch with a selector needs it to tell an object that
  // left the selection.
  RecordPtr previous;

  // About how much memory `record` takes; parts it shares with other records are counted too.
  std::size_t bytes = 0;

  [[nodiscard]] Revision revision() const { return record->revision; }
  [[nodiscard]] const std::string& key() const { return record->key; }
};
using EventPtr = std::shared_ptr<const Event>;

// Sets metadata.resourceVersion of an object to `revision`: the default stamp. Values that are no
// objects are left alone.
void StampResourceVersion(json::Value& object, Revision revision);

}  // namespace drachma::store
