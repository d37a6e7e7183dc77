#include "scheduler/score.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "api/node_selector.h"
#include "state/placement.h"

namespace drachma::scheduler {
namespace {

constexpr std::int64_t kScoreMax = 100;
constexpr double kTaintWeight = 3;
constexpr double kAffinityWeight = 2;
constexpr double kTopologyWeight = 2;
constexpr double kDeviceWeight = 2;  // plugin DynamicResources

std::int64_t LeastRequested(std::int64_t requested, std::int64_t capacity) {
  if (capacity == 0 || requested > capacity) return 0;
  return (capacity - requested) * kScoreMax / capacity;
}

// 100 when cpu and memory are used to the same part; less the further they are apart. For two
// resources the standard deviation is half their distance.
std::int64_t Balance(double cpu, double memory) {
  const double distance = std::abs(std::min(cpu, 1.0) - std::min(memory, 1.0)) / 2;
  return static_cast<std::int64_t>((1 - distance) * static_cast<double>(kScoreMax));
}

double Part(std::int64_t used, std::int64_t capacity) {
  return static_cast<double>(used) / static_cast<double>(capacity);
}

enum class Normal : std::uint8_t { kByMax, kReversedByMax, kByRange };

// Upstream's DefaultNormalizeScore, forward and reversed; InterPodAffinity's by the range.
void Normalise(std::vector<double>& scores, Normal normal) {
  if (scores.empty()) return;
  const auto [low, high] = std::ranges::minmax_element(scores);
  const double min = *low;
  const double max = *high;
  for (double& score : scores) {
    switch (normal) {
      case Normal::kByMax:
        score = max == 0 ? 0 : std::floor(score * kScoreMax / max);
        break;
      case Normal::kReversedByMax:
        score = max == 0 ? kScoreMax : kScoreMax - std::floor(score * kScoreMax / max);
        break;
      case Normal::kByRange:
        score = max == min ? 0 : std::floor((score - min) * kScoreMax / (max - min));
        break;
    }
  }
}

}  // namespace

double ResourceScore(const state::PodView& pod, const state::NodeInfo& node) {
  const std::int64_t cpu = node.allocatable.cpu_milli;
  const std::int64_t memory = node.allocatable.memory;
  if (cpu == 0 || memory == 0) return 0;
  const std::int64_t least = (LeastRequested(node.scored.cpu_milli + pod.scored.cpu_milli, cpu) +
                              LeastRequested(node.scored.memory + pod.scored.memory, memory)) /
                             2;
  const std::int64_t with = Balance(Part(node.requested.cpu_milli + pod.requests.cpu_milli, cpu),
                                    Part(node.requested.memory + pod.requests.memory, memory));
  const std::int64_t without =
      Balance(Part(node.requested.cpu_milli, cpu), Part(node.requested.memory, memory));
  const std::int64_t balance = kScoreMax / 2 + (kScoreMax / 2 + with - without) / 2;
  return static_cast<double>(least + balance);
}

void ScoreCandidates(const state::NodeTable& nodes, const state::PodView& pod,
                     const TopologyRules& rules, std::vector<Candidate>& candidates) {
  for (Candidate& candidate : candidates) {
    candidate.resources = ResourceScore(pod, nodes.At(candidate.node));
  }
  std::vector<double> scores(candidates.size());
  const auto add = [&](double weight, Normal normal,
                       const std::function<double(const state::NodeInfo&)>& score) {
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      scores[i] = score(nodes.At(candidates[i].node));
    }
    Normalise(scores, normal);
    for (std::size_t i = 0; i < candidates.size(); ++i) candidates[i].wish += weight * scores[i];
  };
  const bool any_taint = std::ranges::any_of(candidates, [&nodes](const Candidate& candidate) {
    return nodes.At(candidate.node).tainted;
  });
  if (any_taint) {
    add(kTaintWeight, Normal::kReversedByMax, [&pod](const state::NodeInfo& node) {
      return static_cast<double>(state::UntoleratedPreferences(pod.object, node.object));
    });
  }
  const json::Value& spec = pod.object["spec"];
  if (spec["affinity"]["nodeAffinity"].Has("preferredDuringSchedulingIgnoredDuringExecution")) {
    add(kAffinityWeight, Normal::kByMax, [&spec](const state::NodeInfo& node) {
      return static_cast<double>(
          api::PreferredAffinityScore(spec, node.name, node.labels).value_or(0));
    });
  }
  if (rules.has_scores()) {
    add(kTopologyWeight, Normal::kByRange,
        [&rules](const state::NodeInfo& node) { return rules.Score(node); });
  }
}

bool IsBetter(const Candidate& a, const Candidate& b, DeviceOrder order) {
  const double wish_a = a.wish + kDeviceWeight * a.preference;
  const double wish_b = b.wish + kDeviceWeight * b.preference;
  if (order == DeviceOrder::kFirstFit) return wish_a + a.resources > wish_b + b.resources;
  if (wish_a != wish_b) return wish_a > wish_b;
  if (a.cost != b.cost) return a.cost < b.cost;
  return a.resources > b.resources;
}

}  // namespace drachma::scheduler
