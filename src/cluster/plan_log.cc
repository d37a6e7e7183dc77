#include "cluster/plan_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "client/objects.h"

namespace drachma::cluster {
namespace {

using client::Change;
using json::Value;
namespace resources = client::resources;

// Kinds between a pod and the object of a file.
const std::array<client::Resource, 2> kMiddleKinds = {
    {resources::kReplicaSets, {"batch", "v1", "jobs"}}};

std::string RootName(std::string_view kind, std::string_view ns, std::string_view name) {
  return fmt::format("{}/{}/{}", kind, ns, name);
}

PlannedClaim DescribeClaim(const Value& claim, std::string pod_claim) {
  PlannedClaim planned{.name = std::string(client::NameOf(claim)),
                       .pod_claim = std::move(pod_claim)};
  for (const Value& result : claim.At({"status", "allocation", "devices", "results"}).Items()) {
    const auto text = [&](std::string_view field) { return std::string(result[field].AsString()); };
    planned.devices.push_back({.request = text("request"),
                               .driver = text("driver"),
                               .pool = text("pool"),
                               .device = text("device"),
                               .share_id = text("shareID"),
                               .consumed_capacity = result["consumedCapacity"],
                               .tolerations = result["tolerations"]});
  }
  return planned;
}

// Whether the status knows of the pod's claim; one without a name is not needed.
bool HasStatus(const Value& pod, const Value& pod_claim) {
  return std::ranges::any_of(pod["status"]["resourceClaimStatuses"].Items(),
                             [&](const Value& status) {
                               return status["name"].AsString() == pod_claim["name"].AsString();
                             });
}

// Claims may be reserved for the group of a pod, which the pod knows by name.
bool IsGroup(const Value& consumer) { return consumer["resource"].AsString() == "podgroups"; }
std::string_view GroupOf(const Value& pod) {
  return pod["spec"]["schedulingGroup"]["podGroupName"].AsString();
}
std::string GroupKey(std::string_view ns, std::string_view group) {
  return fmt::format("podgroup {}/{}", ns, group);
}

}  // namespace

PlanLog::PlanLog(client::Client& client, const std::vector<Manifest>& manifests) {
  for (const Manifest& manifest : manifests) Append(manifest);
  const auto follow = [&](const client::Resource& resource, client::Informer::Listener listener) {
    informers_.push_back(std::make_unique<client::Informer>(
        client, client::Informer::Options{.resource = resource}));
    informers_.back()->Listen(std::move(listener));
    return informers_.back().get();
  };
  for (const client::Resource& resource : kMiddleKinds) {
    follow(resource, [this](const Change& change) {
      sets_.insert_or_assign(std::string(client::UidOf(change.object)), change.object);
    });
  }
  claims_ = follow(resources::kResourceClaims, [this](const Change& change) { OnClaim(change); });
  follow(resources::kPods, [this](const Change& change) { OnPod(change); });
}

void PlanLog::Start() {
  for (const auto& informer : informers_) informer->Start([] {});
}

bool PlanLog::synced() const {
  return std::ranges::all_of(informers_, [](const auto& i) { return i->synced(); });
}

void PlanLog::Append(const Manifest& manifest) {
  places_.emplace(RootName(manifest.kind->kind, client::NamespaceOf(manifest.object),
                           client::NameOf(manifest.object)),
                  places_.size());
}

std::string PlanLog::RootOf(const Value& pod) const {
  const Value* object = &pod;
  std::string kind = "Pod";
  std::string name(client::NameOf(pod));
  while (const Value* owner = client::ControllerOf(*object)) {
    kind = (*owner)["kind"].AsString();
    name = (*owner)["name"].AsString();
    const auto middle = sets_.find(std::string((*owner)["uid"].AsString()));
    if (middle == sets_.end()) break;
    object = &middle->second;
  }
  return RootName(kind, client::NamespaceOf(pod), name);
}

void PlanLog::OnPod(const Change& change) {
  const std::string uid(client::UidOf(change.object));
  const std::string root = RootOf(change.object);
  auto [entry, added] = entries_.try_emplace(uid);
  if (added) {
    order_.push_back(uid);
    const auto place = places_.find(root);
    entry->second.place = place == places_.end() ? places_.size() : place->second;
    entry->second.replacement = evicted_[root] > 0;
  }
  // An eviction counts from the moment it is decided: the replacement is made at once.
  const bool leaves = client::IsConditionTrue(change.object, "DisruptionTarget");
  if (leaves && !client::IsConditionTrue(entry->second.pod, "DisruptionTarget")) ++evicted_[root];
  entry->second.pod = change.object;
  if (change.type == Change::Type::kDeleted) entry->second.deleted = true;
}

void PlanLog::OnClaim(const Change& change) {
  if (change.type == Change::Type::kDeleted) return;
  for (const Value& consumer : change.object["status"]["reservedFor"].Items()) {
    const std::string key = IsGroup(consumer) ? GroupKey(client::NamespaceOf(change.object),
                                                         consumer["name"].AsString())
                                              : std::string(consumer["uid"].AsString());
    claims_of_[key].insert_or_assign(std::string(client::NameOf(change.object)), change.object);
  }
}

const Value* PlanLog::ClaimOf(const Value& pod, std::string_view name) const {
  for (const std::string& key :
       {std::string(client::UidOf(pod)), GroupKey(client::NamespaceOf(pod), GroupOf(pod))}) {
    const auto claims = claims_of_.find(key);
    if (claims == claims_of_.end()) continue;
    const auto claim = claims->second.find(std::string(name));
    if (claim != claims->second.end()) return &claim->second;
  }
  return nullptr;
}

std::string PlanLog::MissingClaim(const Value& pod) const {
  for (const Value& pod_claim : pod["spec"]["resourceClaims"].Items()) {
    const std::string_view name = client::ClaimNameOf(pod, pod_claim);
    const std::string_view from = pod_claim["resourceClaimTemplateName"].AsString();
    if (name.empty() && !HasStatus(pod, pod_claim)) {
      return fmt::format("waits for its ResourceClaim from template {}", from);
    }
    if (!name.empty() && claims_->Get(client::NamespaceOf(pod), name) == nullptr) {
      return fmt::format("waits for ResourceClaim {}, which does not exist", name);
    }
  }
  return {};
}

std::string PlanLog::WhyPending(const Value& pod) const {
  const Value* scheduled = client::ConditionOf(pod, "PodScheduled");
  if (scheduled != nullptr && !(*scheduled)["message"].AsString().empty()) {
    return std::string((*scheduled)["message"].AsString());
  }
  if (!pod["spec"]["schedulingGates"].empty()) {
    return fmt::format("held by scheduling gate {}",
                       pod["spec"]["schedulingGates"].Items()[0]["name"].AsString());
  }
  return MissingClaim(pod);
}

// A pod that came with its node passes the scheduler by; its kubelet holds it until its claims are
// its own.
std::string PlanLog::WhyHeld(const Value& pod) const {
  if (pod["status"]["phase"].AsString() != "Pending") return {};
  if (std::string missing = MissingClaim(pod); !missing.empty()) return missing;
  for (const Value& pod_claim : pod["spec"]["resourceClaims"].Items()) {
    const std::string_view name = client::ClaimNameOf(pod, pod_claim);
    const Value* claim = name.empty() ? nullptr : claims_->Get(client::NamespaceOf(pod), name);
    if (claim == nullptr) continue;
    if ((*claim)["status"]["allocation"].IsNull()) {
      return fmt::format("waits for ResourceClaim {}, which is not allocated", name);
    }
    const bool reserved =
        std::ranges::any_of((*claim)["status"]["reservedFor"].Items(), [&](const Value& consumer) {
          return consumer["uid"].AsString() == client::UidOf(pod) ||
                 (IsGroup(consumer) && consumer["name"].AsString() == GroupOf(pod));
        });
    if (!reserved) {
      return fmt::format("waits for ResourceClaim {}, which is not reserved for it", name);
    }
  }
  return {};
}

PlannedPod PlanLog::Describe(const Entry& entry) const {
  const Value& pod = entry.pod;
  PlannedPod planned{.ns = std::string(client::NamespaceOf(pod)),
                     .name = std::string(client::NameOf(pod)),
                     .node = std::string(pod["spec"]["nodeName"].AsString()),
                     .started = pod["status"]["phase"].AsString() != "Pending"};
  for (const Value& pod_claim : pod["spec"]["resourceClaims"].Items()) {
    const Value* claim = ClaimOf(pod, client::ClaimNameOf(pod, pod_claim));
    if (claim == nullptr) continue;
    planned.claims.push_back(DescribeClaim(*claim, std::string(pod_claim["name"].AsString())));
  }
  const std::string_view extended =
      pod.At({"status", "extendedResourceClaimStatus", "resourceClaimName"}).AsString();
  if (const Value* claim = ClaimOf(pod, extended)) {
    planned.claims.push_back(DescribeClaim(*claim, ""));
  }
  const Value* disruption = client::ConditionOf(pod, "DisruptionTarget");
  if (entry.deleted || client::IsBeingDeleted(pod)) {
    planned.phase = "Evicted";
    if (disruption != nullptr) planned.reason = (*disruption)["message"].AsString();
  } else if (!planned.node.empty()) {
    planned.reason = WhyHeld(pod);
    planned.phase = planned.reason.empty() ? "Scheduled" : "Pending";
  } else {
    planned.phase = "Pending";
    planned.reason = WhyPending(pod);
    planned.claims.clear();
  }
  return planned;
}

std::vector<PlannedPod> PlanLog::Pods() const {
  std::vector<std::pair<std::tuple<bool, std::size_t, std::size_t>, const Entry*>> rows;
  for (std::size_t i = 0; i < order_.size(); ++i) {
    const Entry& entry = entries_.find(order_[i])->second;
    // Pods that were scaled away or removed on purpose have no row.
    const bool evicted = client::IsConditionTrue(entry.pod, "DisruptionTarget");
    if (entry.deleted && !evicted) continue;
    const std::size_t place = entry.replacement ? 0 : entry.place;
    rows.emplace_back(std::tuple(entry.replacement, place, i), &entry);
  }
  std::ranges::sort(rows);
  std::vector<PlannedPod> pods;
  for (const auto& [key, entry] : rows) pods.push_back(Describe(*entry));
  return pods;
}

}  // namespace drachma::cluster
