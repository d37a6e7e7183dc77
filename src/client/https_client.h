#pragma once

#include <memory>
#include <string>

#include "client/client.h"
#include "client/kubeconfig.h"

namespace drachma::net {
class HttpClient;
}

namespace drachma::client {

// Clients of an API server over HTTPS, sharing connections. Answers 429 and 5xx with Retry-After
// are asked again after that time, kRetriesMax times (client-go's with-retry).
// NewClient may be called from any thread.
class HttpsClientFactory final : public ClientFactory {
 public:
  static constexpr int kRetriesMax = 10;
  // Connections to the server at once, watches included; more requests wait.
  static constexpr int kConnectionsMax = 256;  // garbage collection watches every kind

  // ERRORS: kInvalid when certificate or key cannot be read.
  [[nodiscard]] static Result<std::unique_ptr<HttpsClientFactory>> Make(KubeConfig config);
  ~HttpsClientFactory() override;

  [[nodiscard]] std::unique_ptr<Client> NewClient(Executor& executor,
                                                  std::string user_agent) override;
  // A factory on the same connections whose clients send this bearer token. REQUIRES: the
  // configuration has no client certificate, which would say somebody else.
  [[nodiscard]] std::unique_ptr<HttpsClientFactory> WithToken(std::string token) const;

 private:
  HttpsClientFactory(KubeConfig config, std::shared_ptr<net::HttpClient> http);

  const KubeConfig config_;
  const std::shared_ptr<net::HttpClient> http_;
};

}  // namespace drachma::client
