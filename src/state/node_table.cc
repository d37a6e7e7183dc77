#include "state/node_table.h"

#include <algorithm>

#include "base/check.h"
#include "num/quantity.h"

namespace drachma::state {
namespace {

using json::Value;

// Whether JudgePlacement may judge differently after a change of the node.
bool PlacementMayDiffer(const Value& a, const Value& b) {
  return !(a["metadata"]["labels"] == b["metadata"]["labels"]) ||
         !(a["spec"]["taints"] == b["spec"]["taints"]) ||
         a["spec"]["unschedulable"].AsBool() != b["spec"]["unschedulable"].AsBool();
}

std::int64_t PodsMax(const Value& allocatable) {
  const Value& pods = allocatable["pods"];
  if (pods.IsInt()) return pods.AsInt();
  const auto quantity = Quantity::Parse(pods.AsString());
  return quantity ? quantity->Value() : 0;
}

}  // namespace

void AddTo(NodeInfo& node, const PodPtr& pod) {
  node.requested.Add(pod->requests);
  node.scored.cpu_milli += pod->scored.cpu_milli;
  node.scored.memory += pod->scored.memory;
  node.anti_affinity_pods += pod->has_required_anti_affinity ? 1 : 0;
  node.pods.push_back(pod);
}

void TakeFrom(NodeInfo& node, const PodView& pod) {
  const auto place = std::ranges::find(node.pods, pod.uid, [](const PodPtr& p) { return p->uid; });
  DRA_CHECK(place != node.pods.end());
  node.requested.Subtract((*place)->requests);
  node.scored.cpu_milli -= (*place)->scored.cpu_milli;
  node.scored.memory -= (*place)->scored.memory;
  node.anti_affinity_pods -= (*place)->has_required_anti_affinity ? 1 : 0;
  node.pods.erase(place);
}

void NodeTable::PutNode(const Value& node) {
  const NodeIndex index = IndexOf(node["metadata"]["name"].AsString());
  NodeInfo& info = nodes_[index];
  if (!info.exists()) {
    const auto place = std::ranges::lower_bound(
        ordered_, info.name, {},
        [this](NodeIndex i) -> const std::string& { return nodes_[i].name; });
    ordered_.insert(place, index);
    ForgetPlacements(index);
  } else if (PlacementMayDiffer(info.object, node)) {
    ForgetPlacements(index);
  }
  if (!info.exists() || !(info.object["metadata"]["labels"] == node["metadata"]["labels"])) {
    info.labels = api::LabelsOf(node);
  }
  const Value& allocatable = node["status"]["allocatable"];
  if (!info.exists() || !(info.object["status"]["allocatable"] == allocatable)) {
    info.allocatable = ReadAmounts(allocatable, names_.resources);
    info.pods_max = PodsMax(allocatable);
  }
  info.tainted = !node["spec"]["taints"].empty();
  info.object = node;
}

void NodeTable::RemoveNode(std::string_view name) {
  const NodeIndex* found = Find(name);
  if (found == nullptr) return;
  const NodeIndex index = *found;
  nodes_[index].object = Value();
  nodes_[index].allocatable = {};
  nodes_[index].pods_max = 0;
  std::erase(ordered_, index);
  DropIfUnused(index);
}

void NodeTable::PutPod(const PodPtr& pod) {
  if (pod->terminal) {
    RemovePod(pod->uid);
    return;
  }
  const auto found = pods_.find(pod->uid);
  if (found != pods_.end()) {
    const NodeIndex old = found->second.node;
    if (nodes_[old].name == pod->node_name) {
      // Most updates change a status only: the sums stay as they are.
      const PodPtr& before = found->second.pod;
      if (before->requests == pod->requests && before->scored.cpu_milli == pod->scored.cpu_milli &&
          before->scored.memory == pod->scored.memory &&
          before->has_required_anti_affinity == pod->has_required_anti_affinity) {
        *std::ranges::find(nodes_[old].pods, before) = pod;
        found->second.pod = pod;
        return;
      }
    }
    RemovePod(pod->uid);
  }
  Attach(pod, IndexOf(pod->node_name));
}

void NodeTable::AssumePod(const PodPtr& pod, NodeIndex node) {
  DRA_CHECK(!pods_.contains(pod->uid));
  Attach(pod, node);
}

bool NodeTable::RemovePod(std::string_view uid) {
  const auto found = pods_.find(std::string(uid));
  if (found == pods_.end()) return false;
  const Place place = found->second;
  pods_.erase(found);
  Detach(place.pod, place.node);
  DropIfUnused(place.node);
  return true;
}

PodPtr NodeTable::FindPod(std::string_view uid) const {
  const auto found = pods_.find(std::string(uid));
  return found == pods_.end() ? nullptr : found->second.pod;
}

const NodeIndex* NodeTable::Find(std::string_view name) const {
  const auto found = by_name_.find(std::string(name));
  if (found == by_name_.end() || !nodes_[found->second].exists()) return nullptr;
  return &found->second;
}

Placement NodeTable::PlacementOf(const PodView& pod, NodeIndex node) {
  auto found = placements_.find(pod.placement_id);
  if (found == placements_.end()) {
    if (placements_.size() >= kPlacementsMax) placements_.clear();
    found = placements_.try_emplace(pod.placement_id).first;
  }
  std::vector<std::int8_t>& judged = found->second;
  if (judged.size() < nodes_.size()) judged.resize(nodes_.size(), -1);
  if (judged[node] < 0) {
    judged[node] = static_cast<std::int8_t>(
        JudgePlacement(pod.object, nodes_[node].object, nodes_[node].labels));
  }
  return static_cast<Placement>(judged[node]);
}

NodeIndex NodeTable::IndexOf(std::string_view name) {
  const auto [entry, added] = by_name_.try_emplace(std::string(name), 0);
  if (!added) return entry->second;
  if (free_.empty()) {
    entry->second = static_cast<NodeIndex>(nodes_.size());
    nodes_.emplace_back();
  } else {
    entry->second = free_.back();
    free_.pop_back();
  }
  nodes_[entry->second].name = name;
  return entry->second;
}

void NodeTable::Attach(const PodPtr& pod, NodeIndex node) {
  AddTo(nodes_[node], pod);
  anti_affinity_pods_ += pod->has_required_anti_affinity ? 1 : 0;
  pods_.emplace(pod->uid, Place{pod, node});
}

void NodeTable::Detach(const PodPtr& pod, NodeIndex node) {
  TakeFrom(nodes_[node], *pod);
  anti_affinity_pods_ -= pod->has_required_anti_affinity ? 1 : 0;
}

void NodeTable::DropIfUnused(NodeIndex index) {
  NodeInfo& info = nodes_[index];
  if (info.exists() || !info.pods.empty()) return;
  by_name_.erase(info.name);
  info = {};
  free_.push_back(index);
}

void NodeTable::ForgetPlacements(NodeIndex index) {
  for (auto& [id, judged] : placements_) {
    if (index < judged.size()) judged[index] = -1;
  }
}

}  // namespace drachma::state
