#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/random.h"
#include "client/client.h"
#include "client/event_recorder.h"
#include "client/informer.h"
#include "client/lease.h"
#include "scheduler/binder.h"
#include "scheduler/cycle.h"
#include "scheduler/group_cycle.h"
#include "scheduler/groups.h"
#include "scheduler/nominations.h"
#include "scheduler/queue.h"
#include "scheduler/reporter.h"
#include "scheduler/scheduler.h"
#include "state/cluster_state.h"
#include "state/follower.h"

namespace drachma::scheduler {

// The parts and how they meet: informers change the state and wake pods in the queue; the pump
// takes pods from the queue through a cycle each; decisions go to the binder, refusals to the
// reporter and back to the queue.
class Scheduler::Impl {
 public:
  Impl(Options options, client::ClientFactory& factory, Executor& executor);
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void Start();
  [[nodiscard]] bool synced() const { return synced_; }
  [[nodiscard]] bool AtRest() const;
  [[nodiscard]] Statistics statistics() const;

 private:
  [[nodiscard]] Time Now() const { return executor_.clock().Now(); }

  // --- Changes of the cluster (events.cc).
  void OnChange(state::Part part, const client::Change& change);
  void OnPod(const client::Change& change);
  void OnMember(const client::Change& change);
  void OnNode(const client::Change& change);
  void OnClaim(const client::Change& change);
  void PodLeft(const json::Value& pod);
  void DevicesFreed(const api::AllocationResult* allocation);
  void Wake(Rejectors rejectors, const SchedulingQueue::Helps& helps);
  // Whether a place is reserved for the pod, or it is bound, be it unknown yet to our copy of it.
  [[nodiscard]] bool HasPlace(const std::string& uid) const {
    return state_.nodes.FindPod(uid) != nullptr;
  }
  void Enqueue(const state::PodPtr& pod);
  void Dequeue(const std::string& uid);
  void ForgetUser(const state::PodView& pod);
  // Held pods are told why after a while.
  void WatchHeld(const state::PodView& pod);
  void TellHeldPods();

  // --- Scheduling (scheduler.cc).
  void MaybeRun();
  void DropLeftovers();
  void SchedulePump();
  void Pump();
  void Attend(std::unique_ptr<QueuedPod> queued);
  void Carry(std::unique_ptr<QueuedPod> queued, Placed placed, std::shared_ptr<Binder::Gang> gang);
  void OnBound(const std::shared_ptr<QueuedPod>& queued, const Placed& placed, Status status);
  void Refuse(std::unique_ptr<QueuedPod> queued, Unplaced unplaced);
  void Report(std::unique_ptr<QueuedPod> queued, const std::string& message);
  bool GiveUpClaim(const state::PodView& pod, const std::vector<state::ClaimPtr>& unavailable);
  void Evict(const state::PodView& preemptor, const Victims& victims);
  // For whom pods are evicted, as conditions and events name it.
  struct Preemptor {
    std::string_view kind;
    std::string uid;
    std::string node;
  };
  void EvictOne(const Preemptor& preemptor, const state::PodPtr& victim);
  [[nodiscard]] std::vector<json::Value> Budgets() const;
  void Write(client::Request request);

  // --- Pod groups (scheduler_groups.cc).
  using QueuedPods = std::vector<std::unique_ptr<QueuedPod>>;
  void AttendGroup(std::unique_ptr<QueuedPod> first);
  void CarryGroup(const state::GroupView& group, QueuedPods queued, GroupOutcome outcome);
  void RefuseGroup(const state::GroupView& group, QueuedPods queued, GroupOutcome outcome);
  void ReportGroup(const state::GroupView& group, QueuedPods queued, const std::string& message);
  std::string PreemptForGroup(const state::GroupView& group, const GroupOutcome& outcome,
                              std::map<std::string, std::string>& nominated);
  // Something about the group or its members changed that may let them be tried.
  void GroupChanged(const std::string& key);
  void TellGroupRuns(const state::PodView& pod);

  // Pods for which it is known that no node takes them, by what they ask for; valid as long as
  // nothing has become looser.
  struct Refusal {
    std::uint64_t loosened = 0;
    std::string message;
    Rejectors rejectors;
  };
  static constexpr std::size_t kRefusalsMax = 4096;
  [[nodiscard]] std::string RefusalKey(const state::PodView& pod) const;

  const Options options_;
  const GroupGates gates_;
  Executor& executor_;
  std::unique_ptr<client::Client> client_;
  Random random_;
  state::ClusterState state_;
  Nominations nominations_;
  SchedulingQueue queue_;
  Cycle cycle_;
  client::EventRecorder recorder_;
  Reporter reporter_;
  Binder binder_;
  GroupCycle group_cycle_;
  state::Follower follower_;
  client::Informer budgets_;
  std::unique_ptr<client::LeaderElector> elector_;
  bool synced_ = false;
  bool leading_ = false;
  bool pump_posted_ = false;
  TimerId pump_timer_ = 0;
  bool held_watched_ = false;  // a timer will tell held pods why
  TimerId held_timer_ = 0;
  std::size_t writes_ = 0;  // evictions and deallocations on their way
  std::uint64_t loosened_ = 1;
  std::unordered_map<std::string, Refusal> refusals_;
  std::unordered_map<std::string, std::unordered_set<std::string>> claim_users_;  // key to uids
  Statistics statistics_;
  std::shared_ptr<int> alive_ = std::make_shared<int>();
};

}  // namespace drachma::scheduler
