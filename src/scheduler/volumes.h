#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/node_selector.h"
#include "state/cluster_state.h"

namespace drachma::scheduler {

// What the PersistentVolumeClaims of a pod ask of its node (plugins VolumeRestrictions,
// VolumeBinding and VolumeZone). Read once per cycle; nothing for pods without such volumes.
// Claims are used as they are: they are neither bound nor provisioned by choosing a node.
class VolumeNeeds {
 public:
  VolumeNeeds() = default;
  VolumeNeeds(const state::ClusterState& state, const state::PodView& pod);

  // Why no node will do: a claim that is missing, being deleted or not bound; empty when some may.
  [[nodiscard]] const std::string& refusal() const { return refusal_; }
  // The first reason that the node breaks; empty when the volumes can be used there.
  [[nodiscard]] std::string_view Judge(const state::NodeInfo& node) const;

  // For people: what is the matter with each claim that refuses the pod, and what would help.
  struct Hint {
    std::string what;    // "persistentvolumeclaim default/data: not bound, …"
    std::string change;  // "if …"
  };
  [[nodiscard]] static std::vector<Hint> Hints(const state::ClusterState& state,
                                               const state::PodView& pod);

 private:
  // A label that the node must have with one of these values.
  struct Zone {
    std::string key;
    std::vector<std::string> values;
  };

  void ReadVolume(const json::Value& volume);

  std::string refusal_;
  bool in_use_ = false;  // a ReadWriteOncePod claim of it serves another pod
  bool lost_ = false;    // bound to a volume that does not exist
  std::vector<api::NodeSelector> affinities_;
  std::vector<Zone> zones_;
};

}  // namespace drachma::scheduler
