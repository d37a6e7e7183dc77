#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/cycle.h"

namespace drachma::scheduler {

// The cluster as it would be with some objects changed; as it was again when this ends. For
// explanations only: one task, and nothing else reads the state meanwhile.
class Trial {
 public:
  explicit Trial(state::ClusterState& state) : state_(state) {}
  ~Trial();
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  [[nodiscard]] const state::ClusterState& state() const { return state_; }
  // A claim that has no devices, changed or new.
  void PutClaim(const json::Value& claim);
  // REQUIRES: it exists.
  void PutNode(const json::Value& node);
  // REQUIRES: no class has its name.
  void AddClass(const json::Value& device_class);

 private:
  state::ClusterState& state_;
  std::vector<std::function<void()>> undo_;
};

// Stands in the text of a change for the node that would take the pod.
inline constexpr std::string_view kThatNode = "\x01";

// A change that might let a pod go on: what people would do, and the same done to what a cycle
// reads. Empty functions change nothing.
struct Edit {
  // How much it asks of people: a claim's fine print before its devices, one pod before several.
  enum class Cost : std::uint8_t {
    kOnePod,
    kTolerate,
    kRepair,  // something that is there is used: cordoned nodes, volumes
    kSmallerRequest,
    kConstraint,
    kFewerDevices,
    kLabels,
    kManyPods,
    kSelector,
    kPlacement,  // of other pods
    kMoreDevices,
  };
  Cost cost = Cost::kRepair;
  std::string change;                             // "if the pod tolerated the taint a:NoSchedule"
  std::function<void(json::Value& pod)> pod;      // its object
  std::function<void(state::PodView& pod)> view;  // what is read of it
  std::function<void(Trial& trial)> cluster;
};

// The text of the cheapest of the edits, or else of two of them together, with which a cycle really
// finds a node; empty when none of those tried does. Edits that cost the same are tried in their
// order; on large clusters not all are.
[[nodiscard]] std::string SmallestTrue(state::ClusterState& state, Cycle& cycle,
                                       const state::PodPtr& pod, std::vector<Edit> edits);

}  // namespace drachma::scheduler
