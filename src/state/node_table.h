#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "api/node_selector.h"
#include "json/value.h"
#include "state/placement.h"
#include "state/pod_view.h"
#include "state/resources.h"

namespace drachma::state {

using NodeIndex = std::uint32_t;

// A node with the pods on it, running or assumed (upstream's NodeInfo).
struct NodeInfo {
  json::Value object;  // null when pods name a node that does not exist (any more)
  std::string name;
  api::Labels labels;
  Amounts allocatable;
  std::int64_t pods_max = 0;
  bool tainted = false;  // by taints of any effect
  Amounts requested;     // by its pods
  ScoredAmounts scored;  // by its pods, with defaults for what is not stated
  std::vector<PodPtr> pods;
  std::size_t anti_affinity_pods = 0;  // of `pods`, with required anti-affinity

  [[nodiscard]] bool exists() const { return !object.IsNull(); }
};

// All nodes with their pods, changed in place by informers and by the scheduler's assumptions, so
// that a scheduling cycle needs no copy: it runs as one task, and nothing changes under it.
// Single-threaded.
class NodeTable {
 public:
  explicit NodeTable(Names& names) : names_(names) {}

  void PutNode(const json::Value& node);
  void RemoveNode(std::string_view name);

  // Adds a pod to the node it names, or replaces its earlier revision. Terminal pods are removed:
  // they hold nothing. REQUIRES: pod->node_name is not empty.
  void PutPod(const PodPtr& pod);
  // Removes the pod from its node. False when it was not there.
  bool RemovePod(std::string_view uid);
  // Adds a pod to a node before the API knows of it; PutPod or RemovePod ends the assumption.
  void AssumePod(const PodPtr& pod, NodeIndex node);
  // The pod as it counts, or null.
  [[nodiscard]] PodPtr FindPod(std::string_view uid) const;

  // Existing nodes in the order of their names: the order that ties break in.
  [[nodiscard]] const std::vector<NodeIndex>& ordered() const { return ordered_; }
  [[nodiscard]] const NodeInfo& At(NodeIndex index) const { return nodes_[index]; }
  // The index of an existing node, or null.
  [[nodiscard]] const NodeIndex* Find(std::string_view name) const;
  [[nodiscard]] std::size_t anti_affinity_pods() const { return anti_affinity_pods_; }

  // Whether the node suits the pod as far as names, labels and taints tell; remembered per
  // placement_id and node until the node's labels, taints or spec change.
  [[nodiscard]] Placement PlacementOf(const PodView& pod, NodeIndex node);

 private:
  // Placements that are remembered: so many ids, each a byte per node. At the limit all are
  // forgotten.
  static constexpr std::size_t kPlacementsMax = 1024;

  NodeIndex IndexOf(std::string_view name);
  void Attach(const PodPtr& pod, NodeIndex node);
  void Detach(const PodPtr& pod, NodeIndex node);
  void DropIfUnused(NodeIndex index);
  void ForgetPlacements(NodeIndex index);

  Names& names_;
  std::vector<NodeInfo> nodes_;
  std::vector<NodeIndex> free_;
  std::unordered_map<std::string, NodeIndex> by_name_;
  std::vector<NodeIndex> ordered_;
  struct Place {
    PodPtr pod;
    NodeIndex node;
  };
  std::unordered_map<std::string, Place> pods_;  // by uid
  std::size_t anti_affinity_pods_ = 0;
  std::unordered_map<std::uint64_t, std::vector<std::int8_t>> placements_;  // -1: not judged yet
};

// Copies of a node for "what if": the same node without some pods, or with more.
void AddTo(NodeInfo& node, const PodPtr& pod);
// REQUIRES: the pod is on the node.
void TakeFrom(NodeInfo& node, const PodView& pod);

}  // namespace drachma::state
