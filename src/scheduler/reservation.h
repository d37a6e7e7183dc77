#pragma once

#include "scheduler/cycle.h"
#include "state/cluster_state.h"

namespace drachma::scheduler {

// Makes the decision count in the state before the API knows of it: the pod is assumed on its node
// and its new allocations are in flight (upstream's assume and Reserve).
void Reserve(state::ClusterState& state, const state::PodPtr& pod, const Placed& placed);
// Takes that back (Unreserve and ForgetPod).
void Unreserve(state::ClusterState& state, const state::PodView& pod, const Placed& placed);

}  // namespace drachma::scheduler
