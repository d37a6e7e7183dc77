#include "scheduler/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <tuple>
#include <utility>

#include "client/objects.h"
#include "scheduler/cycle.h"
#include "scheduler/explain_claims.h"
#include "scheduler/explain_states.h"
#include "scheduler/explain_unplaced.h"
#include "scheduler/group_cycle.h"
#include "scheduler/victim_units.h"

namespace drachma::scheduler {
namespace {

using explain::Explanation;

std::string Where(std::string_view ns, std::string_view name) {
  return ns.empty() ? std::string(name) : fmt::format("{}/{}", ns, name);
}

std::unexpected<Error> NotFound(std::string_view plural, std::string_view ns, std::string_view name,
                                std::vector<std::string> names) {
  std::ranges::sort(names);
  return Fail(Code::kNotFound, fmt::format("{} \"{}\" not found{}", plural, name,
                                           DidYouMean(Where(ns, name), names)));
}

// The word of the pod's own scheduler, where it left one.
void AddCondition(const state::PodView& pod, Explanation& explanation) {
  const json::Value* condition = client::ConditionOf(pod.object, "PodScheduled");
  if (condition == nullptr || (*condition)["message"].AsString().empty()) return;
  explanation.blockers.push_back(
      fmt::format("{} said last: {}", pod.scheduler_name, (*condition)["message"].AsString()));
}

// A pod that nobody will place: no pod of its scheduler was ever placed or judged.
void AddScheduler(const state::ClusterState& state, const state::PodView& pod,
                  Explanation& explanation) {
  std::vector<std::string> seen;
  for (const auto& [key, other] : state.pods()) {
    const json::Value* condition = client::ConditionOf(other->object, "PodScheduled");
    const bool judged =
        condition != nullptr && (*condition)["reason"].AsString() != "SchedulingGated";
    const bool has_devices =
        std::ranges::any_of(ClaimsOf(*other, state.claims), [&other](const state::ClaimPtr& claim) {
          return claim->allocated() && claim->IsReservedFor(other->uid);
        });
    if (!judged && !has_devices && other->node_name.empty()) continue;
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
GroupOutcome TryGroup(const Scene& scene, const state::GroupView& group) {
  std::vector<state::PodPtr> waiting;
  for (const state::PodPtr& member : scene.state.MembersOf(group.key())) {
    const bool waits = member->node_name.empty() && !member->deleting;
    if (waits && scene.cycle.HoldReason(*member).empty()) waiting.push_back(member);
  }
  std::ranges::stable_sort(waiting, {}, [](const state::PodPtr& member) {
    return std::pair(-member->priority, member->created);
  });
  GroupOutcome outcome = scene.groups.Place(group, waiting);
  if (outcome.kind == GroupOutcome::Kind::kFits) scene.groups.TakeBack(outcome);
  return outcome;
}

// What the scheduler keeps from the pod for those that it nominated: the room and the devices that
// they will find once their victims have gone. The most important ones choose first.
void AddNominations(const Scene& scene, const state::PodView& pod) {
  std::vector<state::PodPtr> nominated;
  for (const auto& [key, other] : scene.state.pods()) {
    if (other->nominated_node.empty() || !other->node_name.empty() || other->deleting ||
        other->terminal || other->priority < pod.priority ||
        other->scheduler_name != pod.scheduler_name) {
      continue;
    }
    nominated.push_back(other);
  }
  std::ranges::sort(nominated, {}, [](const state::PodPtr& other) {
    return std::tuple(-other->priority, other->created, other->key());
  });
  for (const state::PodPtr& other : nominated) {
    const state::NodeIndex* node = scene.state.nodes.Find(other->nominated_node);
    if (node == nullptr) continue;
    auto allocations = scene.cycle.AfterLeaving(other, *node);
    scene.nominations.Put(
        {.pod = other,
         .node = other->nominated_node,
         .allocations = std::move(allocations).value_or(std::vector<api::AllocationResult>()),
         .victim_claims = {}});
  }
}

// Of a pod that nothing holds.
Explanation OfWaiting(const Scene& scene, const state::PodPtr& pod) {
  if (const state::GroupPtr group =
          pod->group.empty() ? nullptr : scene.state.groups.Find(pod->group_key())) {
    GroupOutcome outcome = TryGroup(scene, *group);
    if (outcome.kind != GroupOutcome::Kind::kFits) return OfGroup(scene, *pod, *group, outcome);
  }
  Explanation explanation;
  Attempt attempt = scene.cycle.Schedule(pod);
  if (auto* unplaced = std::get_if<Unplaced>(&attempt)) return OfUnplaced(scene, pod, *unplaced);
  if (const auto* errored = std::get_if<Errored>(&attempt)) {
    explanation.cause = "an attempt to schedule it fails: " + errored->message;
  } else if (const auto* placed = std::get_if<Placed>(&attempt)) {
    explanation.cause = fmt::format("node {} takes it now; scheduler {} has not bound it yet",
                                    scene.state.nodes.At(placed->node).name, pod->scheduler_name);
    AddCondition(*pod, explanation);
  } else {
    explanation.cause = "a claim of it is being allocated";
  }
  return explanation;
}

}  // namespace

Result<Explanation> ExplainPod(state::ClusterState& state, const Options& given, const Clock& clock,
                               const std::vector<json::Value>& budgets, std::string_view ns,
                               std::string_view name) {
  const state::PodPtr pod = state.FindPodByKey(Where(ns, name));
  if (!pod) {
    std::vector<std::string> names;
    for (const auto& [key, other] : state.pods()) names.push_back(key);
    return NotFound("pods", ns, name, std::move(names));
  }
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
  if (auto binding = OfBinding(state, *pod, options, clock.Now())) return *std::move(binding);
  GroupCycle groups(state, cycle, nominations, options);
  const Scene scene{state, options, nominations, cycle, groups, budgets, clock.Now()};
  AddNominations(scene, *pod);
  explanation = OfWaiting(scene, pod);
  AddScheduler(state, *pod, explanation);
  return explanation;
}

Result<Explanation> ExplainClaim(state::ClusterState& state, const Options& options,
                                 const Clock& clock, const std::vector<json::Value>& budgets,
                                 std::string_view ns, std::string_view name) {
  const std::string key = Where(ns, name);
  const state::ClaimPtr claim = state.claims.Find(key);
  if (!claim) {
    std::vector<std::string> names;
    for (const auto& [other, view] : state.claims.all()) names.push_back(other);
    return NotFound("resourceclaims", ns, name, std::move(names));
  }
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
    explanation.devices = DevicesOf(state, *claim);
    AddMissingConditions(*claim, explanation);
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
  DRA_ASSIGN(explanation,
             ExplainPod(state, options, clock, budgets, (*waiting)->ns, (*waiting)->name));
  explanation.cause =
      fmt::format("claim {} waits for pod {}: {}", key, (*waiting)->name, explanation.cause);
  return explanation;
}

}  // namespace drachma::scheduler
