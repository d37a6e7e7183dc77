#include "state/cluster_state.h"

#include "base/log.h"
#include "client/informer.h"
#include "client/objects.h"

namespace drachma::state {
namespace {

using json::Value;

void Report(const Status& status, const Value& object) {
  if (status) return;
  Log(LogLevel::kWarning, "state", "{} {} is left out: {}", object["kind"].AsString(),
      client::KeyOf(object), status.error().message);
}

}  // namespace

ClusterState::ClusterState(allocator::Options options) : inventory(options) {}

void ClusterState::Put(Part part, const Value& object) {
  switch (part) {
    case Part::kPod:
      return PutPod(object);
    case Part::kNode:
      return PutNode(object);
    case Part::kClaim:
      return PutClaim(object);
    case Part::kSlice:
      SliceChanged(object);
      return Report(inventory.SetSlice(object), object);
    case Part::kClass:
      ++all_revision_;
      return Report(inventory.SetClass(object), object);
    case Part::kTaintRule:
      ++all_revision_;
      return Report(inventory.SetTaintRule(object), object);
    case Part::kNamespace:
      namespaces_.insert_or_assign(std::string(client::NameOf(object)),
                                   object["metadata"]["labels"]);
      return;
    case Part::kVolumeClaim:
      return volumes.claims.Put(object);
    case Part::kVolume:
      return volumes.volumes.Put(object);
    case Part::kStorageClass:
      return volumes.classes.Put(object);
    case Part::kPodGroup:
      return groups.Put(object);
  }
}

void ClusterState::Remove(Part part, const Value& object) {
  const std::string_view name = client::NameOf(object);
  switch (part) {
    case Part::kPod: {
      const std::string uid(client::UidOf(object));
      nodes.RemovePod(uid);
      pod_keys_.erase(uid);
      const auto entry = pods_.find(client::KeyOf(object));
      if (entry != pods_.end() && entry->second->uid == uid) {
        ForgetMember(*entry->second);
        pods_.erase(entry);
      }
      return;
    }
    case Part::kNode:
      nodes.RemoveNode(name);
      return inventory.RemoveNode(name);
    case Part::kClaim:
      ClaimChanged(claims.Find(client::KeyOf(object)));
      return claims.Remove(client::KeyOf(object));
    case Part::kSlice:
      SliceChanged(object);
      return inventory.RemoveSlice(name);
    case Part::kClass:
      ++all_revision_;
      return inventory.RemoveClass(name);
    case Part::kTaintRule:
      ++all_revision_;
      return inventory.RemoveTaintRule(name);
    case Part::kNamespace:
      namespaces_.erase(std::string(name));
      return;
    case Part::kVolumeClaim:
      return volumes.claims.Remove(object);
    case Part::kVolume:
      return volumes.volumes.Remove(object);
    case Part::kStorageClass:
      return volumes.classes.Remove(object);
    case Part::kPodGroup:
      return groups.Remove(client::KeyOf(object));
  }
}

PodPtr ClusterState::FindPod(std::string_view uid) const {
  const auto key = pod_keys_.find(std::string(uid));
  return key == pod_keys_.end() ? nullptr : FindPodByKey(key->second);
}

PodPtr ClusterState::FindPodByKey(std::string_view key) const {
  const auto found = pods_.find(std::string(key));
  return found == pods_.end() ? nullptr : found->second;
}

const Value& ClusterState::NamespaceLabels(std::string_view ns) const {
  static const Value kNone;
  const auto found = namespaces_.find(std::string(ns));
  return found == namespaces_.end() ? kNone : found->second;
}

std::uint64_t ClusterState::DeviceRevision(NodeIndex index) const {
  return all_revision_ + (index < device_revisions_.size() ? device_revisions_[index] : 0);
}

// An allocation for one node by its name concerns that node; any other one may concern all.
void ClusterState::DevicesChanged(const api::AllocationResult& allocation) {
  const auto& selector = allocation.node_selector;
  if (selector && selector->terms.size() == 1 && selector->terms[0].match_expressions.empty() &&
      selector->terms[0].match_fields.size() == 1) {
    const api::NodeSelectorRequirement& field = selector->terms[0].match_fields[0];
    if (field.key == "metadata.name" && field.op == "In" && field.values.size() == 1) {
      if (const NodeIndex* node = nodes.Find(field.values[0])) ++device_revisions_[*node];
      return;
    }
  }
  ++all_revision_;
}

void ClusterState::SliceChanged(const Value& slice) {
  const std::string_view node_name = slice["spec"]["nodeName"].AsString();
  if (node_name.empty()) {
    ++all_revision_;
  } else if (const NodeIndex* node = nodes.Find(node_name)) {
    ++device_revisions_[*node];
  }
}

void ClusterState::ClaimChanged(const ClaimPtr& claim) {
  if (claim && claim->allocated()) DevicesChanged(*claim->claim.allocation);
}

void ClusterState::PutClaim(const Value& object) {
  const ClaimPtr before = claims.Find(client::KeyOf(object));
  const ClaimPtr after = claims.Put(object);
  // A write that shows what was in flight changes nothing, but telling costs more than the one
  // evaluation that a needless change of the revision does.
  if (after == before) return;
  ClaimChanged(before);
  ClaimChanged(after);
}

ClaimPtr ClusterState::AssumeClaim(const Value& object) {
  const ClaimPtr before = claims.Find(client::KeyOf(object));
  ClaimPtr after = claims.Assume(object);
  // What is in flight has been told when the flight began.
  if (after != before && !claims.InFlight(after->uid)) {
    ClaimChanged(before);
    ClaimChanged(after);
  }
  return after;
}

void ClusterState::PutPod(const Value& object) {
  PodPtr pod = ReadPod(object, names);
  if (!pod->group.empty()) members_[pod->group_key()].insert(pod->key());
  if (!pod->node_name.empty()) nodes.PutPod(pod);
  pod_keys_.insert_or_assign(pod->uid, pod->key());
  pods_.insert_or_assign(pod->key(), std::move(pod));
}

void ClusterState::ForgetMember(const PodView& pod) {
  if (pod.group.empty()) return;
  const auto members = members_.find(pod.group_key());
  if (members == members_.end()) return;
  members->second.erase(pod.key());
  if (members->second.empty()) members_.erase(members);
}

std::vector<PodPtr> ClusterState::MembersOf(std::string_view group_key) const {
  std::vector<PodPtr> pods;
  const auto members = members_.find(std::string(group_key));
  if (members == members_.end()) return pods;
  for (const std::string& key : members->second) {
    const PodPtr pod = FindPodByKey(key);
    if (pod && !pod->terminal && pod->group_key() == group_key) pods.push_back(pod);
  }
  return pods;
}

void ClusterState::PutNode(const Value& object) {
  nodes.PutNode(object);
  const NodeIndex index = *nodes.Find(client::NameOf(object));
  const allocator::NodeIndex device_node = inventory.SetNode(allocator::Node::FromJson(object));
  if (device_nodes_.size() <= index) device_nodes_.resize(index + 1, allocator::kNoNode);
  if (device_revisions_.size() <= index) device_revisions_.resize(index + 1);
  // The number may have been another node's before.
  ++device_revisions_[index];
  if (node_of_.size() <= device_node) node_of_.resize(device_node + 1);
  device_nodes_[index] = device_node;
  node_of_[device_node] = index;
}

}  // namespace drachma::state
