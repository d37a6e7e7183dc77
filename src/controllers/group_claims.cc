// The claims of pod groups: the part of ClaimController that needs the gates.
#include "controllers/group_claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "client/objects.h"
#include "controllers/claim_controller.h"

namespace drachma::controllers {

using json::Value;

namespace {

constexpr std::string_view kGroup = "scheduling.k8s.io";
constexpr std::string_view kGroupVersion = "scheduling.k8s.io/v1beta1";
constexpr std::string_view kFieldManager = "ResourceClaimController";

bool IsOwnedBy(const Value& claim, const Value& owner) {
  const Value* controller = client::ControllerOf(claim);
  return controller != nullptr && (*controller)["uid"].AsString() == client::UidOf(owner);
}

}  // namespace

std::string_view GroupNameOf(const Value& pod) {
  return pod["spec"]["schedulingGroup"]["podGroupName"].AsString();
}

bool IsGroup(const Value& consumer) {
  return consumer["apiGroup"].AsString() == kGroup &&
         consumer["resource"].AsString() == "podgroups";
}

Value ConsumerOf(const Value& pod, const Value* group) {
  if (group == nullptr) {
    return Value::Object(
        {{"resource", "pods"}, {"name", client::NameOf(pod)}, {"uid", client::UidOf(pod)}});
  }
  return Value::Object({{"apiGroup", kGroup},
                        {"resource", "podgroups"},
                        {"name", client::NameOf(*group)},
                        {"uid", client::UidOf(*group)}});
}

std::string_view OwnedClaim(const Cache& claims, const Value& owner, std::string_view entry) {
  for (const Value* claim : claims.OwnedBy(client::UidOf(owner))) {
    if (client::AnnotationOf(*claim, kPodClaimAnnotation) == entry && IsOwnedBy(*claim, owner)) {
      return client::NameOf(*claim);
    }
  }
  return {};
}

const Value* ClaimController::GroupOf(const Value& pod) const {
  const std::string_view name = GroupNameOf(pod);
  if (groups_ == nullptr || name.empty()) return nullptr;
  return groups_->Get(client::NamespaceOf(pod), name);
}

const Value* ClaimController::GroupOfEntry(const Value& pod, const Value& pod_claim) const {
  const Value* group = GroupOf(pod);
  if (group == nullptr) return nullptr;
  const bool matches =
      std::ranges::any_of((*group)["spec"]["resourceClaims"].Items(), [&](const Value& entry) {
        return entry["name"] == pod_claim["name"] &&
               entry["resourceClaimName"] == pod_claim["resourceClaimName"] &&
               entry["resourceClaimTemplateName"] == pod_claim["resourceClaimTemplateName"];
      });
  return matches ? group : nullptr;
}

bool ClaimController::IsClaimFor(const Value& claim, const Value& pod) const {
  if (IsOwnedBy(claim, pod)) return true;
  const Value* group = with_group_claims_ ? GroupOf(pod) : nullptr;
  return group != nullptr && IsOwnedBy(claim, *group);
}

bool ClaimController::IsReservedFor(const Value& claim, const Value& pod) const {
  return std::ranges::any_of(claim["status"]["reservedFor"].Items(), [&](const Value& consumer) {
    return consumer["uid"].AsString() == client::UidOf(pod) ||
           (with_group_claims_ && IsGroup(consumer) &&
            consumer["name"].AsString() == GroupNameOf(pod));
  });
}

std::string_view ClaimController::ClaimOfGroup(const Value& group, const Value& entry) const {
  const std::string_view name = client::ClaimNameOf(group, entry);
  if (!name.empty()) {
    const Value* claim = claims_.Get(client::NamespaceOf(group), name);
    if (claim != nullptr && IsOwnedBy(*claim, group)) return client::NameOf(*claim);
  }
  return OwnedClaim(claims_, group, entry["name"].AsString());
}

Work ClaimController::SyncGroup(const std::string& key) {
  Work work;
  const Value* group = groups_ == nullptr ? nullptr : groups_->Get(key);
  if (group == nullptr || client::IsBeingDeleted(*group) || !with_group_claims_) return work;
  Value statuses = Value::Array();
  for (const Value& entry : (*group)["spec"]["resourceClaims"].Items()) {
    if (!entry.Has("resourceClaimTemplateName")) continue;
    const std::string_view name = ClaimOfGroup(*group, entry);
    if (name.empty()) {
      MakeClaim({kGroupVersion, "PodGroup", *group}, entry, work);
      if (work.error) return work;
    } else if (client::ClaimNameOf(*group, entry) != name) {
      statuses.Append(Value::Object({{"name", entry["name"]}, {"resourceClaimName", name}}));
    }
  }
  if (!work.actions.empty() || statuses.empty()) return work;
  Action action{
      .request = client::PatchRequest(
          kPodGroups, client::NamespaceOf(*group), client::NameOf(*group),
          client::PatchType::kStrategicMerge,
          Value::Object(
              {{"metadata", Value::Object({{"uid", client::UidOf(*group)}})},
               {"status", Value::Object({{"resourceClaimStatuses", std::move(statuses)}})}}),
          "status")};
  action.request.field_manager = kFieldManager;
  work.actions.push_back(std::move(action));
  return work;
}

// A group keeps its claims until it is gone: its pods come and go.
ClaimController::Fate ClaimController::FateOfGroup(const Value& claim,
                                                   const Value& consumer) const {
  const std::string_view uid = consumer["uid"].AsString();
  if (gone_.Contains(uid)) return Fate::kDrop;
  const Value* group = groups_->Get(client::NamespaceOf(claim), consumer["name"].AsString());
  if (group == nullptr) return Fate::kUnknown;
  return client::UidOf(*group) == uid ? Fate::kKeep : Fate::kDrop;
}

}  // namespace drachma::controllers
