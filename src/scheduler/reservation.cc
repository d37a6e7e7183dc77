#include "scheduler/reservation.h"

#include <memory>

#include "scheduler/binder.h"

namespace drachma::scheduler {

void Reserve(state::ClusterState& state, const state::PodPtr& pod, const Placed& placed) {
  for (const ClaimDecision& decision : placed.allocations) {
    state.claims.BeginFlight(*decision.claim, decision.allocation, pod->uid);
    state.DevicesChanged(decision.allocation);
  }
  if (placed.extended) {
    state::ClaimView provisional;
    provisional.uid = Binder::ProvisionalUid(*pod);
    provisional.ns = pod->ns;
    provisional.name = "<extended-resources>";
    state.claims.BeginFlight(provisional, placed.extended->allocation, pod->uid);
    state.DevicesChanged(placed.extended->allocation);
  }
  auto assumed = std::make_shared<state::PodView>(*pod);
  assumed->node_name = state.nodes.At(placed.node).name;
  state.nodes.AssumePod(assumed, placed.node);
}

void Unreserve(state::ClusterState& state, const state::PodView& pod, const Placed& placed) {
  state.claims.EndFlight(Binder::ProvisionalUid(pod), pod.uid);
  for (const ClaimDecision& decision : placed.allocations) {
    state.claims.EndFlight(decision.claim->uid, pod.uid);
    state.DevicesChanged(decision.allocation);
  }
  if (placed.extended) state.DevicesChanged(placed.extended->allocation);
  state.nodes.RemovePod(pod.uid);
}

}  // namespace drachma::scheduler
