#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "scheduler/group_cycle.h"
#include "scheduler/reservation.h"
#include "scheduler/victim_units.h"

namespace drachma::scheduler {
namespace {

using json::Value;
using state::ClaimPtr;
using state::PodPtr;

// The state without some pods and without the claims that become free with them; as it was again
// when this ends. Nothing else happens meanwhile: a cycle is one task.
class Absence {
 public:
  explicit Absence(state::ClusterState& state) : state_(state) {}
  ~Absence() {
    while (!places_.empty()) Return(places_.begin()->second.pod->uid);
    Recount();
  }
  Absence(const Absence&) = delete;
  Absence& operator=(const Absence&) = delete;

  void Take(const VictimUnit& unit) {
    for (const PodPtr& pod : unit.pods) {
      const state::NodeIndex* node = state_.nodes.Find(pod->node_name);
      if (node == nullptr || !state_.nodes.RemovePod(pod->uid)) continue;
      places_.insert_or_assign(pod->uid, Place{pod, *node});
      gone_.insert(pod->uid);
      for (ClaimPtr& claim : ClaimsOf(*pod, state_.claims)) {
        if (claim->allocated()) claims_.insert_or_assign(claim->uid, std::move(claim));
      }
    }
    Recount();
  }
  void GiveBack(const VictimUnit& unit) {
    for (const PodPtr& pod : unit.pods) Return(pod->uid);
    Recount();
  }
  [[nodiscard]] std::vector<ClaimPtr> released() const {
    std::vector<ClaimPtr> claims;
    for (const std::string& uid : released_) claims.push_back(claims_.at(uid));
    return claims;
  }

 private:
  struct Place {
    PodPtr pod;
    state::NodeIndex node;
  };

  void Return(const std::string& uid) {
    const auto place = places_.find(uid);
    if (place == places_.end()) return;
    state_.nodes.AssumePod(place->second.pod, place->second.node);
    gone_.erase(uid);
    places_.erase(place);
  }

  // Devices are held by the claims that somebody still uses.
  void Recount() {
    for (const auto& [uid, claim] : claims_) {
      const bool free = IsReleased(state_, *claim, gone_);
      if (free == released_.contains(uid)) continue;
      const api::AllocationResult& allocation = *claim->claim.allocation;
      if (free) {
        state_.inventory.RemoveClaim(uid);
        released_.insert(uid);
      } else {
        state_.inventory.SetClaim(uid, claim->key(), allocation);
        released_.erase(uid);
      }
      state_.DevicesChanged(allocation);
    }
  }

  state::ClusterState& state_;
  std::unordered_map<std::string, Place> places_;  // by uid
  std::unordered_set<std::string> gone_;
  std::unordered_map<std::string, ClaimPtr> claims_;
  std::unordered_set<std::string> released_;
};

}  // namespace

std::optional<GroupVictims> GroupCycle::Preempt(
    const state::GroupView& group, const std::vector<PodPtr>& pods,
    const std::vector<Value>& budgets, const std::function<bool(const state::PodView&)>& may_go,
    std::string& why) {
  std::vector<PodPtr> all;
  for (const state::NodeIndex index : state_.nodes.ordered()) {
    const auto& on_node = state_.nodes.At(index).pods;
    all.insert(all.end(), on_node.begin(), on_node.end());
  }
  std::vector<VictimUnit> units = UnitsOf(state_, gates_, all);
  std::erase_if(units, [&](const VictimUnit& unit) {
    return unit.priority >= group.priority ||
           !std::ranges::all_of(unit.pods, [&](const PodPtr& pod) { return may_go(*pod); });
  });
  if (units.empty()) {
    why = "No preemption victims found for incoming preemptor";
    return std::nullopt;
  }
  // What an earlier attempt nominated is decided anew.
  std::vector<Nomination> before;
  for (const PodPtr& pod : pods) {
    if (const Nomination* nomination = nominations_.Find(pod->uid)) before.push_back(*nomination);
    nominations_.Remove(pod->uid);
  }
  Absence absence(state_);
  for (const VictimUnit& unit : units) absence.Take(unit);
  GroupOutcome outcome = Place(group, pods);
  if (outcome.kind != GroupOutcome::Kind::kFits) {
    for (Nomination& nomination : before) nominations_.Put(std::move(nomination));
    why = "Preemption is not helpful for scheduling";
    return std::nullopt;
  }
  TakeBack(outcome);

  std::ranges::stable_sort(units, MoreImportant);
  const auto breakers = BudgetBreakers(units, budgets);
  std::ranges::stable_partition(units, [&breakers](const VictimUnit& unit) {
    return std::ranges::any_of(
        unit.pods, [&breakers](const PodPtr& pod) { return breakers.contains(pod->uid); });
  });
  // Whether the group fits without those that are away now.
  const auto fits = [&] {
    GroupOutcome with = Place(group, pods);
    if (with.kind != GroupOutcome::Kind::kFits) return false;
    TakeBack(with);
    outcome = std::move(with);
    return true;
  };
  // Most are on nodes where no member goes: these stay all at once.
  std::unordered_set<std::string> nodes;
  for (const GroupMember& member : outcome.members) {
    if (member.placed) nodes.insert(state_.nodes.At(member.placed->node).name);
  }
  const auto elsewhere = std::ranges::stable_partition(units, [&nodes](const VictimUnit& unit) {
    return std::ranges::any_of(unit.pods,
                               [&](const PodPtr& pod) { return nodes.contains(pod->node_name); });
  });
  for (const VictimUnit& unit : elsewhere) absence.GiveBack(unit);
  if (fits()) {
    units.erase(elsewhere.begin(), elsewhere.end());
  } else {
    for (const VictimUnit& unit : elsewhere) absence.Take(unit);
  }
  std::vector<VictimUnit> going;
  for (std::size_t i = 0; i < units.size(); ++i) {
    if (i < kSparedMax) {
      absence.GiveBack(units[i]);
      if (fits()) continue;
      absence.Take(units[i]);
    }
    going.push_back(units[i]);
  }
  std::ranges::stable_sort(going, MoreImportant);
  GroupVictims victims;
  for (const VictimUnit& unit : going) {
    victims.pods.insert(victims.pods.end(), unit.pods.begin(), unit.pods.end());
  }
  for (const GroupMember& member : outcome.members) {
    if (!member.placed) continue;
    Nomination nomination{.pod = member.pod,
                          .node = state_.nodes.At(member.placed->node).name,
                          .victim_claims = absence.released()};
    for (const ClaimDecision& decision : member.placed->allocations) {
      nomination.allocations.push_back(decision.allocation);
    }
    if (member.placed->extended) {
      nomination.allocations.push_back(member.placed->extended->allocation);
    }
    victims.nominations.push_back(std::move(nomination));
  }
  return victims;
}

}  // namespace drachma::scheduler
