#include "net/event_loop.h"

#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "base/check.h"

namespace drachma::net {
namespace {

constexpr EventLoop::Id kWakeId = 0;

// Signals go to the program's main thread; a broken pipe is an error of write(2), not a signal.
void BlockSignals() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

}  // namespace

EventLoop::EventLoop(std::string name)
    : epoll_(epoll_create1(EPOLL_CLOEXEC)), wake_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  DRA_CHECK(epoll_ >= 0 && wake_ >= 0);
  epoll_event event{.events = EPOLLIN, .data = {.u64 = kWakeId}};
  DRA_CHECK(epoll_ctl(epoll_, EPOLL_CTL_ADD, wake_, &event) == 0);
  thread_ = std::thread([this, name = std::move(name)] { Run(name); });
}

EventLoop::~EventLoop() {
  Stop();
  close(wake_);
  close(epoll_);
}

void EventLoop::Stop() {
  stopping_ = true;
  const std::uint64_t one = 1;
  (void)!write(wake_, &one, sizeof(one));
  if (thread_.joinable()) thread_.join();
}

void EventLoop::Post(Task task) {
  std::unique_lock lock(mutex_);
  if (stopping_) return;
  tasks_.push_back(std::move(task));
  Wake(std::move(lock));
}

void EventLoop::PostBulk(Task task, Duration last) {
  std::unique_lock lock(mutex_);
  if (stopping_) return;
  const bool many = bulk_.size() + paused_.size() >= kBulkManyMin;
  if (many && RealClock().Monotonic() < last + kBulkPause) {
    paused_.emplace_back(last + kBulkPause, std::move(task));
    return;  // the thread is busy, or sleeps until others of these may run
  }
  bulk_.push_back(std::move(task));
  Wake(std::move(lock));
}

void EventLoop::Wake(std::unique_lock<std::mutex> lock) {
  if (std::exchange(awake_, true)) return;
  lock.unlock();
  const std::uint64_t one = 1;
  (void)!write(wake_, &one, sizeof(one));
}

int EventLoop::SleepMs() const {
  if (!tasks_.empty() || !bulk_.empty() || stopping_) return 0;
  const int most = on_tick_ ? kTickMs : -1;
  if (paused_.empty()) return most;
  const auto pause =
      std::chrono::ceil<std::chrono::milliseconds>(paused_.front().first - RealClock().Monotonic());
  return std::max(0, static_cast<int>(pause.count()));
}

EventLoop::Id EventLoop::Add(int file, std::uint32_t events, std::shared_ptr<Pollable> pollable) {
  const Id id = next_++;
  epoll_event event{.events = events, .data = {.u64 = id}};
  DRA_CHECK(epoll_ctl(epoll_, EPOLL_CTL_ADD, file, &event) == 0);
  pollables_.emplace(id, std::move(pollable));
  return id;
}

void EventLoop::Change(Id id, int file, std::uint32_t events) {
  epoll_event event{.events = events, .data = {.u64 = id}};
  DRA_CHECK(epoll_ctl(epoll_, EPOLL_CTL_MOD, file, &event) == 0);
}

void EventLoop::Remove(Id id, int file) {
  epoll_ctl(epoll_, EPOLL_CTL_DEL, file, nullptr);
  pollables_.erase(id);
}

void EventLoop::Run(const std::string& name) {
  BlockSignals();
  pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
  while (!stopping_) {
    Poll();
    RunTasks();
    RunBulk();
    const Duration now = RealClock().Monotonic();
    if (now >= next_tick_) {
      next_tick_ = now + std::chrono::milliseconds(kTickMs);
      if (on_tick_) on_tick_();
    }
  }
  // Here, so that what they hold dies on the thread it lived on.
  pollables_.clear();
  std::vector<Task> dropped;
  std::deque<Task> dropped_bulk;
  std::deque<std::pair<Duration, Task>> dropped_paused;
  {
    const std::lock_guard lock(mutex_);
    dropped.swap(tasks_);
    dropped_bulk.swap(bulk_);
    dropped_paused.swap(paused_);
  }
}

void EventLoop::Poll() {
  std::array<epoll_event, 128> events;
  int timeout_ms = 0;
  {
    const std::lock_guard lock(mutex_);
    timeout_ms = SleepMs();
    awake_ = timeout_ms == 0;
  }
  const int count = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), timeout_ms);
  {
    const std::lock_guard lock(mutex_);
    awake_ = true;
  }
  for (int i = 0; i < count; ++i) {
    const Id id = events[i].data.u64;
    if (id == kWakeId) {
      std::uint64_t value = 0;
      (void)!read(wake_, &value, sizeof(value));
      continue;
    }
    // An earlier event of this round may have removed it; the copy keeps it alive meanwhile.
    const auto found = pollables_.find(id);
    if (found == pollables_.end()) continue;
    const std::shared_ptr<Pollable> pollable = found->second;
    pollable->OnEvents(events[i].events);
  }
}

void EventLoop::RunTasks() {
  // A task may post others; those run in the next round, after the descriptors had their turn.
  std::vector<Task> tasks;
  {
    const std::lock_guard lock(mutex_);
    tasks.swap(tasks_);
  }
  for (Task& task : tasks) task();
}

void EventLoop::RunBulk() {
  std::vector<Task> tasks;
  {
    const std::lock_guard lock(mutex_);
    const Duration now = paused_.empty() ? Duration() : RealClock().Monotonic();
    while (!paused_.empty() && now >= paused_.front().first) {
      bulk_.push_back(std::move(paused_.front().second));
      paused_.pop_front();
    }
    const auto end =
        bulk_.begin() + static_cast<std::ptrdiff_t>(std::min(bulk_.size(), kBulkTasksPerTurn));
    tasks.assign(std::move_iterator(bulk_.begin()), std::move_iterator(end));
    bulk_.erase(bulk_.begin(), end);
  }
  for (Task& task : tasks) task();
}

}  // namespace drachma::net
