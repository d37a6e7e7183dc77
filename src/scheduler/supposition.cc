#include "scheduler/supposition.h"

#include <algorithm>
#include <utility>

#include "scheduler/filters.h"
#include "scheduler/victim_units.h"

namespace drachma::scheduler {

using state::ClaimPtr;
using state::PodPtr;

Supposition::Supposition(state::ClusterState& state, Needs& needs, state::NodeIndex index,
                         const Variant& variant, const Nominations& nominations, Random& random)
    : state_(state),
      needs_(needs),
      index_(index),
      variant_(variant),
      nominations_(nominations),
      random_(random),
      node_(state.nodes.At(index)) {
  CountNominated();
}

void Supposition::CountNominated() {
  if (!nominations_.empty()) nominated_ = nominations_.OnNode(node_.name, *needs_.pod, gone_);
}

void Supposition::Take(const VictimUnit& unit) {
  const auto add = [this](const ClaimPtr& claim) {
    if (std::ranges::find(claims_, claim->uid, &state::ClaimView::uid) == claims_.end()) {
      claims_.push_back(claim);
    }
  };
  for (const PodPtr& pod : unit.pods) {
    if (pod->node_name == node_.name) TakeFrom(node_, *pod);
    gone_.insert(pod->uid);
    for (const ClaimPtr& claim : ClaimsOf(*pod, state_.claims)) add(claim);
  }
  if (unit.claim) add(unit.claim);
  CountNominated();
}

void Supposition::GiveBack(const VictimUnit& unit) {
  for (const PodPtr& pod : unit.pods) {
    if (pod->node_name == node_.name) AddTo(node_, pod);
    gone_.erase(pod->uid);
  }
  if (unit.claim) std::erase(claims_, unit.claim);
  CountNominated();
}

std::string Supposition::Misfit() {
  const state::PodView& pod = *needs_.pod;
  if (!PortsAreFree(pod, node_)) {
    return "node(s) didn't have free ports for the requested pod ports";
  }
  if (!HasRoom(pod, node_, variant_.delegated, nominated_.amounts, nominated_.pods)) {
    node_.requested.Add(nominated_.amounts);
    const auto reasons = RoomReasons(pod, node_, variant_.delegated, state_.names.resources);
    node_.requested.Subtract(nominated_.amounts);
    return reasons.empty() ? "Too many pods" : reasons.front().text;
  }
  if (const std::string_view reason = needs_.volumes.Judge(node_); !reason.empty()) {
    return std::string(reason);
  }
  if (!needs_.rules->empty()) {
    const TopologyRules rules(state_, pod, gone_);
    if (const NodeReason* reason = rules.Judge(node_)) return reason->text;
  }
  if (needs_.binding_failed ||
      !std::ranges::all_of(needs_.allocated, [this](const ClaimPtr& claim) {
        return Reaches(*claim->claim.allocation, node_);
      })) {
    return "resourceclaim not available on the node";
  }
  return AllocationMisfit();
}

std::vector<ClaimPtr> Supposition::Released() const {
  std::vector<ClaimPtr> released;
  for (const ClaimPtr& claim : claims_) {
    if (claim->allocated() && IsReleased(state_, *claim, gone_)) released.push_back(claim);
  }
  return released;
}

std::string Supposition::AllocationMisfit() {
  if (variant_.entry == nullptr) return {};
  allocator::Overlay overlay = nominated_.overlay;
  for (const ClaimPtr& claim : Released()) overlay.Release(claim->uid);
  allocator::Outcome outcome =
      allocator::Allocate(variant_.entry->problem, state_.DeviceNode(index_), overlay, random_);
  if (auto* fit = std::get_if<allocator::Fit>(&outcome.value)) {
    allocations_ = std::move(fit->results);
    return {};
  }
  return "cannot allocate all claims";
}

}  // namespace drachma::scheduler
