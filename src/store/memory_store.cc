#include <condition_variable>
#include <mutex>

#include "store/engine.h"

namespace drachma::store {
namespace {

// Commits in the thread that writes. While one thread commits, the writes of others (and those
// from inside callbacks) queue up and are committed by it, so that callbacks never nest.
class MemoryStore final : public Engine {
 public:
  explicit MemoryStore(const StoreOptions& options)
      : Engine(options,
               {.table = {},
                .history = History(/*start=*/1, options.history_events_max, kHistoryBytesMax)}) {}

  void Flush() override {
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [this] { return !busy_; });
  }

 protected:
  Status Append(const std::vector<EventPtr>&) override { return {}; }
  void Forgotten(const std::vector<EventPtr>&) override {}

  void Wake() override {
    std::unique_lock lock(mutex_);
    if (busy_) return;
    busy_ = true;
    // Whoever queued a write while we were busy did so before asking for mutex_, so it is seen.
    while (HasQueued()) {
      lock.unlock();
      CommitQueued();
      lock.lock();
    }
    busy_ = false;
    idle_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable idle_;
  bool busy_ = false;
};

}  // namespace

std::unique_ptr<Store> OpenMemoryStore(const StoreOptions& options) {
  return std::make_unique<MemoryStore>(options);
}

}  // namespace drachma::store
