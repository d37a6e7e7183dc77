#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "store/history.h"
#include "store/store.h"

namespace drachma::store {

// Spreads committed events to the watches of their scopes, and remembers them for watches to come.
//
// Watches of one scope share the list of a commit's events, so a commit costs each watch one
// pointer, however many events it holds. Any thread; all state is under one lock, which `Publish`
// shares with the owner's tables so that a list and a watch from its revision fit together.
class WatchHub {
 public:
  explicit WatchHub(History history);
  ~WatchHub();

  // Makes a commit known: calls `apply` (under the lock; to change the tables), remembers the
  // events and queues them to the watches, then (without the lock) calls the `ready` of those that
  // wait for it. `dropped` gets the events that the history forgot.
  // REQUIRES: one thread at a time, events in order of revision, not empty.
  void Publish(std::span<const EventPtr> events, const std::function<void()>& apply,
               std::vector<EventPtr>& dropped);

  // As Store::Subscribe.
  [[nodiscard]] Result<std::unique_ptr<Watch>> Subscribe(std::string_view scope, Revision after,
                                                         std::move_only_function<void()> ready,
                                                         const WatchOptions& options);
  // Calls `read` under the lock with the history: for lists of the past.
  void Read(const std::function<void(const History&)>& read) const;
  // As Store::Compact; returns the events forgotten.
  std::vector<EventPtr> Forget(Revision revision);

  [[nodiscard]] std::size_t watches() const;

 private:
  class Subscription;
  class Handle;
  struct Group;
  struct ScopeHash : std::hash<std::string_view> {
    using is_transparent = void;
  };

  // Locks mutex_ itself.
  void Unsubscribe(const std::shared_ptr<Subscription>& subscription);

  mutable std::mutex mutex_;
  History history_;
  std::unordered_map<std::string, std::unique_ptr<Group>, ScopeHash, std::equal_to<>> groups_;
  std::size_t watches_ = 0;
};

// The errors of a watch or a list that starts outside the history, with upstream's texts.
[[nodiscard]] Error GapError(HistoryGap gap, Revision revision, const History& history);

}  // namespace drachma::store
