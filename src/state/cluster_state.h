#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "allocator/inventory.h"
#include "json/value.h"
#include "state/claim_table.h"
#include "state/node_table.h"
#include "state/pod_view.h"

namespace drachma::state {

// The kinds of objects that the view is made of.
enum class Part : std::uint8_t { kPod, kNode, kClaim, kSlice, kClass, kTaintRule };

// One view of the cluster: nodes with their pods, devices and who holds them. Filled by informers
// (Follower) or from lists; read by the scheduler, explanations and commands. What is read within
// one task is one snapshot. Single-threaded.
class ClusterState {
 public:
  explicit ClusterState(allocator::Options options);
  ClusterState(const ClusterState&) = delete;
  ClusterState& operator=(const ClusterState&) = delete;

  // An object that is there now, or a newer revision of it. Objects that cannot be read count as
  // absent.
  void Put(Part part, const json::Value& object);
  void Remove(Part part, const json::Value& object);

  // The pod with this uid as last seen, assigned or not; null when unknown.
  [[nodiscard]] PodPtr FindPod(std::string_view uid) const;
  [[nodiscard]] PodPtr FindPodByKey(std::string_view key) const;
  [[nodiscard]] const std::unordered_map<std::string, PodPtr>& pods() const { return pods_; }

  // The number of a node in the inventory; REQUIRES: an existing node.
  [[nodiscard]] allocator::NodeIndex DeviceNode(NodeIndex index) const {
    return device_nodes_[index];
  }
  [[nodiscard]] NodeIndex NodeOfDeviceNode(allocator::NodeIndex index) const {
    return node_of_[index];
  }

  Names names;
  allocator::Inventory inventory;
  NodeTable nodes{names};
  ClaimTable claims{names, inventory};

 private:
  void PutPod(const json::Value& pod);
  void PutNode(const json::Value& node);

  std::unordered_map<std::string, PodPtr> pods_;           // by "namespace/name"
  std::unordered_map<std::string, std::string> pod_keys_;  // uid to "namespace/name"
  std::vector<allocator::NodeIndex> device_nodes_;
  std::vector<NodeIndex> node_of_;
};

}  // namespace drachma::state
