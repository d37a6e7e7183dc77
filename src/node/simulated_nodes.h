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
#include "controllers/controller.h"
#include "node/dra_plugin.h"
#include "node/node_object.h"

namespace drachma::node {

// Annotations of pods that a simulated kubelet follows.
inline constexpr std::string_view kRunSeconds = "drachma.dev/run-seconds";      // then it ends
inline constexpr std::string_view kExitCode = "drachma.dev/exit-code";          // with this code
inline constexpr std::string_view kStartSeconds = "drachma.dev/start-seconds";  // pulling images
inline constexpr std::string_view kStopSeconds = "drachma.dev/stop-seconds";    // after SIGTERM

struct SimulationOptions {
  // Nodes that are registered at the start.
  std::vector<NodeSpec> nodes;
  // Whether Nodes with the annotation kSimulated that are not among `nodes` get a kubelet, too:
  // those of files, and those of an earlier run on the same data.
  bool adopt = true;
  // The drivers of a node, made when its kubelet starts, from its Node object. Drivers that are not
  // among them are taken for ready at once.
  std::function<Result<std::vector<std::unique_ptr<DraPlugin>>>(const json::Value& node)> drivers;
  // Makes the drivers of a node that runs fit its Node object, whose annotations have changed; may
  // add drivers. Empty: they stay as they are. ERRORS: nothing has been changed.
  std::function<Status(const json::Value& node, std::vector<std::unique_ptr<DraPlugin>>& drivers)>
      update_drivers;
  // Controllers that speak with the API server for the drivers of all nodes. They are made before
  // the first node starts, and end before the drivers do.
  std::vector<controllers::ControllerEntry> driver_controllers;
  // Leases and node statuses; without them nobody may count the silence (`plan`).
  bool heartbeats = true;
  // Whether pods end by their annotation kRunSeconds.
  bool finish_pods = true;
  // The service account of kube-system that drivers act as when they publish devices.
  std::string driver_account = "drachma-dra-driver";
  std::map<std::string, bool> feature_gates;
  std::uint64_t seed = 0;
};

// Kubelets of nodes that do not exist: they register nodes, publish their drivers' devices, prepare
// claims, take pods through their lives, keep leases. One actor for all of them, with one copy of
// each resource, so that thousands of nodes cost little. Objects are read as the factory's user;
// what a kubelet writes goes out as its node's user, what a driver publishes as the drivers'
// account, so the server holds each to its own rights.
//
// Belongs to `executor`: members are called from its tasks (or before it runs), and the destructor
// runs there too. `factory` and `executor` must outlive it.
class SimulatedNodes {
 public:
  // A lease is renewed this often by few nodes; many nodes renew more slowly, so that all of them
  // write at most kLeasesPerSecondMax (and at least every kLeaseIntervalMax).
  static constexpr Duration kLeaseInterval = std::chrono::seconds(10);
  static constexpr Duration kLeaseIntervalMax = std::chrono::seconds(40);
  static constexpr int kLeasesPerSecondMax = 20;
  // Node status without news (kubelet's nodeStatusReportFrequency).
  static constexpr Duration kStatusInterval = std::chrono::minutes(5);

  SimulatedNodes(SimulationOptions options, client::ClientFactory& factory, Executor& executor);
  ~SimulatedNodes();
  SimulatedNodes(const SimulatedNodes&) = delete;
  SimulatedNodes& operator=(const SimulatedNodes&) = delete;

  void Start();
  [[nodiscard]] bool synced() const;
  // Whether all nodes, those of the options and those that were found, are registered and have
  // published their devices.
  [[nodiscard]] bool registered() const;
  // The number of nodes that run.
  [[nodiscard]] std::size_t size() const;
  // Whether nothing is left to do until something changes or a delay ends.
  [[nodiscard]] bool AtRest() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace drachma::node
