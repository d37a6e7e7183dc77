#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "store/store.h"
#include "store/table.h"
#include "store/watch_hub.h"

namespace drachma::store {

// A write under way.
struct Write {
  EventPtr event;  // null when rejected
  std::optional<Error> rejection;
  Store::Done done;
};

// What a store holds when it is opened.
struct Contents {
  Table table;
  History history;
};

// All of a store but where its commits go: the newest state for writers, the durable state for
// readers, history and watches. Backends decide when CommitQueued() runs and make a batch durable
// in Append().
class Engine : public Store {
 public:
  Engine(const StoreOptions& options, Contents contents);

  void Put(std::string key, json::Value object, Revision expected, Done done) override;
  void Delete(std::string key, Revision expected, Done done) override;
  [[nodiscard]] RecordPtr Get(std::string_view key) const override;
  [[nodiscard]] RecordPtr Head(std::string_view key) const override;
  [[nodiscard]] Result<Page> List(std::string_view scope,
                                  const ListOptions& options) const override;
  [[nodiscard]] std::size_t Count(std::string_view scope) const override;
  [[nodiscard]] Revision Current() const override;
  [[nodiscard]] Result<std::unique_ptr<Watch>> Subscribe(std::string_view scope, Revision after,
                                                         std::move_only_function<void()> ready,
                                                         const WatchOptions& options) override;
  [[nodiscard]] StoreStats Stats() const override;
  void Compact(Revision revision) override;

 protected:
  // Makes events durable, all or none. Called by CommitQueued(), never empty.
  virtual Status Append(const std::vector<EventPtr>& events) = 0;
  // Hears that the history forgot these events, so that what they replaced is of no more use.
  virtual void Forgotten(const std::vector<EventPtr>& events) = 0;
  // A write was queued: have CommitQueued() called soon.
  virtual void Wake() = 0;

  // Commits and answers all writes queued so far as one batch. False when there were none.
  // REQUIRES: one thread at a time.
  bool CommitQueued();
  // Refuses writes from now on.
  void Close();
  [[nodiscard]] bool HasQueued() const;

 private:
  struct KeyHash : std::hash<std::string_view> {
    using is_transparent = void;
    using std::hash<std::string_view>::operator();
    std::size_t operator()(const EventPtr& event) const { return (*this)(event->key()); }
  };
  struct KeyEqual {
    using is_transparent = void;
    bool operator()(const EventPtr& a, const EventPtr& b) const { return a->key() == b->key(); }
    bool operator()(const EventPtr& a, std::string_view b) const { return a->key() == b; }
    bool operator()(std::string_view a, const EventPtr& b) const { return a == b->key(); }
  };

  // The new object of a write, or none to delete.
  void Submit(std::string key, std::optional<json::Value> object, Revision expected, Done done);
  // Why a write may not happen.
  [[nodiscard]] std::optional<Error> Check(std::string_view key, const RecordPtr& head,
                                           bool is_delete, Revision expected) const;
  [[nodiscard]] RecordPtr HeadLocked(std::string_view key) const;
  // Commits `events` or gives them up with all writes that were queued behind them.
  void Publish(std::vector<Write>& batch, const std::vector<EventPtr>& events);
  void GiveUp(std::vector<Write>& batch, const Error& error);
  [[nodiscard]] Result<Page> ListPast(std::string_view scope, const ListOptions& options) const;

  const StoreOptions options_;

  // Writers. Locked before the hub's and the table's locks.
  mutable std::mutex head_mutex_;
  std::vector<Write> queue_;
  std::size_t under_way_ = 0;                             // writes queued or being committed
  std::size_t bytes_under_way_ = 0;                       // of their objects
  std::unordered_set<EventPtr, KeyHash, KeyEqual> head_;  // the last write under way of each key
  Revision next_;
  bool closed_ = false;

  // Readers. The hub's lock is held while the table changes, so that whoever holds either lock
  // sees table and history agree.
  mutable std::shared_mutex table_mutex_;
  Table table_;
  Revision current_;
  WatchHub hub_;

  std::atomic<std::uint64_t> commits_{0};
  std::atomic<std::uint64_t> failed_commits_{0};
};

}  // namespace drachma::store
