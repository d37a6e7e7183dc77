#pragma once

#include <map>
#include <set>
#include <string>

#include "controllers/controller.h"
#include "node/sim_node.h"

namespace drachma::node {

// The part of simulated kubelets that is about their nodes: registers them, says that they are
// well, publishes the devices of their drivers. Keys are names of nodes.
class NodeWorker final : public controllers::Controller {
 public:
  NodeWorker(controllers::Host& host, NodeTable& table);

  [[nodiscard]] controllers::Work Sync(const std::string& key) override;

  // Makes the nodes of the options, once the caches are there.
  void RegisterAll();
  // Whether every node of the options, and every other one that was found, is there with its
  // devices.
  [[nodiscard]] bool registered() const {
    return settled_.size() >= specs_.size() && awaited_.empty();
  }

 private:
  struct Pulse {
    Time next_lease;
    Time next_status;
    bool has_lease = false;
  };

  void OnNode(const client::Change& change);
  void OnSlice(const client::Change& change);
  [[nodiscard]] bool IsOurs(const json::Value& node) const;
  void Settle(const std::string& name);
  [[nodiscard]] controllers::Action Register(const NodeSpec& spec);
  // Null when its drivers cannot be made; `work` says so then.
  [[nodiscard]] SimNode* StartNode(const json::Value& object, controllers::Work& work);
  void UpdateDrivers(const json::Value& object, SimNode& node, controllers::Work& work);
  void Complain(const json::Value& object, const Error& error, controllers::Work& work) const;
  void SyncStatus(const json::Value& object, const SimNode& node, Pulse& pulse,
                  controllers::Work& work) const;
  void SyncSlices(const json::Value& object, const SimNode& node, controllers::Work& work) const;
  void SyncLease(const json::Value& object, Pulse& pulse, controllers::Work& work);
  [[nodiscard]] Duration LeaseInterval() const;

  NodeTable& table_;
  controllers::Cache& nodes_;
  controllers::Cache& slices_;
  std::map<std::string, const NodeSpec*, std::less<>> specs_;
  std::set<std::string, std::less<>> registered_;  // of specs_: seen once, not made again
  std::set<std::string, std::less<>> settled_;     // of specs_: with all its devices
  std::set<std::string, std::less<>> awaited_;     // not of specs_: found, not yet settled
  std::map<std::string, std::set<std::string>, std::less<>> slices_of_node_;
  std::map<std::string, Pulse, std::less<>> pulses_;
};

}  // namespace drachma::node
