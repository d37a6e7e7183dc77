#include "apiserver/http_timeouts.h"

#include <algorithm>
#include <utility>

#include "json/json.h"

namespace drachma::apiserver {
namespace {

constexpr Duration kSweepInterval = std::chrono::seconds(1);

Error WriteTimeout() {
  return {.code = Code::kTimeout,
          .message =
              "Timeout: request did not complete within requested timeout - context deadline "
              "exceeded"};
}

// Upstream's filter of time-outs writes its Status without kind, and as text.
net::HttpResponse FilterTimeout() {
  return TextResponse(504,
                      R"({"metadata":{},"status":"Failure","message":"Timeout: request did not )"
                      R"(complete within the allotted timeout","reason":"Timeout","details":{},)"
                      "\"code\":504}\n");
}

bool IsOver(const Exchange& exchange) {
  return RealClock().Monotonic() - exchange.started() >= exchange.timeout;
}

void AnswerTimeout(Exchange& exchange) {
  if (exchange.timeout == RequestTimeouts::kWriteTimeoutMax) {
    exchange.Terminate(ErrorResponse(WriteTimeout()));
  } else {
    exchange.Terminate(FilterTimeout());
  }
}

}  // namespace

RequestTimeouts::RequestTimeouts(Executor& executor, Duration request_timeout)
    : executor_(executor), request_timeout_(request_timeout) {
  Sweep();
}

bool RequestTimeouts::Begin(const ExchangePtr& exchange, std::optional<Duration> asked) {
  exchange->timeout = std::min(request_timeout_, asked.value_or(request_timeout_));
  if (IsMutating(exchange->request().method)) {
    exchange->timeout = std::min(exchange->timeout, kWriteTimeoutMax);
  }
  if (!IsOver(*exchange)) return true;
  AnswerTimeout(*exchange);
  return false;
}

void RequestTimeouts::Await(const ExchangePtr& exchange) {
  const Duration left = exchange->timeout - (RealClock().Monotonic() - exchange->started());
  if (left >= kSweepInterval) {
    pending_.push_back(exchange);
    return;
  }
  executor_.PostAfter(std::max(left, Duration::zero()), [weak = std::weak_ptr(exchange)] {
    const ExchangePtr late = weak.lock();
    if (late != nullptr && !late->answered()) AnswerTimeout(*late);
  });
}

void RequestTimeouts::Sweep() {
  executor_.PostAfter(kSweepInterval, [this, alive = std::weak_ptr(alive_)] {
    if (alive.expired()) return;
    std::vector<ExchangePtr> soon;
    std::erase_if(pending_, [&](const std::weak_ptr<Exchange>& weak) {
      ExchangePtr exchange = weak.lock();
      if (exchange == nullptr || exchange->answered()) return true;
      const Duration age = RealClock().Monotonic() - exchange->started();
      if (exchange->timeout - age >= kSweepInterval) return false;
      soon.push_back(std::move(exchange));
      return true;
    });
    for (const ExchangePtr& exchange : soon) Await(exchange);
    Sweep();
  });
}

}  // namespace drachma::apiserver
