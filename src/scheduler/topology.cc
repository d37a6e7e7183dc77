#include "scheduler/topology.h"

#include <algorithm>
#include <cmath>

#include "client/objects.h"
#include "state/placement.h"

namespace drachma::scheduler {
namespace {

using json::Value;

constexpr std::string_view kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr std::string_view kPreferred = "preferredDuringSchedulingIgnoredDuringExecution";
// What the required affinity of another pod counts in the score (HardPodAffinityWeight).
constexpr std::int64_t kHardAffinityWeight = 1;

const NodeReason kSpreadLabel{
    "node(s) didn't match pod topology spread constraints (missing required label)",
    Rejector::kSpread, false};
const NodeReason kSpreadSkew{"node(s) didn't match pod topology spread constraints",
                             Rejector::kSpread, true};
const NodeReason kAffinity{"node(s) didn't match pod affinity rules", Rejector::kPodAffinity,
                           false};
const NodeReason kAntiAffinity{"node(s) didn't match pod anti-affinity rules",
                               Rejector::kPodAffinity, true};
const NodeReason kExistingAnti{"node(s) didn't satisfy existing pods anti-affinity rules",
                               Rejector::kPodAffinity, true};

const Value& LabelsOf(const state::PodView& pod) { return pod.object["metadata"]["labels"]; }

// Whether `other` is among the pods that a term of a pod in `owner_ns` speaks of.
bool TermMatches(const Value& term, std::string_view owner_ns, const state::PodView& other,
                 const state::ClusterState& state) {
  const Value& namespaces = term["namespaces"];
  const Value* ns_selector = term.Find("namespaceSelector");
  bool in_namespace = false;
  if (namespaces.empty() && (ns_selector == nullptr || ns_selector->IsNull())) {
    in_namespace = other.ns == owner_ns;
  } else {
    in_namespace =
        std::ranges::any_of(namespaces.Items(),
                            [&](const Value& ns) { return ns.AsString() == other.ns; }) ||
        (ns_selector != nullptr && !ns_selector->IsNull() &&
         client::MatchesSelector(*ns_selector, state.NamespaceLabels(other.ns)));
  }
  return in_namespace && client::MatchesSelector(term["labelSelector"], LabelsOf(other));
}

std::vector<Value> TermsOf(const state::PodView& pod, std::string_view kind,
                           std::string_view strength) {
  const auto items = pod.object["spec"]["affinity"][kind][strength].Items();
  return {items.begin(), items.end()};
}

// A labelSelector that also asks for the pod's values of `keys` (matchLabelKeys).
Value WithLabelKeys(Value selector, const Value& keys, const Value& labels) {
  for (const Value& key : keys.Items()) {
    if (const Value* value = labels.Find(key.AsString())) {
      selector.Edit("matchLabels").Set(key.AsString(), *value);
    }
  }
  return selector;
}

void Add(std::map<std::pair<std::string, std::string>, std::int64_t>& counts, const Value& term,
         const api::Labels& labels, std::int64_t amount) {
  const std::string key(term["topologyKey"].AsString());
  const auto label = labels.find(key);
  if (label != labels.end()) counts[{key, label->second}] += amount;
}

}  // namespace

TopologyRules::TopologyRules(const state::ClusterState& state, const state::PodView& pod,
                             const std::unordered_set<std::string>& gone) {
  if (pod.has_topology_spread) {
    ReadSpread(pod);
    CountSpread(state, pod, gone);
  }
  if (pod.has_pod_affinity || state.nodes.anti_affinity_pods() > 0) {
    CountAffinity(state, pod, gone);
  }
  has_scores_ = !preferred_.empty() ||
                std::ranges::any_of(spreads_, [](const Spread& spread) { return !spread.hard; });
  active_ = has_scores_ || !spreads_.empty() || !affinity_.empty() ||
            !anti_affinity_counts_.empty() || !existing_anti_.empty();
}

void TopologyRules::ReadSpread(const state::PodView& pod) {
  for (const Value& constraint : pod.object["spec"]["topologySpreadConstraints"].Items()) {
    Spread spread;
    spread.max_skew = constraint["maxSkew"].AsInt(1);
    spread.domains_min = constraint["minDomains"].AsInt(1);
    spread.key = constraint["topologyKey"].AsString();
    spread.selector =
        WithLabelKeys(constraint["labelSelector"], constraint["matchLabelKeys"], LabelsOf(pod));
    spread.hard = constraint["whenUnsatisfiable"].AsString() != "ScheduleAnyway";
    spread.honor_affinity = constraint["nodeAffinityPolicy"].AsString() != "Ignore";
    spread.honor_taints = constraint["nodeTaintsPolicy"].AsString() == "Honor";
    spread.matches_self = client::MatchesSelector(spread.selector, LabelsOf(pod));
    spreads_.push_back(std::move(spread));
  }
}

void TopologyRules::CountSpread(const state::ClusterState& state, const state::PodView& pod,
                                const std::unordered_set<std::string>& gone) {
  for (const state::NodeIndex index : state.nodes.ordered()) {
    const state::NodeInfo& node = state.nodes.At(index);
    const bool has_all_keys = std::ranges::all_of(spreads_, [&node](const Spread& spread) {
      return !spread.hard || node.labels.contains(spread.key);
    });
    if (!has_all_keys) continue;
    const auto placement = state::JudgePlacement(pod.object, node.object, node.labels);
    for (Spread& spread : spreads_) {
      const auto label = node.labels.find(spread.key);
      if (label == node.labels.end()) continue;
      if (spread.honor_affinity && placement == state::Placement::kAffinity) continue;
      if (spread.honor_taints && (placement == state::Placement::kTaint ||
                                  placement == state::Placement::kUnschedulable)) {
        continue;
      }
      std::int64_t& count = spread.domains[label->second];
      count += std::ranges::count_if(node.pods, [&](const state::PodPtr& other) {
        return other->ns == pod.ns && !other->deleting && !gone.contains(other->uid) &&
               client::MatchesSelector(spread.selector, LabelsOf(*other));
      });
    }
  }
  for (Spread& spread : spreads_) {
    if (static_cast<std::int64_t>(spread.domains.size()) < spread.domains_min) continue;
    spread.fewest = std::ranges::min_element(spread.domains, {}, [](const auto& domain) {
                      return domain.second;
                    })->second;
  }
}

void TopologyRules::CountAffinity(const state::ClusterState& state, const state::PodView& pod,
                                  const std::unordered_set<std::string>& gone) {
  affinity_ = TermsOf(pod, "podAffinity", kRequired);
  anti_affinity_ = TermsOf(pod, "podAntiAffinity", kRequired);
  affinity_matches_self_ = std::ranges::all_of(
      affinity_, [&](const Value& term) { return TermMatches(term, pod.ns, pod, state); });
  for (const state::NodeIndex index : state.nodes.ordered()) {
    const state::NodeInfo& node = state.nodes.At(index);
    if (!pod.has_pod_affinity && node.anti_affinity_pods == 0) continue;
    for (const state::PodPtr& other : node.pods) {
      if (!gone.contains(other->uid)) CountOther(state, pod, *other, node.labels);
    }
  }
}

void TopologyRules::CountOther(const state::ClusterState& state, const state::PodView& pod,
                               const state::PodView& other, const api::Labels& labels) {
  const auto matches = [&](const Value& term) { return TermMatches(term, pod.ns, other, state); };
  if (!affinity_.empty() && std::ranges::all_of(affinity_, matches)) {
    for (const Value& term : affinity_) Add(affinity_counts_, term, labels, 1);
  }
  for (const Value& term : anti_affinity_) {
    if (matches(term)) Add(anti_affinity_counts_, term, labels, 1);
  }
  for (const Value& weighted : TermsOf(pod, "podAffinity", kPreferred)) {
    const Value& term = weighted["podAffinityTerm"];
    if (matches(term)) Add(preferred_, term, labels, weighted["weight"].AsInt());
  }
  for (const Value& weighted : TermsOf(pod, "podAntiAffinity", kPreferred)) {
    const Value& term = weighted["podAffinityTerm"];
    if (matches(term)) Add(preferred_, term, labels, -weighted["weight"].AsInt());
  }
  if (!other.has_pod_affinity) return;
  // The other pod's terms about this one.
  const auto matched = [&](const Value& term) { return TermMatches(term, other.ns, pod, state); };
  for (const Value& term : TermsOf(other, "podAntiAffinity", kRequired)) {
    if (matched(term)) Add(existing_anti_, term, labels, 1);
  }
  for (const Value& term : TermsOf(other, "podAffinity", kRequired)) {
    if (matched(term)) Add(preferred_, term, labels, kHardAffinityWeight);
  }
  for (const Value& weighted : TermsOf(other, "podAffinity", kPreferred)) {
    const Value& term = weighted["podAffinityTerm"];
    if (matched(term)) Add(preferred_, term, labels, weighted["weight"].AsInt());
  }
  for (const Value& weighted : TermsOf(other, "podAntiAffinity", kPreferred)) {
    const Value& term = weighted["podAffinityTerm"];
    if (matched(term)) Add(preferred_, term, labels, -weighted["weight"].AsInt());
  }
}

const NodeReason* TopologyRules::Judge(const state::NodeInfo& node) const {
  for (const Spread& spread : spreads_) {
    if (!spread.hard) continue;
    const auto label = node.labels.find(spread.key);
    if (label == node.labels.end()) return &kSpreadLabel;
    const auto domain = spread.domains.find(label->second);
    const std::int64_t here = domain == spread.domains.end() ? 0 : domain->second;
    if (here + (spread.matches_self ? 1 : 0) - spread.fewest > spread.max_skew) {
      return &kSpreadSkew;
    }
  }
  const auto has = [&node](const Counts& counts, const std::string& key) {
    const auto label = node.labels.find(key);
    return label != node.labels.end() && counts.contains({key, label->second});
  };
  for (const Value& term : affinity_) {
    const std::string key(term["topologyKey"].AsString());
    // The first pod of a group that wants to be together may go anywhere.
    const bool first = affinity_counts_.empty() && affinity_matches_self_;
    if (first ? !node.labels.contains(key) : !has(affinity_counts_, key)) return &kAffinity;
  }
  for (const Value& term : anti_affinity_) {
    if (has(anti_affinity_counts_, std::string(term["topologyKey"].AsString()))) {
      return &kAntiAffinity;
    }
  }
  const bool repelled = std::ranges::any_of(existing_anti_, [&node](const auto& entry) {
    const auto label = node.labels.find(entry.first.first);
    return label != node.labels.end() && label->second == entry.first.second;
  });
  return repelled ? &kExistingAnti : nullptr;
}

double TopologyRules::Score(const state::NodeInfo& node) const {
  double score = 0;
  for (const auto& [pair, weight] : preferred_) {
    const auto label = node.labels.find(pair.first);
    if (label != node.labels.end() && label->second == pair.second) {
      score += static_cast<double>(weight);
    }
  }
  for (const Spread& spread : spreads_) {
    const auto label = node.labels.find(spread.key);
    if (spread.hard || label == node.labels.end()) continue;
    const auto domain = spread.domains.find(label->second);
    if (domain == spread.domains.end()) continue;
    // Upstream weighs a count by the logarithm of the number of domains.
    score -= static_cast<double>(domain->second) *
             std::log(static_cast<double>(spread.domains.size()) + 2);
  }
  return score;
}

}  // namespace drachma::scheduler
