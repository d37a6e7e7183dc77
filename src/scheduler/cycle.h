#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "allocator/allocator.h"
#include "base/random.h"
#include "explain/device_account.h"
#include "scheduler/diagnosis.h"
#include "scheduler/extended.h"
#include "scheduler/groups.h"
#include "scheduler/nominations.h"
#include "scheduler/problem_cache.h"
#include "scheduler/scheduler.h"
#include "scheduler/topology.h"
#include "scheduler/victim_units.h"
#include "scheduler/volumes.h"
#include "state/cluster_state.h"

namespace drachma::scheduler {

// A claim that gets its devices in this cycle; for members of a pod group, maybe by a member
// before.
struct ClaimDecision {
  state::ClaimPtr claim;
  api::AllocationResult allocation;
};

// What members of a pod group got earlier in the same cycle, by the uid of the claim: who comes
// later may share it.
using PendingAllocations = std::unordered_map<std::string, api::AllocationResult>;

// The claim for extended resources that is still to be created, with its devices.
struct ExtendedDecision {
  ExtendedClaim extended;
  api::AllocationResult allocation;
};

// The pod has a node and devices.
struct Placed {
  state::NodeIndex node = 0;
  std::vector<ClaimDecision> allocations;
  std::vector<state::ClaimPtr> allocated;  // claims that had devices before
  std::optional<ExtendedDecision> extended;
  std::vector<allocator::SelectorFault> faults;
};

// No node takes the pod.
struct Unplaced {
  Diagnosis diagnosis;
  // Allocated claims of the pod that some node could not use: giving them up may help.
  std::vector<state::ClaimPtr> unavailable;
  std::vector<allocator::SelectorFault> faults;
};

// The attempt depends on a write that is under way: it waits for its event without a word.
struct Postponed {
  Rejectors rejectors;
};

// The attempt failed, which says nothing about whether the pod fits.
struct Errored {
  std::string message;
};

using Attempt = std::variant<Placed, Unplaced, Postponed, Errored>;

// Which pods would have to go from which node.
struct Victims {
  state::NodeIndex node = 0;
  std::vector<state::PodPtr> pods;  // most important first
  std::size_t budget_violations = 0;
  std::vector<api::AllocationResult> allocations;  // what the pod's new claims would get
  std::vector<state::ClaimPtr> claims;             // of the victims, which become free
};

// Pods and claims, whatever their priority, all of which stand in a pod's way on one node: when
// they are gone, it fits there, and none of them could stay.
struct Obstacle {
  state::NodeIndex node = 0;
  std::vector<VictimUnit> staying;  // they would have to end
  std::vector<VictimUnit> leaving;  // being deleted already
};

// The problem that the allocator is to solve on some nodes: nodes differ in which extended
// resources devices stand for.
struct Variant {
  std::vector<state::ResourceId> delegated;
  std::optional<ExtendedClaim> extended;
  std::shared_ptr<ProblemEntry> entry;  // null when no devices are wanted
};

// What a pod needs, resolved once per cycle.
struct Needs {
  state::PodPtr pod;
  std::vector<state::ClaimPtr> to_allocate;
  std::vector<state::ClaimPtr> allocated;
  std::vector<ClaimDecision> pending;  // decided for another member of the group in this cycle
  // Of `allocated`: one whose devices failed to be made ready; no node will do.
  bool binding_failed = false;
  std::vector<api::ResourceClaim> problem_claims;  // to_allocate under the pod's names for them
  std::string problem_key;
  std::vector<MappedResource> mapped;
  VolumeNeeds volumes;
  std::optional<TopologyRules> rules;
  std::deque<Variant> variants;
};

// A node that takes the pod as far as everything but devices tells, with its scores.
struct Candidate {
  state::NodeIndex node = 0;
  double wish = 0;       // what the user prefers: affinities, taints, spread
  double resources = 0;  // least allocated and balanced
  float preference = 0;  // alternatives of devices
  float cost = 0;        // of the devices
};

class Supposition;

// One scheduling cycle: reads the state, decides, changes nothing in it. Remembers what the
// allocator said about nodes whose devices have not changed since, so that the next pod with equal
// claims costs one look per node. Single-threaded; a cycle is one call.
class Cycle {
 public:
  // All must outlive the cycle. `options` as the scheduler's.
  Cycle(state::ClusterState& state, const Nominations& nominations, const Options& options,
        const Clock& clock, Random& random);

  // Why the pod may not be tried yet: scheduling gates, claims that do not exist (yet), too few
  // members of its gang. Empty when it may (plugins SchedulingGates, DynamicResources and
  // GangScheduling at PreEnqueue).
  [[nodiscard]] std::string HoldReason(const state::PodView& pod) const;

  // `pending` is for members of a pod group.
  [[nodiscard]] Attempt Schedule(const state::PodPtr& pod,
                                 const PendingAllocations* pending = nullptr);

  // The pods of lower priority whose going makes room for the pod on one node, chosen as upstream
  // does: fewest violated disruption budgets, lowest highest priority, lowest sum, fewest, the
  // youngest. Also frees devices: claims count as released when all pods that they are reserved for
  // are victims or gone. Nothing when no such pods exist; `diagnosis.preemption` says why.
  // `budgets` are PodDisruptionBudgets.
  [[nodiscard]] std::optional<Victims> Preempt(const state::PodPtr& pod, Diagnosis& diagnosis,
                                               const std::vector<json::Value>& budgets);

  // Who stands in the pod's way on `nodes`, for explanations: the fewest that stay first. When one
  // alone would do on a node, each such one is an obstacle of its own. Also pods elsewhere whose
  // claims hold what the node can reach, claims that no pod uses, and pods that are nominated for
  // the node. So many nodes with obstacles are looked for.
  static constexpr std::size_t kObstacleNodesMax = 100;
  [[nodiscard]] std::vector<Obstacle> Obstacles(const state::PodPtr& pod,
                                                const std::vector<state::NodeIndex>& nodes);
  // What the pod will get on the node once the pods that are being deleted there have gone; nothing
  // when that is not enough for it.
  [[nodiscard]] std::optional<std::vector<api::AllocationResult>> AfterLeaving(
      const state::PodPtr& pod, state::NodeIndex index);

  // Whether the pods that the nominated pod preempted are still on their way out.
  [[nodiscard]] bool AwaitsRoom(const state::PodView& pod) const;

  // DeviceClasses changed: prepared problems are void.
  void ClassesChanged() { problems_.Clear(); }

 private:
  // The same without its gang.
  [[nodiscard]] std::string OwnHoldReason(const state::PodView& pod) const;
  // Resolves claims and rules; an Attempt when the cycle ends here.
  [[nodiscard]] std::optional<Attempt> Resolve(const state::PodPtr& pod, Needs& needs,
                                               const PendingAllocations* pending = nullptr);
  [[nodiscard]] Variant& VariantFor(Needs& needs, const state::NodeInfo& node);
  // Everything but devices.
  [[nodiscard]] bool Passes(Needs& needs, const state::NodeInfo& node, state::NodeIndex index,
                            const Nominations::Claims& nominated);
  [[nodiscard]] std::size_t CandidatesMax() const;
  std::vector<Candidate> FindCandidates(Needs& needs, std::optional<Errored>& error);
  [[nodiscard]] Attempt Place(Needs& needs, state::NodeIndex index);
  [[nodiscard]] Attempt Diagnose(Needs& needs);
  void DiagnoseNode(Needs& needs, state::NodeIndex index, Unplaced& unplaced,
                    std::optional<Errored>& error);
  // What the allocator says about the node, from memory where that still holds.
  NodeMemo Evaluate(ProblemEntry& entry, state::NodeIndex index, const allocator::Overlay& overlay,
                    std::optional<Errored>& error);
  [[nodiscard]] bool IsMakingRoom(const Nomination& nomination) const;
  [[nodiscard]] bool IsGivingUp(const state::ClaimView& of_victim) const;
  [[nodiscard]] Supposition Suppose(Needs& needs, state::NodeIndex index);
  // Everybody whose end could matter on the node.
  [[nodiscard]] std::vector<VictimUnit> UnitsAround(
      const state::PodView& pod, state::NodeIndex index,
      const std::unordered_map<std::string, state::ClaimPtr>& claims);
  void ObstaclesOn(Needs& needs, state::NodeIndex index, std::vector<VictimUnit> units,
                   std::vector<Obstacle>& obstacles);
  [[nodiscard]] std::optional<Victims> SelectVictims(Needs& needs, state::NodeIndex index,
                                                     const std::vector<json::Value>& budgets,
                                                     std::string& reason);

  state::ClusterState& state_;
  const Nominations& nominations_;
  const Options& options_;
  const GroupGates gates_;
  const Clock& clock_;
  Random& random_;
  ProblemCache problems_;
  std::size_t start_ = 0;  // where the next search begins, so that large clusters are used evenly
};

}  // namespace drachma::scheduler
