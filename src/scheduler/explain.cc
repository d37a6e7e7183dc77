#include "scheduler/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "client/objects.h"
#include "scheduler/cycle.h"
#include "scheduler/explain_claims.h"
#include "scheduler/explain_nodes.h"
#include "scheduler/group_cycle.h"
#include "scheduler/volumes.h"
#include "selector/explain.h"

namespace drachma::scheduler {
namespace {

using explain::Explanation;
using explain::Step;

std::string Where(std::string_view ns, std::string_view name) {
  return ns.empty() ? std::string(name) : fmt::format("{}/{}", ns, name);
}

// The funnel of nodes: all, what each reason took (most first), what is left.
void AddNodeSteps(const Diagnosis& diagnosis, std::vector<Step>& steps) {
  steps.push_back({"nodes", diagnosis.nodes});
  std::vector<Step> reasons;
  for (const auto& [reason, count] : diagnosis.node_reasons) reasons.push_back({reason, count});
  std::ranges::stable_sort(reasons, std::ranges::greater(), &Step::count);
  steps.insert(steps.end(), reasons.begin(), reasons.end());
  steps.push_back({"nodes that take the pod", 0});
}

// The expressions behind "not matched by selector N", where they leave too few devices: people
// know what they wrote, not its index.
void AddSelectors(const state::ClusterState& state, const state::PodView& pod,
                  const explain::DeviceAccount& devices, Explanation& explanation) {
  const auto add = [&](const std::string& request, const api::DeviceRequirements& wanted) {
    const api::DeviceClass* device_class = state.inventory.FindClass(wanted.device_class_name);
    for (const explain::DeviceAccount::Refusal& refusal : devices.Refusals()) {
      if (refusal.request != request || (refusal.of_class && device_class == nullptr)) continue;
      const auto& selectors = refusal.of_class ? device_class->selectors : wanted.selectors;
      const auto index = static_cast<std::size_t>(refusal.selector);
      if (index >= selectors.size()) continue;
      AddOnce(explanation.blockers,
              fmt::format("{} {}, selector {}: {}", refusal.of_class ? "DeviceClass" : "request",
                          refusal.of_class ? device_class->name : request, index,
                          selectors[index].cel.value_or("")));
    }
  };
  for (const state::PodClaim& entry : pod.claims) {
    const state::ClaimPtr claim = state.claims.Find(pod.ns + "/" + entry.claim_name);
    if (!claim) continue;
    for (const api::DeviceRequest& request : claim->claim.requests) {
      if (request.exactly) add(request.name, *request.exactly);
      for (const api::DeviceSubRequest& sub : request.first_available) {
        add(request.name + "/" + sub.name, sub.requirements);
      }
    }
  }
}

// Selectors that fail: each once, with what is wrong on the first device.
void AddFaults(const state::ClusterState& state,
               const std::vector<allocator::SelectorFault>& faults, Explanation& explanation) {
  std::map<std::pair<std::string, std::string>, std::vector<const allocator::SelectorFault*>>
      groups;
  for (const allocator::SelectorFault& fault : faults) {
    groups[{fault.expression, fault.attribute}].push_back(&fault);
  }
  for (const auto& [key, group] : groups) {
    const allocator::SelectorFault& first = *group.front();
    std::string text = fmt::format(
        "selector `{}` fails on {}{}: {}", first.expression, first.device.ToString(),
        group.size() > 1 ? fmt::format(" and {} more", group.size() - 1) : std::string(),
        first.error);
    const json::Value* json = state.inventory.FindDevice(first.device);
    const auto program = selector::Compile(first.expression, {});
    if (json != nullptr && program) {
      if (const auto device = selector::Device::FromJson(first.device.driver, *json)) {
        for (const std::string& hint : selector::Explain(*program, *device).hints) {
          text += "; " + hint;
        }
      }
    }
    explanation.blockers.push_back(std::move(text));
  }
}

// The change that counting showed, in the names that people gave.
std::string ChangeText(const state::ClusterState& state, const explain::DeviceAccount& devices) {
  if (!devices.change()) return {};
  allocator::Change change = *devices.change();
  if (change.kind == allocator::Change::Kind::kReleaseClaims) {
    std::vector<std::string> names;
    for (const std::string& claim : change.claims) AddOnce(names, HolderName(state, claim));
    return fmt::format("if {} ended", FewOf(names));
  }
  // "claim request".
  if (const std::size_t space = change.request.rfind(' '); space != std::string::npos) {
    const std::string claim = change.request.substr(0, space);
    change.request = "request " + change.request.substr(space + 1);
    if (devices.ManyClaims()) change.request += " of claim " + claim;
  }
  return explain::Describe(change);
}

// Who holds devices that would do, and whoever's end would free what they are made of.
std::vector<std::string> HoldersOf(const explain::DeviceAccount& devices) {
  std::vector<std::string> holders = devices.Holders();
  if (devices.change()) {
    for (const std::string& claim : devices.change()->claims) AddOnce(holders, claim);
  }
  return holders;
}

// Pods on their way out make room: nothing else has to happen.
void AddLeaving(const state::ClusterState& state, const state::PodView& pod,
                const std::vector<std::string>& holders, Explanation& explanation) {
  std::vector<std::string> leaving;
  if (const state::NodeIndex* node = state.nodes.Find(pod.nominated_node)) {
    for (const state::PodPtr& other : state.nodes.At(*node).pods) {
      if (other->deleting && other->priority < pod.priority) AddOnce(leaving, other->key());
    }
  }
  for (const std::string& holder : holders) {
    for (std::string& user : LeavingUsers(state, holder)) AddOnce(leaving, std::move(user));
  }
  if (leaving.empty()) return;
  const bool one = leaving.size() == 1;
  explanation.preemption =
      fmt::format("waits for {}, which {} being deleted", FewOf(leaving), one ? "is" : "are");
  if (!pod.nominated_node.empty()) {
    explanation.preemption += fmt::format("; nominated node {}", pod.nominated_node);
  }
  explanation.change =
      fmt::format("once pod{} {} {} ended", one ? "" : "s", FewOf(leaving), one ? "has" : "have");
}

void AddClassHint(const state::ClusterState& state, const state::PodView& pod,
                  Explanation& explanation) {
  for (const state::PodClaim& entry : pod.claims) {
    const state::ClaimPtr claim = state.claims.Find(pod.ns + "/" + entry.claim_name);
    if (!claim) continue;
    const auto look = [&](const std::string& name) {
      if (state.inventory.FindClass(name) != nullptr || !explanation.change.empty()) return;
      explanation.blockers.push_back(
          fmt::format("DeviceClass {}, which claim {} asks for, does "
                      "not exist",
                      name, claim->key()));
      explanation.change = fmt::format("if DeviceClass {} existed", name);
    };
    for (const api::DeviceRequest& request : claim->claim.requests) {
      if (request.exactly) look(request.exactly->device_class_name);
      for (const api::DeviceSubRequest& sub : request.first_available) {
        look(sub.requirements.device_class_name);
      }
    }
  }
}

Explanation OfUnplaced(state::ClusterState& state, const Options& options, Cycle& cycle,
                       const state::PodPtr& pod, Unplaced& unplaced) {
  Diagnosis& diagnosis = unplaced.diagnosis;
  const auto victims = cycle.Preempt(pod, diagnosis, {});
  Explanation explanation;
  explanation.preemption = diagnosis.preemption;
  if (victims) {
    std::vector<std::string> names;
    for (const state::PodPtr& victim : victims->pods) names.push_back(victim->key());
    explanation.preemption = fmt::format("would delete {}", fmt::join(names, ", "));
  }
  diagnosis.preemption.clear();
  explanation.cause = diagnosis.Message();
  if (diagnosis.pod_reason.empty()) {
    AddNodeSteps(diagnosis, explanation.steps);
  } else {
    explanation.steps = {{"nodes", diagnosis.nodes}, {"nodes that were looked at", 0}};
  }
  const auto devices = diagnosis.devices.Steps();
  explanation.steps.insert(explanation.steps.end(), devices.begin(), devices.end());
  const std::vector<std::string> holders = HoldersOf(diagnosis.devices);
  for (const std::string& holder : holders) {
    AddOnce(explanation.blockers, HolderText(state, holder));
  }
  for (const state::ClaimPtr& claim : unplaced.unavailable) {
    explanation.blockers.push_back(fmt::format("claim {} is allocated elsewhere", claim->key()));
  }
  AddFaults(state, unplaced.faults, explanation);
  explanation.change = ChangeText(state, diagnosis.devices);
  AddSelectors(state, *pod, diagnosis.devices, explanation);
  for (VolumeNeeds::Hint& hint : VolumeNeeds::Hints(state, *pod)) {
    explanation.blockers.push_back(std::move(hint.what));
    if (explanation.change.empty()) explanation.change = std::move(hint.change);
  }
  if (diagnosis.rejectors.Has(Rejector::kClass)) AddClassHint(state, *pod, explanation);
  if (diagnosis.pod_reason.empty()) AddNodeHints(state, *pod, options, diagnosis, explanation);
  if (diagnosis.nodes == 0) explanation.change = "if there were a node";
  AddLeaving(state, *pod, holders, explanation);
  return explanation;
}

// What must come before the scheduler tries the pod.
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
    const std::string key = Where(pod.ns, entry.claim_name);
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

// The word of the pod's own scheduler, where it left one.
void AddCondition(const state::PodView& pod, Explanation& explanation) {
  const json::Value* condition = client::ConditionOf(pod.object, "PodScheduled");
  if (condition == nullptr || (*condition)["message"].AsString().empty()) return;
  explanation.blockers.push_back(
      fmt::format("{} said last: {}", pod.scheduler_name, (*condition)["message"].AsString()));
}

// What the claims of an assigned pod hold.
Explanation OfAssigned(const state::ClusterState& state, const state::PodView& pod) {
  Explanation explanation;
  explanation.cause = fmt::format("pod {}{} is on node {}", pod.key(),
                                  pod.deleting ? ", which is being deleted," : "", pod.node_name);
  std::vector<std::string> claims;
  for (const state::PodClaim& entry : pod.claims) claims.push_back(entry.claim_name);
  const json::Value& extended = pod.object["status"]["extendedResourceClaimStatus"];
  claims.emplace_back(extended["resourceClaimName"].AsString());
  for (const std::string& name : claims) {
    const state::ClaimPtr claim = state.claims.Find(pod.ns + "/" + name);
    if (!claim || !claim->allocated()) continue;
    explanation.steps.push_back(
        {fmt::format("devices of claim {}", claim->name), claim->claim.allocation->results.size()});
    for (std::string& device : DevicesOf(*claim)) {
      AddOnce(explanation.devices, std::move(device));
    }
  }
  return explanation;
}

// A pod that nobody will place: no pod of its scheduler was ever placed or judged.
void AddScheduler(const state::ClusterState& state, const state::PodView& pod,
                  Explanation& explanation) {
  std::vector<std::string> seen;
  for (const auto& [key, other] : state.pods()) {
    const json::Value* condition = client::ConditionOf(other->object, "PodScheduled");
    const bool judged =
        condition != nullptr && (*condition)["reason"].AsString() != "SchedulingGated";
    if (!judged && other->node_name.empty()) continue;
    if (other->scheduler_name == pod.scheduler_name) return;
    AddOnce(seen, other->scheduler_name);
  }
  std::ranges::sort(seen);
  explanation.cause = fmt::format(
      "no scheduler named {} has been seen to place or judge any pod{}; {}", pod.scheduler_name,
      seen.empty() ? std::string() : fmt::format(" (seen: {})", FewOf(seen)), explanation.cause);
  explanation.change = fmt::format("if a scheduler named {} ran", pod.scheduler_name);
  if (!seen.empty()) explanation.change += fmt::format(", or the pod named {}", FewOf(seen));
}

// A pod of a group exists only where the gate is on, and claims of groups only with theirs: what
// the API shows says which gates its scheduler has.
Options WithGatesOf(const state::ClusterState& state, const state::PodView& pod, Options options) {
  if (pod.group.empty()) return options;
  options.feature_gates["GenericWorkload"] = true;
  const state::GroupPtr group = state.groups.Find(pod.group_key());
  if (group && !group->claims.empty()) options.feature_gates["DRAWorkloadResourceClaims"] = true;
  return options;
}

// How the members of the pod's group that wait fare together.
GroupOutcome TryGroup(state::ClusterState& state, Cycle& cycle, Nominations& nominations,
                      const Options& options, const state::GroupView& group) {
  std::vector<state::PodPtr> waiting;
  for (const state::PodPtr& member : state.MembersOf(group.key())) {
    const bool waits = member->node_name.empty() && !member->deleting;
    if (waits && cycle.HoldReason(*member).empty()) waiting.push_back(member);
  }
  std::ranges::stable_sort(waiting, {}, [](const state::PodPtr& member) {
    return std::pair(-member->priority, member->created);
  });
  GroupCycle groups(state, cycle, nominations, options);
  GroupOutcome outcome = groups.Place(group, waiting);
  if (outcome.kind == GroupOutcome::Kind::kFits) groups.TakeBack(outcome);
  return outcome;
}

// Why the group does not start: what the pod lacks, or the first member that lacks something.
Explanation OfGroup(state::ClusterState& state, const Options& options, Cycle& cycle,
                    const state::PodView& pod, const state::GroupView& group,
                    GroupOutcome& outcome) {
  const auto lacking = [&outcome](std::string_view uid) {
    return std::ranges::find_if(outcome.members, [uid](const GroupMember& member) {
      return member.unplaced && (uid.empty() || member.pod->uid == uid);
    });
  };
  auto member = lacking(pod.uid);
  if (member == outcome.members.end()) member = lacking({});
  Explanation explanation;
  if (member != outcome.members.end()) {
    explanation = OfUnplaced(state, options, cycle, member->pod, *member->unplaced);
    explanation.cause =
        fmt::format("pod {} has no place: {}", member->pod->key(), explanation.cause);
  }
  std::vector<explain::Step> steps = {
      {fmt::format("pods of group {}", group.key()), state.MembersOf(group.key()).size()},
      {"pods it needs at once", group.min_count},
      {"pods of it with a place", outcome.scheduled + outcome.placed()}};
  steps.insert(steps.end(), explanation.steps.begin(), explanation.steps.end());
  explanation.steps = std::move(steps);
  explanation.cause = fmt::format("pod group {} waits: {}{}{}", group.key(), outcome.message,
                                  explanation.cause.empty() ? "" : "; ", explanation.cause);
  return explanation;
}

}  // namespace

Result<Explanation> ExplainPod(state::ClusterState& state, const Options& given, const Clock& clock,
                               std::string_view ns, std::string_view name) {
  const state::PodPtr pod = state.FindPodByKey(Where(ns, name));
  if (!pod) return Fail(Code::kNotFound, fmt::format("pods \"{}\" not found", name));
  Explanation explanation;
  if (pod->terminal) {
    explanation.cause = fmt::format("pod {} has ended", pod->key());
    return explanation;
  }
  if (!pod->node_name.empty()) return OfAssigned(state, *pod);
  if (pod->deleting) {
    explanation.cause = fmt::format("pod {} is being deleted: nobody places it", pod->key());
    return explanation;
  }
  Nominations nominations;
  const Options options = WithGatesOf(state, *pod, given);
  Random random(options.seed);
  Cycle cycle(state, nominations, options, clock, random);
  if (std::string held = cycle.HoldReason(*pod); !held.empty()) {
    return OfHeld(state, *pod, held);
  }
  if (const state::GroupPtr group =
          pod->group.empty() ? nullptr : state.groups.Find(pod->group_key())) {
    GroupOutcome outcome = TryGroup(state, cycle, nominations, options, *group);
    if (outcome.kind != GroupOutcome::Kind::kFits) {
      explanation = OfGroup(state, options, cycle, *pod, *group, outcome);
      AddScheduler(state, *pod, explanation);
      return explanation;
    }
  }
  Attempt attempt = cycle.Schedule(pod);
  if (auto* unplaced = std::get_if<Unplaced>(&attempt)) {
    explanation = OfUnplaced(state, options, cycle, pod, *unplaced);
  } else if (const auto* errored = std::get_if<Errored>(&attempt)) {
    explanation.cause = "an attempt to schedule it fails: " + errored->message;
  } else if (const auto* placed = std::get_if<Placed>(&attempt)) {
    explanation.cause = fmt::format("node {} takes it now; scheduler {} has not bound it yet",
                                    state.nodes.At(placed->node).name, pod->scheduler_name);
    AddCondition(*pod, explanation);
  } else {
    explanation.cause = "a claim of it is being allocated";
  }
  AddScheduler(state, *pod, explanation);
  return explanation;
}

Result<Explanation> ExplainClaim(state::ClusterState& state, const Options& options,
                                 const Clock& clock, std::string_view ns, std::string_view name) {
  const std::string key = Where(ns, name);
  const state::ClaimPtr claim = state.claims.Find(key);
  if (!claim) return Fail(Code::kNotFound, fmt::format("resourceclaims \"{}\" not found", name));
  std::vector<state::PodPtr> users;
  for (const auto& [pod_key, pod] : state.pods()) {
    if (pod->ns == claim->ns &&
        std::ranges::any_of(pod->claims, [&claim](const state::PodClaim& entry) {
          return entry.claim_name == claim->name;
        })) {
      users.push_back(pod);
    }
  }
  std::ranges::sort(users, {}, [](const state::PodPtr& pod) { return pod->name; });
  Explanation explanation;
  if (claim->allocated()) {
    const std::size_t held = claim->claim.allocation->results.size();
    explanation.cause =
        fmt::format("claim {} holds {} device{}{}{}", key, held, held == 1 ? "" : "s",
                    claim->consumers() == 0 ? "; no pod uses it" : "",
                    claim->deleting ? " and is being deleted" : "");
    explanation.steps.push_back({"devices", held});
    explanation.steps.push_back({"pods it is reserved for", claim->consumers()});
    explanation.devices = DevicesOf(*claim);
    for (const json::Value& consumer : claim->object["status"]["reservedFor"].Items()) {
      const std::string_view consumer_name = consumer["name"].AsString();
      explanation.users.push_back(
          consumer["resource"].AsString() == "pods"
              ? PodText(state, ns, consumer_name)
              : fmt::format("{} {}", consumer["resource"].AsString(), consumer_name));
    }
    return explanation;
  }
  const auto waiting = std::ranges::find_if(
      users, [](const state::PodPtr& pod) { return pod->node_name.empty() && !pod->terminal; });
  if (waiting == users.end()) {
    explanation.cause = fmt::format("claim {} waits: no pod that waits for a node uses it", key);
    return explanation;
  }
  DRA_ASSIGN(explanation, ExplainPod(state, options, clock, (*waiting)->ns, (*waiting)->name));
  explanation.cause =
      fmt::format("claim {} waits for pod {}: {}", key, (*waiting)->name, explanation.cause);
  return explanation;
}

}  // namespace drachma::scheduler
