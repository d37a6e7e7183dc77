#pragma once

#include <memory>
#include <string>

#include "base/executor.h"
#include "client/client.h"
#include "net/http_server.h"
#include "validation/gpu_config.h"
#include "webhook/ledger_role.h"

namespace drachma::webhook {

// Where the hooks are served.
inline constexpr const char* kParametersPath = "/validate-resource-claim-parameters";
inline constexpr const char* kLedgerPath = "/ledger";

// The validating admission webhooks over HTTPS. /validate-resource-claim-parameters looks at the
// opaque parameters of the GPU drivers as their own webhook does, /ledger keeps a device from being
// allocated twice (Ledger). /livez is well as long as the process serves, /readyz once the ledger
// judges.
class Server {
 public:
  struct Options {
    std::string listen;
    net::TlsServerOptions tls;
    validation::DriverGates gates;
    LedgerRole::Options ledger;
  };

  // Without a `factory` there is no ledger: its path answers 404. `factory` must outlive the
  // server. ERRORS: those of net::HttpServer::Start.
  [[nodiscard]] static Result<std::unique_ptr<Server>> Start(Options options,
                                                             client::ClientFactory* factory);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  [[nodiscard]] int port() const { return http_->port(); }
  [[nodiscard]] std::string address() const { return http_->addresses().front(); }
  // Whether /readyz is well. Any thread but the ledger's.
  [[nodiscard]] bool Ready();

 private:
  using Responder = std::shared_ptr<net::HttpResponder>;

  explicit Server(validation::DriverGates gates) : gates_(std::move(gates)) {}
  void StartLedger(LedgerRole::Options options, client::ClientFactory& factory);
  void Handle(const net::HttpRequest& request, const Responder& responder);
  void HandleReady(const Responder& responder);
  void HandleReview(const net::HttpRequest& request, const Responder& responder);

  const validation::DriverGates gates_;
  std::unique_ptr<ThreadExecutor> executor_;  // the ledger's; null without one
  std::unique_ptr<client::Client> client_;
  std::unique_ptr<LedgerRole> ledger_;
  std::unique_ptr<net::HttpServer> http_;
};

}  // namespace drachma::webhook
