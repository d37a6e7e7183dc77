#pragma once

#include <vector>

#include "scheduler/cycle.h"

namespace drachma::scheduler {

// Plugins NodeResourcesFit (LeastAllocated) and NodeResourcesBalancedAllocation: 0 to 200.
[[nodiscard]] double ResourceScore(const state::PodView& pod, const state::NodeInfo& node);

// Fills `wish` and `resources` of the candidates: the scores of upstream's default plugins with
// their weights, each normalised over the candidates to 0 to 100 (TaintToleration 3, NodeAffinity
// 2, PodTopologySpread and InterPodAffinity 2 together).
void ScoreCandidates(const state::NodeTable& nodes, const state::PodView& pod,
                     const TopologyRules& rules, std::vector<Candidate>& candidates);

// Whether `a` is the better node. First-fit adds all up as upstream does; best-fit looks at what
// the user prefers, then at what the choice of devices costs, then at the node's resources. Equal
// ones keep their order.
[[nodiscard]] bool IsBetter(const Candidate& a, const Candidate& b, DeviceOrder order);

}  // namespace drachma::scheduler
