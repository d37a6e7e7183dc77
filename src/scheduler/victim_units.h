#pragma once

#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/clock.h"
#include "json/value.h"
#include "scheduler/groups.h"
#include "state/cluster_state.h"

namespace drachma::scheduler {

// Pods that are evicted together or not at all: a pod, or all members of a group that is disrupted
// as one, wherever they are (upstream's Victim). Explanations also ask about what nobody can evict:
// allocated claims that no pod uses.
struct VictimUnit {
  std::vector<state::PodPtr> pods;
  state::ClaimPtr claim;      // without pods
  std::int64_t priority = 0;  // of the group, for members of one
  bool of_group = false;
};

// When a pod began to run; Time::max() for one that has not.
[[nodiscard]] Time StartOf(const state::PodView& pod);

// The units that the pods belong to, each once, in the order of the first pod.
[[nodiscard]] std::vector<VictimUnit> UnitsOf(const state::ClusterState& state,
                                              const GroupGates& gates,
                                              const std::vector<state::PodPtr>& pods);

// Upstream's MoreImportantVictim: priority, groups before pods, size, who runs longer.
[[nodiscard]] bool MoreImportant(const VictimUnit& a, const VictimUnit& b);

// The uids of the pods whose eviction would break a PodDisruptionBudget when they go in this order.
[[nodiscard]] std::unordered_set<std::string> BudgetBreakers(
    const std::vector<VictimUnit>& units, const std::vector<json::Value>& budgets);

// The claims of a pod, also the one for its extended resources.
[[nodiscard]] std::vector<state::ClaimPtr> ClaimsOf(const state::PodView& pod,
                                                    const state::ClaimTable& claims);

// The pods that use the claim, by themselves or through their group.
[[nodiscard]] std::vector<state::PodPtr> UsersOf(const state::ClusterState& state,
                                                 const state::ClaimView& claim);

// Whether a claim becomes free when the pods `gone` go: all pods it is reserved for, by themselves
// or through their group, are gone, finished or unknown.
[[nodiscard]] bool IsReleased(const state::ClusterState& state, const state::ClaimView& claim,
                              const std::unordered_set<std::string>& gone);

}  // namespace drachma::scheduler
