#include "client/work_queue.h"

#include <algorithm>
#include <utility>

namespace drachma::client {

WorkQueue::WorkQueue(Executor& executor, Options options, Handler handler)
    : executor_(executor), options_(options), handler_(std::move(handler)) {}
WorkQueue::~WorkQueue() = default;

void WorkQueue::Add(std::string key) {
  if (!dirty_.insert(key).second) return;
  if (processing_.contains(key)) return;  // Finish puts it back
  waiting_.push_back(std::move(key));
  if (pumping_) return;
  // From a task of its own: Add is called by informers in the middle of a batch of changes.
  pumping_ = true;
  executor_.Post([this, alive = std::weak_ptr(alive_)] {
    if (alive.expired()) return;
    pumping_ = false;
    Pump();
  });
}

void WorkQueue::AddAfter(std::string key, Duration delay) {
  if (delay <= Duration(0)) {
    Add(std::move(key));
    return;
  }
  ++delayed_;
  executor_.PostAfter(delay, [this, alive = std::weak_ptr(alive_), key = std::move(key)]() mutable {
    if (alive.expired()) return;
    --delayed_;
    Add(std::move(key));
  });
}

void WorkQueue::AddRateLimited(const std::string& key) {
  constexpr int kDoublingsMax = 30;
  const int failures = std::min(failures_[key]++, kDoublingsMax);
  AddAfter(key,
           std::min(options_.backoff_max, options_.backoff_min * (std::int64_t{1} << failures)));
}

bool WorkQueue::idle() const { return dirty_.empty() && processing_.empty() && delayed_ == 0; }

void WorkQueue::Pump() {
  while (!waiting_.empty() && processing_.size() < options_.concurrency) {
    std::string key = std::move(waiting_.front());
    waiting_.pop_front();
    dirty_.erase(key);
    processing_.insert(key);
    handler_(key, [this, alive = std::weak_ptr(alive_), key](Outcome outcome) {
      if (!alive.expired()) Finish(key, outcome);
    });
  }
}

void WorkQueue::Finish(const std::string& key, Outcome outcome) {
  processing_.erase(key);
  if (outcome == Outcome::kDone) {
    failures_.erase(key);
  } else {
    AddRateLimited(key);
  }
  if (dirty_.contains(key)) waiting_.push_back(key);
  if (waiting_.empty() || pumping_) return;
  pumping_ = true;
  executor_.Post([this, alive = std::weak_ptr(alive_)] {
    if (alive.expired()) return;
    pumping_ = false;
    Pump();
  });
}

}  // namespace drachma::client
