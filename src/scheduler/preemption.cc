#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "client/objects.h"
#include "scheduler/cycle.h"
#include "scheduler/supposition.h"
#include "scheduler/victim_units.h"

namespace drachma::scheduler {
namespace {

using json::Value;
using state::ClaimPtr;
using state::NodeIndex;
using state::NodeInfo;
using state::PodPtr;

// Nodes with possible victims that are compared (upstream's minCandidateNodesAbsolute and
// Percentage).
constexpr std::size_t kCandidatesMin = 100;
constexpr std::size_t kCandidatesPercent = 10;

constexpr std::string_view kNotHelpful = "Preemption is not helpful for scheduling";
constexpr std::string_view kNoVictims = "No preemption victims found for incoming pod";

// Upstream's pickOneNodeForPreemption as one comparison; smaller is better.
auto CostOf(const Victims& victims) {
  std::int64_t sum = 0;
  Time earliest = Time::max();
  const std::int64_t highest = victims.pods.front()->priority;
  for (const PodPtr& pod : victims.pods) {
    sum += pod->priority + std::numeric_limits<std::int32_t>::max() + 1LL;
    if (pod->priority == highest) earliest = std::min(earliest, StartOf(*pod));
  }
  return std::tuple(victims.budget_violations, highest, sum, victims.pods.size(),
                    -earliest.time_since_epoch().count());
}

}  // namespace

std::optional<Victims> Cycle::Preempt(const PodPtr& pod, Diagnosis& diagnosis,
                                      const std::vector<Value>& budgets) {
  if (!pod->may_preempt) {
    diagnosis.preemption = "not eligible due to preemptionPolicy=Never.";
    return std::nullopt;
  }
  if (const Nomination* nomination = nominations_.Find(pod->uid);
      nomination != nullptr && IsMakingRoom(*nomination)) {
    diagnosis.preemption = "not eligible due to a terminating pod on the nominated node.";
    return std::nullopt;
  }
  Needs needs;
  Diagnosis refused;
  refused.nodes = diagnosis.nodes;
  std::optional<Victims> best;
  const bool resolved = !Resolve(pod, needs).has_value();
  const std::size_t wanted =
      std::max(kCandidatesMin, diagnosis.preemptable.size() * kCandidatesPercent / 100);
  std::size_t found = 0;
  std::size_t judged = 0;
  if (resolved) {
    for (const NodeIndex index : diagnosis.preemptable) {
      if (found >= wanted) break;
      ++judged;
      std::string reason;
      auto victims = SelectVictims(needs, index, budgets, reason);
      if (!victims) {
        refused.AddNode(reason, Rejector::kResources);
        continue;
      }
      ++found;
      if (!best || CostOf(*victims) < CostOf(*best)) best = std::move(victims);
    }
  }
  if (best) return best;
  for (; judged < diagnosis.nodes; ++judged) refused.AddNode(kNotHelpful, Rejector::kPlacement);
  diagnosis.preemption = refused.Message();
  return std::nullopt;
}

// Whether victims of an earlier preemption are still on their way out, or their claims are about to
// give up the devices.
bool Cycle::IsMakingRoom(const Nomination& nomination) const {
  const NodeIndex* index = state_.nodes.Find(nomination.node);
  if (index == nullptr) return false;
  const bool leaving =
      std::ranges::any_of(state_.nodes.At(*index).pods, [&nomination](const PodPtr& other) {
        if (!other->deleting || other->priority >= nomination.pod->priority) return false;
        const Value* condition = client::ConditionOf(other->object, "DisruptionTarget");
        return condition != nullptr && (*condition)["reason"].AsString() == "PreemptionByScheduler";
      });
  return leaving || std::ranges::any_of(nomination.victim_claims, [this](const ClaimPtr& claim) {
           return IsGivingUp(*claim);
         });
}

// Whether the claim still holds devices, which nobody who stays uses: a pod of higher priority than
// the nominated one may have joined its users since.
bool Cycle::IsGivingUp(const state::ClaimView& of_victim) const {
  if (state_.inventory.DevicesOf(of_victim.uid).empty()) return false;
  const ClaimPtr claim = state_.claims.Find(of_victim.key());
  if (!claim || claim->uid != of_victim.uid) return true;
  std::unordered_set<std::string> leaving;
  for (const PodPtr& user : UsersOf(state_, *claim)) {
    if (user->deleting) leaving.insert(user->uid);
  }
  return IsReleased(state_, *claim, leaving);
}

bool Cycle::AwaitsRoom(const state::PodView& pod) const {
  const Nomination* nomination = nominations_.Find(pod.uid);
  return nomination != nullptr && IsMakingRoom(*nomination);
}

Supposition Cycle::Suppose(Needs& needs, NodeIndex index) {
  const Variant& variant = VariantFor(needs, state_.nodes.At(index));
  return {state_, needs, index, variant, nominations_, random_};
}

std::optional<Victims> Cycle::SelectVictims(Needs& needs, NodeIndex index,
                                            const std::vector<Value>& budgets,
                                            std::string& reason) {
  const NodeInfo& node = state_.nodes.At(index);
  std::vector<VictimUnit> possible = UnitsOf(state_, gates_, node.pods);
  std::erase_if(possible,
                [&needs](const VictimUnit& unit) { return unit.priority >= needs.pod->priority; });
  if (possible.empty()) {
    reason = kNoVictims;
    return std::nullopt;
  }
  Supposition supposition = Suppose(needs, index);
  for (const VictimUnit& unit : possible) supposition.Take(unit);
  reason = supposition.Misfit();
  if (!reason.empty()) return std::nullopt;

  // As many as possible stay, the important ones first; before them those that a budget protects.
  std::ranges::stable_sort(possible, MoreImportant);
  const auto breakers = BudgetBreakers(possible, budgets);
  std::ranges::stable_partition(possible, [&breakers](const VictimUnit& unit) {
    return std::ranges::any_of(
        unit.pods, [&breakers](const PodPtr& pod) { return breakers.contains(pod->uid); });
  });
  std::vector<VictimUnit> going;
  for (const VictimUnit& unit : possible) {
    supposition.GiveBack(unit);
    if (supposition.Misfit().empty()) continue;
    supposition.Take(unit);
    going.push_back(unit);
  }
  std::ranges::stable_sort(going, MoreImportant);
  Victims victims{.node = index};
  for (const VictimUnit& unit : going) {
    for (const PodPtr& pod : unit.pods) {
      victims.budget_violations += breakers.contains(pod->uid) ? 1 : 0;
      victims.pods.push_back(pod);
    }
  }
  if (victims.pods.empty()) {
    reason = kNoVictims;
    return std::nullopt;
  }
  reason = supposition.Misfit();  // with exactly the victims gone: the devices it would get
  victims.claims = supposition.Released();
  victims.allocations = std::move(supposition).allocations();
  return victims;
}

}  // namespace drachma::scheduler
