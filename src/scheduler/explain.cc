#include "scheduler/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "client/objects.h"
#include "scheduler/cycle.h"

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

Explanation OfUnplaced(Cycle& cycle, const state::PodPtr& pod, Unplaced& unplaced) {
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
  AddNodeSteps(diagnosis, explanation.steps);
  const auto devices = diagnosis.devices.Steps();
  explanation.steps.insert(explanation.steps.end(), devices.begin(), devices.end());
  for (const std::string& holder : diagnosis.devices.Holders()) {
    explanation.blockers.push_back("claim " + holder);
  }
  for (const state::ClaimPtr& claim : unplaced.unavailable) {
    explanation.blockers.push_back(fmt::format("claim {} is allocated elsewhere", claim->key()));
  }
  for (const allocator::SelectorFault& fault : unplaced.faults) {
    explanation.blockers.push_back(fmt::format("selector `{}` fails on {}: {}", fault.expression,
                                               fault.device.ToString(), fault.error));
  }
  explanation.change = diagnosis.devices.ChangeText();
  return explanation;
}

// What the pod of an assigned pod's claims hold.
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
    explanation.cause = "held before any attempt: " + held;
    return explanation;
  }
  Attempt attempt = cycle.Schedule(pod);
  if (auto* unplaced = std::get_if<Unplaced>(&attempt)) return OfUnplaced(cycle, pod, *unplaced);
  if (const auto* errored = std::get_if<Errored>(&attempt)) {
    explanation.cause = "an attempt to schedule it fails: " + errored->message;
  } else if (const auto* placed = std::get_if<Placed>(&attempt)) {
    explanation.cause = fmt::format("node {} takes it now; scheduler {} has not bound it yet",
                                    state.nodes.At(placed->node).name, pod->scheduler_name);
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
      explanation.cause = fmt::format("held by {} claim(s)", device.holders.size());
    } else {
      explanation.cause = "free";
    }
    if (!device.node.empty()) explanation.cause += ", on node " + device.node;
    explanation.steps.push_back({"claims that hold it", device.holders.size()});
    for (const std::string& holder : device.holders) {
      explanation.blockers.push_back("claim " + holder);
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
