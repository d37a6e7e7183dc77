#include "scheduler/explain_states.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "scheduler/binding_conditions.h"
#include "scheduler/explain_claims.h"
#include "scheduler/filters.h"
#include "scheduler/victim_units.h"

namespace drachma::scheduler {

using explain::Explanation;

Explanation OfHeld(const state::ClusterState& state, const state::PodView& pod,
                   const std::string& held) {
  Explanation explanation;
  explanation.cause = "held before any attempt: " + held;
  if (pod.gated) {
    std::vector<std::string_view> gates;
    for (const json::Value& gate : pod.object["spec"]["schedulingGates"].Items()) {
      gates.push_back(gate["name"].AsString());
    }
    const std::string names = fmt::format("{}", fmt::join(gates, ", "));
    explanation.blockers.push_back("scheduling gates: " + names);
    explanation.change = fmt::format("once the scheduling gates {} are removed", names);
    return explanation;
  }
  for (const state::PodClaim& entry : pod.claims) {
    if (!entry.needed) continue;
    if (entry.claim_name.empty()) {
      explanation.blockers.push_back(
          fmt::format("the claim of entry {} has not been made from its template", entry.name));
      continue;
    }
    const std::string key = fmt::format("{}/{}", pod.ns, entry.claim_name);
    const state::ClaimPtr claim = state.claims.Find(key);
    if (!claim) {
      explanation.blockers.push_back(fmt::format("claim {} does not exist", key));
      if (explanation.change.empty()) explanation.change = fmt::format("if claim {} existed", key);
    } else if (claim->deleting) {
      explanation.blockers.push_back(HolderText(state, key) + " is being deleted");
    }
  }
  return explanation;
}

Explanation OfAssigned(const state::ClusterState& state, const state::PodView& pod) {
  Explanation explanation;
  explanation.cause = fmt::format("pod {}{} is on node {}", pod.key(),
                                  pod.deleting ? ", which is being deleted," : "", pod.node_name);
  for (const state::ClaimPtr& claim : ClaimsOf(pod, state.claims)) {
    if (!claim->allocated()) continue;
    explanation.steps.push_back(
        {fmt::format("devices of claim {}", claim->name), claim->claim.allocation->results.size()});
    for (std::string& device : DevicesOf(state, *claim)) {
      AddOnce(explanation.devices, std::move(device));
    }
  }
  return explanation;
}

namespace {

// The nodes that reach what was allocated, by name.
std::vector<std::string> NodesOf(const state::ClusterState& state, const state::ClaimView& claim) {
  std::vector<std::string> names;
  for (const state::NodeIndex index : state.nodes.ordered()) {
    const state::NodeInfo& node = state.nodes.At(index);
    if (Reaches(*claim.claim.allocation, node)) names.push_back(node.name);
  }
  return names;
}

}  // namespace

void AddMissingConditions(const state::ClaimView& claim, Explanation& explanation) {
  for (const MissingCondition& missing : MissingConditions(claim)) {
    explanation.blockers.push_back(
        fmt::format("device {} does not have the condition {}", missing.device, missing.condition));
  }
}

std::optional<Explanation> OfBinding(const state::ClusterState& state, const state::PodView& pod,
                                     const Options& options, Time now) {
  Explanation explanation;
  std::vector<std::string> waits;
  for (const state::ClaimPtr& claim : ClaimsOf(pod, state.claims)) {
    const BindingState binding = JudgeBinding(*claim, now, options.binding_timeout);
    if (binding.phase != BindingState::Phase::kPending || !claim->IsReservedFor(pod.uid)) continue;
    waits.push_back(fmt::format("claim {} for node {} until {}", claim->key(),
                                FewOf(NodesOf(state, *claim)), FormatTime(binding.deadline)));
    for (std::string& device : DevicesOf(state, *claim)) {
      AddOnce(explanation.devices, std::move(device));
    }
    AddMissingConditions(*claim, explanation);
  }
  if (waits.empty()) return std::nullopt;
  explanation.cause = fmt::format(
      "waits for its devices to be made ready before it is bound (binding conditions): {}",
      FewOf(waits));
  explanation.change = "once the drivers have set these conditions to True";
  return explanation;
}

}  // namespace drachma::scheduler
