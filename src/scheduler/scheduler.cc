#include "scheduler/scheduler.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "client/objects.h"
#include "scheduler/reservation.h"
#include "scheduler/scheduler_impl.h"

namespace drachma::scheduler {
namespace {

using json::Value;

// Pods of one task: then informers and answers get their turn.
constexpr int kPodsPerTask = 32;

const client::Resource kBudgets{"policy", "v1", "poddisruptionbudgets"};

SchedulingQueue::Options QueueOptions(const Options& options) {
  return {.backoff_initial = options.backoff_initial,
          .backoff_max = options.backoff_max,
          .unschedulable_max = options.unschedulable_max};
}

template <typename... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};

}  // namespace

allocator::Options AllocatorOptions(const Options& options) {
  allocator::Options out;
  out.features = allocator::Features::FromGates(options.feature_gates);
  out.order = options.device_order;
  out.selector_errors = options.selector_errors;
  return out;
}

Scheduler::Impl::Impl(Options options, client::ClientFactory& factory, Executor& executor)
    : options_(std::move(options)),
      gates_(GroupGatesOf(options_)),
      executor_(executor),
      client_(factory.NewClient(executor, "drachma-scheduler")),
      random_(options_.seed),
      state_(AllocatorOptions(options_)),
      queue_(QueueOptions(options_)),
      cycle_(state_, nominations_, options_, executor.clock(), random_),
      recorder_(*client_, options_.scheduler_name),
      reporter_(*client_, recorder_),
      binder_(*client_, state_, recorder_, options_),
      group_cycle_(state_, cycle_, nominations_, options_),
      follower_(
          *client_, state_,
          [this](state::Part part, const client::Change& change) { OnChange(part, change); },
          gates_.groups ? state::Follower::Groups::kFollowed : state::Follower::Groups::kIgnored),
      budgets_(*client_, {.resource = kBudgets, .optional = true}) {
  queue_.SetHold([this](const state::PodView& pod) { return cycle_.HoldReason(pod); });
}

Scheduler::Impl::~Impl() {
  executor_.Cancel(pump_timer_);
  executor_.Cancel(held_timer_);
}

void Scheduler::Impl::Start() {
  follower_.Start([this] {
    synced_ = true;
    MaybeRun();
  });
  budgets_.Start([] {});
  if (!options_.leader_election) {
    leading_ = true;
    return;
  }
  elector_ = std::make_unique<client::LeaderElector>(
      *client_, client::LeaderElector::Options{
                    .name = options_.scheduler_name,
                    .identity = fmt::format("drachma_{}_{}", ::getpid(), random_.Uuid())});
  elector_->Start(
      [this] {
        leading_ = true;
        MaybeRun();
      },
      [this] {
        Log(LogLevel::kWarning, "scheduler", "lost the lease: another replica schedules now");
        leading_ = false;
      });
}

bool Scheduler::Impl::AtRest() const {
  return synced_ && queue_.AtRest() && binder_.idle() && reporter_.idle() && recorder_.idle() &&
         !pump_posted_ && !held_watched_ && writes_ == 0;
}

Statistics Scheduler::Impl::statistics() const {
  Statistics statistics = statistics_;
  statistics.conflicts = binder_.conflicts();
  statistics.active = queue_.active();
  statistics.backoff = queue_.backoff();
  statistics.waiting = queue_.waiting();
  statistics.gated = queue_.held();
  statistics.binding = binder_.active();
  return statistics;
}

void Scheduler::Impl::MaybeRun() {
  if (!synced_ || !leading_) return;
  DropLeftovers();
  SchedulePump();
}

// A scheduler that ends between its writes leaves the claim that it made for a pod's extended
// resources; no pod comes to use it, but it would hold its devices as long as the pod lives.
void Scheduler::Impl::DropLeftovers() {
  for (const auto& [key, claim] : state_.claims.all()) {
    const Value* owner = client::ControllerOf(claim->object);
    if (owner == nullptr || claim->deleting ||
        client::AnnotationOf(claim->object, kExtendedClaimAnnotation) != "true") {
      continue;
    }
    const std::string uid((*owner)["uid"].AsString());
    if (queue_.Find(uid) && !binder_.IsActive(uid)) binder_.DeleteExtendedClaim(*claim);
  }
}

void Scheduler::Impl::SchedulePump() {
  if (pump_posted_ || !synced_ || !leading_) return;
  pump_posted_ = true;
  executor_.Post([this, alive = std::weak_ptr(alive_)] {
    if (alive.expired()) return;
    pump_posted_ = false;
    Pump();
  });
}

void Scheduler::Impl::Pump() {
  for (int i = 0; i < kPodsPerTask && leading_; ++i) {
    if (binder_.active() >= options_.bindings_max) return;  // OnBound goes on
    auto queued = queue_.Pop(Now());
    if (!queued) {
      // Nothing to do before the next back-off ends.
      executor_.Cancel(pump_timer_);
      const Time due = queue_.NextDue();
      if (due == Time::max()) return;
      pump_timer_ = executor_.PostAfter(due - Now(), [this, alive = std::weak_ptr(alive_)] {
        if (!alive.expired()) SchedulePump();
      });
      return;
    }
    Attend(std::move(queued));
  }
  SchedulePump();
}

// One attempt for one pod.
void Scheduler::Impl::Attend(std::unique_ptr<QueuedPod> queued) {
  const state::PodPtr pod = queued->pod;
  ++statistics_.attempts;
  if (gates_.groups && !pod->group.empty()) {
    AttendGroup(std::move(queued));
    return;
  }
  const std::string key = RefusalKey(*pod);
  if (const auto known = refusals_.find(key);
      !key.empty() && known != refusals_.end() && known->second.loosened == loosened_) {
    ++statistics_.unschedulable;
    reporter_.NotScheduled(*pod, Reason::kUnschedulable, known->second.message, nullptr);
    queue_.PutUnschedulable(std::move(queued), known->second.rejectors, Now());
    return;
  }
  std::visit(
      Overloaded{[&](Placed placed) {
                   Reserve(state_, pod, placed);
                   Carry(std::move(queued), std::move(placed), nullptr);
                 },
                 [&](Unplaced unplaced) { Refuse(std::move(queued), std::move(unplaced)); },
                 [&](const Postponed& postponed) {
                   queue_.PutPostponed(std::move(queued), postponed.rejectors, Now());
                 },
                 [&](const Errored& errored) { Report(std::move(queued), errored.message); }},
      cycle_.Schedule(pod));
}

// Sends a pod whose place is reserved on its way; members of a gang together.
void Scheduler::Impl::Carry(std::unique_ptr<QueuedPod> queued, Placed placed,
                            std::shared_ptr<Binder::Gang> gang) {
  const state::PodPtr& pod = queued->pod;
  if (!placed.faults.empty()) reporter_.SelectorFaults(*pod, placed.faults);
  const std::string node = state_.nodes.At(placed.node).name;
  nominations_.Remove(pod->uid);
  std::shared_ptr<QueuedPod> shared = std::move(queued);
  Placed kept = placed;
  binder_.Bind(
      {.pod = shared->pod, .placed = std::move(placed), .node = node, .gang = std::move(gang)},
      [this, shared, kept = std::move(kept)](Status status) {
        OnBound(shared, kept, std::move(status));
      });
}

void Scheduler::Impl::OnBound(const std::shared_ptr<QueuedPod>& queued, const Placed& placed,
                              Status status) {
  const std::string uid = queued->pod->uid;
  SchedulePump();
  if (status) {
    ++statistics_.bound;
    reporter_.Forget(uid);
    ForgetUser(*queued->pod);
    TellGroupRuns(*queued->pod);
    return;
  }
  // What was reserved is free again.
  for (const ClaimDecision& decision : placed.allocations) DevicesFreed(&decision.allocation);
  if (placed.extended) DevicesFreed(&placed.extended->allocation);
  const state::NodeIndex node = placed.node;
  Wake({Rejector::kPorts, Rejector::kResources}, [this, node](const state::PodView& pod) {
    return state_.nodes.At(node).exists() &&
           state_.nodes.PlacementOf(pod, node) == state::Placement::kFits;
  });
  const state::PodPtr now = state_.FindPod(uid);
  if (!now || now->deleting || now->terminal || !now->node_name.empty()) {
    ForgetUser(*queued->pod);
    reporter_.Forget(uid);
    return;
  }
  auto again = std::make_unique<QueuedPod>(*queued);
  again->pod = now;
  Report(std::move(again), status.error().message);
}

// The attempt or the binding failed: it is tried again after a back-off.
void Scheduler::Impl::Report(std::unique_ptr<QueuedPod> queued, const std::string& message) {
  ++statistics_.errors;
  reporter_.NotScheduled(*queued->pod, Reason::kSchedulerError, message, nullptr);
  queue_.PutFailed(std::move(queued), message, Now());
}

void Scheduler::Impl::Refuse(std::unique_ptr<QueuedPod> queued, Unplaced unplaced) {
  const state::PodPtr pod = queued->pod;
  ++statistics_.unschedulable;
  if (!unplaced.faults.empty()) reporter_.SelectorFaults(*pod, unplaced.faults);
  const bool gave_up = GiveUpClaim(*pod, unplaced.unavailable);
  const auto victims = cycle_.Preempt(pod, unplaced.diagnosis, Budgets());
  std::string nominated;
  const bool had_nomination =
      nominations_.Find(pod->uid) != nullptr || !pod->nominated_node.empty();
  const bool waits_for_room =
      !victims && unplaced.diagnosis.preemption.starts_with("not eligible due to a terminating");
  if (victims) {
    nominated = state_.nodes.At(victims->node).name;
    Evict(*pod, *victims);
    nominations_.Put({.pod = pod,
                      .node = nominated,
                      .allocations = victims->allocations,
                      .victim_claims = victims->claims});
    ++loosened_;
  } else if (!waits_for_room && had_nomination) {
    nominations_.Remove(pod->uid);
    ++loosened_;
  }
  const std::string message = unplaced.diagnosis.Message();
  const bool tells_nominated = victims.has_value() || (!waits_for_room && had_nomination);
  reporter_.NotScheduled(*pod, Reason::kUnschedulable, message,
                         tells_nominated ? &nominated : nullptr);
  if (!victims && !had_nomination && !gave_up) {
    if (const std::string key = RefusalKey(*pod); !key.empty()) {
      if (refusals_.size() >= kRefusalsMax) refusals_.clear();
      refusals_.insert_or_assign(key, Refusal{loosened_, message, unplaced.diagnosis.rejectors});
    }
  }
  queue_.PutUnschedulable(std::move(queued), unplaced.diagnosis.rejectors, Now());
}

// Equal for pods of which one is refused exactly when the other is; empty when other pods, or
// claims of its own, have a say.
std::string Scheduler::Impl::RefusalKey(const state::PodView& pod) const {
  if (!pod.volume_claims.empty() || !pod.host_ports.empty() || pod.has_pod_affinity ||
      pod.has_topology_spread || state_.nodes.anti_affinity_pods() > 0 ||
      !pod.nominated_node.empty() || nominations_.Find(pod.uid) != nullptr) {
    return {};
  }
  std::string key =
      fmt::format("{} {} {} {} {} {}", pod.placement_id, pod.priority, pod.may_preempt,
                  pod.requests.cpu_milli, pod.requests.memory, pod.requests.ephemeral_storage);
  for (const auto& [id, amount] : pod.requests.others) key += fmt::format(" {}={}", id, amount);
  for (const state::PodClaim& entry : pod.claims) {
    if (!entry.needed) continue;
    const state::ClaimPtr claim = state_.claims.Find(pod.ns + "/" + entry.claim_name);
    if (!claim || claim->allocated() || state_.claims.InFlight(claim->uid)) return {};
    key += fmt::format("\n{} {}", entry.name, claim->spec_id);
  }
  return key;
}

// Deallocates one claim of the pod that no node can use, if the pod is all that keeps it (plugin
// DynamicResources at PostFilter).
bool Scheduler::Impl::GiveUpClaim(const state::PodView& pod,
                                  const std::vector<state::ClaimPtr>& unavailable) {
  for (const state::ClaimPtr& claim : unavailable) {
    const std::size_t others = claim->consumers() - (claim->IsReservedFor(pod.uid) ? 1 : 0);
    if (others > 0 || claim->deleting) continue;
    Value object = claim->object;
    Value& status = object.Edit("status");
    status.Erase("allocation");
    status.Erase("reservedFor");
    status.Erase("devices");
    binder_.TakeFrom(claim, client::UpdateRequest(client::resources::kResourceClaims,
                                                  std::move(object), "status"));
    return true;
  }
  return false;
}

std::vector<Value> Scheduler::Impl::Budgets() const {
  std::vector<Value> budgets;
  for (const auto& [key, budget] : budgets_.objects()) budgets.push_back(budget);
  return budgets;
}

void Scheduler::Impl::Evict(const state::PodView& preemptor, const Victims& victims) {
  const Preemptor by{
      .kind = "pod", .uid = preemptor.uid, .node = state_.nodes.At(victims.node).name};
  for (const state::PodPtr& victim : victims.pods) EvictOne(by, victim);
}

// The condition tells why, then the pod is deleted (plugin DefaultPreemption).
void Scheduler::Impl::EvictOne(const Preemptor& preemptor, const state::PodPtr& victim) {
  if (victim->deleting) return;
  ++statistics_.preemptions;
  Value condition =
      Value::Object({{"type", "DisruptionTarget"},
                     {"status", "True"},
                     {"reason", "PreemptionByScheduler"},
                     {"message", fmt::format("{}: preempting to accommodate a higher priority {}",
                                             options_.scheduler_name, preemptor.kind)},
                     {"lastTransitionTime", FormatTime(Now())}});
  client::Request tell = client::PatchRequest(
      client::resources::kPods, victim->ns, victim->name, client::PatchType::kStrategicMerge,
      Value::Object(
          {{"metadata", Value::Object({{"uid", victim->uid}})},
           {"status", Value::Object({{"conditions", Value::Array({std::move(condition)})}})}}),
      "status");
  recorder_.Record(
      client::ReferenceTo(victim->object), client::EventType::kNormal, "Preempted",
      fmt::format("Preempted by {} {} on node {}", preemptor.kind, preemptor.uid, preemptor.node),
      "Preempting");
  ++writes_;
  client_->Call(std::move(tell), [this, alive = std::weak_ptr(alive_),
                                  victim](const Result<Value>& /*the deletion counts*/) {
    if (alive.expired()) return;
    --writes_;
    Write(client::DeleteRequest(client::resources::kPods, victim->object));
  });
}

void Scheduler::Impl::Write(client::Request request) {
  ++writes_;
  client_->Call(std::move(request),
                [this, alive = std::weak_ptr(alive_)](const Result<Value>& written) {
                  if (alive.expired()) return;
                  --writes_;
                  if (!written && written.error().code != Code::kNotFound) {
                    // The next attempt of the pod that wanted it decides anew.
                    Log(LogLevel::kInfo, "scheduler", "{}", written.error().message);
                  }
                });
}

Scheduler::Scheduler(Options options, client::ClientFactory& factory, Executor& executor)
    : impl_(std::make_unique<Impl>(std::move(options), factory, executor)) {}
Scheduler::~Scheduler() = default;
void Scheduler::Start() { impl_->Start(); }
bool Scheduler::synced() const { return impl_->synced(); }
bool Scheduler::AtRest() const { return impl_->AtRest(); }
Statistics Scheduler::statistics() const { return impl_->statistics(); }

}  // namespace drachma::scheduler
