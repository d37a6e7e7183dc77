#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/dra_types.h"
#include "scheduler/queue.h"
#include "state/node_table.h"
#include "state/pod_view.h"

namespace drachma::scheduler {

// A reason why a node does not take a pod.
struct NodeReason {
  std::string text;  // upstream's
  Rejector rejector;
  // Whether pods leaving the node could change it (upstream's Unschedulable, as opposed to
  // UnschedulableAndUnresolvable).
  bool preemptable = false;
};

// Whether the pod's host ports are free on the node (plugin NodePorts).
[[nodiscard]] bool PortsAreFree(const state::PodView& pod, const state::NodeInfo& node);

// Whether the node has room for the pod: number of pods and every resource (plugin
// NodeResourcesFit). `delegated` are resources that devices stand for on this node; they are not
// looked at. `extra` is what nominated pods will take.
[[nodiscard]] bool HasRoom(const state::PodView& pod, const state::NodeInfo& node,
                           const std::vector<state::ResourceId>& delegated,
                           const state::Amounts& extra = {}, std::size_t extra_pods = 0);
// The reasons of the same, one per resource: "Insufficient cpu", "Too many pods".
[[nodiscard]] std::vector<NodeReason> RoomReasons(const state::PodView& pod,
                                                  const state::NodeInfo& node,
                                                  const std::vector<state::ResourceId>& delegated,
                                                  const state::ResourceNames& names);

// Whether what was allocated can be used on the node.
[[nodiscard]] bool Reaches(const api::AllocationResult& allocation, const state::NodeInfo& node);

}  // namespace drachma::scheduler
