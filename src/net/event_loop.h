#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/executor.h"

namespace drachma::net {

// Something that waits for a file descriptor. Lives on one loop's thread.
class Pollable {
 public:
  virtual ~Pollable() = default;
  // `events` as epoll_wait(2) reports them.
  virtual void OnEvents(std::uint32_t events) = 0;
};

// A thread that waits for many file descriptors (epoll) and runs tasks.
class EventLoop {
 public:
  // How often `on_tick` is called: the resolution of time-outs.
  static constexpr int kTickMs = 100;

  explicit EventLoop(std::string name);
  // Stops. Must not come from the loop's own thread.
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Of bulk tasks, run in one turn.
  static constexpr std::size_t kBulkTasksPerTurn = 32;
  // With so many of them waiting, one that has just run waits a little, so that what it does next
  // is worth the while.
  static constexpr std::size_t kBulkManyMin = 64;
  static constexpr Duration kBulkPause = std::chrono::milliseconds(20);

  // Runs `task` on the loop's thread, in order. After Stop() it is dropped. Any thread.
  void Post(Task task);
  // The same for work of which much may be waiting: some of it at a time, so that the rest of the
  // loop has its turn between. `last` is when this work was done last, by the monotonic clock.
  void PostBulk(Task task, Duration last);
  // Ends the thread; tasks that did not run are dropped. Any thread but the loop's.
  void Stop();

  // The rest: only on the loop's thread.
  using Id = std::uint64_t;
  Id Add(int file, std::uint32_t events, std::shared_ptr<Pollable> pollable);
  void Change(Id id, int file, std::uint32_t events);
  void Remove(Id id, int file);
  void OnTick(std::function<void()> on_tick) { on_tick_ = std::move(on_tick); }

 private:
  void Run(const std::string& name);
  void RunTasks();
  void RunBulk();
  void Poll();
  // Has the thread look at the tasks. REQUIRES: `lock` holds mutex_; it is released.
  void Wake(std::unique_lock<std::mutex> lock);
  // How long the thread may sleep, in ms, -1 for ever. REQUIRES: mutex_ is held.
  [[nodiscard]] int SleepMs() const;

  int epoll_;
  int wake_;
  std::mutex mutex_;
  std::vector<Task> tasks_;
  std::deque<Task> bulk_;
  std::deque<std::pair<Duration, Task>> paused_;  // bulk tasks, and when they may run
  bool awake_ = true;  // the thread will look at the tasks before it sleeps
  std::atomic<bool> stopping_ = false;

  std::unordered_map<Id, std::shared_ptr<Pollable>> pollables_;
  Id next_ = 1;
  std::function<void()> on_tick_;
  Duration next_tick_{};
  std::thread thread_;
};

}  // namespace drachma::net
