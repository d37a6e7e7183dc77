// Pod groups: all members in one cycle, bound together or not at all.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "client/objects.h"
#include "scheduler/scheduler_impl.h"

namespace drachma::scheduler {
namespace {

std::vector<state::PodPtr> PodsOf(const std::vector<std::unique_ptr<QueuedPod>>& queued) {
  std::vector<state::PodPtr> pods;
  pods.reserve(queued.size());
  for (const auto& one : queued) pods.push_back(one->pod);
  return pods;
}

const char* PolicyOf(const state::PodView& pod) {
  return pod.may_preempt ? "PreemptLowerPriority" : "Never";
}

// What the members do not have in common; empty when nothing (upstream's validatePodGroup).
std::string Difference(const state::ClusterState& state, const state::GroupView& group,
                       const std::vector<state::PodPtr>& pods) {
  const state::PodView& first = *pods.front();
  std::vector<state::PodPtr> all = pods;
  for (const state::PodPtr& member : state.MembersOf(group.key())) {
    if (state.nodes.FindPod(member->uid)) all.push_back(member);
  }
  for (const state::PodPtr& pod : all) {
    if (pod->scheduler_name != first.scheduler_name) {
      return fmt::format(
          "all pods in a single pod group should have the same .spec.schedulerName set, got: "
          "\"{}\" and \"{}\"",
          pod->scheduler_name, first.scheduler_name);
    }
    if (pod->priority != group.priority) {
      return fmt::format(
          "all pods in a single pod group should have the same priority as the pod group's "
          "priority, got {} and {}",
          pod->priority, group.priority);
    }
    if (pod->may_preempt != first.may_preempt) {
      return fmt::format(
          "all pods in a single pod group should have the same preemption policy, got {} and {}",
          PolicyOf(*pod), PolicyOf(first));
    }
  }
  return {};
}

// How the group stands, after upstream's word: how many members have a place, and what the first
// one without lacks.
std::string Standing(const state::GroupView& group, const GroupOutcome& outcome) {
  const std::size_t placed = outcome.scheduled + outcome.placed();
  std::string text =
      fmt::format("{}. {} of {} pods of pod group {} have a place", outcome.message, placed,
                  std::max(group.min_count, outcome.members.size()), group.key());
  const auto lacking = std::ranges::find_if(
      outcome.members, [](const GroupMember& member) { return member.unplaced.has_value(); });
  if (lacking == outcome.members.end()) return text + ".";
  return text + fmt::format("; pod {} has none: {}", lacking->pod->key(),
                            lacking->unplaced->diagnosis.Message());
}

}  // namespace

void Scheduler::Impl::AttendGroup(std::unique_ptr<QueuedPod> first) {
  const std::string key = first->pod->group_key();
  const state::GroupPtr group = state_.groups.Find(key);  // or the pod would have been held
  // What made this one ready may have been the last thing that the others waited for.
  for (const state::PodPtr& member : state_.MembersOf(key)) queue_.Recheck(member->uid, Now());
  QueuedPods queued = queue_.TakeMembers(key);
  queued.insert(queued.begin(), std::move(first));
  const std::vector<state::PodPtr> pods = PodsOf(queued);
  if (const std::string difference = Difference(state_, *group, pods); !difference.empty()) {
    ReportGroup(*group, std::move(queued), difference);
    return;
  }
  GroupOutcome outcome = group_cycle_.Place(*group, pods);
  switch (outcome.kind) {
    case GroupOutcome::Kind::kFits:
      CarryGroup(*group, std::move(queued), std::move(outcome));
      break;
    case GroupOutcome::Kind::kMisfit:
      RefuseGroup(*group, std::move(queued), std::move(outcome));
      break;
    case GroupOutcome::Kind::kPostponed:
      for (auto& one : queued) {
        queue_.PutPostponed(std::move(one), {Rejector::kClaim, Rejector::kGroup}, Now());
      }
      break;
    case GroupOutcome::Kind::kError:
      ReportGroup(*group, std::move(queued), outcome.message);
      break;
  }
}

// Members with a place go on their way; for the others room is looked for by themselves.
void Scheduler::Impl::CarryGroup(const state::GroupView& group, QueuedPods queued,
                                 GroupOutcome outcome) {
  const std::size_t placed = outcome.placed();
  std::shared_ptr<Binder::Gang> gang;
  if (outcome.scheduled + 1 < group.min_count) {
    gang =
        std::make_shared<Binder::Gang>(Binder::Gang{.group = group.key(),
                                                    .needed = group.min_count - outcome.scheduled,
                                                    .under_way = placed,
                                                    .is_first = outcome.scheduled == 0});
  }
  QueuedPods rest;
  GroupOutcome of_rest{.scheduled = outcome.scheduled + placed,
                       .message = "pod group is unschedulable"};
  for (std::size_t i = 0; i < queued.size(); ++i) {
    if (outcome.members[i].placed) {
      Carry(std::move(queued[i]), *std::move(outcome.members[i].placed), gang);
    } else {
      rest.push_back(std::move(queued[i]));
      of_rest.members.push_back(std::move(outcome.members[i]));
    }
  }
  if (!rest.empty()) RefuseGroup(group, std::move(rest), std::move(of_rest));
}

void Scheduler::Impl::RefuseGroup(const state::GroupView& group, QueuedPods queued,
                                  GroupOutcome outcome) {
  ++statistics_.unschedulable;
  Rejectors rejectors{Rejector::kGroup};
  bool gave_up = false;
  for (const GroupMember& member : outcome.members) {
    if (!member.unplaced) continue;
    if (!member.unplaced->faults.empty()) {
      reporter_.SelectorFaults(*member.pod, member.unplaced->faults);
    }
    rejectors.Add(member.unplaced->diagnosis.rejectors);
    if (!gave_up) gave_up = GiveUpClaim(*member.pod, member.unplaced->unavailable);
  }
  std::map<std::string, std::string> nominated;  // node by uid
  const std::string preemption = PreemptForGroup(group, outcome, nominated);
  const std::string standing =
      fmt::format("{} preemption: {}", Standing(group, outcome), preemption);
  for (std::size_t i = 0; i < queued.size(); ++i) {
    const GroupMember& member = outcome.members[i];
    const std::string message = member.unplaced
                                    ? fmt::format("{} pod group {}: {}. preemption: {}",
                                                  member.unplaced->diagnosis.Message(), group.key(),
                                                  outcome.message, preemption)
                                    : standing;
    const std::string& node = nominated[member.pod->uid];
    const bool tells = !node.empty() || !member.pod->nominated_node.empty();
    reporter_.NotScheduled(*member.pod, Reason::kUnschedulable, message, tells ? &node : nullptr);
  }
  if (outcome.scheduled < group.min_count) {
    reporter_.GroupNotScheduled(group, Reason::kUnschedulable, standing);
  }
  for (auto& one : queued) queue_.PutUnschedulable(std::move(one), rejectors, Now());
}

// Makes room for the group; says what came of it, and where the members are to go.
std::string Scheduler::Impl::PreemptForGroup(const state::GroupView& group,
                                             const GroupOutcome& outcome,
                                             std::map<std::string, std::string>& nominated) {
  std::vector<state::PodPtr> pods;
  for (const GroupMember& member : outcome.members) pods.push_back(member.pod);
  if (!pods.front()->may_preempt) return "not eligible due to preemptionPolicy=Never.";
  if (std::ranges::any_of(pods, [this](const auto& pod) { return cycle_.AwaitsRoom(*pod); })) {
    for (const state::PodPtr& pod : pods) {
      if (const Nomination* known = nominations_.Find(pod->uid)) {
        nominated[pod->uid] = known->node;
      }
    }
    return "ongoing preemption on nominated nodes";
  }
  std::string why;
  const auto may_go = [this](const state::PodView& pod) { return !binder_.IsActive(pod.uid); };
  auto victims = group_cycle_.Preempt(group, pods, Budgets(), may_go, why);
  if (!victims) {
    for (const state::PodPtr& pod : pods) {
      if (nominations_.Find(pod->uid) == nullptr) continue;
      nominations_.Remove(pod->uid);
      ++loosened_;
    }
    return why;
  }
  const Preemptor by{.kind = "podgroup", .uid = group.uid, .node = "cluster"};
  for (const state::PodPtr& victim : victims->pods) EvictOne(by, victim);
  for (Nomination& nomination : victims->nominations) {
    nominated[nomination.pod->uid] = nomination.node;
    nominations_.Put(std::move(nomination));
  }
  ++loosened_;
  return fmt::format("found a placement for podgroup, preempting {} victims", victims->pods.size());
}

// The attempt failed: the members are tried again together after their back-off.
void Scheduler::Impl::ReportGroup(const state::GroupView& group, QueuedPods queued,
                                  const std::string& message) {
  reporter_.GroupNotScheduled(group, Reason::kSchedulerError, message);
  for (auto& one : queued) Report(std::move(one), message);
}

void Scheduler::Impl::GroupChanged(const std::string& key) {
  const auto members = state_.MembersOf(key);
  const state::GroupPtr group = state_.groups.Find(key);
  // As long as the gang is not whole nothing changes for those that wait for it.
  if (!group || (group->is_gang && members.size() < group->min_count)) return;
  const bool may_run = std::ranges::any_of(members, [this](const state::PodPtr& pod) {
    return pod->node_name.empty() && cycle_.HoldReason(*pod).empty();
  });
  if (!may_run) return;
  for (const state::PodPtr& pod : members) {
    queue_.Recheck(pod->uid, Now());
    queue_.WakeOne(pod->uid, {Rejector::kGroup}, Now());
    WatchHeld(*pod);
  }
}

// The first pod of a gang that is bound speaks for all.
void Scheduler::Impl::TellGroupRuns(const state::PodView& pod) {
  if (!gates_.groups || pod.group.empty()) return;
  if (const state::GroupPtr group = state_.groups.Find(pod.group_key())) {
    reporter_.GroupScheduled(*group);
  }
}

}  // namespace drachma::scheduler
