#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "client/objects.h"
#include "scheduler/cycle.h"
#include "scheduler/filters.h"
#include "scheduler/victim_units.h"

namespace drachma::scheduler {
namespace {

using json::Value;
using state::NodeIndex;
using state::NodeInfo;
using state::PodPtr;

// Nodes with possible victims that are compared (upstream's minCandidateNodesAbsolute and
// Percentage).
constexpr std::size_t kCandidatesMin = 100;
constexpr std::size_t kCandidatesPercent = 10;

constexpr std::string_view kNotHelpful = "Preemption is not helpful for scheduling";
constexpr std::string_view kNoVictims = "No preemption victims found for incoming pod";

// A node as it would be without the pods in `gone`.
class Supposition {
 public:
  Supposition(state::ClusterState& state, Needs& needs, NodeIndex index, ProblemEntry* entry,
              const std::vector<state::ResourceId>& delegated, Nominations::Claims nominated,
              Random& random)
      : state_(state),
        needs_(needs),
        index_(index),
        entry_(entry),
        delegated_(delegated),
        nominated_(std::move(nominated)),
        random_(random),
        node_(state.nodes.At(index)) {}

  // All pods of the unit, of which some may be on other nodes.
  void Take(const VictimUnit& unit) {
    for (const PodPtr& pod : unit.pods) {
      if (pod->node_name == node_.name) TakeFrom(node_, *pod);
      gone_.insert(pod->uid);
      for (auto& claim : ClaimsOf(*pod, state_.claims)) {
        const auto same = [&claim](const state::ClaimPtr& c) { return c->uid == claim->uid; };
        if (std::ranges::none_of(claims_, same)) claims_.push_back(std::move(claim));
      }
    }
  }
  void GiveBack(const VictimUnit& unit) {
    for (const PodPtr& pod : unit.pods) {
      if (pod->node_name == node_.name) AddTo(node_, pod);
      gone_.erase(pod->uid);
    }
  }

  // Why the pod does not fit; empty when it does.
  [[nodiscard]] std::string Misfit() {
    const state::PodView& pod = *needs_.pod;
    if (!PortsAreFree(pod, node_)) {
      return "node(s) didn't have free ports for the requested pod ports";
    }
    if (!HasRoom(pod, node_, delegated_, nominated_.amounts, nominated_.pods)) {
      node_.requested.Add(nominated_.amounts);
      const auto reasons = RoomReasons(pod, node_, delegated_, state_.names.resources);
      node_.requested.Subtract(nominated_.amounts);
      return reasons.empty() ? "Too many pods" : reasons.front().text;
    }
    if (!needs_.rules->empty()) {
      const TopologyRules rules(state_, pod, gone_);
      if (const NodeReason* reason = rules.Judge(node_)) return reason->text;
    }
    return AllocationMisfit();
  }

  // The claims that become free, and what the pod got by the last Misfit() that was empty.
  [[nodiscard]] std::vector<std::string> Released() const {
    std::vector<std::string> uids;
    for (const state::ClaimPtr& claim : claims_) {
      if (claim->allocated() && IsReleased(state_, *claim, gone_)) uids.push_back(claim->uid);
    }
    return uids;
  }
  [[nodiscard]] std::vector<api::AllocationResult> allocations() && {
    return std::move(allocations_);
  }

 private:
  [[nodiscard]] std::string AllocationMisfit() {
    if (entry_ == nullptr) return {};
    allocator::Overlay overlay = nominated_.overlay;
    for (const std::string& uid : Released()) overlay.Release(uid);
    allocator::Outcome outcome =
        allocator::Allocate(entry_->problem, state_.DeviceNode(index_), overlay, random_);
    if (auto* fit = std::get_if<allocator::Fit>(&outcome.value)) {
      allocations_ = std::move(fit->results);
      return {};
    }
    return "cannot allocate all claims";
  }

  state::ClusterState& state_;
  Needs& needs_;
  const NodeIndex index_;
  ProblemEntry* entry_;
  const std::vector<state::ResourceId>& delegated_;
  Nominations::Claims nominated_;
  Random& random_;
  NodeInfo node_;
  std::unordered_set<std::string> gone_;
  std::vector<state::ClaimPtr> claims_;
  std::vector<api::AllocationResult> allocations_;
};

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

// Whether victims of an earlier preemption are still on their way out, or their claims still hold
// the devices.
bool Cycle::IsMakingRoom(const Nomination& nomination) const {
  const NodeIndex* index = state_.nodes.Find(nomination.node);
  if (index == nullptr) return false;
  const bool leaving =
      std::ranges::any_of(state_.nodes.At(*index).pods, [&nomination](const PodPtr& other) {
        if (!other->deleting || other->priority >= nomination.pod->priority) return false;
        const Value* condition = client::ConditionOf(other->object, "DisruptionTarget");
        return condition != nullptr && (*condition)["reason"].AsString() == "PreemptionByScheduler";
      });
  return leaving || std::ranges::any_of(nomination.victim_claims, [this](const std::string& uid) {
           return !state_.inventory.DevicesOf(uid).empty();
         });
}

bool Cycle::AwaitsRoom(const state::PodView& pod) const {
  const Nomination* nomination = nominations_.Find(pod.uid);
  return nomination != nullptr && IsMakingRoom(*nomination);
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
  Variant& variant = VariantFor(needs, node);
  Supposition supposition(state_, needs, index, variant.entry.get(), variant.delegated,
                          nominations_.OnNode(node.name, *needs.pod), random_);
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
