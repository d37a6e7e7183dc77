#include "role_executor.h"

#include <algorithm>
#include <utility>

namespace drachma::simulation {

class RoleExecutor::SkewedClock final : public Clock {
 public:
  explicit SkewedClock(const Clock& base) : base_(base) {}
  [[nodiscard]] Time Now() const override { return base_.Now() + skew_; }
  [[nodiscard]] Duration Monotonic() const override { return base_.Monotonic(); }
  void SetSkew(Duration skew) { skew_ = skew; }

 private:
  const Clock& base_;
  Duration skew_{};
};

RoleExecutor::RoleExecutor(VirtualExecutor& base)
    : base_(base),
      clock_(std::make_unique<SkewedClock>(base.clock())),
      self_(std::make_shared<RoleExecutor*>(this)) {}

RoleExecutor::~RoleExecutor() {
  *self_ = nullptr;
  // Captures may cancel timers while they are destroyed.
  auto ready = std::move(ready_);
  ready_.clear();
  for (const auto& [timer, base] : std::exchange(timers_, {})) base_.Cancel(base);
}

const Clock& RoleExecutor::clock() const { return *clock_; }
void RoleExecutor::SetSkew(Duration skew) { clock_->SetSkew(skew); }

void RoleExecutor::StandStill(Duration duration) {
  still_until_ = std::max(still_until_, base_.clock().Now() + duration);
}

void RoleExecutor::Post(Task task) {
  ready_.push_back(std::move(task));
  Wake();
}

TimerId RoleExecutor::PostAfter(Duration delay, Task task) {
  const TimerId id = next_timer_++;
  const TimerId base = base_.PostAfter(delay, [self = self_, id, task = std::move(task)]() mutable {
    if (*self == nullptr) return;
    (*self)->timers_.erase(id);
    (*self)->Post(std::move(task));
  });
  timers_.emplace(id, base);
  return id;
}

void RoleExecutor::Cancel(TimerId timer) {
  const auto found = timers_.find(timer);
  if (found == timers_.end()) return;
  base_.Cancel(found->second);
  timers_.erase(found);
}

void RoleExecutor::Wake() {
  if (ready_.empty() || std::exchange(scheduled_, true)) return;
  base_.PostAfter(still_until_ - base_.clock().Now(), [self = self_] {
    if (*self != nullptr) (*self)->RunNext();
  });
}

void RoleExecutor::RunNext() {
  scheduled_ = false;
  if (base_.clock().Now() >= still_until_) {
    Task task = std::move(ready_.front());
    ready_.pop_front();
    const auto self = self_;
    task();
    if (*self == nullptr) return;
  }
  Wake();
}

}  // namespace drachma::simulation
