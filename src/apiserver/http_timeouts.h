#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "apiserver/http_exchange.h"
#include "base/executor.h"

namespace drachma::apiserver {

// Ends requests that take too long: those that wait for others (webhooks, a slow disk). What they
// asked for may still happen. On the core's executor.
class RequestTimeouts {
 public:
  // Writes have less time than the server's flag may give (upstream's requestTimeoutUpperBound).
  static constexpr Duration kWriteTimeoutMax = std::chrono::seconds(34);

  RequestTimeouts(Executor& executor, Duration request_timeout);

  // Gives `exchange` its time: the server's, or less if the client wants (`asked`). False when that
  // is over already; then it has been answered.
  [[nodiscard]] bool Begin(const ExchangePtr& exchange, std::optional<Duration> asked);
  // Looks after a request that has not been answered at once.
  void Await(const ExchangePtr& exchange);

 private:
  void Sweep();

  Executor& executor_;
  const Duration request_timeout_;
  std::vector<std::weak_ptr<Exchange>> pending_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace drachma::apiserver
