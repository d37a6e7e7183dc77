#include "scheduler/binder.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "client/objects.h"
#include "client/status_error.h"
#include "scheduler/binding_conditions.h"
#include "scheduler/groups.h"
#include "scheduler/reservation.h"

namespace drachma::scheduler {
namespace {

using client::Request;
using client::Verb;
using json::Value;

constexpr std::string_view kFinalizer = "resource.kubernetes.io/delete-protection";
// Attempts at a write that meets a newer revision (client-go's retry.DefaultRetry), or of which
// nobody says whether it was done.
constexpr int kAttemptsMax = 5;

// Whether the request may have been carried out all the same.
bool IsUncertain(const Error& error) {
  return error.code == Code::kTimeout || error.code == Code::kUnavailable ||
         error.code == Code::kInternal || error.code == Code::kUnknown;
}

// The claim's status with one more consumer, and the allocation when it is new.
Value StatusWith(const state::ClaimView& claim, const Value& consumer,
                 const std::optional<api::AllocationResult>& allocation, const std::string& now) {
  Value status = claim.object["status"];
  if (allocation) status.Set("allocation", allocation->ToJson());
  if (!claim.IsReservedFor(consumer["uid"].AsString())) {
    status.Edit("reservedFor").Append(consumer);
  }
  const api::AllocationResult* devices =
      allocation ? &*allocation : (claim.claim.allocation ? &*claim.claim.allocation : nullptr);
  if (devices != nullptr && HasBindingConditions(*devices) &&
      !status["allocation"].Has("allocationTimestamp")) {
    status.Edit("allocation").Set("allocationTimestamp", now);
  }
  return status;
}

bool SameDevices(const api::AllocationResult& a, const api::AllocationResult& b) {
  return std::ranges::equal(a.results, b.results, [](const auto& x, const auto& y) {
    return std::tie(x.request, x.driver, x.pool, x.device, x.share_id) ==
           std::tie(y.request, y.driver, y.pool, y.device, y.share_id);
  });
}

}  // namespace

// One claim of a pod that is being bound.
struct Binder::ClaimWork {
  state::ClaimPtr claim;
  std::optional<api::AllocationResult> allocation;  // to be written
  int attempts = 0;                                 // writes that failed
  Error fault;                                      // of the last one
  bool settled = false;
  bool wrote_allocation = false;
};

struct Binder::Binding {
  Job job;
  Done done;
  std::vector<ClaimWork> claims;  // fixed once the first one is written
  state::ClaimPtr extended;       // the claim created for extended resources
  std::size_t unsettled = 0;
  Status status;  // the first error
  bool awaiting = false;
  bool told_pending = false;
  bool met_gang = false;  // it is no longer under way in its gang
  TimerId timer = 0;
};

Binder::Binder(client::Client& client, state::ClusterState& state, client::EventRecorder& recorder,
               const Options& options)
    : client_(client),
      state_(state),
      recorder_(recorder),
      options_(options),
      gates_(GroupGatesOf(options)) {}

Binder::~Binder() {
  for (const auto& [uid, binding] : active_) client_.executor().Cancel(binding->timer);
}

void Binder::Bind(Job job, Done done) {
  auto binding = std::make_shared<Binding>();
  binding->job = std::move(job);
  binding->done = std::move(done);
  active_.emplace(binding->job.pod->uid, binding);
  const Placed& placed = binding->job.placed;
  for (const ClaimDecision& decision : placed.allocations) {
    binding->claims.push_back({.claim = decision.claim, .allocation = decision.allocation});
  }
  for (const state::ClaimPtr& claim : placed.allocated)
    binding->claims.push_back({.claim = claim, .allocation = {}});
  if (placed.extended) {
    CreateExtendedClaim(binding);
  } else {
    StepClaims(binding);
  }
}

void Binder::Call(const BindingPtr& binding, Request request, Answer answer) {
  client_.Call(std::move(request), [alive = std::weak_ptr(alive_), binding,
                                    answer = std::move(answer)](Result<Value> result) mutable {
    if (!alive.expired()) answer(std::move(result));
  });
}

void Binder::CreateExtendedClaim(const BindingPtr& binding) {
  const ExtendedDecision& extended = *binding->job.placed.extended;
  Call(binding,
       client::CreateRequest(client::resources::kResourceClaims, binding->job.pod->ns,
                             extended.extended.claim),
       [this, binding](Result<Value> created) {
         if (!created) {
           Finish(binding, std::unexpected(std::move(created).error()));
           return;
         }
         const api::AllocationResult& allocation = binding->job.placed.extended->allocation;
         binding->extended = state_.claims.AssumeCreated(*created);
         const std::string& holder = binding->job.pod->uid;
         state_.claims.BeginFlight(*binding->extended, allocation, holder);
         state_.claims.EndFlight(ProvisionalUid(*binding->job.pod), holder);
         binding->claims.push_back({.claim = binding->extended, .allocation = allocation});
         StepClaims(binding);
       });
}

// Tells the kubelet by the pod's status which container gets which request.
void Binder::TellExtendedClaim(const BindingPtr& binding) {
  const state::PodView& pod = *binding->job.pod;
  Value status = Value::Object(
      {{"extendedResourceClaimStatus",
        Value::Object({{"requestMappings", binding->job.placed.extended->extended.mappings},
                       {"resourceClaimName", binding->extended->name}})}});
  Call(binding,
       client::PatchRequest(client::resources::kPods, pod.ns, pod.name,
                            client::PatchType::kStrategicMerge,
                            Value::Object({{"metadata", Value::Object({{"uid", pod.uid}})},
                                           {"status", std::move(status)}}),
                            "status"),
       [this, binding](Result<Value> patched) {
         if (patched) {
           AwaitDevices(binding);
         } else {
           Finish(binding, std::unexpected(std::move(patched).error()));
         }
       });
}

void Binder::StepClaims(const BindingPtr& binding) {
  binding->unsettled = binding->claims.size();
  if (binding->claims.empty()) {
    AwaitGang(binding);
    return;
  }
  for (ClaimWork& work : binding->claims) StepClaim(binding, work);
}

// The next write that the claim needs: the finalizer by itself, then allocation and reservation in
// one status write.
void Binder::StepClaim(const BindingPtr& binding, ClaimWork& work) {
  if (!MayGoOn(binding, work)) return;
  const state::ClaimView& claim = *work.claim;
  const state::PodView& pod = *binding->job.pod;
  if (claim.deleting) {
    Settle(binding, work,
           Fail(Code::kConflict, fmt::format("claim {} got deleted in the meantime", claim.key())));
    return;
  }
  // Another member of the group may have written the allocation that they share.
  const bool shared = work.allocation && claim.allocated() &&
                      SameDevices(*claim.claim.allocation, *work.allocation);
  if (work.allocation && !shared) {
    if (claim.allocated()) {
      Settle(binding, work,
             Fail(Code::kConflict,
                  fmt::format("claim {} got allocated elsewhere in the meantime", claim.key())));
      return;
    }
    if (!client::HasFinalizer(claim.object, kFinalizer)) {
      Value object = claim.object;
      object.Edit("metadata").Edit("finalizers").Append(kFinalizer);
      WriteClaim(binding, work, std::move(object), "");
      return;
    }
  } else if (!claim.allocated()) {
    Settle(binding, work,
           Fail(Code::kConflict,
                fmt::format("claim {} lost its allocation in the meantime", claim.key())));
    return;
  } else if (IsReserved(claim, pod)) {
    Settle(binding, work, {});
    return;
  }
  const Value consumer = ConsumerReference(pod, ReservingGroup(state_, claim, pod, gates_));
  work.wrote_allocation = work.wrote_allocation || (work.allocation && !shared);
  Value object = claim.object;
  object.Set("status", StatusWith(claim, consumer, shared ? std::nullopt : work.allocation,
                                  FormatTime(client_.executor().clock().Now())));
  WriteClaim(binding, work, std::move(object), "status");
}

bool Binder::MayGoOn(const BindingPtr& binding, ClaimWork& work) {
  const auto turn = writing_.find(work.claim->uid);
  if (turn == writing_.end()) return true;
  turn->second.emplace_back([this, binding, &work] {
    const state::ClaimPtr newest = state_.claims.Find(work.claim->key());
    if (newest && newest->uid == work.claim->uid) work.claim = newest;
    StepClaim(binding, work);
  });
  return false;
}

// The one who wrote goes on first.
void Binder::EndTurn(const BindingPtr& binding, ClaimWork& work, std::optional<Status> outcome) {
  auto turn = writing_.extract(work.claim->uid);
  if (outcome) {
    Settle(binding, work, *std::move(outcome));
  } else {
    StepClaim(binding, work);
  }
  for (Task& next : turn.mapped()) next();
}

// REQUIRES: nobody writes the claim.
void Binder::WriteClaim(const BindingPtr& binding, ClaimWork& work, Value object,
                        std::string_view subresource) {
  if (work.attempts >= kAttemptsMax) return Settle(binding, work, std::unexpected(work.fault));
  writing_.try_emplace(work.claim->uid);
  const bool status_write = subresource == "status";
  Call(binding,
       client::UpdateRequest(client::resources::kResourceClaims, std::move(object), subresource),
       [this, binding, &work, status_write](Result<Value> written) {
         if (written) {
           work.claim = state_.AssumeClaim(*written);
           return EndTurn(binding, work, status_write ? std::optional(Status()) : std::nullopt);
         }
         work.fault = std::move(written.error());
         const bool conflicts = client::IsConflict(work.fault);
         conflicts_ += conflicts ? 1 : 0;
         ++work.attempts;
         if (conflicts || IsUncertain(work.fault)) return ReadAgain(binding, work);
         EndTurn(binding, work, std::unexpected(work.fault));
       });
}

void Binder::ReadAgain(const BindingPtr& binding, ClaimWork& work) {
  FindOut(client::GetRequest(client::resources::kResourceClaims, work.claim->ns, work.claim->name),
          [this, binding, &work](Result<Value> read) {
            if (!read) {
              return EndTurn(binding, work, std::unexpected(std::move(read).error()));
            }
            if (client::UidOf(*read) != work.claim->uid) {
              return EndTurn(
                  binding, work,
                  Fail(Code::kConflict,
                       fmt::format("claim {} got deleted in the meantime", work.claim->key())));
            }
            work.claim = state_.AssumeClaim(*read);
            EndTurn(binding, work, std::nullopt);
          });
}

void Binder::FindOut(Request read, Answer answer) {
  client_.Call(read, [this, alive = std::weak_ptr(alive_), read,
                      answer = std::move(answer)](Result<Value> result) mutable {
    if (alive.expired()) return;
    const bool answered =
        result || !(IsUncertain(result.error()) || result.error().code == Code::kTooManyRequests);
    if (answered) return answer(std::move(result));
    client_.executor().PostAfter(kFindOutInterval,
                                 [this, alive = std::move(alive), read = std::move(read),
                                  answer = std::move(answer)]() mutable {
                                   if (!alive.expired())
                                     FindOut(std::move(read), std::move(answer));
                                 });
  });
}

void Binder::Settle(const BindingPtr& binding, ClaimWork& work, Status status) {
  work.settled = true;
  if (!status && binding->status) binding->status = std::move(status);
  if (--binding->unsettled > 0) return;
  // What was written counts as written from here on.
  for (const ClaimWork& claim : binding->claims) {
    if (claim.allocation) state_.claims.EndFlight(claim.claim->uid, binding->job.pod->uid);
  }
  if (!binding->status) {
    Finish(binding, std::exchange(binding->status, {}));
  } else if (binding->extended) {
    TellExtendedClaim(binding);
  } else {
    AwaitDevices(binding);
  }
}

// Goes on once the devices of all claims are ready (plugin DynamicResources at PreBind).
void Binder::AwaitDevices(const BindingPtr& binding) {
  binding->awaiting = false;
  client_.executor().Cancel(binding->timer);
  const Time now = client_.executor().clock().Now();
  Time deadline = Time::max();
  for (const ClaimWork& work : binding->claims) {
    const state::ClaimPtr claim = state_.claims.Find(work.claim->key());
    if (!claim || claim->uid != work.claim->uid || !claim->allocated()) {
      Finish(binding, Fail(Code::kConflict,
                           fmt::format("claim {} got deleted in the meantime", work.claim->key())));
      return;
    }
    BindingState phase = JudgeBinding(*claim, now, options_.binding_timeout);
    switch (phase.phase) {
      case BindingState::Phase::kReady:
        break;
      case BindingState::Phase::kPending:
        deadline = std::min(deadline, phase.deadline);
        break;
      case BindingState::Phase::kFailed:
      case BindingState::Phase::kTimedOut:
        Finish(binding, Fail(Code::kInternal, std::move(phase.message)));
        return;
    }
  }
  if (deadline == Time::max()) {
    AwaitGang(binding);
    return;
  }
  if (!std::exchange(binding->told_pending, true)) {
    recorder_.Record(
        client::ReferenceTo(binding->job.pod->object), client::EventType::kNormal,
        "BindingConditionsPending",
        fmt::format("waiting for binding conditions for device on node {}", binding->job.node),
        "Scheduling");
  }
  binding->awaiting = true;
  binding->timer =
      client_.executor().PostAfter(deadline - now, [this, alive = std::weak_ptr(alive_), binding] {
        if (!alive.expired() && binding->awaiting) AwaitDevices(binding);
      });
}

void Binder::ClaimChanged(const std::string& key) {
  std::vector<BindingPtr> concerned;
  for (const auto& [uid, binding] : active_) {
    if (binding->awaiting && std::ranges::any_of(binding->claims, [&key](const ClaimWork& work) {
          return work.claim->key() == key;
        })) {
      concerned.push_back(binding);
    }
  }
  for (const BindingPtr& binding : concerned) AwaitDevices(binding);
}

// A member waits until enough of its gang have come so far; each of them comes here or fails, since
// calls end and devices have a time-out.
void Binder::AwaitGang(const BindingPtr& binding) {
  const std::shared_ptr<Gang>& gang = binding->job.gang;
  if (!gang) {
    BindPod(binding);
    return;
  }
  binding->met_gang = true;
  gang->ready.push_back(binding);
  --gang->under_way;
  Decide(gang);
}

void Binder::Decide(const std::shared_ptr<Gang>& gang) {
  const bool enough = gang->ready.size() >= gang->needed;
  if (!enough && gang->ready.size() + gang->under_way >= gang->needed) return;
  const std::vector<BindingPtr> ready = std::exchange(gang->ready, {});
  if (enough) {
    gang->needed = 0;  // who comes later goes on at once
    for (const BindingPtr& binding : ready) BindPod(binding);
    return;
  }
  for (const BindingPtr& binding : ready) {
    Finish(binding, Fail(Code::kConflict, fmt::format("pod group {} cannot be bound: {}",
                                                      gang->group, gang->fault)));
  }
}

void Binder::BindPod(const BindingPtr& binding) {
  const state::PodView& pod = *binding->job.pod;
  Value body = Value::Object(
      {{"apiVersion", "v1"},
       {"kind", "Binding"},
       {"metadata", Value::Object({{"name", pod.name}, {"namespace", pod.ns}, {"uid", pod.uid}})},
       {"target", Value::Object({{"kind", "Node"}, {"name", binding->job.node}})}});
  Request request = client::CreateRequest(client::resources::kPods, pod.ns, std::move(body));
  request.name = pod.name;
  request.subresource = "binding";
  Call(binding, std::move(request), [this, binding](Result<Value> bound) {
    if (bound) return OnPodBound(binding, {});
    const bool uncertain = IsUncertain(bound.error());
    Status fault = std::unexpected(std::move(bound).error());
    if (!uncertain) return OnPodBound(binding, std::move(fault));
    const state::PodView& pod = *binding->job.pod;
    FindOut(client::GetRequest(client::resources::kPods, pod.ns, pod.name),
            [this, binding, fault = std::move(fault)](const Result<Value>& read) mutable {
              const bool done = read && client::UidOf(*read) == binding->job.pod->uid &&
                                (*read)["spec"]["nodeName"].AsString() == binding->job.node;
              OnPodBound(binding, done ? Status() : std::move(fault));
            });
  });
}

void Binder::OnPodBound(const BindingPtr& binding, Status status) {
  const state::PodView& pod = *binding->job.pod;
  if (status) {
    recorder_.Record(client::ReferenceTo(pod.object), client::EventType::kNormal, "Scheduled",
                     fmt::format("Successfully assigned {} to {}", pod.key(), binding->job.node),
                     "Binding");
  }
  Finish(binding, std::move(status));
}

bool Binder::IsReserved(const state::ClaimView& claim, const state::PodView& pod) const {
  const state::GroupPtr group = ReservingGroup(state_, claim, pod, gates_);
  return claim.IsReservedFor(group ? group->uid : pod.uid);
}

void Binder::Finish(const BindingPtr& binding, Status status) {
  if (!status) Unreserve(*binding);
  active_.erase(binding->job.pod->uid);
  const std::shared_ptr<Gang> gang = binding->job.gang;
  // The fault of one that was on its way may be the end of those that wait.
  const bool counts = gang && !binding->met_gang && !status;
  if (counts) {
    binding->met_gang = true;
    --gang->under_way;
    if (gang->fault.empty()) {
      gang->fault = fmt::format("pod {}: {}", binding->job.pod->key(), status.error().message);
    }
  }
  binding->done(std::move(status));
  if (counts) Decide(gang);
}

void Binder::Unreserve(Binding& binding) {
  const state::PodView& pod = *binding.job.pod;
  scheduler::Unreserve(state_, pod, binding.job.placed);
  for (const ClaimWork& work : binding.claims) {
    if (work.claim != binding.extended) TakeBackReservation(binding, work);
  }
  if (binding.extended) {
    state_.claims.EndFlight(binding.extended->uid, pod.uid);
    DeleteExtendedClaim(*binding.extended);
  }
}

// Upstream keeps what is reserved for a group, and the allocation. So does this, but for a gang of
// which no pod runs: two gangs that each hold what the other lacks would wait for ever.
void Binder::TakeBackReservation(const Binding& binding, const ClaimWork& work) {
  const state::PodView& pod = *binding.job.pod;
  const state::GroupPtr group = ReservingGroup(state_, *work.claim, pod, gates_);
  const bool gives_all_back = binding.job.gang && binding.job.gang->is_first;
  if (group && !gives_all_back) return;
  const std::string& uid = group ? group->uid : pod.uid;
  if (!work.claim->IsReservedFor(uid)) return;
  Answer deallocate;
  if (gives_all_back && work.wrote_allocation) {
    deallocate = [this, claim = work.claim](Result<Value> left) {
      if (!left || !(*left)["status"]["reservedFor"].empty()) return;
      Value& status = left->Edit("status");
      status.Erase("allocation");
      status.Erase("devices");
      TakeFrom(claim, client::UpdateRequest(client::resources::kResourceClaims, *std::move(left),
                                            "status"));
    };
  }
  Value consumer = Value::Object({{"$patch", "delete"}, {"uid", uid}});
  TakeFrom(
      work.claim,
      client::PatchRequest(
          client::resources::kResourceClaims, work.claim->ns, work.claim->name,
          client::PatchType::kStrategicMerge,
          Value::Object(
              {{"metadata", Value::Object({{"uid", work.claim->uid}})},
               {"status", Value::Object({{"reservedFor", Value::Array({std::move(consumer)})}})}}),
          "status"),
      std::move(deallocate));
}

void Binder::TakeFrom(const state::ClaimPtr& claim, Request request, Answer answered) {
  if (const auto turn = writing_.find(claim->uid); turn != writing_.end()) {
    turn->second.emplace_back(
        [this, claim, request = std::move(request), answered = std::move(answered)]() mutable {
          TakeFrom(claim, std::move(request), std::move(answered));
        });
    return;
  }
  ++cleanups_;
  writing_.try_emplace(claim->uid);
  auto done = [this, claim, answered = std::move(answered)](Result<Value> result) mutable {
    --cleanups_;
    if (result && client::UidOf(*result) == claim->uid) state_.AssumeClaim(*result);
    // What is to follow comes before those who wait.
    auto waiting = writing_.extract(claim->uid);
    if (answered) answered(std::move(result));
    for (Task& next : waiting.mapped()) next();
  };
  client_.Call(std::move(request), [this, alive = std::weak_ptr(alive_), claim,
                                    done = std::move(done)](Result<Value> result) mutable {
    if (alive.expired()) return;
    if (result || !IsUncertain(result.error())) return done(std::move(result));
    FindOut(client::GetRequest(client::resources::kResourceClaims, claim->ns, claim->name),
            std::move(done));
  });
}

void Binder::CleanUp(Request request) {
  ++cleanups_;
  client_.Call(std::move(request),
               [this, alive = std::weak_ptr(alive_)](const Result<Value>& /*best effort*/) {
                 if (!alive.expired()) --cleanups_;
               });
}

// The finalizer goes first: nobody else removes it from a claim without consumers.
void Binder::DeleteExtendedClaim(const state::ClaimView& claim) {
  ++cleanups_;
  Request unprotect = client::PatchRequest(
      client::resources::kResourceClaims, claim.ns, claim.name, client::PatchType::kMerge,
      Value::Object({{"metadata", Value::Object({{"uid", claim.uid}, {"finalizers", Value()}})}}));
  Request remove = client::DeleteRequest(client::resources::kResourceClaims, claim.object);
  client_.Call(std::move(unprotect), [this, alive = std::weak_ptr(alive_),
                                      remove](const Result<Value>& /*best effort*/) mutable {
    if (alive.expired()) return;
    --cleanups_;
    CleanUp(std::move(remove));
  });
}

}  // namespace drachma::scheduler
