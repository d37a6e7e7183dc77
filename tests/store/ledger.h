#pragma once

#include <map>
#include <string>
#include <vector>

#include "store/store.h"

namespace drachma::store {

// What a store has promised: the answered writes. Checks a store that was opened after a crash
// against it.
class Ledger {
 public:
  // A write was answered. `deleted`: it was a deletion.
  void Answered(const std::string& key, Revision revision, bool deleted) {
    Entry& entry = newest_[key];
    if (revision > entry.revision) entry = {revision, deleted};
    answered_[revision] = key;
    if (revision > newest_revision_) newest_revision_ = revision;
  }

  // The faults of `store`, as text; empty when it keeps every promise. A watch from `resume` must
  // show every answered write after it.
  [[nodiscard]] std::string FaultsOf(Store& store, Revision resume) const {
    std::string faults;
    if (store.Current() < newest_revision_) {
      faults += "the revision went back from " + std::to_string(newest_revision_) + " to " +
                std::to_string(store.Current()) + "\n";
    }
    for (const auto& [key, entry] : newest_) {
      const RecordPtr record = store.Get(key);
      // A later write of the key that was not answered may have been kept, too.
      if (record == nullptr ? !entry.deleted && !WasDeletedAfter(store, key, entry.revision)
                            : record->revision < entry.revision ||
                                  (entry.deleted && record->revision <= entry.revision)) {
        faults += "lost: " + key + " at " + std::to_string(entry.revision) + "\n";
      }
    }
    return faults + GapsOf(store, resume);
  }

  [[nodiscard]] Revision newest_revision() const { return newest_revision_; }
  [[nodiscard]] std::size_t size() const { return answered_.size(); }

 private:
  static constexpr std::size_t kFaultBytesMax = 1000;  // enough to see what is wrong

  struct Entry {
    Revision revision = 0;
    bool deleted = false;
  };

  static bool WasDeletedAfter(Store& store, const std::string& key, Revision revision) {
    const auto watch = store.Subscribe(key, revision, [] {});
    if (!watch) return false;
    const auto batch = (*watch)->Take();
    return batch && !batch->events.empty() && batch->events.back()->type == EventType::kDeleted;
  }

  [[nodiscard]] std::string GapsOf(Store& store, Revision resume) const {
    auto watch = store.Subscribe("", resume, [] {}, {.lag_events_max = 1'000'000});
    if (!watch) return "no watch from " + std::to_string(resume) + ": " + watch.error().message;
    const WatchBatch batch = (*watch)->Take().value();
    std::map<Revision, std::string> seen;
    for (const EventPtr& event : batch.events) seen[event->revision()] = event->key();
    std::string faults;
    for (auto at = answered_.upper_bound(resume); at != answered_.end(); ++at) {
      const auto found = seen.find(at->first);
      if (found == seen.end() || found->second != at->second) {
        faults += "the watch misses " + at->second + " at " + std::to_string(at->first) + "\n";
        if (faults.size() > kFaultBytesMax) break;
      }
    }
    return faults;
  }

  std::map<std::string, Entry> newest_;
  std::map<Revision, std::string> answered_;
  Revision newest_revision_ = 1;
};

}  // namespace drachma::store
