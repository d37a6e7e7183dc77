#pragma once

#include <string>
#include <unordered_set>
#include <vector>

#include "scheduler/cycle.h"

namespace drachma::scheduler {

// A node as it would be for a pod without some others, for preemption and explanations. Valid
// within one task, as long as the state does not change.
class Supposition {
 public:
  // All must outlive this.
  Supposition(state::ClusterState& state, Needs& needs, state::NodeIndex index,
              const Variant& variant, const Nominations& nominations, Random& random);

  // All pods of the unit, of which some may be on other nodes or only nominated for this one.
  void Take(const VictimUnit& unit);
  void GiveBack(const VictimUnit& unit);

  // Why the pod does not fit; empty when it does. REQUIRES: the node suits it by names, labels and
  // taints.
  [[nodiscard]] std::string Misfit();

  // The claims that become free, and what the pod got by the last Misfit() that was empty.
  [[nodiscard]] std::vector<state::ClaimPtr> Released() const;
  [[nodiscard]] std::vector<api::AllocationResult> allocations() && {
    return std::move(allocations_);
  }

 private:
  [[nodiscard]] std::string AllocationMisfit();
  void CountNominated();

  state::ClusterState& state_;
  Needs& needs_;
  const state::NodeIndex index_;
  const Variant& variant_;
  const Nominations& nominations_;
  Random& random_;
  state::NodeInfo node_;
  Nominations::Claims nominated_;
  std::unordered_set<std::string> gone_;
  std::vector<state::ClaimPtr> claims_;
  std::vector<api::AllocationResult> allocations_;
};

}  // namespace drachma::scheduler
