#include "scheduler/explain_unplaced.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <utility>

#include "scheduler/binding_conditions.h"
#include "scheduler/edits.h"
#include "scheduler/explain_claims.h"
#include "selector/explain.h"

namespace drachma::scheduler {
namespace {

using explain::Explanation;
using explain::Step;

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

// What a cycle counted, and what stands behind it.
Explanation AccountOf(const Scene& scene, const state::PodView& pod, Unplaced& unplaced) {
  Diagnosis& diagnosis = unplaced.diagnosis;
  diagnosis.preemption.clear();
  Explanation account;
  account.cause = diagnosis.Message();
  if (diagnosis.pod_reason.empty()) {
    AddNodeSteps(diagnosis, account.steps);
  } else {
    account.steps = {{"nodes", diagnosis.nodes}, {"nodes that were looked at", 0}};
  }
  std::ranges::copy(diagnosis.devices.Steps(), std::back_inserter(account.steps));
  for (const state::ClaimPtr& claim : unplaced.unavailable) {
    const BindingState binding = JudgeBinding(*claim, scene.now, scene.options.binding_timeout);
    account.blockers.push_back(
        binding.message.empty()
            ? fmt::format("claim {} has devices that nodes which take the pod do not reach",
                          claim->key())
            : binding.message);
  }
  AddFaults(scene.state, unplaced.faults, account);
  AddSelectors(scene.state, pod, diagnosis.devices, account);
  return account;
}

std::string NameOf(const VictimUnit& unit) {
  if (unit.claim) return "claim " + unit.claim->key();
  std::vector<std::string> names;
  for (const state::PodPtr& pod : unit.pods) names.push_back("pod " + pod->key());
  return FewOf(names);
}

std::vector<std::string> NamesOf(const std::vector<VictimUnit>& units) {
  std::vector<std::string> names;
  for (const VictimUnit& unit : units) names.push_back(NameOf(unit));
  return names;
}

// With what tells why it was not preempted.
std::string BlockerText(const VictimUnit& unit) {
  if (unit.claim) {
    return fmt::format("claim {}, which no pod uses{}", unit.claim->key(),
                       unit.claim->deleting ? " and which is being deleted" : "");
  }
  const state::PodView& pod = *unit.pods.front();
  const std::string place = !pod.node_name.empty() ? "on node " + pod.node_name
                            : !pod.nominated_node.empty()
                                ? "nominated for node " + pod.nominated_node
                                : "not bound yet";
  return fmt::format("{} (priority {}, {}){}", NameOf(unit), unit.priority, place,
                     pod.deleting ? ", which is being deleted" : "");
}

std::string Ended(const std::vector<std::string>& names) {
  return fmt::format("{} {} ended", FewOf(names), names.size() == 1 ? "has" : "have");
}

// Everybody whose end alone is enough, or else the fewest that are it together.
void AddObstacles(const std::vector<Obstacle>& obstacles, Explanation& explanation) {
  std::vector<std::string> blockers;
  for (const Obstacle& obstacle : obstacles) {
    if (obstacle.staying.size() > 1 && &obstacle != &obstacles.front()) break;
    for (const VictimUnit& unit : obstacle.staying) AddOnce(blockers, BlockerText(unit));
    for (const VictimUnit& unit : obstacle.leaving) AddOnce(blockers, BlockerText(unit));
    if (obstacle.staying.size() != 1) break;
  }
  explanation.blockers.insert(explanation.blockers.begin(), blockers.begin(), blockers.end());
}

std::string ChangeOf(const Obstacle& obstacle) {
  std::string change;
  if (!obstacle.staying.empty())
    change = fmt::format("if {} ended", FewOf(NamesOf(obstacle.staying)));
  if (obstacle.leaving.empty()) return change;
  return fmt::format("{}{}once {}", change, change.empty() ? "" : ", and ",
                     Ended(NamesOf(obstacle.leaving)));
}

// Why preemption leaves who stands in the way alone. It looks at the pods of one node; `node` is
// empty for groups, which take them from anywhere.
std::string WhySpared(const std::vector<VictimUnit>& staying, std::int64_t priority,
                      std::string_view node) {
  for (const VictimUnit& unit : staying) {
    if (unit.claim) return fmt::format(" {} has no pod to preempt.", NameOf(unit));
    if (unit.priority >= priority) {
      return fmt::format(" {} has priority {}; only pods below priority {} are preempted.",
                         NameOf(unit), unit.priority, priority);
    }
    if (!node.empty() && unit.pods.front()->node_name != node) {
      return fmt::format(" {} is not on node {}; only pods of the same node are preempted.",
                         NameOf(unit), node);
    }
  }
  return {};
}

std::string WouldDelete(const std::vector<state::PodPtr>& pods, std::size_t protected_pods) {
  std::vector<std::string> names;
  for (const state::PodPtr& victim : pods) names.push_back(victim->key());
  std::string text = fmt::format("would delete {}", fmt::join(names, ", "));
  if (protected_pods > 0) {
    text += fmt::format(", though a PodDisruptionBudget protects {} of them", protected_pods);
  }
  return text;
}

std::string PreemptionOf(const Scene& scene, const state::PodPtr& pod, Diagnosis& diagnosis,
                         const std::vector<Obstacle>& obstacles) {
  if (!obstacles.empty() && obstacles.front().staying.empty()) {
    std::vector<std::string> names;
    for (const VictimUnit& unit : obstacles.front().leaving) {
      if (unit.claim) names.push_back(NameOf(unit));
      for (const state::PodPtr& leaving : unit.pods) names.push_back(leaving->key());
    }
    return fmt::format(
        "waits for {}, which {} being deleted{}", FewOf(names), names.size() == 1 ? "is" : "are",
        pod->nominated_node.empty() ? "" : "; nominated node " + pod->nominated_node);
  }
  if (const auto victims = scene.cycle.Preempt(pod, diagnosis, scene.budgets)) {
    return WouldDelete(victims->pods, victims->budget_violations);
  }
  std::string text = diagnosis.preemption;
  if (!pod->may_preempt) {
    auto willing = std::make_shared<state::PodView>(*pod);
    willing->may_preempt = true;
    if (const auto victims = scene.cycle.Preempt(willing, diagnosis, scene.budgets)) {
      return fmt::format("{} Without that it {}.", text,
                         WouldDelete(victims->pods, victims->budget_violations));
    }
  }
  if (!obstacles.empty()) {
    text += WhySpared(obstacles.front().staying, pod->priority,
                      scene.state.nodes.At(obstacles.front().node).name);
  }
  return text;
}

// The smallest change that lets the pod go on, tried.
std::string ChangeOf(const Scene& scene, const state::PodPtr& pod, std::vector<Edit> edits,
                     const std::vector<Obstacle>& obstacles) {
  if (!obstacles.empty() && obstacles.front().staying.size() <= 1)
    return ChangeOf(obstacles.front());
  if (obstacles.empty()) return SmallestTrue(scene.state, scene.cycle, pod, std::move(edits));
  std::erase_if(edits, [](const Edit& edit) { return edit.cost > Edit::Cost::kManyPods; });
  std::string change = SmallestTrue(scene.state, scene.cycle, pod, std::move(edits));
  return change.empty() ? ChangeOf(obstacles.front()) : change;
}

// Who would have to go for the whole group to fit, as one obstacle.
std::vector<Obstacle> ObstaclesOf(const Scene& scene, const state::GroupView& group,
                                  const std::vector<state::PodPtr>& pods) {
  state::GroupView above_all = group;
  above_all.priority = std::numeric_limits<std::int64_t>::max();
  std::string why;
  const auto anybody = [](const state::PodView&) { return true; };
  const auto victims = scene.groups.Preempt(above_all, pods, {}, anybody, why);
  if (!victims) return {};
  Obstacle obstacle;
  for (const VictimUnit& unit : UnitsOf(scene.state, GroupGatesOf(scene.options), victims->pods)) {
    const bool leaving =
        std::ranges::all_of(unit.pods, [](const state::PodPtr& pod) { return pod->deleting; });
    (leaving ? obstacle.leaving : obstacle.staying).push_back(unit);
  }
  return {std::move(obstacle)};
}

std::string PreemptionOf(const Scene& scene, const state::GroupView& group,
                         const std::vector<state::PodPtr>& pods,
                         const std::vector<Obstacle>& obstacles) {
  if (!pods.front()->may_preempt) return "not eligible due to preemptionPolicy=Never.";
  std::string why;
  const auto stays = [](const state::PodView& pod) { return !pod.deleting; };
  if (const auto victims = scene.groups.Preempt(group, pods, scene.budgets, stays, why)) {
    return WouldDelete(victims->pods, 0);
  }
  why += ".";
  if (!obstacles.empty()) why += WhySpared(obstacles.front().staying, group.priority, {});
  return why;
}

}  // namespace

Explanation OfUnplaced(const Scene& scene, const state::PodPtr& pod, Unplaced& unplaced) {
  Diagnosis& diagnosis = unplaced.diagnosis;
  Explanation explanation = AccountOf(scene, *pod, unplaced);
  std::vector<Edit> edits;
  AddDeviceEdits(scene.state, *pod, diagnosis, edits, explanation);
  AddNodeEdits(scene.state, *pod, scene.options, diagnosis, edits, explanation);
  const auto obstacles = scene.cycle.Obstacles(pod, diagnosis.preemptable);
  AddObstacles(obstacles, explanation);
  explanation.preemption = PreemptionOf(scene, pod, diagnosis, obstacles);
  explanation.change = ChangeOf(scene, pod, std::move(edits), obstacles);
  return explanation;
}

Explanation OfGroup(const Scene& scene, const state::PodView& pod, const state::GroupView& group,
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
    explanation = AccountOf(scene, *member->pod, *member->unplaced);
    explanation.cause =
        fmt::format("pod {} has no place: {}", member->pod->key(), explanation.cause);
    std::vector<state::PodPtr> pods;
    for (const GroupMember& one : outcome.members) pods.push_back(one.pod);
    const auto obstacles = ObstaclesOf(scene, group, pods);
    AddObstacles(obstacles, explanation);
    explanation.preemption = PreemptionOf(scene, group, pods, obstacles);
    if (!obstacles.empty()) explanation.change = ChangeOf(obstacles.front());
  }
  std::vector<Step> steps = {
      {fmt::format("pods of group {}", group.key()), scene.state.MembersOf(group.key()).size()},
      {"pods it needs at once", group.min_count},
      {"pods of it with a place", outcome.scheduled + outcome.placed()}};
  steps.insert(steps.end(), explanation.steps.begin(), explanation.steps.end());
  explanation.steps = std::move(steps);
  explanation.cause = fmt::format("pod group {} waits: {}{}{}", group.key(), outcome.message,
                                  explanation.cause.empty() ? "" : "; ", explanation.cause);
  return explanation;
}

}  // namespace drachma::scheduler
