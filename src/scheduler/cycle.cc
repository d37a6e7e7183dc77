#include "scheduler/cycle.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "client/objects.h"
#include "scheduler/binding_conditions.h"
#include "scheduler/filters.h"
#include "scheduler/score.h"

namespace drachma::scheduler {
namespace {

using allocator::Overlay;
using state::NodeIndex;
using state::NodeInfo;

// Clusters up to this size are searched whole; larger ones at least so far (upstream's
// minFeasibleNodesToFind and minFeasibleNodesPercentageToFind).
constexpr std::size_t kCandidatesMin = 100;
constexpr int kPercentageMin = 5;
// The 256 of resource.k8s.io's ResourceClaimReservedForMaxSize.
constexpr std::size_t kConsumersMax = 256;
// A chosen alternative counts 8 - index (FirstAvailableDeviceRequestMaxSize).
constexpr int kAlternativesMax = 8;
constexpr std::string_view kPodClaimLabel = "pod";

// What a wanted class lacks; empty when all are there.
std::string MissingClass(const state::ClaimView& claim, const allocator::Inventory& inventory) {
  const auto check = [&](const std::string& request, const api::DeviceRequirements& requirements) {
    if (inventory.FindClass(requirements.device_class_name) != nullptr) return std::string();
    return fmt::format("request {}: device class {} does not exist", request,
                       requirements.device_class_name);
  };
  for (const api::DeviceRequest& request : claim.claim.requests) {
    if (request.exactly) {
      if (auto text = check(request.name, *request.exactly); !text.empty()) return text;
    }
    for (const api::DeviceSubRequest& sub : request.first_available) {
      if (auto text = check(request.name + "/" + sub.name, sub.requirements); !text.empty()) {
        return text;
      }
    }
  }
  return {};
}

float Preference(const allocator::Fit& fit) {
  int score = 0;
  for (const int index : fit.alternatives) {
    if (index >= 0) score += kAlternativesMax - index;
  }
  return static_cast<float>(score);
}

Attempt PodReason(std::size_t nodes, std::string reason, Rejector rejector) {
  Unplaced unplaced;
  unplaced.diagnosis.nodes = nodes;
  unplaced.diagnosis.pod_reason = std::move(reason);
  unplaced.diagnosis.rejectors.Add(rejector);
  return unplaced;
}

// The allocator knows claims by the pods' names for them; people know the objects.
Errored WithClaimNames(Errored error, const Needs& needs) {
  for (std::size_t i = 0; i < needs.to_allocate.size(); ++i) {
    const std::string named = fmt::format("claim {}:", needs.problem_claims[i].name);
    if (const std::size_t place = error.message.find(named); place != std::string::npos) {
      error.message.replace(place, named.size(),
                            fmt::format("claim {}:", needs.to_allocate[i]->key()));
      break;
    }
  }
  return error;
}

}  // namespace

Cycle::Cycle(state::ClusterState& state, const Nominations& nominations, const Options& options,
             const Clock& clock, Random& random)
    : state_(state),
      nominations_(nominations),
      options_(options),
      gates_(GroupGatesOf(options)),
      clock_(clock),
      random_(random),
      problems_(state.inventory) {}

std::string Cycle::HoldReason(const state::PodView& pod) const {
  std::string own = OwnHoldReason(pod);
  if (!own.empty() || !gates_.groups) return own;
  return GroupHoldReason(state_, pod,
                         [this](const state::PodView& member) { return OwnHoldReason(member); });
}

std::string Cycle::OwnHoldReason(const state::PodView& pod) const {
  if (pod.gated) return "Scheduling is blocked due to non-empty scheduling gates";
  for (const state::PodClaim& entry : pod.claims) {
    if (!entry.needed) continue;
    if (entry.claim_name.empty()) {
      return fmt::format("pod \"{}\": ResourceClaim not created yet", pod.key());
    }
    const state::ClaimPtr claim = state_.claims.Find(pod.ns + "/" + entry.claim_name);
    if (!claim) {
      return fmt::format("could not find ResourceClaim \"{}/{}\"", pod.ns, entry.claim_name);
    }
    if (claim->deleting) {
      return fmt::format("resourceclaim \"{}\" is being deleted", claim->name);
    }
    if (!entry.from_template) continue;
    if (std::string wrong = WrongOwner(*claim, pod, gates_); !wrong.empty()) return wrong;
  }
  return {};
}

std::optional<Attempt> Cycle::Resolve(const state::PodPtr& pod, Needs& needs,
                                      const PendingAllocations* pending) {
  needs.pod = pod;
  const std::size_t nodes = state_.nodes.ordered().size();
  for (const state::PodClaim& entry : pod->claims) {
    if (!entry.needed) continue;
    const state::ClaimPtr claim = state_.claims.Find(pod->ns + "/" + entry.claim_name);
    if (!claim) return Postponed{{Rejector::kClaim}};
    const auto same = [&claim](const state::ClaimPtr& other) { return other->uid == claim->uid; };
    if (std::ranges::any_of(needs.to_allocate, same) ||
        std::ranges::any_of(needs.allocated, same) ||
        std::ranges::any_of(needs.pending, same, &ClaimDecision::claim)) {
      continue;  // two entries may name one claim
    }
    if (!claim->fault.empty())
      return Errored{fmt::format("claim {}: {}", claim->key(), claim->fault)};
    if (claim->allocated()) {
      if (!IsReservedForPod(*claim, *pod, gates_) && nominations_.IsToBeFreed(claim->uid, *pod)) {
        return PodReason(nodes, "resourceclaim is to be freed for a pod of higher priority",
                         Rejector::kClaim);
      }
      if (!IsReservedForPod(*claim, *pod, gates_) && claim->consumers() >= kConsumersMax) {
        return PodReason(nodes, "resourceclaim in use", Rejector::kClaim);
      }
      const auto phase = JudgeBinding(*claim, clock_.Now(), options_.binding_timeout).phase;
      needs.binding_failed = needs.binding_failed || phase == BindingState::Phase::kFailed ||
                             phase == BindingState::Phase::kTimedOut;
      needs.allocated.push_back(claim);
      continue;
    }
    if (pending != nullptr) {
      if (const auto found = pending->find(claim->uid); found != pending->end()) {
        needs.pending.push_back({claim, found->second});
        continue;
      }
    }
    if (state_.claims.InFlight(claim->uid)) return Postponed{{Rejector::kClaim}};
    if (std::string missing = MissingClass(*claim, state_.inventory); !missing.empty()) {
      return PodReason(nodes, std::move(missing), Rejector::kClass);
    }
    needs.to_allocate.push_back(claim);
    // Pods of equal claims share a problem, so it knows claims by the pods' names for them.
    api::ResourceClaim wanted = claim->claim;
    wanted.ns.clear();
    wanted.name = entry.name;
    wanted.uid.clear();
    needs.problem_claims.push_back(std::move(wanted));
    needs.problem_key += fmt::format("{}\n{}\n", entry.name, claim->spec_id);
  }
  needs.volumes = VolumeNeeds(state_, *pod);
  if (!needs.volumes.refusal().empty()) {
    return PodReason(nodes, needs.volumes.refusal(), Rejector::kVolumes);
  }
  needs.mapped = MappedResources(*pod, state_.inventory, state_.names.resources);
  needs.rules.emplace(state_, *pod);
  return std::nullopt;
}

Variant& Cycle::VariantFor(Needs& needs, const NodeInfo& node) {
  std::vector<state::ResourceId> delegated = Delegated(needs.mapped, node);
  for (Variant& variant : needs.variants) {
    if (variant.delegated == delegated) return variant;
  }
  Variant& variant = needs.variants.emplace_back();
  variant.delegated = std::move(delegated);
  std::vector<api::ResourceClaim> claims = needs.problem_claims;
  std::string key = needs.problem_key;
  if (!variant.delegated.empty()) {
    variant.extended = MakeExtendedClaim(*needs.pod, needs.mapped, variant.delegated);
    if (auto claim = api::ResourceClaim::FromJson(variant.extended->claim);
        claim && !claim->requests.empty()) {
      claim->ns.clear();
      claim->name = kPodClaimLabel;
      for (const api::DeviceRequest& request : claim->requests) {
        key += fmt::format("{} {} {}\n", request.name, request.exactly->device_class_name,
                           request.exactly->count);
      }
      claims.push_back(*std::move(claim));
    } else {
      variant.extended.reset();
    }
  }
  if (!claims.empty()) variant.entry = problems_.Get(key, claims);
  return variant;
}

bool Cycle::Passes(Needs& needs, const NodeInfo& node, NodeIndex index,
                   const Nominations::Claims& nominated) {
  const state::PodView& pod = *needs.pod;
  if (state_.nodes.PlacementOf(pod, index) != state::Placement::kFits) return false;
  if (!PortsAreFree(pod, node)) return false;
  if (!HasRoom(pod, node, VariantFor(needs, node).delegated, nominated.amounts, nominated.pods)) {
    return false;
  }
  if (!needs.volumes.Judge(node).empty()) return false;
  if (!needs.rules->empty() && needs.rules->Judge(node) != nullptr) return false;
  if (needs.binding_failed) return false;
  return std::ranges::all_of(needs.allocated,
                             [&node](const state::ClaimPtr& claim) {
                               return Reaches(*claim->claim.allocation, node);
                             }) &&
         std::ranges::all_of(needs.pending, [&node](const ClaimDecision& decision) {
           return Reaches(decision.allocation, node);
         });
}

NodeMemo Cycle::Evaluate(ProblemEntry& entry, NodeIndex index, const Overlay& overlay,
                         std::optional<Errored>& error) {
  NodeMemo memo;
  memo.revision = state_.DeviceRevision(index);
  const bool plain = overlay.empty();
  if (plain) {
    const NodeMemo& known = entry.MemoOf(index);
    if (known.answer != NodeMemo::Answer::kUnknown && known.revision == memo.revision) return known;
  }
  const allocator::Outcome outcome =
      allocator::Allocate(entry.problem, state_.DeviceNode(index), overlay, random_);
  entry.Remember(outcome.faults);
  if (const auto* fit = std::get_if<allocator::Fit>(&outcome.value)) {
    memo.answer = NodeMemo::Answer::kFits;
    memo.cost = static_cast<float>(fit->cost);
    memo.preference = Preference(*fit);
  } else if (const auto* failure = std::get_if<allocator::Failure>(&outcome.value)) {
    if (failure->scope != allocator::Failure::Scope::kNode) {
      error = Errored{
          failure->scope == allocator::Failure::Scope::kLimit
              ? fmt::format("running \"DynamicResources\" filter plugin: node {}: {}",
                            state_.nodes.At(index).name, failure->message)
              : fmt::format("running \"DynamicResources\" filter plugin: {}", failure->message)};
      return memo;
    }
    memo.answer = NodeMemo::Answer::kNodeFailure;
    entry.node_failure = failure->message;
  } else {
    memo.answer = NodeMemo::Answer::kMisfit;
  }
  if (plain) entry.MemoOf(index) = memo;
  return memo;
}

std::size_t Cycle::CandidatesMax() const {
  const std::size_t nodes = state_.nodes.ordered().size();
  if (nodes <= kCandidatesMin) return nodes;
  int percentage = options_.percentage_of_nodes_to_score;
  if (percentage == 0) percentage = std::max(kPercentageMin, 50 - static_cast<int>(nodes / 125));
  return std::max(kCandidatesMin, nodes * static_cast<std::size_t>(percentage) / 100);
}

// The first nodes, from where the last search ended, that take the pod with its devices; in the
// order of names.
std::vector<Candidate> Cycle::FindCandidates(Needs& needs, std::optional<Errored>& error) {
  const std::vector<NodeIndex>& ordered = state_.nodes.ordered();
  const std::size_t wanted = CandidatesMax();
  std::vector<std::pair<std::size_t, Candidate>> found;
  const bool whole = wanted >= ordered.size();
  const std::size_t start = whole || ordered.empty() ? 0 : start_ % ordered.size();
  std::size_t looked = 0;
  for (; looked < ordered.size() && found.size() < wanted; ++looked) {
    const std::size_t place = (start + looked) % ordered.size();
    const NodeIndex index = ordered[place];
    const NodeInfo& node = state_.nodes.At(index);
    Nominations::Claims nominated;
    if (!nominations_.empty()) nominated = nominations_.OnNode(node.name, *needs.pod);
    if (!Passes(needs, node, index, nominated)) continue;
    Candidate candidate{.node = index};
    if (const auto& entry = VariantFor(needs, node).entry) {
      const NodeMemo memo = Evaluate(*entry, index, nominated.overlay, error);
      if (error) return {};
      if (memo.answer != NodeMemo::Answer::kFits) continue;
      candidate.cost = memo.cost;
      candidate.preference = memo.preference;
    }
    found.emplace_back(place, candidate);
  }
  if (!whole) start_ = start + looked;
  std::ranges::sort(found, {}, [](const auto& entry) { return entry.first; });
  std::vector<Candidate> candidates;
  candidates.reserve(found.size());
  for (const auto& [place, candidate] : found) candidates.push_back(candidate);
  return candidates;
}

Attempt Cycle::Schedule(const state::PodPtr& pod, const PendingAllocations* pending) {
  Needs needs;
  if (auto end = Resolve(pod, needs, pending)) return *std::move(end);
  std::optional<Errored> error;
  // A pod that waits for its victims' room goes there first (upstream's nominated node).
  if (const Nomination* nomination = nominations_.Find(pod->uid)) {
    if (const NodeIndex* index = state_.nodes.Find(nomination->node)) {
      const NodeInfo& node = state_.nodes.At(*index);
      const auto nominated = nominations_.OnNode(node.name, *pod);
      if (Passes(needs, node, *index, nominated)) {
        const auto& entry = VariantFor(needs, node).entry;
        const bool fits = !entry || Evaluate(*entry, *index, nominated.overlay, error).answer ==
                                        NodeMemo::Answer::kFits;
        if (error) return WithClaimNames(*std::move(error), needs);
        if (fits) return Place(needs, *index);
      }
    }
  }
  std::vector<Candidate> candidates = FindCandidates(needs, error);
  if (error) return WithClaimNames(*std::move(error), needs);
  if (candidates.empty()) return Diagnose(needs);
  if (candidates.size() > 1) {
    ScoreCandidates(state_.nodes, *pod, *needs.rules, candidates);
    float most = 0;
    for (const Candidate& candidate : candidates) most = std::max(most, candidate.preference);
    for (Candidate& candidate : candidates) {
      candidate.preference = most == 0 ? 0 : candidate.preference * 100 / most;
    }
  }
  const Candidate* best = &candidates.front();
  for (const Candidate& candidate : candidates) {
    if (IsBetter(candidate, *best, options_.device_order)) best = &candidate;
  }
  return Place(needs, best->node);
}

// The devices on a node that was found to take the pod.
Attempt Cycle::Place(Needs& needs, NodeIndex index) {
  const NodeInfo& node = state_.nodes.At(index);
  Placed placed{.node = index};
  placed.allocated = needs.allocated;
  placed.allocations = needs.pending;
  Variant& variant = VariantFor(needs, node);
  for (const Variant& other : needs.variants) {
    if (other.entry) {
      placed.faults.insert(placed.faults.end(), other.entry->faults.begin(),
                           other.entry->faults.end());
    }
  }
  if (!variant.entry) return placed;
  const auto nominated = nominations_.OnNode(node.name, *needs.pod);
  allocator::Outcome outcome = allocator::Allocate(variant.entry->problem, state_.DeviceNode(index),
                                                   nominated.overlay, random_);
  auto* fit = std::get_if<allocator::Fit>(&outcome.value);
  if (fit == nullptr) {
    // Only a search that ran out of steps can end differently the second time.
    return Errored{fmt::format("node {}: the devices found before cannot be allocated", node.name)};
  }
  for (std::size_t i = 0; i < needs.to_allocate.size(); ++i) {
    placed.allocations.push_back({needs.to_allocate[i], std::move(fit->results[i])});
  }
  if (variant.extended) {
    placed.extended = ExtendedDecision{*variant.extended, std::move(fit->results.back())};
  }
  return placed;
}

Attempt Cycle::Diagnose(Needs& needs) {
  Unplaced unplaced;
  unplaced.diagnosis.nodes = state_.nodes.ordered().size();
  std::optional<Errored> error;
  for (const NodeIndex index : state_.nodes.ordered()) {
    DiagnoseNode(needs, index, unplaced, error);
    if (error) return WithClaimNames(*std::move(error), needs);
  }
  if (unplaced.diagnosis.nodes == 0) {
    // The event that helps is the first node.
    unplaced.diagnosis.rejectors.Add(Rejector::kPlacement);
  }
  for (const Variant& variant : needs.variants) {
    if (!variant.entry) continue;
    unplaced.faults.insert(unplaced.faults.end(), variant.entry->faults.begin(),
                           variant.entry->faults.end());
  }
  return unplaced;
}

void Cycle::DiagnoseNode(Needs& needs, NodeIndex index, Unplaced& unplaced,
                         std::optional<Errored>& error) {
  // Nodes whose devices are accounted for one by one; on larger clusters the rest is only counted.
  constexpr std::size_t kExplainedMax = 2000;
  Diagnosis& diagnosis = unplaced.diagnosis;
  const state::PodView& pod = *needs.pod;
  const NodeInfo& node = state_.nodes.At(index);
  if (const auto placement = state_.nodes.PlacementOf(pod, index);
      placement != state::Placement::kFits) {
    diagnosis.AddNode(state::ReasonOf(placement), Rejector::kPlacement);
    return;
  }
  if (!PortsAreFree(pod, node)) {
    diagnosis.AddNode("node(s) didn't have free ports for the requested pod ports",
                      Rejector::kPorts);
    diagnosis.preemptable.push_back(index);
    return;
  }
  Variant& variant = VariantFor(needs, node);
  const auto nominated = nominations_.OnNode(node.name, pod);
  if (!HasRoom(pod, node, variant.delegated, nominated.amounts, nominated.pods)) {
    NodeInfo with = node;
    with.requested.Add(nominated.amounts);
    auto reasons = RoomReasons(pod, with, variant.delegated, state_.names.resources);
    if (reasons.empty()) reasons.push_back({"Too many pods", Rejector::kResources, true});
    for (const NodeReason& reason : reasons) diagnosis.AddNode(reason.text, reason.rejector);
    if (reasons.front().preemptable) diagnosis.preemptable.push_back(index);
    return;
  }
  if (const std::string_view reason = needs.volumes.Judge(node); !reason.empty()) {
    diagnosis.AddNode(reason, Rejector::kVolumes);
    return;
  }
  if (const NodeReason* reason = needs.rules->Judge(node)) {
    diagnosis.AddNode(reason->text, reason->rejector);
    if (reason->preemptable) diagnosis.preemptable.push_back(index);
    return;
  }
  bool reached = !needs.binding_failed &&
                 std::ranges::all_of(needs.pending, [&node](const ClaimDecision& decision) {
                   return Reaches(decision.allocation, node);
                 });
  for (const state::ClaimPtr& claim : needs.allocated) {
    if (!needs.binding_failed && Reaches(*claim->claim.allocation, node)) continue;
    reached = false;
    if (std::ranges::find(unplaced.unavailable, claim) == unplaced.unavailable.end()) {
      unplaced.unavailable.push_back(claim);
    }
  }
  if (!reached) {
    diagnosis.AddNode("resourceclaim not available on the node", Rejector::kClaimNode);
    return;
  }
  if (!variant.entry) return;  // it became suitable meanwhile: cannot be, within one cycle
  const NodeMemo memo = Evaluate(*variant.entry, index, nominated.overlay, error);
  if (error) return;
  if (memo.answer == NodeMemo::Answer::kNodeFailure) {
    diagnosis.AddNode(variant.entry->node_failure, Rejector::kDevices);
    return;
  }
  diagnosis.AddNode("cannot allocate all claims", Rejector::kDevices);
  diagnosis.preemptable.push_back(index);
  if (diagnosis.preemptable.size() <= kExplainedMax && memo.answer == NodeMemo::Answer::kMisfit) {
    if (diagnosis.devices.empty()) diagnosis.devices.SetTitles(TitlesOfRequests(pod));
    diagnosis.devices.Add(
        allocator::Explain(variant.entry->problem, state_.DeviceNode(index), nominated.overlay));
  }
}

}  // namespace drachma::scheduler
