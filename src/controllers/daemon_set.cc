#include "controllers/daemon_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "api/node_selector.h"
#include "client/objects.h"
#include "controllers/objects.h"

namespace drachma::controllers {
namespace {

using client::Change;
using json::Value;
namespace resources = client::resources;

const client::Resource kDaemonSets = {"apps", "v1", "daemonsets"};
const OwnerKind kDaemonSet = {kDaemonSets, "DaemonSet"};
constexpr std::string_view kHash = "controller-revision-hash";

// Taints that every daemon tolerates (util/daemonset_util.go).
struct DaemonToleration {
  std::string_view key;
  std::string_view effect;
};
constexpr auto kTolerations = std::to_array<DaemonToleration>({
    {"node.kubernetes.io/not-ready", "NoExecute"},
    {"node.kubernetes.io/unreachable", "NoExecute"},
    {"node.kubernetes.io/disk-pressure", "NoSchedule"},
    {"node.kubernetes.io/memory-pressure", "NoSchedule"},
    {"node.kubernetes.io/pid-pressure", "NoSchedule"},
    {"node.kubernetes.io/unschedulable", "NoSchedule"},
});

std::string HashOf(const Value& set) {
  return TemplateHash(set["spec"]["template"], set["status"]["collisionCount"].AsInt());
}

// The pod of `set` for one node.
Value PodFor(const Value& set, std::string_view node) {
  Value pod = PodFromTemplate(kDaemonSet, set, set["spec"]["template"]);
  pod.Edit("metadata").Edit("labels").Set(kHash, HashOf(set));
  const Value field = Value::Object(
      {{"key", "metadata.name"}, {"operator", "In"}, {"values", Value::Array({node})}});
  const Value term = Value::Object({{"matchFields", Value::Array({field})}});
  Value& spec = pod.Edit("spec");
  Value& required = spec.Edit("affinity")
                        .Edit("nodeAffinity")
                        .Edit("requiredDuringSchedulingIgnoredDuringExecution");
  Value terms = required["nodeSelectorTerms"];
  if (terms.empty()) {
    terms = Value::Array({term});
  } else {
    for (std::size_t i = 0; i < terms.size(); ++i) {
      terms.EditItem(i).Set("matchFields", Value::Array({field}));
    }
  }
  required.Set("nodeSelectorTerms", std::move(terms));
  for (const DaemonToleration& toleration : kTolerations) {
    spec.Edit("tolerations")
        .Append(Value::Object(
            {{"key", toleration.key}, {"operator", "Exists"}, {"effect", toleration.effect}}));
  }
  return pod;
}

// The node that a pod is for: where it is bound, or the one its affinity names.
std::string_view NodeOf(const Value& pod) {
  const std::string_view bound = pod["spec"]["nodeName"].AsString();
  if (!bound.empty()) return bound;
  const Value& terms =
      pod.At({"spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution",
              "nodeSelectorTerms"});
  for (const Value& term : terms.Items()) {
    for (const Value& field : term["matchFields"].Items()) {
      if (field["values"].size() == 1) return field["values"].Items()[0].AsString();
    }
  }
  return {};
}

bool Tolerates(const Value& tolerations, const Value& taint) {
  return std::ranges::any_of(tolerations.Items(), [&](const Value& toleration) {
    const std::string_view effect = toleration["effect"].AsString();
    const std::string_view key = toleration["key"].AsString();
    if (!effect.empty() && effect != taint["effect"].AsString()) return false;
    if (!key.empty() && key != taint["key"].AsString()) return false;
    return toleration["operator"].AsString() == "Exists" ||
           toleration["value"].AsString() == taint["value"].AsString();
  });
}

// Whether the set wants a pod on the node (NodeShouldRunDaemonPod).
bool ShouldRun(const Value& set, const Value& node) {
  const Value pod = PodFor(set, client::NameOf(node));
  const Result<bool> fits =
      api::MatchesPodAffinity(pod["spec"], client::NameOf(node), api::LabelsOf(node));
  if (!fits.value_or(false)) return false;
  return std::ranges::all_of(node["spec"]["taints"].Items(), [&](const Value& taint) {
    return taint["effect"].AsString() == "PreferNoSchedule" ||
           Tolerates(pod["spec"]["tolerations"], taint);
  });
}

}  // namespace

// A node and the set's pods for it.
struct DaemonSetController::NodePods {
  std::string node;
  bool wanted = false;
  std::vector<const Value*> current;  // of the newest template, active
  std::vector<const Value*> old;      // of another template, active
  std::vector<const Value*> ended;    // failed or succeeded
  bool leaving = false;               // a pod is being deleted

  [[nodiscard]] bool Available(Duration min_ready, Time now) const {
    const auto available = [&](const Value* pod) {
      const auto wait = UntilAvailable(*pod, min_ready, now);
      return wait && *wait <= Duration(0);
    };
    return std::ranges::any_of(current, available) || std::ranges::any_of(old, available);
  }
};

DaemonSetController::DaemonSetController(Host& host)
    : Controller(host),
      sets_(
          Watch(kDaemonSets, [this](const Change& change) { Add(client::KeyOf(change.object)); })),
      pods_(Watch(resources::kPods, [this](const Change& change) { owners_.OnPod(change); })),
      nodes_(Watch(resources::kNodes,
                   [this](const Change& change) {
                     // Heartbeats change no placement.
                     const bool same = change.type == Change::Type::kUpdated &&
                                       change.old_object["spec"] == change.object["spec"] &&
                                       change.old_object["metadata"]["labels"] ==
                                           change.object["metadata"]["labels"];
                     if (same) return;
                     for (const auto& [key, set] : sets_.objects()) Add(key);
                   })),
      owners_(kDaemonSet, sets_, pods_, [this](std::string key) { Add(std::move(key)); }) {}

std::vector<DaemonSetController::NodePods> DaemonSetController::Place(const Value& set) const {
  std::map<std::string, NodePods, std::less<>> places;
  for (const auto& [name, node] : nodes_.objects()) {
    places.emplace(name, NodePods{.node = name, .wanted = ShouldRun(set, node)});
  }
  const std::string hash = HashOf(set);
  for (const Value* pod : pods_.OwnedBy(client::UidOf(set))) {
    NodePods& place = places[std::string(NodeOf(*pod))];
    if (client::IsBeingDeleted(*pod)) {
      place.leaving = true;
    } else if (client::IsPodTerminal(*pod)) {
      place.ended.push_back(pod);
    } else {
      (client::LabelOf(*pod, kHash) == hash ? place.current : place.old).push_back(pod);
    }
  }
  std::vector<NodePods> list;
  for (auto& [name, place] : places) list.push_back(std::move(place));
  return list;
}

void DaemonSetController::Manage(const Value& set, const std::vector<NodePods>& places,
                                 Work& work) {
  const auto remove = [&](const Value* pod) {
    if (work.actions.size() < kBurst) {
      work.actions.push_back({.request = client::DeleteRequest(resources::kPods, *pod)});
    }
  };
  for (const NodePods& place : places) {
    for (const Value* pod : place.ended) remove(pod);
    if (!place.wanted) {
      for (const Value* pod : place.current) remove(pod);
      for (const Value* pod : place.old) remove(pod);
      continue;
    }
    for (std::size_t i = 1; i < place.current.size(); ++i) remove(place.current[i]);
    const bool empty = place.current.empty() && place.old.empty() && place.ended.empty();
    if (empty && !place.leaving && work.actions.size() < kBurst) {
      work.actions.push_back(
          {.request = client::CreateRequest(resources::kPods, client::NamespaceOf(set),
                                            PodFor(set, place.node))});
    }
  }
}

// One step of a rolling update.
void DaemonSetController::Replace(const Value& set, const std::vector<NodePods>& places,
                                  Work& work) {
  const Value& strategy = set["spec"]["updateStrategy"];
  if (strategy["type"].AsString("RollingUpdate") != "RollingUpdate") return;
  const Duration min_ready = std::chrono::seconds(set["spec"]["minReadySeconds"].AsInt());
  const auto wanted = std::ranges::count_if(places, &NodePods::wanted);
  const std::int64_t surge_max =
      Scaled(strategy["rollingUpdate"]["maxSurge"], wanted, Rounding::kUp);
  std::int64_t unavailable_max =
      Scaled(strategy["rollingUpdate"]["maxUnavailable"], wanted, Rounding::kUp);
  if (unavailable_max == 0 && surge_max == 0) unavailable_max = 1;
  std::int64_t unavailable = 0;
  std::int64_t surging = 0;
  for (const NodePods& place : places) {
    if (!place.wanted) continue;
    if (!place.Available(min_ready, Now())) ++unavailable;
    if (!place.current.empty() && !place.old.empty()) ++surging;
  }
  for (const NodePods& place : places) {
    if (!place.wanted || place.old.empty()) continue;
    const bool available = place.Available(min_ready, Now());
    if (surge_max > 0) {
      const bool replaced =
          !place.current.empty() &&
          UntilAvailable(*place.current[0], min_ready, Now()).value_or(Duration::max()) <=
              Duration(0);
      if (replaced) {
        work.actions.push_back({.request = client::DeleteRequest(resources::kPods, *place.old[0])});
      } else if (place.current.empty() && surging < surge_max) {
        ++surging;
        work.actions.push_back(
            {.request = client::CreateRequest(resources::kPods, client::NamespaceOf(set),
                                              PodFor(set, place.node))});
      }
      continue;
    }
    // A pod that is not available anyway costs nothing.
    if (available && unavailable >= unavailable_max) continue;
    if (available) ++unavailable;
    work.actions.push_back({.request = client::DeleteRequest(resources::kPods, *place.old[0])});
  }
}

void DaemonSetController::UpdateStatus(const Value& set, const std::vector<NodePods>& places,
                                       Work& work) {
  const Duration min_ready = std::chrono::seconds(set["spec"]["minReadySeconds"].AsInt());
  std::int64_t desired = 0;
  std::int64_t scheduled = 0;
  std::int64_t misscheduled = 0;
  ReadyCounts counts;
  std::int64_t updated = 0;
  for (const NodePods& place : places) {
    const bool any = !place.current.empty() || !place.old.empty();
    if (!place.wanted) {
      if (any) ++misscheduled;
      continue;
    }
    ++desired;
    if (!any) continue;
    ++scheduled;
    if (!place.current.empty()) ++updated;
    const Value* pod = place.current.empty() ? place.old[0] : place.current[0];
    counts.Add(*pod, min_ready, Now(), work);
  }
  Value status = set["status"].IsObject() ? set["status"] : Value::Object();
  status.Set("currentNumberScheduled", scheduled);
  status.Set("numberMisscheduled", misscheduled);
  status.Set("desiredNumberScheduled", desired);
  status.Set("numberReady", counts.ready);
  status.Set("observedGeneration", set["metadata"]["generation"]);
  SetCount(status, "updatedNumberScheduled", updated);
  SetCount(status, "numberAvailable", counts.available);
  SetCount(status, "numberUnavailable", desired - counts.available);
  if (status == set["status"]) return;
  Value next = set;
  next.Set("status", std::move(status));
  work.actions.push_back(
      {.request = client::UpdateRequest(kDaemonSets, std::move(next), "status")});
}

Work DaemonSetController::Sync(const std::string& key) {
  Work work;
  const Value* set = sets_.Get(key);
  if (set == nullptr) return work;
  work.actions = owners_.Ownership(*set);
  if (!work.actions.empty()) return work;
  const std::vector<NodePods> places = Place(*set);
  UpdateStatus(*set, places, work);
  if (client::IsBeingDeleted(*set)) return work;
  const std::size_t before = work.actions.size();
  Manage(*set, places, work);
  if (work.actions.size() == before) Replace(*set, places, work);
  return work;
}

}  // namespace drachma::controllers
