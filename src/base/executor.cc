#include "base/executor.h"

#include <pthread.h>

#include <algorithm>

namespace drachma {

ThreadExecutor::ThreadExecutor(std::string name) : thread_([this] { Run(); }) {
  constexpr std::size_t kThreadNameMax = 15;
  pthread_setname_np(thread_.native_handle(), name.substr(0, kThreadNameMax).c_str());
}

ThreadExecutor::~ThreadExecutor() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

// Who sees the task run may destroy the executor, so the thread is told under the lock.
void ThreadExecutor::Post(Task task) {
  const std::lock_guard lock(mutex_);
  queue_.push_back(std::move(task));
  if (queue_.size() == 1) wake_.notify_one();  // otherwise it has been told already
}

TimerId ThreadExecutor::PostAfter(Duration delay, Task task) {
  const std::lock_guard lock(mutex_);
  const TimerId id = next_timer_++;
  const Duration due = clock().Monotonic() + std::max(delay, Duration(0));
  timers_.emplace(std::pair(due, id), std::move(task));
  due_.emplace(id, due);
  wake_.notify_one();
  return id;
}

void ThreadExecutor::Cancel(TimerId timer) {
  Task dropped;  // destroyed after the lock: its captures may call back into this executor
  const std::lock_guard lock(mutex_);
  const auto found = due_.find(timer);
  if (found == due_.end()) return;
  const auto entry = timers_.find(std::pair(found->second, timer));
  dropped = std::move(entry->second);
  timers_.erase(entry);
  due_.erase(found);
}

void ThreadExecutor::Run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    std::vector<Task> batch;
    batch.swap(queue_);
    const Duration now = clock().Monotonic();
    while (!timers_.empty() && timers_.begin()->first.first <= now) {
      due_.erase(timers_.begin()->first.second);
      batch.push_back(std::move(timers_.begin()->second));
      timers_.erase(timers_.begin());
    }
    if (batch.empty()) {
      if (timers_.empty()) {
        wake_.wait(lock);
      } else {
        wake_.wait_for(lock, timers_.begin()->first.first - now);
      }
      continue;
    }
    lock.unlock();
    for (Task& task : batch) {
      task();
      task = nullptr;
    }
    batch.clear();
    lock.lock();
  }
  // What is left is dropped without the lock, since its captures may post or cancel.
  std::vector<Task> queue = std::move(queue_);
  auto timers = std::move(timers_);
  due_.clear();
  lock.unlock();
}

class VirtualExecutor::VirtualClock final : public Clock {
 public:
  explicit VirtualClock(Time start) : start_(start), now_(start) {}
  [[nodiscard]] Time Now() const override { return now_; }
  [[nodiscard]] Duration Monotonic() const override { return now_ - start_; }
  void AdvanceTo(Time time) { now_ = std::max(now_, time); }

 private:
  Time start_;
  Time now_;
};

VirtualExecutor::VirtualExecutor(Time start) : clock_(std::make_unique<VirtualClock>(start)) {}
VirtualExecutor::~VirtualExecutor() {
  // Captures may cancel timers while they are destroyed.
  auto tasks = std::move(tasks_);
  tasks_.clear();
  due_.clear();
}

const Clock& VirtualExecutor::clock() const { return *clock_; }

void VirtualExecutor::Post(Task task) { PostAfter(Duration(0), std::move(task)); }

TimerId VirtualExecutor::PostAfter(Duration delay, Task task) {
  const TimerId id = next_timer_++;
  const Time due = clock_->Now() + std::max(delay, Duration(0));
  tasks_.emplace(std::pair(due, id), std::move(task));
  due_.emplace(id, due);
  return id;
}

void VirtualExecutor::Cancel(TimerId timer) {
  const auto found = due_.find(timer);
  if (found == due_.end()) return;
  auto node = tasks_.extract(std::pair(found->second, timer));
  due_.erase(found);
}

bool VirtualExecutor::RunOne(Time deadline) {
  if (tasks_.empty() || tasks_.begin()->first.first > deadline) return false;
  auto node = tasks_.extract(tasks_.begin());
  clock_->AdvanceTo(node.key().first);
  due_.erase(node.key().second);
  node.mapped()();
  return true;
}

std::size_t VirtualExecutor::RunReady() {
  std::size_t ran = 0;
  while (RunOne(clock_->Now())) ++ran;
  return ran;
}

Time VirtualExecutor::NextDue() const {
  return tasks_.empty() ? Time::max() : tasks_.begin()->first.first;
}

}  // namespace drachma
