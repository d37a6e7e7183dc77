#pragma once

#include <bitset>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "client/client.h"
#include "json/value.h"
#include "node/dra_plugin.h"
#include "node/simulated_nodes.h"

namespace drachma::node {

// One simulated node: its drivers, which of its pods use which claim, and its addresses.
class SimNode {
 public:
  SimNode(std::uint32_t index, std::string address, std::vector<std::unique_ptr<DraPlugin>> plugins,
          json::Value annotations);

  // Says which addresses its pods have.
  [[nodiscard]] std::uint32_t index() const { return index_; }
  // Its own; the host's address for its pods.
  [[nodiscard]] const std::string& address() const { return address_; }
  [[nodiscard]] std::vector<std::unique_ptr<DraPlugin>>& plugins() { return plugins_; }
  [[nodiscard]] const std::vector<std::unique_ptr<DraPlugin>>& plugins() const { return plugins_; }
  // Whether the annotations of its Node are others than at the last call, or the start.
  [[nodiscard]] bool TakeAnnotations(const json::Value& node);
  // The driver's plugin; one that is always ready for drivers that are not known.
  [[nodiscard]] DraPlugin& PluginOf(std::string_view driver);

  // The last byte of a pod's address: 2 to 254, the lowest free one.
  [[nodiscard]] std::uint32_t TakeAddress();
  void FreeAddress(std::uint32_t address);

  // A pod uses a claim from now on.
  void Use(const std::string& claim_uid, const std::string& pod_uid) {
    users_[claim_uid].insert(pod_uid);
  }
  // A pod does not any more; true when it was the last one.
  bool Leave(const std::string& claim_uid, const std::string& pod_uid);

 private:
  const std::uint32_t index_;
  const std::string address_;
  std::vector<std::unique_ptr<DraPlugin>> plugins_;
  json::Value annotations_;
  std::map<std::string, std::set<std::string>> users_;  // claim uid -> pod uids
  std::bitset<256> addresses_;
};

// The nodes of the simulation, shared by its two controllers.
class NodeTable {
 public:
  explicit NodeTable(const SimulationOptions& options);

  [[nodiscard]] const SimulationOptions& options() const { return options_; }
  [[nodiscard]] SimNode* Find(std::string_view name) const;
  // ERRORS: those of the drivers.
  [[nodiscard]] Result<SimNode*> Start(const json::Value& node);
  void Stop(std::string_view name);
  // The index of a node, and with it its address: the one that its object shows already, else the
  // lowest that no other node has. Kept until Release.
  std::uint32_t IndexOf(std::string_view name, std::string_view address = {});
  void Release(std::string_view name);
  [[nodiscard]] std::size_t size() const { return nodes_.size(); }
  // Whom a kubelet acts as: the user of its node.
  [[nodiscard]] std::shared_ptr<const client::Identity> KubeletOf(std::string_view node);
  // Whom drivers act as.
  [[nodiscard]] const std::shared_ptr<const client::Identity>& drivers() const { return drivers_; }
  // Called with the name of each node that was started.
  void OnStarted(std::function<void(const std::string&)> started) { started_ = std::move(started); }

 private:
  const SimulationOptions& options_;
  std::map<std::string, std::unique_ptr<SimNode>, std::less<>> nodes_;
  const std::shared_ptr<const client::Identity> drivers_;
  std::map<std::string, std::shared_ptr<const client::Identity>, std::less<>> kubelets_;
  std::map<std::string, std::uint32_t, std::less<>> indexes_;
  std::set<std::uint32_t> taken_;  // the values of indexes_
  std::uint32_t lowest_ = 1;       // none below it is free
  std::function<void(const std::string&)> started_;
};

}  // namespace drachma::node
