#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"

namespace drachma {

using Task = std::move_only_function<void()>;
using TimerId = std::uint64_t;

// Runs the tasks of one actor, one at a time, in the order they were posted. State that is only
// touched by tasks of one executor needs no lock. Post, PostAt and Cancel may be called from any
// thread.
class Executor {
 public:
  virtual ~Executor() = default;
  virtual void Post(Task task) = 0;
  // Runs `task` once `delay` has passed (at once when it is not positive).
  virtual TimerId PostAfter(Duration delay, Task task) = 0;
  // Forgets a timer; no effect when it ran already.
  virtual void Cancel(TimerId timer) = 0;
  [[nodiscard]] virtual const Clock& clock() const = 0;
};

// An executor with a thread of its own. Destruction finishes the running task, drops the rest and
// joins; it must not come from one of its own tasks.
class ThreadExecutor final : public Executor {
 public:
  // `name` is the thread's name in tools (15 characters at most are shown).
  explicit ThreadExecutor(std::string name);
  ~ThreadExecutor() override;
  ThreadExecutor(const ThreadExecutor&) = delete;
  ThreadExecutor& operator=(const ThreadExecutor&) = delete;

  void Post(Task task) override;
  TimerId PostAfter(Duration delay, Task task) override;
  void Cancel(TimerId timer) override;
  [[nodiscard]] const Clock& clock() const override { return RealClock(); }

 private:
  void Run();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<Task> queue_;
  std::map<std::pair<Duration, TimerId>, Task> timers_;
  std::map<TimerId, Duration> due_;
  TimerId next_timer_ = 1;
  bool stopping_ = false;
  std::thread thread_;
};

// The whole cluster in one thread: tasks run in order of their virtual time, and time jumps to the
// next timer as soon as nothing is left to do now. One owner thread for everything.
class VirtualExecutor final : public Executor {
 public:
  explicit VirtualExecutor(Time start);
  ~VirtualExecutor() override;

  void Post(Task task) override;
  TimerId PostAfter(Duration delay, Task task) override;
  void Cancel(TimerId timer) override;
  [[nodiscard]] const Clock& clock() const override;

  // Runs the next task, advancing time when needed. False when nothing is left, or when the next
  // one is due after `deadline`.
  bool RunOne(Time deadline);
  // Runs all that is due now without advancing time. Returns the number of tasks.
  std::size_t RunReady();
  // When the next timer is due; Time::max() without any.
  [[nodiscard]] Time NextDue() const;

 private:
  class VirtualClock;
  std::unique_ptr<VirtualClock> clock_;
  std::map<std::pair<Time, TimerId>, Task> tasks_;
  std::map<TimerId, Time> due_;
  TimerId next_timer_ = 1;
};

}  // namespace drachma
