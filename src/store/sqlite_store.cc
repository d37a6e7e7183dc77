#include <sys/stat.h>

#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "store/engine.h"
#include "store/folder_lock.h"
#include "store/sqlite_log.h"

namespace drachma::store {
namespace {

// Commits on a thread of its own: whatever was queued while the last commit was on its way to the
// disk makes the next one (group commit).
class SqliteStore final : public Engine {
 public:
  SqliteStore(const SqliteOptions& options, Contents contents, SqliteLog log, FolderLock lock)
      : Engine(options, std::move(contents)),
        path_(options.folder + "/store.db"),
        lock_(std::move(lock)),
        log_(std::move(log)),
        thread_([this] { Run(); }) {}

  // Answers what is under way, then closes.
  ~SqliteStore() override {
    Close();
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }

  void Flush() override {
    std::unique_lock lock(mutex_);
    const std::uint64_t target = requested_;
    idle_.wait(lock, [&] { return done_ >= target; });
  }

  StoreStats Stats() const override {
    StoreStats stats = Engine::Stats();
    for (const char* suffix : {"", "-wal"}) {
      struct stat info{};
      if (stat((path_ + suffix).c_str(), &info) == 0) stats.disk_bytes += info.st_size;
    }
    return stats;
  }

 protected:
  Status Append(const std::vector<EventPtr>& events) override { return log_.Append(events); }

  void Forgotten(const std::vector<EventPtr>& events) override {
    const std::lock_guard lock(forgotten_mutex_);
    forgotten_.insert(forgotten_.end(), events.begin(), events.end());
  }

  void Wake() override {
    {
      const std::lock_guard lock(mutex_);
      ++requested_;
    }
    wake_.notify_one();
  }

 private:
  void Run() {
    pthread_setname_np(pthread_self(), "store");
    std::unique_lock lock(mutex_);
    while (!stopping_ || done_ < requested_) {
      wake_.wait(lock, [this] { return stopping_ || done_ < requested_; });
      const std::uint64_t seen = requested_;
      lock.unlock();
      if (CommitQueued()) Tidy();
      lock.lock();
      done_ = seen;
      idle_.notify_all();
    }
  }

  void Tidy() {
    std::vector<EventPtr> forgotten;
    {
      const std::lock_guard lock(forgotten_mutex_);
      forgotten.swap(forgotten_);
    }
    log_.Forget(forgotten);
    log_.Tidy();
  }

  const std::string path_;
  const FolderLock lock_;
  SqliteLog log_;  // only the thread uses it

  std::mutex forgotten_mutex_;
  std::vector<EventPtr> forgotten_;

  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable idle_;
  std::uint64_t requested_ = 0;
  std::uint64_t done_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<Store>> OpenSqliteStore(const SqliteOptions& options) {
  DRA_ASSIGN(FolderLock lock, FolderLock::Take(options.folder));
  DRA_ASSIGN(SqliteLog log, SqliteLog::Open(options.folder + "/store.db", options));
  DRA_ASSIGN(Contents contents, log.Load(options));
  return std::make_unique<SqliteStore>(options, std::move(contents), std::move(log),
                                       std::move(lock));
}

}  // namespace drachma::store
