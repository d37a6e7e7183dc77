#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apiserver/audit.h"
#include "apiserver/http_metrics.h"
#include "base/clock.h"
#include "base/result.h"
#include "net/http_server.h"

namespace drachma::apiserver {

// What clients are asked to wait when there is too much to do.
inline constexpr int kRetryAfterSeconds = 1;

[[nodiscard]] net::HttpResponse JsonResponse(int status, std::string body);
[[nodiscard]] net::HttpResponse TextResponse(int status, std::string body);
// Errors are read by people first: they are indented as upstream's are for curl.
[[nodiscard]] net::HttpResponse ErrorResponse(const Error& error);

// 429, as upstream's filter writes it.
[[nodiscard]] net::HttpResponse TooManyRequestsResponse();

[[nodiscard]] bool IsMutating(std::string_view method);
// Watches do not count as requests under way (upstream's long-running requests): a thousand clients
// that watch again after a restart are not turned away.
[[nodiscard]] bool IsWatch(const net::HttpRequest& request);

// One request on its way through the core. Answers once. It counts as under way while it lives,
// unless there were too many already: then only few users may go on.
class Exchange {
 public:
  enum class Room : std::uint8_t { kYes, kNo };

  Exchange(net::HttpRequest request, std::shared_ptr<net::HttpResponder> responder,
           std::shared_ptr<HttpMetrics> metrics, Duration started, Room room)
      : request_(std::move(request)),
        responder_(std::move(responder)),
        metrics_(std::move(metrics)),
        started_(started),
        room_(room),
        in_flight_(InFlight()) {
    if (in_flight_ != nullptr) ++*in_flight_;
  }
  ~Exchange() {
    if (in_flight_ != nullptr) --*in_flight_;
  }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  [[nodiscard]] const net::HttpRequest& request() const { return request_; }
  net::HttpRequest& request() { return request_; }
  [[nodiscard]] Duration started() const { return started_; }
  [[nodiscard]] Room room() const { return room_; }
  [[nodiscard]] bool answered() const { return responder_ == nullptr; }
  RequestLabels labels;
  Duration timeout = Duration::max();  // from `started`
  // What is recorded of the request; the log is null when nothing is.
  AuditEvent audit;
  std::shared_ptr<AuditLog> audit_log;
  // Of the request as such, sent with whatever it is answered.
  std::shared_ptr<std::vector<std::string>> warnings = std::make_shared<std::vector<std::string>>();

  void Answer(net::HttpResponse response, const std::vector<std::string>& more_warnings = {});
  // Answers what the server does not want to go on with.
  void Terminate(net::HttpResponse response);
  void Answer(const Error& error) { Answer(ErrorResponse(error)); }
  // Writes the stage into the audit log, and its id into the response.
  void Record(std::string_view stage, net::HttpResponse& response) const;
  // For watches, which answer by themselves.
  std::shared_ptr<net::HttpResponder> TakeResponder() { return std::exchange(responder_, nullptr); }
  [[nodiscard]] const std::shared_ptr<net::HttpResponder>& responder() const { return responder_; }

 private:
  std::atomic<int>* InFlight();

  net::HttpRequest request_;
  std::shared_ptr<net::HttpResponder> responder_;
  const std::shared_ptr<HttpMetrics> metrics_;
  const Duration started_;
  const Room room_;
  std::atomic<int>* const in_flight_;
};
using ExchangePtr = std::shared_ptr<Exchange>;

}  // namespace drachma::apiserver
