#include "controllers/claim_controller.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "client/objects.h"
#include "controllers/group_claims.h"
#include "controllers/objects.h"

namespace drachma::controllers {
namespace {

using client::Change;
using json::Value;
namespace resources = client::resources;

constexpr std::string_view kPodPrefix = "pod:";
constexpr std::string_view kGroupPrefix = "podgroup:";
constexpr std::string_view kClaimPrefix = "claim:";
constexpr std::string_view kFieldManager = "ResourceClaimController";
// Upstream's LRU of deleted pods.
constexpr std::size_t kGoneUidsMax = 500;
// Longest name (63) less the suffix that the API server appends and a dash.
constexpr std::size_t kGenerateNameMax = 57;

std::string ClaimKey(std::string_view ns, std::string_view name) {
  return fmt::format("{}{}/{}", kClaimPrefix, ns, name);
}
std::string PodKey(std::string_view key) { return fmt::format("{}{}", kPodPrefix, key); }

// A pod that will never run (again): it needs no claims.
bool IsDone(const Value& pod) {
  if (client::IsPodTerminal(pod)) return true;
  return client::IsBeingDeleted(pod) && pod["spec"]["nodeName"].AsString().empty();
}

bool HasStatusEntry(const Value& pod, std::string_view pod_claim) {
  return std::ranges::any_of(pod["status"]["resourceClaimStatuses"].Items(),
                             [&](const Value& s) { return s["name"].AsString() == pod_claim; });
}

}  // namespace

std::string ClaimGenerateName(std::string_view pod, std::string_view pod_claim) {
  std::string name = fmt::format("{}-{}-", pod, pod_claim);
  if (name.size() <= kGenerateNameMax) return name;
  const std::size_t total = name.size();
  return fmt::format("{}-{}", pod.substr(0, pod.size() * kGenerateNameMax / total),
                     pod_claim.substr(0, pod_claim.size() * kGenerateNameMax / total));
}

ClaimController::ClaimController(Host& host)
    : Controller(host),
      pods_(Watch(resources::kPods, [this](const Change& change) { OnPod(change); })),
      claims_(Watch(resources::kResourceClaims, [this](const Change& change) { OnClaim(change); })),
      templates_(Watch(resources::kResourceClaimTemplates,
                       [this](const Change& change) { OnTemplate(change); })),
      with_groups_(host.Enabled("GenericWorkload", false)),
      with_group_claims_(with_groups_ && host.Enabled("DRAWorkloadResourceClaims", false)),
      gone_(kGoneUidsMax) {
  if (with_groups_) {
    groups_ = &Watch(kPodGroups, [this](const Change& change) { OnGroup(change); });
  }
}

void ClaimController::AddClaimsOf(const Value& pod) {
  const std::string_view ns = client::NamespaceOf(pod);
  for (const Value& pod_claim : pod["spec"]["resourceClaims"].Items()) {
    const std::string_view name = client::ClaimNameOf(pod, pod_claim);
    if (!name.empty()) Add(ClaimKey(ns, name));
  }
  const std::string_view extended =
      pod.At({"status", "extendedResourceClaimStatus", "resourceClaimName"}).AsString();
  if (!extended.empty()) Add(ClaimKey(ns, extended));
  for (const Value* claim : claims_.OwnedBy(client::UidOf(pod))) {
    Add(ClaimKey(ns, client::NameOf(*claim)));
  }
}

void ClaimController::OnPod(const Change& change) {
  const Value& pod = change.object;
  const bool deleted = change.type == Change::Type::kDeleted;
  const std::string key = client::KeyOf(pod);
  const std::string_view ns = client::NamespaceOf(pod);
  for (const Value& pod_claim : pod["spec"]["resourceClaims"].Items()) {
    const std::string_view of_template = pod_claim["resourceClaimTemplateName"].AsString();
    auto& index = of_template.empty() ? pods_of_claim_ : pods_of_template_;
    const std::string_view name =
        of_template.empty() ? pod_claim["resourceClaimName"].AsString() : of_template;
    auto& keys = index[fmt::format("{}/{}", ns, name)];
    if (deleted) {
      keys.erase(key);
    } else {
      keys.insert(key);
    }
    if (keys.empty()) index.erase(fmt::format("{}/{}", ns, name));
  }
  if (const std::string_view group = GroupNameOf(pod); !group.empty()) {
    const std::string group_key = fmt::format("{}/{}", ns, group);
    if (!deleted) {
      pods_of_group_[group_key].insert(key);
    } else if (const auto members = pods_of_group_.find(group_key);
               members != pods_of_group_.end()) {
      members->second.erase(key);
      if (members->second.empty()) pods_of_group_.erase(members);
    }
  }
  if (deleted) {
    gone_.Add(client::UidOf(pod));
    AddClaimsOf(pod);
    return;
  }
  if (IsDone(pod)) AddClaimsOf(pod);
  if (!pod["spec"]["resourceClaims"].empty()) Add(PodKey(key));
}

void ClaimController::OnClaim(const Change& change) {
  const Value& claim = change.object;
  const std::string key = client::KeyOf(claim);
  if (change.type != Change::Type::kDeleted) Add(fmt::format("{}{}", kClaimPrefix, key));
  if (const auto pods = pods_of_claim_.find(key); pods != pods_of_claim_.end()) {
    for (const std::string& pod : pods->second) Add(PodKey(pod));
  }
  const Value* owner = client::ControllerOf(claim);
  if (owner != nullptr && (*owner)["kind"].AsString() == "Pod") {
    Add(PodKey(fmt::format("{}/{}", client::NamespaceOf(claim), (*owner)["name"].AsString())));
  }
  if (owner != nullptr && (*owner)["kind"].AsString() == "PodGroup") {
    const std::string group =
        fmt::format("{}/{}", client::NamespaceOf(claim), (*owner)["name"].AsString());
    Add(fmt::format("{}{}", kGroupPrefix, group));
    AddMembersOf(group);
  }
}

void ClaimController::AddMembersOf(std::string_view group_key) {
  const auto members = pods_of_group_.find(group_key);
  if (members == pods_of_group_.end()) return;
  for (const std::string& pod : members->second) Add(PodKey(pod));
}

void ClaimController::OnGroup(const Change& change) {
  const Value& group = change.object;
  const std::string key = client::KeyOf(group);
  if (change.type == Change::Type::kDeleted) {
    gone_.Add(client::UidOf(group));
    for (const Value* claim : claims_.InNamespace(client::NamespaceOf(group))) {
      const bool concerned = std::ranges::any_of(
          (*claim)["status"]["reservedFor"].Items(),
          [&](const Value& c) { return c["uid"].AsString() == client::UidOf(group); });
      if (concerned) Add(fmt::format("{}{}", kClaimPrefix, client::KeyOf(*claim)));
    }
    return;
  }
  if (!group["spec"]["resourceClaims"].empty()) Add(fmt::format("{}{}", kGroupPrefix, key));
  AddMembersOf(key);
}

// Upstream leaves a pod whose template comes late to its back-off; there is no reason to wait.
void ClaimController::OnTemplate(const Change& change) {
  if (change.type != Change::Type::kAdded) return;
  if (groups_ != nullptr) {
    for (const Value* group : groups_->InNamespace(client::NamespaceOf(change.object))) {
      const bool wants =
          std::ranges::any_of((*group)["spec"]["resourceClaims"].Items(), [&](const Value& entry) {
            return entry["resourceClaimTemplateName"].AsString() == client::NameOf(change.object);
          });
      if (wants) Add(fmt::format("{}{}", kGroupPrefix, client::KeyOf(*group)));
    }
  }
  const auto pods = pods_of_template_.find(client::KeyOf(change.object));
  if (pods == pods_of_template_.end()) return;
  for (const std::string& pod : pods->second) Add(PodKey(pod));
}

Work ClaimController::Sync(const std::string& key) {
  if (key.starts_with(kPodPrefix)) return SyncPod(key.substr(kPodPrefix.size()));
  if (key.starts_with(kGroupPrefix)) return SyncGroup(key.substr(kGroupPrefix.size()));
  return SyncClaim(key.substr(kClaimPrefix.size()));
}

std::string_view ClaimController::ExistingClaim(const Value& pod, const Value& pod_claim) {
  const std::string_view name = client::ClaimNameOf(pod, pod_claim);
  if (!name.empty()) {
    const Value* claim = claims_.Get(client::NamespaceOf(pod), name);
    if (claim != nullptr && IsClaimFor(*claim, pod)) return client::NameOf(*claim);
  }
  return OwnedClaim(claims_, pod, pod_claim["name"].AsString());
}

EventToRecord ClaimController::CreationFailed(const Owner& owner, std::string_view entry,
                                              std::string_view text) const {
  return {.object = Reference(owner.api_version, owner.kind, owner.object),
          .type = client::EventType::kWarning,
          .reason = "FailedResourceClaimCreation",
          .message = fmt::format("{}ResourceClaim {}: {}", owner.kind, entry, text)};
}

void ClaimController::MakeClaim(const Owner& owner, const Value& wanted, Work& work) {
  const std::string_view ns = client::NamespaceOf(owner.object);
  const std::string_view entry = wanted["name"].AsString();
  const std::string_view template_name = wanted["resourceClaimTemplateName"].AsString();
  const Value* from = templates_.Get(ns, template_name);
  if (from == nullptr) {
    const std::string text = fmt::format(
        "resource claim template \"{0}\": resourceclaimtemplate.resource.k8s.io \"{0}\" not found",
        template_name);
    work.events.push_back(CreationFailed(owner, entry, text));
    work.error = Error{.code = Code::kNotFound, .message = text};
    return;
  }
  const Value& metadata = (*from)["spec"]["metadata"];
  Value reference = client::OwnerReference(owner.api_version, owner.kind, owner.object);
  if (owner.kind == "PodGroup") reference.Erase("blockOwnerDeletion");
  Value annotations = metadata["annotations"];
  annotations.Set(kPodClaimAnnotation, entry);
  Value claim_metadata =
      Value::Object({{"generateName", ClaimGenerateName(client::NameOf(owner.object), entry)},
                     {"namespace", ns},
                     {"annotations", std::move(annotations)},
                     {"ownerReferences", Value::Array({std::move(reference)})}});
  if (!metadata["labels"].empty()) claim_metadata.Set("labels", metadata["labels"]);
  Value claim = Value::Object({{"apiVersion", "resource.k8s.io/v1"},
                               {"kind", "ResourceClaim"},
                               {"metadata", std::move(claim_metadata)},
                               {"spec", (*from)["spec"]["spec"]}});
  Action action{.request = client::CreateRequest(resources::kResourceClaims, ns, std::move(claim))};
  action.request.field_manager = kFieldManager;
  action.settle = [this, api_version = owner.api_version, kind = owner.kind, object = owner.object,
                   entry = std::string(entry)](const Result<Value>& answer) -> Status {
    if (answer) return {};
    Record(CreationFailed({api_version, kind, object}, entry, answer.error().message));
    return std::unexpected(answer.error());
  };
  work.actions.push_back(std::move(action));
}

Work ClaimController::SyncPod(const std::string& key) {
  Work work;
  const Value* pod = pods_.Get(key);
  if (pod == nullptr || client::IsBeingDeleted(*pod) || client::IsPodTerminal(*pod)) return work;
  // The claims of its group count as its own; before the group is there, nobody knows which.
  const bool is_member = !GroupNameOf(*pod).empty();
  if (is_member && GroupOf(*pod) == nullptr) return work;
  std::vector<std::pair<std::string, std::string>> names;  // entry, claim
  for (const Value& pod_claim : (*pod)["spec"]["resourceClaims"].Items()) {
    if (!pod_claim.Has("resourceClaimTemplateName")) continue;
    const std::string_view entry = pod_claim["name"].AsString();
    const bool needs_none =
        HasStatusEntry(*pod, entry) && client::ClaimNameOf(*pod, pod_claim).empty();
    if (needs_none) continue;
    if (const Value* group = GroupOfEntry(*pod, pod_claim)) {
      if (!with_group_claims_) {
        work.events.push_back(CreationFailed(
            {"v1", "Pod", *pod}, entry,
            fmt::format("claim {} is a PodGroup claim but the DRAWorkloadResourceClaims feature "
                        "is disabled",
                        entry)));
        return work;
      }
      const std::string_view of_group = ClaimOfGroup(*group, pod_claim);
      if (!of_group.empty()) names.emplace_back(entry, of_group);
      continue;
    }
    const std::string_view name = ExistingClaim(*pod, pod_claim);
    if (name.empty()) {
      MakeClaim({"v1", "Pod", *pod}, pod_claim, work);
      if (work.error) return work;
    } else {
      names.emplace_back(entry, name);
    }
  }
  if (!work.actions.empty()) return work;

  std::ranges::sort(names);
  Value statuses = Value::Array();
  bool noted = true;
  for (const auto& [entry, name] : names) {
    statuses.Append(Value::Object({{"name", entry}, {"resourceClaimName", name}}));
    noted &=
        std::ranges::any_of((*pod)["status"]["resourceClaimStatuses"].Items(), [&](const Value& s) {
          return s["name"].AsString() == entry && s["resourceClaimName"].AsString() == name;
        });
  }
  if (!noted) {
    Action action{
        .request = client::PatchRequest(
            resources::kPods, client::NamespaceOf(*pod), client::NameOf(*pod),
            client::PatchType::kStrategicMerge,
            Value::Object(
                {{"metadata", Value::Object({{"uid", client::UidOf(*pod)}})},
                 {"status", Value::Object({{"resourceClaimStatuses", std::move(statuses)}})}}),
            "status")};
    action.request.field_manager = kFieldManager;
    work.actions.push_back(std::move(action));
  } else if (!(*pod)["spec"]["nodeName"].AsString().empty()) {
    ReserveForScheduledPod(*pod, work);
  }
  return work;
}

// A pod that was given its node without the scheduler still holds its allocated claims.
void ClaimController::ReserveForScheduledPod(const Value& pod, Work& work) {
  for (const Value& pod_claim : pod["spec"]["resourceClaims"].Items()) {
    const Value* claim = claims_.Get(client::NamespaceOf(pod), client::ClaimNameOf(pod, pod_claim));
    if (claim == nullptr) return;
    const Value& status = (*claim)["status"];
    if (status["allocation"].IsNull() || IsReservedFor(*claim, pod)) continue;
    if (status["reservedFor"].size() >= kReservedForMax) continue;
    Value changed = *claim;
    const Value* group = GroupOfEntry(pod, pod_claim);
    if (group != nullptr && !with_group_claims_) continue;
    changed.Edit("status").Edit("reservedFor").Append(ConsumerOf(pod, group));
    work.actions.push_back({.request = client::UpdateRequest(resources::kResourceClaims,
                                                             std::move(changed), "status")});
  }
}

ClaimController::Fate ClaimController::FateOf(const Value& claim, const Value& consumer) {
  if (with_group_claims_ && IsGroup(consumer)) return FateOfGroup(claim, consumer);
  // Of other kinds of consumers nothing is known: they stay.
  const bool is_pod =
      consumer["apiGroup"].AsString().empty() && consumer["resource"].AsString() == "pods";
  if (!is_pod) return Fate::kKeep;
  const std::string_view uid = consumer["uid"].AsString();
  if (gone_.Contains(uid)) return Fate::kDrop;
  const Value* pod = pods_.Get(client::NamespaceOf(claim), consumer["name"].AsString());
  if (pod == nullptr) return Fate::kUnknown;
  if (client::UidOf(*pod) != uid || IsDone(*pod)) return Fate::kDrop;
  return Fate::kKeep;
}

// Before a pod or group that the cache does not hold counts as gone, the API is asked: the cache
// may lag behind the scheduler that reserved the claim for a new one.
Action ClaimController::LookUp(const Value& claim, const Value& consumer) {
  const client::Resource& resource = IsGroup(consumer) ? kPodGroups : resources::kPods;
  Action action{.request = client::GetRequest(resource, client::NamespaceOf(claim),
                                              consumer["name"].AsString())};
  action.settle = [this, key = client::KeyOf(claim),
                   uid = std::string(consumer["uid"].AsString())](const Result<Value>& answer) {
    return gone_.Learn(answer, uid, [&] { Add(fmt::format("{}{}", kClaimPrefix, key)); });
  };
  return action;
}

ClaimController::Consumers ClaimController::Walk(const Value& claim) {
  Consumers consumers;
  for (const Value& consumer : claim["status"]["reservedFor"].Items()) {
    const Fate fate = FateOf(claim, consumer);
    if (fate == Fate::kUnknown) {
      consumers.lookups.push_back(LookUp(claim, consumer));
    }
    if (fate != Fate::kDrop) consumers.kept.Append(consumer);
  }
  return consumers;
}

namespace {

// The metadata write that lets a freed claim go, made from the answer of the status write.
std::optional<client::Request> RemoveFinalizer(const Value& claim) {
  if (!client::HasFinalizer(claim, kClaimFinalizer)) return std::nullopt;
  return RemoveFinalizerRequest(resources::kResourceClaims, claim, kClaimFinalizer);
}

// Whether the pod that owns the claim will not need it any more: it is done, or another pod has
// taken its name. When no pod of that name exists, garbage collection takes the claim.
bool OwnerIsDone(const Value& claim, const Cache& pods) {
  const Value* owner = client::ControllerOf(claim);
  if (owner == nullptr || (*owner)["kind"].AsString() != "Pod" ||
      (*owner)["apiVersion"].AsString() != "v1") {
    return false;
  }
  const Value* pod = pods.Get(client::NamespaceOf(claim), (*owner)["name"].AsString());
  if (pod == nullptr) return false;
  return client::UidOf(*pod) != (*owner)["uid"].AsString() || IsDone(*pod);
}

}  // namespace

Work ClaimController::SyncClaim(const std::string& key) {
  Work work;
  const Value* claim = claims_.Get(key);
  if (claim == nullptr) return work;
  Consumers consumers = Walk(*claim);  // unknown ones are kept until the answer is here
  work.actions = std::move(consumers.lookups);
  const Value& status = (*claim)["status"];
  const bool unused = consumers.kept.empty();
  const bool changed = consumers.kept.size() != status["reservedFor"].size();
  const bool allocated = !status["allocation"].IsNull();
  const bool ours = client::HasFinalizer(*claim, kClaimFinalizer);
  const bool leaving = client::IsBeingDeleted(*claim);
  if (changed || (leaving && unused && allocated && ours)) {
    Value next = *claim;
    Value& next_status = next.Edit("status");
    if (unused) {
      next_status.Erase("reservedFor");
      if (ours) next_status.Erase("allocation");
    } else {
      next_status.Set("reservedFor", std::move(consumers.kept));
    }
    Action action{.request =
                      client::UpdateRequest(resources::kResourceClaims, std::move(next), "status")};
    if (unused && ours) action.then = RemoveFinalizer;
    work.actions.push_back(std::move(action));
    return work;
  }
  if (leaving && unused && ours) {
    work.actions.push_back({.request = *RemoveFinalizer(*claim)});
    return work;
  }
  if (unused && !leaving && OwnerIsDone(*claim, pods_)) {
    work.actions.push_back({.request = client::DeleteRequest(resources::kResourceClaims, *claim)});
  }
  return work;
}

}  // namespace drachma::controllers
