#include "scheduler/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "client/objects.h"
#include "scheduler/cycle.h"
#include "scheduler/explain_nodes.h"
#include "scheduler/volumes.h"

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

// "claim ns/name (pod one, two)": who would have to end for the claim's devices to be free.
std::string WithUsers(const state::ClusterState& state, const std::string& claim_key) {
  const state::ClaimPtr claim = state.claims.Find(claim_key);
  std::vector<std::string_view> users;
  if (claim) {
    for (const json::Value& consumer : claim->object["status"]["reservedFor"].Items()) {
      users.push_back(consumer["name"].AsString());
    }
  }
  if (users.empty()) return "claim " + claim_key;
  return fmt::format("claim {} (pod {})", claim_key, fmt::join(users, ", "));
}

// The expressions behind "not matched by selector N": people know what they wrote, not its index.
void AddSelectors(const state::ClusterState& state, const state::PodView& pod,
                  Explanation& explanation) {
  const auto refuses = [&](const std::string& request, std::string_view of, std::size_t index) {
    const std::string text =
        fmt::format("request {}: not matched by selector {} of the {}", request, index, of);
    return std::ranges::any_of(explanation.steps,
                               [&](const Step& step) { return step.step.ends_with(text); });
  };
  const auto add = [&](const std::string& request, const api::DeviceRequirements& wanted) {
    for (std::size_t i = 0; i < wanted.selectors.size(); ++i) {
      if (!refuses(request, "request", i)) continue;
      explanation.blockers.push_back(fmt::format("selector {} of request {}: {}", i, request,
                                                 wanted.selectors[i].cel.value_or("")));
    }
    const api::DeviceClass* device_class = state.inventory.FindClass(wanted.device_class_name);
    if (device_class == nullptr) return;
    for (std::size_t i = 0; i < device_class->selectors.size(); ++i) {
      if (!refuses(request, "device class", i)) continue;
      explanation.blockers.push_back(fmt::format("selector {} of DeviceClass {}: {}", i,
                                                 device_class->name,
                                                 device_class->selectors[i].cel.value_or("")));
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

Explanation OfUnplaced(state::ClusterState& state, Cycle& cycle, const state::PodPtr& pod,
                       Unplaced& unplaced) {
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
  for (const std::string& holder : diagnosis.devices.Holders()) {
    explanation.blockers.push_back(WithUsers(state, holder));
  }
  for (const state::ClaimPtr& claim : unplaced.unavailable) {
    explanation.blockers.push_back(fmt::format("claim {} is allocated elsewhere", claim->key()));
  }
  for (const allocator::SelectorFault& fault : unplaced.faults) {
    explanation.blockers.push_back(fmt::format("selector `{}` fails on {}: {}", fault.expression,
                                               fault.device.ToString(), fault.error));
  }
  explanation.change = diagnosis.devices.ChangeText();
  AddSelectors(state, *pod, explanation);
  for (VolumeNeeds::Hint& hint : VolumeNeeds::Hints(state, *pod)) {
    explanation.blockers.push_back(std::move(hint.what));
    if (explanation.change.empty()) explanation.change = std::move(hint.change);
  }
  if (diagnosis.rejectors.Has(Rejector::kClass)) AddClassHint(state, *pod, explanation);
  if (diagnosis.pod_reason.empty()) AddNodeHints(state, *pod, diagnosis, explanation);
  if (diagnosis.nodes == 0) explanation.change = "if there were a node";
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
      explanation.blockers.push_back(WithUsers(state, key) + " is being deleted");
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
  explanation.cause = fmt::format("pod {} is on node {}", pod.key(), pod.node_name);
  for (const state::PodClaim& entry : pod.claims) {
    const state::ClaimPtr claim = state.claims.Find(pod.ns + "/" + entry.claim_name);
    if (!claim || !claim->allocated()) continue;
    explanation.steps.push_back(
        {fmt::format("devices of claim {}", claim->name), claim->claim.allocation->results.size()});
  }
  return explanation;
}

}  // namespace

Result<Explanation> ExplainPod(state::ClusterState& state, const Options& options,
                               const Clock& clock, std::string_view ns, std::string_view name) {
  const state::PodPtr pod = state.FindPodByKey(Where(ns, name));
  if (!pod) return Fail(Code::kNotFound, fmt::format("pods \"{}\" not found", name));
  Explanation explanation;
  if (pod->terminal) {
    explanation.cause = fmt::format("pod {} has ended", pod->key());
    return explanation;
  }
  if (!pod->node_name.empty()) return OfAssigned(state, *pod);
  const Nominations nominations;
  Random random(options.seed);
  Cycle cycle(state, nominations, options, clock, random);
  if (std::string held = cycle.HoldReason(*pod); !held.empty()) {
    return OfHeld(state, *pod, held);
  }
  Attempt attempt = cycle.Schedule(pod);
  if (auto* unplaced = std::get_if<Unplaced>(&attempt))
    return OfUnplaced(state, cycle, pod, *unplaced);
  if (const auto* errored = std::get_if<Errored>(&attempt)) {
    explanation.cause = "an attempt to schedule it fails: " + errored->message;
  } else if (const auto* placed = std::get_if<Placed>(&attempt)) {
    explanation.cause = fmt::format("node {} takes it now; scheduler {} has not bound it yet",
                                    state.nodes.At(placed->node).name, pod->scheduler_name);
    AddCondition(*pod, explanation);
  } else {
    explanation.cause = "a claim of it is being allocated";
  }
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
    explanation.cause =
        fmt::format("claim {} holds {} device(s){}", key, claim->claim.allocation->results.size(),
                    claim->deleting ? " and is being deleted" : "");
    explanation.steps.push_back({"devices", claim->claim.allocation->results.size()});
    explanation.steps.push_back({"pods it is reserved for", claim->consumers()});
    for (const json::Value& consumer : claim->object["status"]["reservedFor"].Items()) {
      explanation.blockers.push_back(
          fmt::format("{} {}", consumer["resource"].AsString(), consumer["name"].AsString()));
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

Result<Explanation> ExplainDevice(state::ClusterState& state, std::string_view name) {
  // A driver's name has no slash, a device's neither; a pool's may.
  const std::size_t first = name.find('/');
  const std::size_t last = name.rfind('/');
  if (first == std::string_view::npos || first == last) {
    return BadInput(fmt::format("device \"{}\": want DRIVER/POOL/DEVICE", name));
  }
  const allocator::DeviceId id{.driver = std::string(name.substr(0, first)),
                               .pool = std::string(name.substr(first + 1, last - first - 1)),
                               .device = std::string(name.substr(last + 1))};
  std::optional<Explanation> found;
  state.inventory.ForEachDevice([&](const allocator::DeviceView& device) {
    if (device.id != id || found) return;
    Explanation explanation;
    if (!device.current) {
      explanation.cause = "not in a complete pool of the newest generation: nobody gets it";
    } else if (!device.holders.empty()) {
      explanation.cause = "in use";
    } else {
      explanation.cause = "free";
    }
    if (!device.node.empty()) explanation.cause += ", on node " + device.node;
    explanation.steps.push_back({"claims that hold it", device.holders.size()});
    for (const std::string& holder : device.holders) {
      explanation.blockers.push_back(WithUsers(state, holder));
    }
    for (const api::DeviceTaint& taint : device.taints) {
      explanation.blockers.push_back(
          fmt::format("taint {}={}:{}", taint.key, taint.value, taint.effect));
    }
    found = std::move(explanation);
  });
  if (!found) return Fail(Code::kNotFound, fmt::format("device \"{}\" not found", name));
  return *std::move(found);
}

}  // namespace drachma::scheduler
