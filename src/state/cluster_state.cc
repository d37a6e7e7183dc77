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
      claims.Put(object);
      return;
    case Part::kSlice:
      return Report(inventory.SetSlice(object), object);
    case Part::kClass:
      return Report(inventory.SetClass(object), object);
    case Part::kTaintRule:
      return Report(inventory.SetTaintRule(object), object);
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
      if (entry != pods_.end() && entry->second->uid == uid) pods_.erase(entry);
      return;
    }
    case Part::kNode:
      nodes.RemoveNode(name);
      return inventory.RemoveNode(name);
    case Part::kClaim:
      return claims.Remove(client::KeyOf(object));
    case Part::kSlice:
      return inventory.RemoveSlice(name);
    case Part::kClass:
      return inventory.RemoveClass(name);
    case Part::kTaintRule:
      return inventory.RemoveTaintRule(name);
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

void ClusterState::PutPod(const Value& object) {
  PodPtr pod = ReadPod(object, names);
  if (!pod->node_name.empty()) nodes.PutPod(pod);
  pod_keys_.insert_or_assign(pod->uid, pod->key());
  pods_.insert_or_assign(pod->key(), std::move(pod));
}

void ClusterState::PutNode(const Value& object) {
  nodes.PutNode(object);
  const NodeIndex index = *nodes.Find(client::NameOf(object));
  const allocator::NodeIndex device_node = inventory.SetNode(allocator::Node::FromJson(object));
  if (device_nodes_.size() <= index) device_nodes_.resize(index + 1, allocator::kNoNode);
  if (node_of_.size() <= device_node) node_of_.resize(device_node + 1);
  device_nodes_[index] = device_node;
  node_of_[device_node] = index;
}

}  // namespace drachma::state
