#pragma once

#include "explain/explanation.h"
#include "scheduler/diagnosis.h"
#include "scheduler/scheduler.h"
#include "state/cluster_state.h"

namespace drachma::scheduler {

// What stands behind the counted reasons of nodes, for people: labels that no node has, taints
// that are not tolerated, how much of a resource the freest node has, who holds a port. Adds
// blockers and, where devices showed no smaller one, the change that would help.
void AddNodeHints(state::ClusterState& state, const state::PodView& pod, const Options& options,
                  const Diagnosis& diagnosis, explain::Explanation& explanation);

}  // namespace drachma::scheduler
