#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "base/executor.h"

namespace drachma::client {

// The work of a controller: keys ("namespace/name"), each handled by one call at a time and at most
// once per wish while it waits. A key whose handling failed comes back after an exponential
// back-off (client-go's workqueue with its ItemExponentialFailureRateLimiter).
//
// Belongs to one executor: all members and the handler run there.
class WorkQueue {
 public:
  enum class Outcome : std::uint8_t { kDone, kRetry };
  // To be called once, now or later, from the executor.
  using Done = std::move_only_function<void(Outcome)>;
  using Handler = std::function<void(const std::string& key, Done done)>;

  struct Options {
    Duration backoff_min = std::chrono::milliseconds(5);  // doubles with each failure
    Duration backoff_max = std::chrono::seconds(1000);
    std::size_t concurrency = 50;  // keys being handled at once; others wait in order
  };

  // `executor` must outlive the queue.
  WorkQueue(Executor& executor, Options options, Handler handler);
  ~WorkQueue();
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  // Wishes that `key` be handled: not now if it waits already, again if it is being handled.
  void Add(std::string key);
  // The same after `delay`; an earlier wish of the same key stays as it is.
  void AddAfter(std::string key, Duration delay);
  // After the back-off of one more failure, as Outcome::kRetry does.
  void AddRateLimited(const std::string& key);

  // Whether no key waits, is handled or is in back-off.
  [[nodiscard]] bool idle() const;
  // Keys that wait for their turn.
  [[nodiscard]] std::size_t depth() const { return waiting_.size(); }

 private:
  void Pump();
  void Finish(const std::string& key, Outcome outcome);

  Executor& executor_;
  const Options options_;
  const Handler handler_;
  std::deque<std::string> waiting_;
  std::unordered_set<std::string> dirty_;  // wished for: waiting, or again after handling
  std::unordered_set<std::string> processing_;
  std::unordered_map<std::string, int> failures_;
  std::size_t delayed_ = 0;
  bool pumping_ = false;
  std::shared_ptr<int> alive_ = std::make_shared<int>();
};

}  // namespace drachma::client
