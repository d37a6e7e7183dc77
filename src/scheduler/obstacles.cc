// Who stands in a pod's way, whatever the priority: for explanations.
#include <algorithm>
#include <functional>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "scheduler/cycle.h"
#include "scheduler/supposition.h"
#include "scheduler/victim_units.h"

namespace drachma::scheduler {
namespace {

using state::ClaimPtr;
using state::NodeIndex;
using state::PodPtr;
using Units = std::vector<VictimUnit>;

bool IsLeaving(const VictimUnit& unit) {
  if (unit.claim) return unit.claim->deleting;
  return std::ranges::all_of(unit.pods, [](const PodPtr& pod) { return pod->deleting; });
}

// Gives back who can stay, in this order; the others remain. Returns who stays.
Units Spare(Supposition& supposition, Units& units) {
  Units spared;
  std::erase_if(units, [&](const VictimUnit& unit) {
    supposition.GiveBack(unit);
    if (!supposition.Misfit().empty()) {
      supposition.Take(unit);
      return false;
    }
    spared.push_back(unit);
    return true;
  });
  return spared;
}

std::int64_t PriorityOf(const Units& units) {
  std::int64_t highest = 0;
  for (const VictimUnit& unit : units) highest = std::max(highest, unit.priority);
  return highest;
}

}  // namespace

std::vector<VictimUnit> Cycle::UnitsAround(
    const state::PodView& pod, NodeIndex index,
    const std::unordered_map<std::string, ClaimPtr>& claims) {
  const state::NodeInfo& node = state_.nodes.At(index);
  std::vector<PodPtr> pods = node.pods;
  std::unordered_set<std::string> seen = {pod.uid};
  for (const PodPtr& there : pods) seen.insert(there->uid);
  const auto add = [&](const PodPtr& other) {
    if (seen.insert(other->uid).second) pods.push_back(other);
  };
  Units idle;
  for (const std::string& uid : state_.inventory.ClaimsOn(state_.DeviceNode(index))) {
    const auto claim = claims.find(uid);
    if (claim == claims.end()) continue;
    const std::vector<PodPtr> users = UsersOf(state_, *claim->second);
    for (const PodPtr& user : users) add(user);
    if (users.empty()) idle.push_back({.pods = {}, .claim = claim->second});
  }
  for (const PodPtr& nominated : nominations_.PodsOnNode(node.name, pod)) add(nominated);
  Units units = UnitsOf(state_, gates_, pods);
  units.insert(units.end(), idle.begin(), idle.end());
  return units;
}

void Cycle::ObstaclesOn(Needs& needs, NodeIndex index, Units units,
                        std::vector<Obstacle>& obstacles) {
  // Who holds little stays first, so that few remain.
  const auto size_of = [this](const VictimUnit& unit) {
    std::size_t devices = unit.claim ? state_.inventory.DevicesOf(unit.claim->uid).size() : 0;
    std::int64_t cpu_milli = 0;
    for (const PodPtr& pod : unit.pods) {
      cpu_milli += pod->requests.cpu_milli;
      for (const ClaimPtr& claim : ClaimsOf(*pod, state_.claims)) {
        devices += state_.inventory.DevicesOf(claim->uid).size();
      }
    }
    return std::tuple(devices, cpu_milli, -unit.priority);
  };
  std::ranges::stable_sort(units, {}, size_of);
  Supposition supposition = Suppose(needs, index);
  for (const VictimUnit& unit : units) supposition.Take(unit);
  if (!supposition.Misfit().empty()) return;
  const auto first_leaving = std::ranges::stable_partition(units, std::not_fn(IsLeaving)).begin();
  Units staying(units.begin(), first_leaving);
  const Units leaving(first_leaving, units.end());
  const auto add = [&](Units remaining) {
    Obstacle obstacle{.node = index, .staying = std::move(remaining), .leaving = leaving};
    for (const VictimUnit& spared : Spare(supposition, obstacle.leaving)) supposition.Take(spared);
    obstacles.push_back(std::move(obstacle));
  };
  for (const VictimUnit& unit : staying) supposition.GiveBack(unit);
  if (supposition.Misfit().empty()) return add({});
  const std::size_t before = obstacles.size();
  for (const VictimUnit& unit : staying) {
    supposition.Take(unit);
    if (supposition.Misfit().empty()) add({unit});
    supposition.GiveBack(unit);
  }
  if (obstacles.size() > before) return;
  for (const VictimUnit& unit : staying) supposition.Take(unit);
  Spare(supposition, staying);
  add(std::move(staying));
}

std::vector<Obstacle> Cycle::Obstacles(const PodPtr& pod, const std::vector<NodeIndex>& nodes) {
  std::vector<Obstacle> obstacles;
  Needs needs;
  if (Resolve(pod, needs)) return obstacles;
  std::unordered_map<std::string, ClaimPtr> claims;
  for (const auto& [key, claim] : state_.claims.all()) claims.emplace(claim->uid, claim);
  std::size_t found = 0;
  for (const NodeIndex index : nodes) {
    const std::size_t before = obstacles.size();
    ObstaclesOn(needs, index, UnitsAround(*pod, index, claims), obstacles);
    if (obstacles.size() > before && ++found == kObstacleNodesMax) break;
  }
  std::ranges::stable_sort(obstacles, {}, [](const Obstacle& obstacle) {
    return std::tuple(obstacle.staying.size(), PriorityOf(obstacle.staying),
                      obstacle.leaving.size());
  });
  return obstacles;
}

std::optional<std::vector<api::AllocationResult>> Cycle::AfterLeaving(const PodPtr& pod,
                                                                      NodeIndex index) {
  Needs needs;
  if (Resolve(pod, needs)) return std::nullopt;
  Supposition supposition = Suppose(needs, index);
  for (const VictimUnit& unit : UnitsOf(state_, gates_, state_.nodes.At(index).pods)) {
    if (IsLeaving(unit)) supposition.Take(unit);
  }
  if (!supposition.Misfit().empty()) return std::nullopt;
  return std::move(supposition).allocations();
}

}  // namespace drachma::scheduler
