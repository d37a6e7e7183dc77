#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "json/value.h"
#include "scheduler/cycle.h"
#include "scheduler/groups.h"
#include "scheduler/nominations.h"
#include "state/cluster_state.h"

namespace drachma::scheduler {

// What became of one member in a cycle of its group.
struct GroupMember {
  state::PodPtr pod;
  std::optional<Placed> placed;
  std::optional<Unplaced> unplaced;  // neither: it was not its turn any more
};

// What became of a group in one cycle. With kFits the places of `members` are reserved in the
// state.
struct GroupOutcome {
  enum class Kind : std::uint8_t {
    kFits,       // enough members have a place; others may have none
    kMisfit,     // not enough
    kPostponed,  // waits for writes that are under way
    kError,
  };
  Kind kind = Kind::kMisfit;
  std::vector<GroupMember> members;  // in the order of the pods that were given
  std::size_t scheduled = 0;         // members that had a node before
  // kMisfit: upstream's word, "minCount (3) cannot be satisfied: 2 scheduled, 0 remaining"; kError:
  // what failed.
  std::string message;

  [[nodiscard]] std::size_t placed() const;
};

// Who must go so that a group fits.
struct GroupVictims {
  std::vector<state::PodPtr> pods;      // most important first
  std::vector<Nomination> nominations;  // where the members will go
};

// The scheduling cycle of a pod group: members are placed one after the other in the state, so that
// rooms and devices of all count together, and all of them are taken back when not enough of them
// fit (upstream's podGroupSchedulingDefaultAlgorithm). What upstream's order of the pods does not
// find may be found by another one: who had no place goes first.
//
// Belongs to the scheduler's actor; a cycle is one call.
class GroupCycle {
 public:
  // Orders of the members that are tried.
  static constexpr int kOrdersMax = 4;
  // Victims that are tried to be spared one by one; the others go.
  static constexpr std::size_t kSparedMax = 256;

  // All must outlive this.
  GroupCycle(state::ClusterState& state, Cycle& cycle, Nominations& nominations,
             const Options& options);

  // Finds places for the pods, members of the group that have none. With kFits they are reserved
  // and the nominations of those who got one are gone.
  [[nodiscard]] GroupOutcome Place(const state::GroupView& group,
                                   const std::vector<state::PodPtr>& pods);

  // Frees the places of an outcome again. REQUIRES: kFits, nothing else has happened since.
  void TakeBack(GroupOutcome& outcome);

  // Pods of lower priority anywhere whose going lets the group fit. As many as possible stay, the
  // important ones first, before them those that budgets protect; groups that are disrupted as one
  // go or stay as one (upstream's PodGroupEvaluator). Frees devices, too. The state is as before
  // afterwards. `may_go` says whether a pod can be evicted. Nothing when that does not help: `why`.
  [[nodiscard]] std::optional<GroupVictims> Preempt(
      const state::GroupView& group, const std::vector<state::PodPtr>& pods,
      const std::vector<json::Value>& budgets,
      const std::function<bool(const state::PodView&)>& may_go, std::string& why);

 private:
  [[nodiscard]] GroupOutcome PlaceInOrder(const state::GroupView& group,
                                          const std::vector<state::PodPtr>& pods,
                                          const std::vector<std::size_t>& order);
  [[nodiscard]] bool AreAlike(const std::vector<state::PodPtr>& pods) const;

  state::ClusterState& state_;
  Cycle& cycle_;
  Nominations& nominations_;
  const GroupGates gates_;
};

}  // namespace drachma::scheduler
