#include "scheduler/volumes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "client/objects.h"

namespace drachma::scheduler {
namespace {

using json::Value;

constexpr std::string_view kBindCompleted = "pv.kubernetes.io/bind-completed";
constexpr std::string_view kClassAnnotation = "volume.beta.kubernetes.io/storage-class";
constexpr std::string_view kInUse =
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already "
    "in-use by another pod";
constexpr std::string_view kLost =
    "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)";
constexpr std::string_view kNodeAffinity = "node(s) didn't match PersistentVolume's node affinity";
constexpr std::string_view kZone = "node(s) had no available volume zone";

struct ZoneLabel {
  std::string_view key;
  std::string_view today;
};
constexpr std::array<ZoneLabel, 4> kZoneLabels = {{
    {"failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"},
    {"failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"},
    {"topology.kubernetes.io/zone", "topology.kubernetes.io/zone"},
    {"topology.kubernetes.io/region", "topology.kubernetes.io/region"},
}};

// The annotation is the word of upstream's binder; where none runs, the phase is what a user or
// a manifest says.
bool IsBound(const Value& claim) {
  return !claim["spec"]["volumeName"].AsString().empty() &&
         (claim["metadata"]["annotations"].Has(kBindCompleted) ||
          claim["status"]["phase"].AsString() == "Bound");
}

std::string_view ClassOf(const Value& claim) {
  const std::string_view old = client::AnnotationOf(claim, kClassAnnotation);
  return old.empty() ? claim["spec"]["storageClassName"].AsString() : old;
}

const Value* StorageClassOf(const state::ClusterState& state, const Value& claim) {
  const std::string_view name = ClassOf(claim);
  return name.empty() ? nullptr : state.volumes.classes.Find(name);
}

bool WaitsForConsumer(const state::ClusterState& state, const Value& claim) {
  const Value* storage_class = StorageClassOf(state, claim);
  return storage_class != nullptr && claim["spec"]["volumeName"].AsString().empty() &&
         (*storage_class)["volumeBindingMode"].AsString() == "WaitForFirstConsumer";
}

bool IsExclusive(const Value& claim) {
  return std::ranges::any_of(claim["spec"]["accessModes"].Items(), [](const Value& mode) {
    return mode.AsString() == "ReadWriteOncePod";
  });
}

// Whether the claim serves a pod that has a node, be it assumed.
bool ServesAnother(const state::ClusterState& state, const state::PodView& pod,
                   std::string_view claim) {
  const auto uses = [&](const state::PodPtr& other) {
    return other->uid != pod.uid && other->ns == pod.ns &&
           std::ranges::any_of(other->volume_claims, [&](const state::VolumeClaimUse& use) {
             return use.claim_name == claim;
           });
  };
  return std::ranges::any_of(state.nodes.ordered(), [&](state::NodeIndex node) {
    return std::ranges::any_of(state.nodes.At(node).pods, uses);
  });
}

// Why the claim keeps its pod from every node (VolumeBinding's PreFilter); empty when it does not.
std::string Refusal(const state::ClusterState& state, const state::PodView& pod,
                    const state::VolumeClaimUse& use, const Value* claim) {
  if (claim == nullptr) {
    return use.ephemeral ? fmt::format(
                               "waiting for ephemeral volume controller to create the "
                               "persistentvolumeclaim \"{}\"",
                               use.claim_name)
                         : fmt::format("persistentvolumeclaim \"{}\" not found", use.claim_name);
  }
  if ((*claim)["status"]["phase"].AsString() == "Lost") {
    return fmt::format("persistentvolumeclaim \"{}\" bound to non-existent persistentvolume \"{}\"",
                       use.claim_name, (*claim)["spec"]["volumeName"].AsString());
  }
  if (client::IsBeingDeleted(*claim)) {
    return fmt::format("persistentvolumeclaim \"{}\" is being deleted", use.claim_name);
  }
  if (use.ephemeral) {
    const Value* owner = client::ControllerOf(*claim);
    if (owner == nullptr || (*owner)["uid"].AsString() != pod.uid) {
      return fmt::format("PVC {}/{} was not created for pod {} (pod is not owner)", pod.ns,
                         use.claim_name, pod.key());
    }
  }
  if (IsBound(*claim)) return {};
  if (!WaitsForConsumer(state, *claim)) return "pod has unbound immediate PersistentVolumeClaims";
  return fmt::format(
      "persistentvolumeclaim \"{}\" is not bound: class \"{}\" waits for the first consumer, and "
      "this scheduler neither binds nor provisions volumes",
      use.claim_name, ClassOf(*claim));
}

VolumeNeeds::Hint HintFor(const state::ClusterState& state, const state::PodView& pod,
                          const state::VolumeClaimUse& use, const Value* claim,
                          const std::string& refusal) {
  const std::string key = fmt::format("{}/{}", pod.ns, use.claim_name);
  const std::string title = fmt::format("persistentvolumeclaim {}", key);
  if (claim == nullptr) {
    return {title + " does not exist", fmt::format("if {} existed and were bound", title)};
  }
  if (IsBound(*claim) || client::IsBeingDeleted(*claim)) {
    return {fmt::format("{}: {}", title, refusal), {}};
  }
  const std::string_view name = ClassOf(*claim);
  const Value* storage_class = StorageClassOf(state, *claim);
  std::string why;
  if (name.empty()) {
    why = "it names no StorageClass, so nobody provisions a volume for it";
  } else if (storage_class == nullptr) {
    why = fmt::format("StorageClass {} does not exist", name);
  } else {
    why = fmt::format("StorageClass {} binds {} with provisioner {}", name,
                      (*storage_class)["volumeBindingMode"].AsString("Immediate"),
                      (*storage_class)["provisioner"].AsString());
  }
  return {fmt::format("{} is not bound: {}", title, why),
          fmt::format("if {} were bound to a PersistentVolume", title)};
}

}  // namespace

VolumeNeeds::VolumeNeeds(const state::ClusterState& state, const state::PodView& pod) {
  for (const state::VolumeClaimUse& use : pod.volume_claims) {
    const Value* claim = state.volumes.claims.Find(pod.ns + "/" + use.claim_name);
    if (std::string reason = Refusal(state, pod, use, claim); !reason.empty()) {
      refusal_ = std::move(reason);
      return;
    }
    if (IsExclusive(*claim) && ServesAnother(state, pod, use.claim_name)) in_use_ = true;
    const Value* volume = state.volumes.volumes.Find((*claim)["spec"]["volumeName"].AsString());
    if (volume == nullptr) {
      lost_ = true;
    } else {
      ReadVolume(*volume);
    }
  }
}

void VolumeNeeds::ReadVolume(const Value& volume) {
  const Value& required = volume["spec"]["nodeAffinity"]["required"];
  if (!required.IsNull()) {
    if (auto selector = api::NodeSelector::FromJson(required)) {
      affinities_.push_back(*std::move(selector));
    }
  }
  for (const ZoneLabel& label : kZoneLabels) {
    const std::string_view value = client::LabelOf(volume, label.key);
    if (value.empty()) continue;
    Zone zone{.key = std::string(label.key), .values = {}};
    // Volumes of several zones join them by "__".
    constexpr std::string_view kJoin = "__";
    for (std::size_t begin = 0; begin <= value.size();) {
      const std::size_t end = std::min(value.find(kJoin, begin), value.size());
      zone.values.emplace_back(value.substr(begin, end - begin));
      begin = end + kJoin.size();
    }
    zones_.push_back(std::move(zone));
  }
}

std::string_view VolumeNeeds::Judge(const state::NodeInfo& node) const {
  if (in_use_) return kInUse;
  if (lost_) return kLost;
  const bool matches = std::ranges::all_of(affinities_, [&node](const api::NodeSelector& affinity) {
    return api::Matches(affinity, node.name, node.labels);
  });
  if (!matches) return kNodeAffinity;
  if (zones_.empty()) return {};
  // Nodes without any zone are in a cluster without zones.
  const bool zoned = std::ranges::any_of(
      kZoneLabels, [&node](const ZoneLabel& label) { return node.labels.contains(label.key); });
  if (!zoned) return {};
  const bool in_zone = std::ranges::all_of(zones_, [&node](const Zone& zone) {
    auto label = node.labels.find(zone.key);
    if (label == node.labels.end()) {
      const auto* known = std::ranges::find(kZoneLabels, zone.key, &ZoneLabel::key);
      label = node.labels.find(known->today);
    }
    return label != node.labels.end() &&
           std::ranges::find(zone.values, label->second) != zone.values.end();
  });
  return in_zone ? std::string_view() : kZone;
}

std::vector<VolumeNeeds::Hint> VolumeNeeds::Hints(const state::ClusterState& state,
                                                  const state::PodView& pod) {
  std::vector<Hint> hints;
  for (const state::VolumeClaimUse& use : pod.volume_claims) {
    const Value* claim = state.volumes.claims.Find(pod.ns + "/" + use.claim_name);
    const std::string refusal = Refusal(state, pod, use, claim);
    if (!refusal.empty()) hints.push_back(HintFor(state, pod, use, claim, refusal));
  }
  return hints;
}

}  // namespace drachma::scheduler
