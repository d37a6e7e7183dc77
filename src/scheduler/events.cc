// What changes of the cluster mean to pods that wait: upstream's event handlers and queueing hints.

#include <algorithm>
#include <utility>

#include "client/objects.h"
#include "scheduler/scheduler_impl.h"

namespace drachma::scheduler {
namespace {

using client::Change;
using json::Value;
using state::Part;

// How long a pod is held before its condition says why: claims of templates take a moment.
constexpr Duration kHeldSilently = std::chrono::seconds(2);

bool IsAnything(const state::PodView& /*pod*/) { return true; }

// Whether the scheduler may see the node differently: heartbeats change neither.
bool NodeMayTakeMore(const Value& before, const Value& after) {
  const auto differs = [&](std::string_view part, std::string_view member) {
    return !(before[part][member] == after[part][member]);
  };
  return differs("metadata", "labels") || differs("spec", "taints") ||
         differs("spec", "unschedulable") || differs("status", "allocatable") ||
         differs("status", "declaredFeatures");
}

bool FitsEmptyNode(const state::PodView& pod, const state::NodeInfo& node) {
  const state::Amounts& have = node.allocatable;
  const state::Amounts& wanted = pod.requests;
  return wanted.cpu_milli <= have.cpu_milli && wanted.memory <= have.memory &&
         wanted.ephemeral_storage <= have.ephemeral_storage;
}

// The name of the one node that an allocation is for; empty when others may reach its devices.
std::string NodeOf(const api::AllocationResult& allocation) {
  const auto& selector = allocation.node_selector;
  if (!selector || selector->terms.size() != 1 || !selector->terms[0].match_expressions.empty() ||
      selector->terms[0].match_fields.size() != 1) {
    return {};
  }
  const auto& values = selector->terms[0].match_fields[0].values;
  return values.size() == 1 ? values[0] : std::string();
}

}  // namespace

void Scheduler::Impl::OnChange(Part part, const Change& change) {
  switch (part) {
    case Part::kPod:
      OnPod(change);
      if (gates_.groups) OnMember(change);
      break;
    case Part::kNode:
      OnNode(change);
      break;
    case Part::kClaim:
      OnClaim(change);
      break;
    case Part::kSlice:
      Wake({Rejector::kDevices, Rejector::kClaimNode}, IsAnything);
      break;
    case Part::kClass:
      cycle_.ClassesChanged();
      Wake({Rejector::kDevices, Rejector::kClass, Rejector::kResources}, IsAnything);
      break;
    case Part::kTaintRule:
      Wake({Rejector::kDevices}, IsAnything);
      break;
    case Part::kNamespace:
      Wake({Rejector::kPodAffinity},
           [](const state::PodView& pod) { return pod.has_pod_affinity; });
      break;
    case Part::kPodGroup:
      if (change.type != Change::Type::kUpdated ||
          !(change.old_object["spec"] == change.object["spec"])) {
        GroupChanged(client::KeyOf(change.object));
      }
      break;
    case Part::kVolumeClaim:
    case Part::kVolume:
    case Part::kStorageClass:
      Wake({Rejector::kVolumes}, IsAnything);
      break;
  }
  SchedulePump();
}

void Scheduler::Impl::OnPod(const Change& change) {
  const std::string uid(client::UidOf(change.object));
  if (change.type == Change::Type::kDeleted) {
    Dequeue(uid);
    PodLeft(change.object);
    return;
  }
  const state::PodPtr pod = state_.FindPod(uid);
  if (!pod) return;
  nominations_.Refresh(pod);
  if (pod->node_name.empty()) {
    if (pod->terminal || pod->deleting) {
      Dequeue(uid);
    } else if (pod->scheduler_name == options_.scheduler_name && !HasPlace(uid)) {
      Enqueue(pod);
    }
    return;
  }
  Dequeue(uid);
  if (pod->terminal) {
    if (!client::IsPodTerminal(change.old_object)) PodLeft(change.object);
    return;
  }
  const bool is_new = change.type == Change::Type::kAdded ||
                      change.old_object["spec"]["nodeName"].AsString().empty();
  if (is_new || !(change.old_object["metadata"]["labels"] == change.object["metadata"]["labels"])) {
    Wake({Rejector::kSpread, Rejector::kPodAffinity}, IsAnything);
  }
  if (!is_new &&
      !(change.old_object["spec"]["containers"] == change.object["spec"]["containers"])) {
    Wake({Rejector::kResources}, IsAnything);  // an in-place resize
  }
}

// One more member, or one that has got a node: the others may be tried.
void Scheduler::Impl::OnMember(const Change& change) {
  const state::PodPtr pod = state_.FindPod(client::UidOf(change.object));
  if (!pod || pod->group.empty() || change.type == Change::Type::kDeleted) return;
  const bool counts = change.type == Change::Type::kAdded ||
                      !(change.old_object["spec"]["nodeName"] == change.object["spec"]["nodeName"]);
  if (!counts) return;
  // Once the gang runs, one more is tried for itself and helps nobody.
  const state::GroupPtr group = state_.groups.Find(pod->group_key());
  if (group && ScheduledMembers(state_, *group) < group->min_count) GroupChanged(group->key());
}

// A pod gives back its node's room.
void Scheduler::Impl::PodLeft(const Value& pod) {
  const std::string_view node_name = pod["spec"]["nodeName"].AsString();
  const state::NodeIndex* node = state_.nodes.Find(node_name);
  if (node == nullptr) return;
  Wake({Rejector::kPorts, Rejector::kResources, Rejector::kSpread, Rejector::kPodAffinity,
        Rejector::kVolumes},
       [this, node = *node](const state::PodView& waiting) {
         return waiting.has_pod_affinity || waiting.has_topology_spread ||
                state_.nodes.PlacementOf(waiting, node) == state::Placement::kFits;
       });
}

void Scheduler::Impl::OnNode(const Change& change) {
  if (change.type == Change::Type::kDeleted) {
    // Fewer nodes may even out a spread.
    Wake({Rejector::kSpread}, IsAnything);
    return;
  }
  if (change.type == Change::Type::kUpdated && !NodeMayTakeMore(change.old_object, change.object)) {
    return;
  }
  const state::NodeIndex index = *state_.nodes.Find(client::NameOf(change.object));
  Wake({Rejector::kPlacement, Rejector::kPorts, Rejector::kResources, Rejector::kSpread,
        Rejector::kPodAffinity, Rejector::kDevices, Rejector::kClaimNode, Rejector::kVolumes},
       [this, index](const state::PodView& pod) {
         return state_.nodes.PlacementOf(pod, index) == state::Placement::kFits &&
                FitsEmptyNode(pod, state_.nodes.At(index));
       });
}

void Scheduler::Impl::OnClaim(const Change& change) {
  const std::string key = client::KeyOf(change.object);
  const Value& before = change.old_object["status"]["allocation"];
  const bool is_allocated =
      change.type != Change::Type::kDeleted && change.object["status"].Has("allocation");
  if (!before.IsNull() && !is_allocated) {
    const auto allocation = api::AllocationResult::FromJson(before);
    DevicesFreed(allocation ? &*allocation : nullptr);
  }
  if (const auto users = claim_users_.find(key); users != claim_users_.end()) {
    const bool new_status = change.type == Change::Type::kAdded ||
                            !(change.old_object["status"] == change.object["status"]);
    const std::vector<std::string> uids(users->second.begin(), users->second.end());
    for (const std::string& uid : uids) {
      queue_.Recheck(uid, Now());
      if (const state::PodPtr pod = queue_.Find(uid); gates_.groups && pod && !pod->group.empty()) {
        GroupChanged(pod->group_key());
      }
      if (new_status) {
        queue_.WakeOne(uid, {Rejector::kClaim, Rejector::kClaimNode, Rejector::kDevices}, Now());
      }
      if (const state::PodPtr pod = queue_.Find(uid)) WatchHeld(*pod);
    }
  }
  binder_.ClaimChanged(key);
}

// Devices have become free: on one node when the allocation was for one (null: on any).
void Scheduler::Impl::DevicesFreed(const api::AllocationResult* allocation) {
  const std::string node_name = allocation == nullptr ? std::string() : NodeOf(*allocation);
  const state::NodeIndex* node = node_name.empty() ? nullptr : state_.nodes.Find(node_name);
  if (node == nullptr) {
    Wake({Rejector::kDevices}, IsAnything);
    return;
  }
  Wake({Rejector::kDevices}, [this, node = *node](const state::PodView& pod) {
    return state_.nodes.PlacementOf(pod, node) == state::Placement::kFits;
  });
}

void Scheduler::Impl::Wake(Rejectors rejectors, const SchedulingQueue::Helps& helps) {
  ++loosened_;
  queue_.Wake(rejectors, helps, Now());
}

void Scheduler::Impl::Enqueue(const state::PodPtr& pod) {
  for (const state::PodClaim& claim : pod->claims) {
    if (!claim.claim_name.empty()) claim_users_[pod->ns + "/" + claim.claim_name].insert(pod->uid);
  }
  queue_.Put(pod, Now());
  WatchHeld(*pod);
}

void Scheduler::Impl::ForgetUser(const state::PodView& pod) {
  for (const state::PodClaim& claim : pod.claims) {
    const auto users = claim_users_.find(pod.ns + "/" + claim.claim_name);
    if (users == claim_users_.end()) continue;
    users->second.erase(pod.uid);
    if (users->second.empty()) claim_users_.erase(users);
  }
}

void Scheduler::Impl::Dequeue(const std::string& uid) {
  if (const state::PodPtr pod = queue_.Find(uid)) {
    ForgetUser(*pod);
    queue_.Remove(uid);
  }
  if (nominations_.Find(uid) != nullptr) {
    nominations_.Remove(uid);
    Wake({Rejector::kResources, Rejector::kDevices, Rejector::kClaim}, IsAnything);
  }
  if (!binder_.IsActive(uid)) reporter_.Forget(uid);
}

// A pod that stays held is told why, once: nothing else would say it. (The API server itself says
// it of scheduling gates.)
void Scheduler::Impl::WatchHeld(const state::PodView& pod) {
  if (held_watched_ || pod.gated) return;
  const std::string why = queue_.HeldBy(pod.uid);
  if (why.empty() || reporter_.HasTold(pod, why)) return;
  held_watched_ = true;
  held_timer_ = executor_.PostAfter(kHeldSilently, [this, alive = std::weak_ptr(alive_)] {
    if (!alive.expired()) TellHeldPods();
  });
}

void Scheduler::Impl::TellHeldPods() {
  held_watched_ = false;
  const Time since = Now() - kHeldSilently;
  std::vector<state::PodPtr> later;
  queue_.ForEachHeld([&](const state::PodView& pod, const std::string& why, Time begin) {
    if (pod.gated) return;
    if (begin <= since) {
      reporter_.Held(pod, why);
    } else {
      later.push_back(queue_.Find(pod.uid));
    }
  });
  for (const state::PodPtr& pod : later) WatchHeld(*pod);
}

}  // namespace drachma::scheduler
