#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "scheduler/filters.h"
#include "state/cluster_state.h"

namespace drachma::scheduler {

// The rules that depend on where other pods are: topology spread constraints (plugin
// PodTopologySpread) and affinity and anti-affinity between pods, in both directions (plugin
// InterPodAffinity). Counts once per cycle; then each node is a few look-ups. Costs nothing for
// pods without such rules in a cluster without required anti-affinity.
class TopologyRules {
 public:
  // Counts the pods of `state` but those whose uid is in `gone` (victims of a preemption).
  TopologyRules(const state::ClusterState& state, const state::PodView& pod,
                const std::unordered_set<std::string>& gone = {});

  // Whether no node can be refused or preferred by these rules.
  [[nodiscard]] bool empty() const { return !active_; }
  // The first rule that the node breaks; null when there is none.
  [[nodiscard]] const NodeReason* Judge(const state::NodeInfo& node) const;
  // Preferred terms and soft constraints: more is better, on no fixed scale.
  [[nodiscard]] double Score(const state::NodeInfo& node) const;
  [[nodiscard]] bool has_scores() const { return has_scores_; }

 private:
  using Pair = std::pair<std::string, std::string>;  // label key and value
  using Counts = std::map<Pair, std::int64_t>;
  struct Spread {
    std::int64_t max_skew = 1;
    std::int64_t domains_min = 1;
    std::string key;
    json::Value selector;
    bool hard = true;
    bool honor_affinity = true;
    bool honor_taints = false;
    bool matches_self = false;
    std::map<std::string, std::int64_t, std::less<>> domains;
    std::int64_t fewest = 0;
  };

  void ReadSpread(const state::PodView& pod);
  void CountSpread(const state::ClusterState& state, const state::PodView& pod,
                   const std::unordered_set<std::string>& gone);
  void CountAffinity(const state::ClusterState& state, const state::PodView& pod,
                     const std::unordered_set<std::string>& gone);
  void CountOther(const state::ClusterState& state, const state::PodView& pod,
                  const state::PodView& other, const api::Labels& labels);

  bool active_ = false;
  bool has_scores_ = false;
  std::vector<Spread> spreads_;
  std::vector<json::Value> affinity_;       // required terms of the pod
  std::vector<json::Value> anti_affinity_;  // required terms of the pod
  bool affinity_matches_self_ = false;
  Counts affinity_counts_;       // pods that match all of affinity_, by each term's topology
  Counts anti_affinity_counts_;  // pods that match a term of anti_affinity_
  Counts existing_anti_;         // pods whose required anti-affinity the pod matches
  Counts preferred_;             // weights
};

}  // namespace drachma::scheduler
