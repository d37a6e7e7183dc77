#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "allocator/inventory.h"
#include "json/value.h"
#include "state/claim_table.h"
#include "state/group_table.h"
#include "state/node_table.h"
#include "state/pod_view.h"
#include "state/volume_table.h"

namespace drachma::state {

// The kinds of objects that the view is made of.
enum class Part : std::uint8_t {
  kPod,
  kNode,
  kClaim,
  kSlice,
  kClass,
  kTaintRule,
  kNamespace,
  kVolumeClaim,
  kVolume,
  kStorageClass,
  kPodGroup,
};

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

  // The answer of a request of our own for a claim, which may be ahead of the informer.
  ClaimPtr AssumeClaim(const json::Value& claim);

  // The pod with this uid as last seen, assigned or not; null when unknown.
  [[nodiscard]] PodPtr FindPod(std::string_view uid) const;
  [[nodiscard]] PodPtr FindPodByKey(std::string_view key) const;
  [[nodiscard]] const std::unordered_map<std::string, PodPtr>& pods() const { return pods_; }

  // The pods that name the group "namespace/name" and have not ended, in the order of their keys.
  [[nodiscard]] std::vector<PodPtr> MembersOf(std::string_view group_key) const;

  // The labels of a namespace; null when it is unknown.
  [[nodiscard]] const json::Value& NamespaceLabels(std::string_view ns) const;

  // Rises with every change that may make devices free for, or reachable from, the node; and with
  // every other change of what its devices are. An outcome of the allocator for the node stays what
  // it was as long as this does.
  [[nodiscard]] std::uint64_t DeviceRevision(NodeIndex index) const;
  // The node was given devices by the scheduler itself (ClaimTable::BeginFlight and EndFlight do
  // not know nodes).
  void DevicesChanged(const api::AllocationResult& allocation);

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
  VolumeTable volumes;
  GroupTable groups;

 private:
  void PutPod(const json::Value& pod);
  void ForgetMember(const PodView& pod);
  void PutNode(const json::Value& node);
  void PutClaim(const json::Value& claim);
  void SliceChanged(const json::Value& slice);
  void ClaimChanged(const ClaimPtr& claim);

  std::unordered_map<std::string, PodPtr> pods_;                    // by "namespace/name"
  std::unordered_map<std::string, std::string> pod_keys_;           // uid to "namespace/name"
  std::unordered_map<std::string, std::set<std::string>> members_;  // keys of pods by group
  std::vector<allocator::NodeIndex> device_nodes_;
  std::vector<NodeIndex> node_of_;
  std::unordered_map<std::string, json::Value> namespaces_;  // labels by name
  std::vector<std::uint64_t> device_revisions_;              // by node
  std::uint64_t all_revision_ = 1;                           // of changes that any node may see
};

}  // namespace drachma::state
