#pragma once

#include <vector>

#include "explain/explanation.h"
#include "scheduler/diagnosis.h"
#include "scheduler/scheduler.h"
#include "scheduler/what_if.h"
#include "state/cluster_state.h"

// What might let a pod that no node takes go on, by what it asks for and what stands behind the
// counted reasons. Guesses: whether one would do is tried (SmallestTrue). Each function adds edits,
// and blockers for what people should know in any case.
namespace drachma::scheduler {

// Of the claims and the containers' extended resources that want devices: tolerations, smaller
// capacities, constraints, numbers, selectors, classes.
void AddDeviceEdits(state::ClusterState& state, const state::PodView& pod,
                    const Diagnosis& diagnosis, std::vector<Edit>& edits,
                    explain::Explanation& explanation);

// Of names, labels, taints, resources, ports and volumes.
void AddNodeEdits(state::ClusterState& state, const state::PodView& pod, const Options& options,
                  const Diagnosis& diagnosis, std::vector<Edit>& edits,
                  explain::Explanation& explanation);

}  // namespace drachma::scheduler
