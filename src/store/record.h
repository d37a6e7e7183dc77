#pragma once

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
// `object` already carries the record's revision in metadata.resourceVersion (see
// StoreOptions::stamp), so that it can be shown as it is.
struct Record {
  std::string key;
  Revision created = 0;   // the revision of the write that made the key
  Revision revision = 0;  // the revision of this state
  json::Value object;

  // The compact JSON of `object`. It is kept for as long as anybody holds it and not longer: a
  // thousand watchers that send the same record share one text, and a store at rest holds none.
  // Any thread.
  [[nodiscard]] std::shared_ptr<const std::string> Json() const;

 private:
  mutable std::weak_ptr<const std::string> json_;  // guarded by a lock shared by many records
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
