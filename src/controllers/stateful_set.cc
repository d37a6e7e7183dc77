#include "controllers/stateful_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "client/objects.h"
#include "controllers/objects.h"

namespace drachma::controllers {
namespace {

using client::Change;
using json::Value;
namespace resources = client::resources;

const client::Resource kStatefulSets = {"apps", "v1", "statefulsets"};
const client::Resource kVolumeClaims = {"", "v1", "persistentvolumeclaims"};
const OwnerKind kStatefulSet = {kStatefulSets, "StatefulSet"};
constexpr std::string_view kHash = "controller-revision-hash";
constexpr std::string_view kPodName = "statefulset.kubernetes.io/pod-name";
constexpr std::string_view kPodIndex = "apps.kubernetes.io/pod-index";

std::string UpdateRevision(const Value& set) {
  return fmt::format(
      "{}-{}", client::NameOf(set),
      TemplateHash(set["spec"]["template"], set["status"]["collisionCount"].AsInt()));
}

// The ordinal in "NAME-3".
std::optional<std::int64_t> OrdinalOf(const Value& set, const Value& pod) {
  std::string_view name = client::NameOf(pod);
  const std::string prefix = fmt::format("{}-", client::NameOf(set));
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  std::int64_t ordinal = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), ordinal);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return ordinal;
}

bool IsParallel(const Value& set) {
  return set["spec"]["podManagementPolicy"].AsString() == "Parallel";
}

std::int64_t FirstOrdinal(const Value& set) { return set["spec"]["ordinals"]["start"].AsInt(); }
std::int64_t EndOrdinal(const Value& set) {
  return FirstOrdinal(set) + std::max<std::int64_t>(0, set["spec"]["replicas"].AsInt(1));
}

std::string VolumeClaimName(const Value& claim, const Value& set, std::int64_t ordinal) {
  return fmt::format("{}-{}-{}", client::NameOf(claim), client::NameOf(set), ordinal);
}

Value PodFor(const Value& set, std::int64_t ordinal) {
  const std::string name = fmt::format("{}-{}", client::NameOf(set), ordinal);
  Value pod = PodFromTemplate(kStatefulSet, set, set["spec"]["template"]);
  Value& meta = pod.Edit("metadata");
  meta.Erase("generateName");
  meta.Set("name", name);
  Value& labels = meta.Edit("labels");
  labels.Set(kPodName, name);
  labels.Set(kPodIndex, fmt::format("{}", ordinal));
  labels.Set(kHash, UpdateRevision(set));
  Value& spec = pod.Edit("spec");
  spec.Set("hostname", name);
  if (!set["spec"]["serviceName"].AsString().empty()) {
    spec.Set("subdomain", set["spec"]["serviceName"]);
  }
  for (const Value& claim : set["spec"]["volumeClaimTemplates"].Items()) {
    spec.Edit("volumes").Append(
        Value::Object({{"name", client::NameOf(claim)},
                       {"persistentVolumeClaim",
                        Value::Object({{"claimName", VolumeClaimName(claim, set, ordinal)}})}}));
  }
  return pod;
}

bool IsReady(const Value* pod) { return pod != nullptr && IsPodActive(*pod) && IsPodReady(*pod); }

}  // namespace

StatefulSetController::StatefulSetController(Host& host)
    : Controller(host),
      sets_(Watch(kStatefulSets,
                  [this](const Change& change) { Add(client::KeyOf(change.object)); })),
      pods_(Watch(resources::kPods, [this](const Change& change) { owners_.OnPod(change); })),
      volume_claims_(Watch(kVolumeClaims)),
      owners_(kStatefulSet, sets_, pods_, [this](std::string key) { Add(std::move(key)); }) {}

StatefulSetController::Ordinals StatefulSetController::PodsOf(const Value& set) const {
  Ordinals pods;
  for (const Value* pod : pods_.OwnedBy(client::UidOf(set))) {
    if (const auto ordinal = OrdinalOf(set, *pod)) pods.emplace(*ordinal, pod);
  }
  return pods;
}

void StatefulSetController::Create(const Value& set, std::int64_t ordinal, Work& work) const {
  const std::string_view ns = client::NamespaceOf(set);
  for (const Value& claim_template : set["spec"]["volumeClaimTemplates"].Items()) {
    const std::string name = VolumeClaimName(claim_template, set, ordinal);
    if (volume_claims_.Get(ns, name) != nullptr) continue;
    Value claim = claim_template;
    claim.Set("apiVersion", "v1");
    claim.Set("kind", "PersistentVolumeClaim");
    claim.Erase("status");
    claim.Edit("metadata").Set("name", name);
    claim.Edit("metadata").Set("namespace", ns);
    work.actions.push_back({.request = client::CreateRequest(kVolumeClaims, ns, std::move(claim))});
  }
  work.actions.push_back(
      {.request = client::CreateRequest(resources::kPods, ns, PodFor(set, ordinal))});
  work.events.push_back({.object = Reference("apps/v1", "StatefulSet", set),
                         .type = client::EventType::kNormal,
                         .reason = "SuccessfulCreate",
                         .message = fmt::format("create Pod {0}-{1} in StatefulSet {0} successful",
                                                client::NameOf(set), ordinal)});
}

// Creates what is missing and deletes what is too much. Ordered sets do one thing at a time and
// wait for each pod to be ready.
void StatefulSetController::Manage(const Value& set, const Ordinals& pods, Work& work) const {
  const bool parallel = IsParallel(set);
  for (std::int64_t ordinal = FirstOrdinal(set); ordinal < EndOrdinal(set); ++ordinal) {
    const auto found = pods.find(ordinal);
    const Value* pod = found == pods.end() ? nullptr : found->second;
    if (pod == nullptr) {
      Create(set, ordinal, work);
    } else if (client::IsPodTerminal(*pod) && !client::IsBeingDeleted(*pod)) {
      work.actions.push_back({.request = client::DeleteRequest(resources::kPods, *pod)});
    }
    if (!parallel && !IsReady(pod)) return;
  }
  for (auto entry = pods.rbegin(); entry != pods.rend(); ++entry) {
    const auto& [ordinal, pod] = *entry;
    if (ordinal >= FirstOrdinal(set) && ordinal < EndOrdinal(set)) continue;
    if (!client::IsBeingDeleted(*pod)) {
      work.actions.push_back({.request = client::DeleteRequest(resources::kPods, *pod)});
      work.events.push_back({.object = Reference("apps/v1", "StatefulSet", set),
                             .type = client::EventType::kNormal,
                             .reason = "SuccessfulDelete",
                             .message = fmt::format("delete Pod {} in StatefulSet {} successful",
                                                    client::NameOf(*pod), client::NameOf(set))});
    }
    if (!parallel) return;
  }
}

void StatefulSetController::Update(const Value& set, const Ordinals& pods, Work& work) const {
  const Value& strategy = set["spec"]["updateStrategy"];
  if (strategy["type"].AsString("RollingUpdate") != "RollingUpdate") return;
  const std::int64_t partition = strategy["rollingUpdate"]["partition"].AsInt();
  const std::string revision = UpdateRevision(set);
  for (auto entry = pods.rbegin(); entry != pods.rend(); ++entry) {
    const auto& [ordinal, pod] = *entry;
    if (ordinal < partition || ordinal >= EndOrdinal(set)) continue;
    if (client::LabelOf(*pod, kHash) != revision) {
      if (!client::IsBeingDeleted(*pod)) {
        work.actions.push_back({.request = client::DeleteRequest(resources::kPods, *pod)});
      }
      return;
    }
    if (!IsReady(pod)) return;
  }
}

void StatefulSetController::UpdateStatus(const Value& set, const Ordinals& pods, Work& work) const {
  const std::string revision = UpdateRevision(set);
  const Duration min_ready = std::chrono::seconds(set["spec"]["minReadySeconds"].AsInt());
  std::int64_t replicas = 0;
  ReadyCounts counts;
  std::int64_t updated = 0;
  for (const auto& [ordinal, pod] : pods) {
    if (!IsPodActive(*pod)) continue;
    ++replicas;
    if (client::LabelOf(*pod, kHash) == revision) ++updated;
    counts.Add(*pod, min_ready, Now(), work);
  }
  const Value& old = set["status"];
  Value status = old.IsObject() ? old : Value::Object();
  status.Set("observedGeneration", set["metadata"]["generation"]);
  status.Set("replicas", replicas);
  status.Set("availableReplicas", counts.available);
  status.Set("updateRevision", revision);
  const bool done = updated == replicas && replicas == set["spec"]["replicas"].AsInt(1);
  if (done || old["currentRevision"].AsString().empty()) status.Set("currentRevision", revision);
  const std::int64_t current =
      status["currentRevision"].AsString() == revision ? updated : replicas - updated;
  SetCount(status, "readyReplicas", counts.ready);
  SetCount(status, "currentReplicas", current);
  SetCount(status, "updatedReplicas", updated);
  if (!status.Has("collisionCount")) status.Set("collisionCount", 0);
  if (status == old) return;
  Value next = set;
  next.Set("status", std::move(status));
  work.actions.push_back(
      {.request = client::UpdateRequest(kStatefulSets, std::move(next), "status")});
}

Work StatefulSetController::Sync(const std::string& key) {
  Work work;
  const Value* set = sets_.Get(key);
  if (set == nullptr) return work;
  work.actions = owners_.Ownership(*set);
  if (!work.actions.empty()) return work;
  const Ordinals pods = PodsOf(*set);
  UpdateStatus(*set, pods, work);
  if (client::IsBeingDeleted(*set)) return work;
  const std::size_t before = work.actions.size();
  Manage(*set, pods, work);
  if (work.actions.size() == before) Update(*set, pods, work);
  return work;
}

}  // namespace drachma::controllers
