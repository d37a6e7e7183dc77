#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/executor.h"
#include "client/client.h"
#include "client/event_recorder.h"
#include "scheduler/cycle.h"
#include "scheduler/scheduler.h"
#include "state/cluster_state.h"

namespace drachma::scheduler {

// Carries decisions out: writes finalizers, allocations and reservations of claims, waits until
// their devices are ready, and binds the pod. Many pods at once, each a chain of writes; nothing
// blocks. What fails is undone as far as upstream's Unreserve does: devices in flight are free
// again, reservations are taken back, written allocations stay. After an error that does not say
// whether a write was done (a time-out, say), that is found out first: what was done counts.
//
// Belongs to the client's executor.
class Binder {
 private:
  struct Binding;

 public:
  // Members of a gang that are on their way together. None is bound before so many of them are
  // ready for it that the gang may run; when that cannot happen any more, all of them end with an
  // error and give back what they hold.
  struct Gang {
    std::string group;          // "namespace/name"
    std::size_t needed = 0;     // pods that must be ready before any is bound
    std::size_t under_way = 0;  // pods that are neither ready nor failed
    bool is_first = false;      // no pod of the group had a node before
    std::vector<std::shared_ptr<Binding>> ready;
    std::string fault;  // of the first one that failed
  };

  // A pod on its way. `pod` is assumed on its node, and its new allocations are in flight.
  struct Job {
    state::PodPtr pod;
    Placed placed;
    std::string node;
    std::shared_ptr<Gang> gang = nullptr;  // null: bound by itself
  };
  // ERRORS: the one that ended it. Called once, from a task of the executor.
  using Done = std::move_only_function<void(Status)>;

  // All must outlive the binder.
  Binder(client::Client& client, state::ClusterState& state, client::EventRecorder& recorder,
         const Options& options);
  ~Binder();
  Binder(const Binder&) = delete;
  Binder& operator=(const Binder&) = delete;

  // Between attempts to find out what became of a write.
  static constexpr Duration kFindOutInterval = std::chrono::seconds(1);

  void Bind(Job job, Done done);
  // A claim has a new revision: pods may wait for its devices.
  void ClaimChanged(const std::string& key);

  [[nodiscard]] std::size_t active() const { return active_.size(); }
  [[nodiscard]] bool IsActive(const std::string& pod_uid) const {
    return active_.contains(pod_uid);
  }
  // Clean-up writes on their way.
  [[nodiscard]] bool idle() const { return active_.empty() && cleanups_ == 0; }
  [[nodiscard]] std::uint64_t conflicts() const { return conflicts_; }

  // The uid under which the devices of an extended-resource claim are in flight before it exists.
  [[nodiscard]] static std::string ProvisionalUid(const state::PodView& pod) {
    return pod.uid + "/extended-resources";
  }

  // Deletes the claim for a pod's extended resources, as well as that goes.
  void DeleteExtendedClaim(const state::ClaimView& claim);

  // Takes something from a claim, as well as that goes. Until the outcome is known, no pod is bound
  // by what is known of the claim.
  void TakeFrom(const state::ClaimPtr& claim, client::Request request) {
    TakeFrom(claim, std::move(request), {});
  }

 private:
  struct ClaimWork;
  using BindingPtr = std::shared_ptr<Binding>;
  using Answer = std::move_only_function<void(Result<json::Value>)>;

  void Call(const BindingPtr& binding, client::Request request, Answer answer);
  void CreateExtendedClaim(const BindingPtr& binding);
  void TellExtendedClaim(const BindingPtr& binding);
  void StepClaims(const BindingPtr& binding);
  void StepClaim(const BindingPtr& binding, ClaimWork& work);
  void WriteClaim(const BindingPtr& binding, ClaimWork& work, json::Value object,
                  std::string_view subresource);
  // Whether nobody writes the claim. Otherwise StepClaim comes again once that write has been
  // answered, so that pods which share a claim do not meet as conflicts.
  [[nodiscard]] bool MayGoOn(const BindingPtr& binding, ClaimWork& work);
  void EndTurn(const BindingPtr& binding, ClaimWork& work, std::optional<Status> outcome);
  void TakeFrom(const state::ClaimPtr& claim, client::Request request, Answer answered);
  // Reads until there is an answer.
  void FindOut(client::Request read, Answer answer);
  void ReadAgain(const BindingPtr& binding, ClaimWork& work);
  void Settle(const BindingPtr& binding, ClaimWork& work, Status status);
  void AwaitDevices(const BindingPtr& binding);
  void AwaitGang(const BindingPtr& binding);
  void Decide(const std::shared_ptr<Gang>& gang);
  void BindPod(const BindingPtr& binding);
  void OnPodBound(const BindingPtr& binding, Status status);
  void Finish(const BindingPtr& binding, Status status);
  void Unreserve(Binding& binding);
  void TakeBackReservation(const Binding& binding, const ClaimWork& work);
  void CleanUp(client::Request request);
  [[nodiscard]] bool IsReserved(const state::ClaimView& claim, const state::PodView& pod) const;

  client::Client& client_;
  state::ClusterState& state_;
  client::EventRecorder& recorder_;
  const Options& options_;
  const GroupGates gates_;
  std::unordered_map<std::string, BindingPtr> active_;  // by pod uid
  // Claims that are being written, by uid, with what waits for it.
  std::unordered_map<std::string, std::vector<Task>> writing_;
  std::size_t cleanups_ = 0;
  std::uint64_t conflicts_ = 0;
  std::shared_ptr<int> alive_ = std::make_shared<int>();
};

}  // namespace drachma::scheduler
