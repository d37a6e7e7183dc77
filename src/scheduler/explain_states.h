#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "explain/explanation.h"
#include "scheduler/scheduler.h"
#include "state/cluster_state.h"

// Explanations of pods that wait for something else than a node.
namespace drachma::scheduler {

// What must come before the scheduler tries the pod; `held` is the scheduler's word.
[[nodiscard]] explain::Explanation OfHeld(const state::ClusterState& state,
                                          const state::PodView& pod, const std::string& held);

// The pod has a node; what its claims hold.
[[nodiscard]] explain::Explanation OfAssigned(const state::ClusterState& state,
                                              const state::PodView& pod);

// The pod has its devices, which must be made ready before it may be bound
// (DRADeviceBindingConditions). Nothing when no claim of it waits for that.
[[nodiscard]] std::optional<explain::Explanation> OfBinding(const state::ClusterState& state,
                                                            const state::PodView& pod,
                                                            const Options& options, Time now);

// The conditions that devices of an allocated claim still lack, as blockers.
void AddMissingConditions(const state::ClaimView& claim, explain::Explanation& explanation);

}  // namespace drachma::scheduler
