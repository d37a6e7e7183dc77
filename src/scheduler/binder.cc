#include "scheduler/binder.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "client/objects.h"
#include "client/status_error.h"
#include "scheduler/binding_conditions.h"

namespace drachma::scheduler {
namespace {

using client::Request;
using client::Verb;
using json::Value;

constexpr std::string_view kFinalizer = "resource.kubernetes.io/delete-protection";
// Attempts at a write that meets a newer revision (client-go's retry.DefaultRetry).
constexpr int kConflictsMax = 5;

// The claim's status with the pod as one more consumer, and the allocation when it is new.
Value StatusWith(const state::ClaimView& claim, const state::PodView& pod,
                 const std::optional<api::AllocationResult>& allocation, const std::string& now) {
  Value status = claim.object["status"];
  if (allocation) status.Set("allocation", allocation->ToJson());
  if (!claim.IsReservedFor(pod.uid)) {
    status.Edit("reservedFor")
        .Append(Value::Object({{"resource", "pods"}, {"name", pod.name}, {"uid", pod.uid}}));
  }
  const api::AllocationResult* devices =
      allocation ? &*allocation : (claim.claim.allocation ? &*claim.claim.allocation : nullptr);
  if (devices != nullptr && HasBindingConditions(*devices) &&
      !status["allocation"].Has("allocationTimestamp")) {
    status.Edit("allocation").Set("allocationTimestamp", now);
  }
  return status;
}

}  // namespace

// One claim of a pod that is being bound.
struct Binder::ClaimWork {
  state::ClaimPtr claim;
  std::optional<api::AllocationResult> allocation;  // to be written
  int conflicts = 0;
  bool settled = false;
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
  TimerId timer = 0;
};

Binder::Binder(client::Client& client, state::ClusterState& state, client::EventRecorder& recorder,
               const Options& options)
    : client_(client), state_(state), recorder_(recorder), options_(options) {}

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
         state_.claims.BeginFlight(*binding->extended, allocation);
         state_.claims.EndFlight(ProvisionalUid(*binding->job.pod));
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
    BindPod(binding);
    return;
  }
  for (ClaimWork& work : binding->claims) StepClaim(binding, work);
}

// The next write that the claim needs: the finalizer by itself, then allocation and reservation in
// one status write.
void Binder::StepClaim(const BindingPtr& binding, ClaimWork& work) {
  const state::ClaimView& claim = *work.claim;
  const state::PodView& pod = *binding->job.pod;
  if (claim.deleting) {
    Settle(binding, work,
           Fail(Code::kConflict, fmt::format("claim {} got deleted in the meantime", claim.key())));
    return;
  }
  if (work.allocation) {
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
  } else if (claim.IsReservedFor(pod.uid)) {
    Settle(binding, work, {});
    return;
  }
  Value object = claim.object;
  object.Set("status",
             StatusWith(claim, pod, work.allocation, FormatTime(client_.executor().clock().Now())));
  WriteClaim(binding, work, std::move(object), "status");
}

void Binder::WriteClaim(const BindingPtr& binding, ClaimWork& work, Value object,
                        std::string_view subresource) {
  const bool status_write = subresource == "status";
  Call(binding,
       client::UpdateRequest(client::resources::kResourceClaims, std::move(object), subresource),
       [this, binding, &work, status_write](Result<Value> written) {
         if (!written) {
           if (client::IsConflict(written.error()) && ++work.conflicts < kConflictsMax) {
             ++conflicts_;
             ReadAgain(binding, work);
           } else {
             Settle(binding, work, std::unexpected(std::move(written).error()));
           }
           return;
         }
         work.claim = state_.claims.Assume(*written);
         if (status_write) {
           Settle(binding, work, {});
         } else {
           StepClaim(binding, work);
         }
       });
}

void Binder::ReadAgain(const BindingPtr& binding, ClaimWork& work) {
  Call(binding,
       client::GetRequest(client::resources::kResourceClaims, work.claim->ns, work.claim->name),
       [this, binding, &work](Result<Value> read) {
         if (!read) {
           Settle(binding, work, std::unexpected(std::move(read).error()));
           return;
         }
         if (client::UidOf(*read) != work.claim->uid) {
           Settle(binding, work,
                  Fail(Code::kConflict,
                       fmt::format("claim {} got deleted in the meantime", work.claim->key())));
           return;
         }
         work.claim = state_.claims.Assume(*read);
         StepClaim(binding, work);
       });
}

void Binder::Settle(const BindingPtr& binding, ClaimWork& work, Status status) {
  work.settled = true;
  if (!status && binding->status) binding->status = std::move(status);
  if (--binding->unsettled > 0) return;
  // What was written counts as written from here on.
  for (const ClaimWork& claim : binding->claims) {
    if (claim.allocation) state_.claims.EndFlight(claim.claim->uid);
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
    BindPod(binding);
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
    if (!bound) {
      Finish(binding, std::unexpected(std::move(bound).error()));
      return;
    }
    const state::PodView& pod = *binding->job.pod;
    recorder_.Record(client::ReferenceTo(pod.object), client::EventType::kNormal, "Scheduled",
                     fmt::format("Successfully assigned {} to {}", pod.key(), binding->job.node),
                     "Binding");
    Finish(binding, {});
  });
}

void Binder::Finish(const BindingPtr& binding, Status status) {
  if (!status) Unreserve(*binding);
  active_.erase(binding->job.pod->uid);
  binding->done(std::move(status));
}

void Binder::Unreserve(Binding& binding) {
  const state::PodView& pod = *binding.job.pod;
  state_.claims.EndFlight(ProvisionalUid(pod));
  for (const ClaimDecision& decision : binding.job.placed.allocations) {
    state_.claims.EndFlight(decision.claim->uid);
    state_.DevicesChanged(decision.allocation);
  }
  if (binding.job.placed.extended) state_.DevicesChanged(binding.job.placed.extended->allocation);
  state_.nodes.RemovePod(pod.uid);
  for (const ClaimWork& work : binding.claims) {
    if (work.claim == binding.extended || !work.claim->IsReservedFor(pod.uid)) continue;
    Value consumer = Value::Object({{"$patch", "delete"}, {"uid", pod.uid}});
    CleanUp(client::PatchRequest(
        client::resources::kResourceClaims, work.claim->ns, work.claim->name,
        client::PatchType::kStrategicMerge,
        Value::Object(
            {{"metadata", Value::Object({{"uid", work.claim->uid}})},
             {"status", Value::Object({{"reservedFor", Value::Array({std::move(consumer)})}})}}),
        "status"));
  }
  if (binding.extended) {
    state_.claims.EndFlight(binding.extended->uid);
    DeleteExtendedClaim(*binding.extended);
  }
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
