#include "store/watch_hub.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/check.h"
#include "store/scope.h"

namespace drachma::store {
namespace {

// A commit's events of one scope, shared by all its watches.
using Chunk = std::shared_ptr<const std::vector<EventPtr>>;

}  // namespace

// What the hub and the handle of a watch share. The queue is guarded by the hub's lock.
class WatchHub::Subscription {
 public:
  Subscription(std::string scope, std::move_only_function<void()> ready, std::size_t lag_max)
      : scope_(std::move(scope)), lag_max_(lag_max), ready_(std::move(ready)) {}

  [[nodiscard]] const std::string& scope() const { return scope_; }

  // Queues a chunk. True when `ready` is to be called. REQUIRES: the hub's lock.
  bool Push(Chunk chunk) {
    waiting_ += chunk->size();
    chunks_.push_back(std::move(chunk));
    if (waiting_ > lag_max_) {
      lagged_ = true;
      chunks_.clear();
      waiting_ = 0;
    }
    return !std::exchange(told_, true);
  }

  // Moves chunks out until they hold `events_max` events. REQUIRES: the hub's lock.
  std::deque<Chunk> Take(std::size_t events_max) {
    std::deque<Chunk> taken;
    std::size_t events = 0;
    while (!chunks_.empty() && events < events_max) {
      events += chunks_.front()->size();
      taken.push_back(std::move(chunks_.front()));
      chunks_.pop_front();
    }
    waiting_ -= events;
    told_ = !chunks_.empty();
    return taken;
  }
  [[nodiscard]] bool lagged() const { return lagged_; }
  [[nodiscard]] bool empty() const { return chunks_.empty(); }

  // Calls `ready` unless the watch has ended. Without the hub's lock.
  void CallReady() {
    const std::lock_guard lock(call_mutex_);
    if (ended_) return;
    ++calls_;
    ready_();
    --calls_;
  }
  // Waits for a running `ready` of another thread; none runs afterwards.
  void End() {
    const std::lock_guard lock(call_mutex_);
    ended_ = true;
    if (calls_ == 0) ready_ = nullptr;  // else it is running below us and dies with us
  }

 private:
  const std::string scope_;
  const std::size_t lag_max_;
  std::deque<Chunk> chunks_;
  std::size_t waiting_ = 0;
  bool lagged_ = false;
  // Whether no `ready` is due before the next Take(): it was called since the last one, or the
  // watch is new.
  bool told_ = true;

  // Recursive, since a watch may be destroyed inside its own `ready`.
  std::recursive_mutex call_mutex_;
  std::move_only_function<void()> ready_;
  int calls_ = 0;
  bool ended_ = false;
};

struct WatchHub::Group {
  std::vector<std::shared_ptr<Subscription>> subscriptions;
  std::vector<EventPtr> collected;  // of the commit being published
};

class WatchHub::Handle final : public Watch {
 public:
  Handle(WatchHub& hub, std::shared_ptr<Subscription> subscription)
      : hub_(hub), subscription_(std::move(subscription)) {}
  ~Handle() override {
    hub_.Unsubscribe(subscription_);
    subscription_->End();
  }

  Result<WatchBatch> Take(std::size_t events_max) override {
    WatchBatch batch;
    std::deque<Chunk> chunks;
    {
      const std::lock_guard lock(hub_.mutex_);
      if (subscription_->lagged()) {
        return Fail(Code::kExpired, "the watch fell too far behind; list again");
      }
      chunks = subscription_->Take(std::max<std::size_t>(events_max, 1));
      batch.more = !subscription_->empty();
      batch.through = hub_.history_.last();
    }
    std::size_t size = 0;
    for (const Chunk& chunk : chunks) size += chunk->size();
    batch.events.reserve(size);
    for (const Chunk& chunk : chunks) {
      batch.events.insert(batch.events.end(), chunk->begin(), chunk->end());
    }
    if (batch.more) batch.through = batch.events.back()->revision();
    return batch;
  }

 private:
  WatchHub& hub_;
  const std::shared_ptr<Subscription> subscription_;
};

WatchHub::WatchHub(History history) : history_(std::move(history)) {}

WatchHub::~WatchHub() { DRA_CHECK(watches_ == 0); }

void WatchHub::Publish(std::span<const EventPtr> events, const std::function<void()>& apply,
                       std::vector<EventPtr>& dropped) {
  std::vector<std::shared_ptr<Subscription>> to_tell;
  {
    const std::lock_guard lock(mutex_);
    apply();
    std::vector<Group*> touched;
    for (const EventPtr& event : events) {
      std::ranges::move(history_.Append(event), std::back_inserter(dropped));
      if (groups_.empty()) continue;
      ForEachScopeOf(event->key(), [&](std::string_view scope) {
        const auto group = groups_.find(scope);
        if (group == groups_.end()) return;
        if (group->second->collected.empty()) touched.push_back(group->second.get());
        group->second->collected.push_back(event);
      });
    }
    for (Group* group : touched) {
      const auto chunk =
          std::make_shared<const std::vector<EventPtr>>(std::exchange(group->collected, {}));
      for (const auto& subscription : group->subscriptions) {
        if (subscription->Push(chunk)) to_tell.push_back(subscription);
      }
    }
  }
  for (const auto& subscription : to_tell) subscription->CallReady();
}

Result<std::unique_ptr<Watch>> WatchHub::Subscribe(std::string_view scope, Revision after,
                                                   std::move_only_function<void()> ready,
                                                   const WatchOptions& options) {
  std::shared_ptr<Subscription> subscription;
  {
    const std::lock_guard lock(mutex_);
    auto missed = history_.Since(after, scope);
    if (!missed) return std::unexpected(GapError(missed.error(), after, history_));
    // What the history still has is no lag: a watch that was cut off may resume where it was.
    subscription = std::make_shared<Subscription>(std::string(scope), std::move(ready),
                                                  options.lag_events_max + missed->size());
    if (!missed->empty()) {
      subscription->Push(std::make_shared<const std::vector<EventPtr>>(std::move(*missed)));
    }
    auto& group = groups_[std::string(scope)];
    if (group == nullptr) group = std::make_unique<Group>();
    group->subscriptions.push_back(subscription);
    ++watches_;
  }
  return std::make_unique<Handle>(*this, std::move(subscription));
}

void WatchHub::Unsubscribe(const std::shared_ptr<Subscription>& subscription) {
  const std::lock_guard lock(mutex_);
  const auto group = groups_.find(subscription->scope());
  DRA_CHECK(group != groups_.end());
  std::erase(group->second->subscriptions, subscription);
  if (group->second->subscriptions.empty()) groups_.erase(group);
  --watches_;
}

void WatchHub::Read(const std::function<void(const History&)>& read) const {
  const std::lock_guard lock(mutex_);
  read(history_);
}

std::vector<EventPtr> WatchHub::Forget(Revision revision) {
  const std::lock_guard lock(mutex_);
  return history_.Forget(revision);
}

std::size_t WatchHub::watches() const {
  const std::lock_guard lock(mutex_);
  return watches_;
}

Error GapError(HistoryGap gap, Revision revision, const History& history) {
  if (gap == HistoryGap::kCompacted) {
    return {.code = Code::kExpired,
            .message = "too old resource version: " + std::to_string(revision) + " (" +
                       std::to_string(history.forgotten()) + ")"};
  }
  return {.code = Code::kTimeout,
          .message = "Too large resource version: " + std::to_string(revision) +
                     ", current: " + std::to_string(history.last()),
          .retry_after_seconds = 1};
}

}  // namespace drachma::store
