#include "controllers/nodes.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "client/objects.h"
#include "controllers/objects.h"

namespace drachma::controllers {
namespace {

using client::Change;
using json::Value;
namespace resources = client::resources;

constexpr std::string_view kLeaseNamespace = "kube-node-lease";

// Conditions that become taints. `status` is the value of the condition that makes the taint.
struct ConditionTaint {
  std::string_view condition;
  std::string_view status;
  std::string_view key;
  bool no_execute;  // also with NoExecute
};
constexpr std::array<ConditionTaint, 6> kConditionTaints = {{
    {"Ready", "False", "node.kubernetes.io/not-ready", true},
    {"Ready", "Unknown", "node.kubernetes.io/unreachable", true},
    {"MemoryPressure", "True", "node.kubernetes.io/memory-pressure", false},
    {"DiskPressure", "True", "node.kubernetes.io/disk-pressure", false},
    {"NetworkUnavailable", "True", "node.kubernetes.io/network-unavailable", false},
    {"PIDPressure", "True", "node.kubernetes.io/pid-pressure", false},
}};
constexpr std::string_view kUnschedulable = "node.kubernetes.io/unschedulable";

struct WantedTaint {
  std::string_view key;
  std::string_view effect;
};

std::vector<WantedTaint> TaintsOf(const Value& node) {
  std::vector<WantedTaint> wanted;
  for (const ConditionTaint& entry : kConditionTaints) {
    const Value* condition = client::ConditionOf(node, entry.condition);
    if (condition == nullptr || (*condition)["status"].AsString() != entry.status) continue;
    wanted.push_back({entry.key, "NoSchedule"});
    if (entry.no_execute) wanted.push_back({entry.key, "NoExecute"});
  }
  if (node["spec"]["unschedulable"].AsBool()) wanted.push_back({kUnschedulable, "NoSchedule"});
  return wanted;
}

bool IsManaged(std::string_view key) {
  return key == kUnschedulable ||
         std::ranges::any_of(kConditionTaints, [&](const auto& entry) { return entry.key == key; });
}

// What a kubelet writes with each of its status reports; empty before the first.
std::string_view HeartbeatOf(const Value& node) {
  const Value* ready = client::ConditionOf(node, "Ready");
  return ready == nullptr ? std::string_view() : (*ready)["lastHeartbeatTime"].AsString();
}

// core/v1 Toleration.ToleratesTaint.
bool Tolerates(const Value& toleration, const Value& taint) {
  const std::string_view effect = toleration["effect"].AsString();
  if (!effect.empty() && effect != taint["effect"].AsString()) return false;
  const std::string_view key = toleration["key"].AsString();
  if (!key.empty() && key != taint["key"].AsString()) return false;
  if (toleration["operator"].AsString() == "Exists") return true;
  return !key.empty() && toleration["value"].AsString() == taint["value"].AsString();
}

}  // namespace

NodeLifecycle::NodeLifecycle(Host& host)
    : Controller(host),
      nodes_(Watch(resources::kNodes, [this](const Change& change) { OnNode(change); })),
      leases_(Watch(resources::kLeases, [this](const Change& change) { OnLease(change); })) {}

void NodeLifecycle::OnNode(const Change& change) {
  const std::string key = client::KeyOf(change.object);
  if (change.type == Change::Type::kDeleted) {
    seen_.erase(key);
  } else if (const std::string_view beat = HeartbeatOf(change.object);
             !beat.empty() && beat != HeartbeatOf(change.old_object)) {
    seen_[key] = Now();
  }
  Add(key);
}

void NodeLifecycle::OnLease(const Change& change) {
  if (client::NamespaceOf(change.object) != kLeaseNamespace) return;
  if (change.type == Change::Type::kDeleted) return;
  const std::string_view name = client::NameOf(change.object);
  const std::string_view renewed = change.object["spec"]["renewTime"].AsString();
  if (renewed == change.old_object["spec"]["renewTime"].AsString()) return;
  if (nodes_.Get(name) != nullptr) seen_[std::string(name)] = Now();
}

Time NodeLifecycle::LastSign(const Value& node) const {
  const auto seen = seen_.find(client::NameOf(node));
  return seen == seen_.end() ? client::CreatedAt(node) : seen->second;
}

Action NodeLifecycle::MarkUnknown(const Value& node) const {
  const std::string now = FormatTime(Now());
  Value next = node;
  for (const std::string_view type : {"Ready", "MemoryPressure", "DiskPressure", "PIDPressure"}) {
    const Value* old = client::ConditionOf(node, type);
    Value condition = Value::Object({{"type", type}, {"status", "Unknown"}});
    condition.Set("lastHeartbeatTime", old == nullptr ? node["metadata"]["creationTimestamp"]
                                                      : (*old)["lastHeartbeatTime"]);
    condition.Set("lastTransitionTime", now);
    condition.Set("reason", old == nullptr ? "NodeStatusNeverUpdated" : "NodeStatusUnknown");
    condition.Set("message", old == nullptr ? "Kubelet never posted node status."
                                            : "Kubelet stopped posting node status.");
    Value& status = next.Edit("status");
    status.Set("conditions", WithCondition(status["conditions"], std::move(condition)));
  }
  return {.request = client::UpdateRequest(resources::kNodes, std::move(next), "status")};
}

void NodeLifecycle::SyncTaints(const Value& node, Work& work) const {
  const std::vector<WantedTaint> wanted = TaintsOf(node);
  Value taints = Value::Array();
  bool changed = false;
  const auto is = [](const Value& taint, const WantedTaint& w) {
    return taint["key"].AsString() == w.key && taint["effect"].AsString() == w.effect;
  };
  const Value& present = node["spec"]["taints"];
  for (const Value& taint : present.Items()) {
    const bool stays =
        !IsManaged(taint["key"].AsString()) ||
        std::ranges::any_of(wanted, [&](const WantedTaint& w) { return is(taint, w); });
    if (stays) taints.Append(taint);
    changed |= !stays;
  }
  for (const WantedTaint& w : wanted) {
    if (std::ranges::any_of(present.Items(), [&](const Value& taint) { return is(taint, w); })) {
      continue;
    }
    taints.Append(
        Value::Object({{"key", w.key}, {"effect", w.effect}, {"timeAdded", FormatTime(Now())}}));
    changed = true;
  }
  if (!changed) return;
  Value metadata = Value::Object({{"resourceVersion", client::ResourceVersionOf(node)}});
  if (taints.empty()) taints = Value();
  work.actions.push_back(
      {.request = client::PatchRequest(
           resources::kNodes, "", client::NameOf(node), client::PatchType::kMerge,
           Value::Object({{"metadata", std::move(metadata)},
                          {"spec", Value::Object({{"taints", std::move(taints)}})}}))});
}

Work NodeLifecycle::Sync(const std::string& key) {
  Work work;
  const Value* node = nodes_.Get(key);
  if (node == nullptr || client::IsBeingDeleted(*node)) return work;
  if (host().watch_heartbeats) {
    const Value* ready = client::ConditionOf(*node, "Ready");
    const bool unknown = ready != nullptr && (*ready)["status"].AsString() == "Unknown";
    const Value* lease = leases_.Get(kLeaseNamespace, key);
    // Simulated nodes by the thousand renew more slowly and say so in their lease.
    const Duration promised = std::chrono::seconds(
        lease == nullptr ? 0 : (*lease)["spec"]["leaseDurationSeconds"].AsInt());
    const Duration left = LastSign(*node) + std::max<Duration>(kGrace, promised) - Now();
    if (left <= Duration(0) && !unknown) {
      work.actions.push_back(MarkUnknown(*node));
      work.events.push_back({.object = Reference("v1", "Node", *node),
                             .reason = "NodeNotReady",
                             .message = "Node " + key + " status is now: NodeNotReady"});
      return work;
    }
    if (left > Duration(0)) work.again = left;
  }
  SyncTaints(*node, work);
  return work;
}

NodeTaintEviction::NodeTaintEviction(Host& host)
    : Controller(host),
      nodes_(Watch(resources::kNodes, [this](const Change& change) { OnNode(change); })),
      pods_(Watch(resources::kPods, [this](const Change& change) {
        const std::string_view node = change.object["spec"]["nodeName"].AsString();
        if (node.empty() || change.type == Change::Type::kDeleted) return;
        const Value* object = nodes_.Get(node);
        if (object != nullptr && !(*object)["spec"]["taints"].empty()) {
          Add(client::KeyOf(change.object));
        }
      })) {}

void NodeTaintEviction::OnNode(const Change& change) {
  const Value& taints = change.object["spec"]["taints"];
  if (taints == change.old_object["spec"]["taints"]) return;
  const std::string_view name = client::NameOf(change.object);
  for (const auto& [key, pod] : pods_.objects()) {
    if (pod["spec"]["nodeName"].AsString() == name) Add(key);
  }
}

Work NodeTaintEviction::Sync(const std::string& key) {
  Work work;
  const Value* pod = pods_.Get(key);
  if (pod == nullptr || client::IsBeingDeleted(*pod) || client::IsPodTerminal(*pod)) return work;
  const Value* node = nodes_.Get((*pod)["spec"]["nodeName"].AsString());
  if (node == nullptr) return work;
  std::optional<Time> due;
  const auto consider = [&](Time time) { due = std::min(due.value_or(time), time); };
  for (const Value& taint : (*node)["spec"]["taints"].Items()) {
    if (taint["effect"].AsString() != "NoExecute") continue;
    const auto added = ParseTime(taint["timeAdded"].AsString());
    const Time since = added ? *added : Now();
    bool tolerated = false;
    std::optional<std::int64_t> seconds;
    for (const Value& toleration : (*pod)["spec"]["tolerations"].Items()) {
      if (!Tolerates(toleration, taint)) continue;
      tolerated = true;
      if (const Value* limit = toleration.Find("tolerationSeconds")) {
        const std::int64_t wait = std::max<std::int64_t>(0, limit->AsInt());
        seconds = std::min(seconds.value_or(wait), wait);
      }
    }
    if (!tolerated) consider(since);
    if (seconds) consider(since + std::chrono::seconds(*seconds));
  }
  if (!due) return work;
  if (*due > Now()) {
    work.again = *due - Now();
    return work;
  }
  work.events.push_back({.object = Reference("v1", "Pod", *pod),
                         .reason = "TaintManagerEviction",
                         .message = "Marking for deletion Pod " + key});
  Value next = *pod;
  Value& status = next.Edit("status");
  status.Set("conditions",
             WithCondition(status["conditions"],
                           NewCondition("DisruptionTarget", true, "DeletionByTaintManager",
                                        "Taint manager: deleting due to NoExecute taint",
                                        FormatTime(Now()))));
  Action action{.request = client::UpdateRequest(resources::kPods, std::move(next), "status")};
  action.then = [request = client::DeleteRequest(resources::kPods, *pod)](const Value&) {
    return std::optional(request);
  };
  work.actions.push_back(std::move(action));
  return work;
}

PodCollector::PodCollector(Host& host)
    : Controller(host),
      nodes_(Watch(resources::kNodes,
                   [this](const Change& change) {
                     const std::string key = client::KeyOf(change.object);
                     if (change.type != Change::Type::kDeleted) {
                       missing_since_.erase(key);
                       gone_.erase(key);
                       return;
                     }
                     for (const auto& [pod, object] : pods_.objects()) {
                       if (object["spec"]["nodeName"].AsString() == key) Add(pod);
                     }
                   })),
      pods_(Watch(resources::kPods, [this](const Change& change) {
        if (change.type == Change::Type::kDeleted) return;
        const std::string_view node = change.object["spec"]["nodeName"].AsString();
        const bool stray =
            node.empty() ? client::IsBeingDeleted(change.object) : nodes_.Get(node) == nullptr;
        if (stray) Add(client::KeyOf(change.object));
      })) {}

Action PodCollector::LookUpNode(const std::string& node, const std::string& key) {
  Action action{.request = client::GetRequest(resources::kNodes, "", node)};
  action.settle = [this, node, key](const Result<Value>& answer) -> Status {
    if (answer) return {};
    if (answer.error().code != Code::kNotFound) return std::unexpected(answer.error());
    gone_.insert(node);
    Add(key);
    return {};
  };
  return action;
}

Work PodCollector::Sync(const std::string& key) {
  Work work;
  const Value* pod = pods_.Get(key);
  if (pod == nullptr) return work;
  const std::string node((*pod)["spec"]["nodeName"].AsString());
  const auto force = [&] {
    Action action{.request = client::DeleteRequest(resources::kPods, *pod)};
    action.request.body.Set("gracePeriodSeconds", 0);
    return action;
  };
  // Somebody may count how the pod ended before it may go: a Job holds it by a finalizer until
  // then.
  const auto end = [&](Value status) {
    if (client::IsPodTerminal(*pod)) return force();
    status.Set("phase", "Failed");
    // Patched, not updated: that is all its account may do.
    Action action{.request = client::PatchRequest(
                      resources::kPods, client::NamespaceOf(*pod), client::NameOf(*pod),
                      client::PatchType::kStrategicMerge,
                      Value::Object({{"metadata", Value::Object({{"uid", client::UidOf(*pod)}})},
                                     {"status", std::move(status)}}),
                      "status")};
    action.then = [request = force().request](const Value&) { return std::optional(request); };
    return action;
  };
  if (node.empty()) {
    // One that has ended waits for its finalizers alone.
    const Value& grace = (*pod)["metadata"]["deletionGracePeriodSeconds"];
    const bool leaves = client::IsPodTerminal(*pod) && grace.IsInt() && grace.AsInt() == 0;
    if (client::IsBeingDeleted(*pod) && !leaves) work.actions.push_back(end(Value::Object()));
    return work;
  }
  if (nodes_.Get(node) != nullptr) return work;
  const Time since = missing_since_.try_emplace(node, Now()).first->second;
  if (const Duration left = since + kQuarantine - Now(); left > Duration(0)) {
    work.again = left;
    return work;
  }
  if (!gone_.contains(node)) {
    work.actions.push_back(LookUpNode(node, key));
    return work;
  }
  Value conditions =
      Value::Array({NewCondition("DisruptionTarget", true, "DeletionByPodGC",
                                 "PodGC: node no longer exists", FormatTime(Now()))});
  work.actions.push_back(end(Value::Object({{"conditions", std::move(conditions)}})));
  return work;
}

}  // namespace drachma::controllers
