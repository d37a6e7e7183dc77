#pragma once

#include <vector>

#include "base/clock.h"
#include "explain/explanation.h"
#include "json/value.h"
#include "scheduler/cycle.h"
#include "scheduler/group_cycle.h"
#include "scheduler/nominations.h"

namespace drachma::scheduler {

// What an explanation of a waiting pod is made with; all outlive it.
struct Scene {
  state::ClusterState& state;
  const Options& options;
  Nominations& nominations;
  Cycle& cycle;
  GroupCycle& groups;
  const std::vector<json::Value>& budgets;  // PodDisruptionBudgets
  Time now;
};

// Why no node takes the pod. What stands in the way and what would help has been tried.
[[nodiscard]] explain::Explanation OfUnplaced(const Scene& scene, const state::PodPtr& pod,
                                              Unplaced& unplaced);

// Why the group of the pod does not start: what the pod lacks, or the first member that lacks
// something. REQUIRES: the outcome is not kFits.
[[nodiscard]] explain::Explanation OfGroup(const Scene& scene, const state::PodView& pod,
                                           const state::GroupView& group, GroupOutcome& outcome);

}  // namespace drachma::scheduler
