#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/executor.h"
#include "client/client.h"

namespace drachma::controllers {

struct Options {
  // Overrides of upstream's gates; unknown names are ignored.
  std::map<std::string, bool> feature_gates;
  // Names of the controllers to run; empty runs all.
  std::vector<std::string> only;
  // Run only while holding the lease kube-system/kube-controller-manager (several replicas of this
  // role against one API server).
  bool leader_election = false;
  // The certificates that pods trust the API server by (PEM): content of each namespace's
  // ConfigMap kube-root-ca.crt. Empty: no such ConfigMaps are made.
  std::string root_ca;
  // Whether nodes that stop renewing their leases become NotReady. Off where nobody renews any
  // (`plan`).
  bool watch_heartbeats = true;
  // The clients that act as service accounts of kube-system, each controller as its own
  // (upstream's --use-service-account-credentials). Unset: all act as the factory's user.
  // What it holds must outlive the controllers.
  std::function<std::unique_ptr<client::Client>(Executor& executor, std::string_view account)>
      client_of;
  std::uint64_t seed = 0;
};

// The controllers of the control plane as one actor: they share one copy of every resource.
//
// Belongs to `executor`: members are called from its tasks (or before it runs), and the destructor
// runs there too. The same on a ThreadExecutor over HTTPS or in process, and on a VirtualExecutor
// with the whole cluster in one thread.
class Controllers {
 public:
  // `factory` and `executor` must outlive the controllers.
  Controllers(Options options, client::ClientFactory& factory, Executor& executor);
  ~Controllers();
  Controllers(const Controllers&) = delete;
  Controllers& operator=(const Controllers&) = delete;

  // Begins to follow the API server; each controller works once its resources have been listed.
  void Start();
  [[nodiscard]] bool synced() const;
  // Whether nothing is left to do until something changes or a delay ends.
  [[nodiscard]] bool AtRest() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace drachma::controllers
