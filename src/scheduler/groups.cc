#include "scheduler/groups.h"

#include <fmt/format.h>

#include <algorithm>

#include "client/objects.h"

namespace drachma::scheduler {
namespace {

using json::Value;
using state::ClusterState;
using state::PodView;

constexpr std::string_view kSchedulingGroup = "scheduling.k8s.io";

bool IsOn(const Options& options, const std::string& gate) {
  const auto found = options.feature_gates.find(gate);
  return found != options.feature_gates.end() && found->second;
}

bool IsOfGroup(const Value& owner, const PodView& pod) {
  return !pod.group.empty() && owner["name"].AsString() == pod.group &&
         owner["kind"].AsString() == "PodGroup" &&
         owner["apiVersion"].AsString().starts_with(std::string(kSchedulingGroup) + "/");
}

}  // namespace

GroupGates GroupGatesOf(const Options& options) {
  const bool groups = IsOn(options, "GenericWorkload");
  return {.groups = groups, .claims = groups && IsOn(options, "DRAWorkloadResourceClaims")};
}

std::string GroupHoldReason(const ClusterState& state, const PodView& pod,
                            const std::function<std::string(const PodView&)>& own_hold) {
  if (pod.group.empty()) return {};
  const state::GroupPtr group = state.groups.Find(pod.group_key());
  if (!group) {
    return fmt::format("waiting for pods's pod group \"{}\" to appear in scheduling queue",
                       pod.group);
  }
  if (!group->is_gang) return {};
  std::size_t there = 0;
  std::size_t ready = 0;
  std::string held;  // what holds one of those that are there
  for (const state::PodPtr& member : state.MembersOf(group->key())) {
    if (member->deleting && member->node_name.empty()) continue;  // it will never come to a node
    ++there;
    std::string why = member->node_name.empty() ? own_hold(*member) : std::string();
    if (why.empty()) {
      if (++ready >= group->min_count) return {};
    } else if (held.empty()) {
      held = fmt::format("; pod {} waits: {}", member->key(), why);
    }
  }
  return fmt::format(
      "waiting for minCount pods from a gang to appear in scheduling queue: {} of {} pods of pod "
      "group {} are there{}",
      there, group->min_count, group->key(), held);
}

std::size_t ScheduledMembers(const ClusterState& state, const state::GroupView& group) {
  const auto members = state.MembersOf(group.key());
  return static_cast<std::size_t>(std::ranges::count_if(
      members,
      [&state](const state::PodPtr& pod) { return state.nodes.FindPod(pod->uid) != nullptr; }));
}

std::string WrongOwner(const state::ClaimView& claim, const PodView& pod, const GroupGates& gates) {
  const Value* owner = client::ControllerOf(claim.object);
  if (owner != nullptr && (*owner)["uid"].AsString() == pod.uid) return {};
  const bool by_group = gates.claims && !pod.group.empty();
  if (by_group && owner != nullptr && IsOfGroup(*owner, pod)) return {};
  return fmt::format("ResourceClaim {} was not created for Pod {} ({})", claim.key(), pod.key(),
                     by_group ? fmt::format("neither Pod nor PodGroup {} is the owner", pod.group)
                              : std::string("Pod is not owner"));
}

bool IsReservedForPod(const state::ClaimView& claim, const PodView& pod, const GroupGates& gates) {
  return claim.IsReservedFor(pod.uid) ||
         (gates.claims && !pod.group.empty() && claim.IsReservedForGroup(pod.group));
}

state::GroupPtr ReservingGroup(const ClusterState& state, const state::ClaimView& claim,
                               const PodView& pod, const GroupGates& gates) {
  if (!gates.claims || pod.group.empty()) return nullptr;
  state::GroupPtr group = state.groups.Find(pod.group_key());
  if (!group) return nullptr;
  const bool matches = std::ranges::any_of(pod.claims, [&](const state::PodClaim& entry) {
    if (entry.claim_name != claim.name) return false;
    return std::ranges::any_of(group->claims, [&entry](const state::GroupClaim& of_group) {
      if (of_group.name != entry.name) return false;
      return entry.from_template ? of_group.template_name == entry.template_name
                                 : of_group.claim_name == entry.claim_name;
    });
  });
  return matches ? group : nullptr;
}

Value ConsumerReference(const PodView& pod, const state::GroupPtr& reserving_group) {
  if (!reserving_group) {
    return Value::Object({{"resource", "pods"}, {"name", pod.name}, {"uid", pod.uid}});
  }
  return Value::Object({{"apiGroup", kSchedulingGroup},
                        {"resource", "podgroups"},
                        {"name", reserving_group->name},
                        {"uid", reserving_group->uid}});
}

}  // namespace drachma::scheduler
