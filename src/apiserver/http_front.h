#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "apiserver/audit.h"
#include "apiserver/auth.h"
#include "apiserver/core.h"
#include "apiserver/limits.h"
#include "base/result.h"
#include "net/http_server.h"

namespace drachma::apiserver {

// The HTTP side of the API server: authentication, routing of paths, content negotiation, watches
// as streams, limits. Requests are taken on I/O threads and answered on the core's executor.
class HttpFront {
 public:
  // Answers larger than this are compressed for clients that accept gzip (upstream's threshold).
  static constexpr std::size_t kGzipBytesMin = 128 * 1024;
  // A watch waits for its client once this much is queued.
  static constexpr std::size_t kWatchQueueBytes = 1024 * 1024;

  struct Options {
    net::ServerOptions server;
    std::vector<std::shared_ptr<Authenticator>> authenticators;
    Limits limits;
    int emulated_minor = 37;  // what /version says
    // Where requests are recorded; null: nowhere. Health checks and /version never are.
    std::shared_ptr<AuditLog> audit;
  };

  virtual ~HttpFront() = default;
  // ERRORS: those of net::HttpServer::Start.
  [[nodiscard]] static Result<std::unique_ptr<HttpFront>> Start(Core& core, Options options);

  // The first address, "127.0.0.1:6443".
  [[nodiscard]] virtual std::string address() const = 0;
  virtual void SetReady(bool ready) = 0;
  virtual void AddMetrics(std::function<std::string()> source) = 0;
  // Fails /readyz for Limits::shutdown_delay, then stops taking requests, lets those under way
  // finish and ends the watches.
  virtual void Shutdown(Duration grace) = 0;
};

}  // namespace drachma::apiserver
