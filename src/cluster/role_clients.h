#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "apiserver/server.h"
#include "base/result.h"
#include "client/client.h"

namespace drachma::cluster {

// How the roles of one process reach its API server: each as the user that upstream gives it, so
// that RBAC, the node authoriser and admission hold for them as they would apart. Any thread, once
// made. REQUIRES: the server outlives it.
class RoleClients {
 public:
  explicit RoleClients(apiserver::Server& server);

  [[nodiscard]] client::ClientFactory& scheduler() { return *scheduler_; }
  // Controllers read as kube-controller-manager and write by OfAccount.
  [[nodiscard]] client::ClientFactory& controllers() { return *controllers_; }
  // Simulated nodes act as their kubelets' users from here.
  [[nodiscard]] client::ClientFactory& nodes() { return *nodes_; }
  // A client of a service account of kube-system.
  [[nodiscard]] std::unique_ptr<client::Client> OfAccount(Executor& executor,
                                                          std::string_view account);

 private:
  apiserver::Server& server_;
  std::unique_ptr<client::ClientFactory> scheduler_;
  std::unique_ptr<client::ClientFactory> controllers_;
  std::unique_ptr<client::ClientFactory> nodes_;
};

// Writes a kubeconfig for each role that may run apart into `folder`: scheduler.kubeconfig,
// controllers.kubeconfig, node.kubeconfig, mode 0600, with certificates of the roles' own users.
// ERRORS: those of the certificates and of the file system.
[[nodiscard]] Status WriteRoleKubeconfigs(const apiserver::Server& server,
                                          const std::string& folder);

}  // namespace drachma::cluster
