#pragma once

#include <deque>
#include <map>
#include <memory>

#include "base/executor.h"

namespace drachma::simulation {

// The thread of one process of the simulated cluster: its tasks run in order on the executor that
// all share, but the process may be killed (its tasks are forgotten), stand still for a while, and
// have a clock of its own that jumps.
class RoleExecutor final : public Executor {
 public:
  // `base` must outlive it.
  explicit RoleExecutor(VirtualExecutor& base);
  ~RoleExecutor() override;
  RoleExecutor(const RoleExecutor&) = delete;
  RoleExecutor& operator=(const RoleExecutor&) = delete;

  void Post(Task task) override;
  TimerId PostAfter(Duration delay, Task task) override;
  void Cancel(TimerId timer) override;
  [[nodiscard]] const Clock& clock() const override;

  // Nothing runs for `duration` from now on.
  void StandStill(Duration duration);
  // The wall clock goes wrong by `skew` from now on.
  void SetSkew(Duration skew);

 private:
  class SkewedClock;
  void Wake();
  void RunNext();

  VirtualExecutor& base_;
  const std::unique_ptr<SkewedClock> clock_;
  std::deque<Task> ready_;
  std::map<TimerId, TimerId> timers_;  // to those of the base
  TimerId next_timer_ = 1;
  Time still_until_;
  bool scheduled_ = false;
  std::shared_ptr<RoleExecutor*> self_;
};

}  // namespace drachma::simulation
