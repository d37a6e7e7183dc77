#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/executor.h"
#include "client/client.h"
#include "client/https_client.h"
#include "json/value.h"

namespace drachma::cli {

// A command's connection to an API server: calls that wait for their answer. For one thread.
class Session {
 public:
  // By --kubeconfig, $KUBECONFIG or ~/.kube/config. ERRORS: those of the configuration.
  [[nodiscard]] static Result<std::unique_ptr<Session>> Open(const std::string& kubeconfig);
  ~Session();

  [[nodiscard]] Result<json::Value> Call(client::Request request);
  // All objects of a resource, in all namespaces; none when the server does not have it.
  [[nodiscard]] Result<std::vector<json::Value>> ListAll(const client::Resource& resource);
  // The namespace of the context.
  [[nodiscard]] const std::string& ns() const { return ns_; }
  [[nodiscard]] client::ClientFactory& factory() { return *factory_; }
  // Runs `task` with the client on its executor.
  void Post(std::move_only_function<void(client::Client&)> task);

 private:
  Session(std::unique_ptr<client::HttpsClientFactory> factory, std::string ns);

  const std::string ns_;
  std::unique_ptr<client::HttpsClientFactory> factory_;
  ThreadExecutor executor_;
  std::unique_ptr<client::Client> client_;
};

}  // namespace drachma::cli
