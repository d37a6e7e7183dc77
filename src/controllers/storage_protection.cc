#include "controllers/storage_protection.h"

#include <fmt/format.h>

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

const client::Resource kClaims = {"", "v1", "persistentvolumeclaims"};
const client::Resource kVolumes = {"", "v1", "persistentvolumes"};
const client::Resource kVolumeClasses = {"storage.k8s.io", "v1", "volumeattributesclasses"};
constexpr std::string_view kClaimFinalizer = "kubernetes.io/pvc-protection";
constexpr std::string_view kVolumeFinalizer = "kubernetes.io/pv-protection";
constexpr std::string_view kVolumeClassFinalizer = "kubernetes.io/vac-protection";

// Stopped by its kubelet, or deleted by force: only its finalizers keep it.
bool IsShutDown(const Value& pod) {
  return client::IsBeingDeleted(pod) && pod["metadata"]["deletionGracePeriodSeconds"].AsInt(1) == 0;
}

// The claim that a volume of `pod` stands for; empty for other volumes.
std::string ClaimOfVolume(const Value& pod, const Value& volume) {
  if (volume.Has("ephemeral")) {
    return fmt::format("{}-{}", client::NameOf(pod), volume["name"].AsString());
  }
  return std::string(volume["persistentVolumeClaim"]["claimName"].AsString());
}

// Whether a pod keeps the claim. One without a node does not: its kubelet would not start it.
bool Uses(const Value& pod, const Value& claim) {
  if (pod["spec"]["nodeName"].AsString().empty()) return false;
  return std::ranges::any_of(pod["spec"]["volumes"].Items(), [&](const Value& volume) {
    if (ClaimOfVolume(pod, volume) != client::NameOf(claim)) return false;
    if (!volume.Has("ephemeral")) return true;
    const Value* owner = client::ControllerOf(claim);
    return !IsShutDown(pod) && owner != nullptr && (*owner)["uid"].AsString() == client::UidOf(pod);
  });
}

// The VolumeAttributesClasses that a claim or a volume names, "" among them.
std::array<std::string_view, 3> ClassesOf(const Value& user) {
  return {user["spec"]["volumeAttributesClassName"].AsString(),
          user["status"]["currentVolumeAttributesClassName"].AsString(),
          user["status"]["modifyVolumeStatus"]["targetVolumeAttributesClassName"].AsString()};
}

}  // namespace

StorageProtection::StorageProtection(Host& host, client::Resource resource,
                                     std::string_view finalizer)
    : Controller(host),
      resource_(std::move(resource)),
      finalizer_(finalizer),
      objects_(Watch(resource_, [this](const Change& change) {
        if (change.type != Change::Type::kDeleted &&
            (WaitsToGo(change.object) || IsBare(change.object))) {
          Add(client::KeyOf(change.object));
        }
      })) {}

bool StorageProtection::WaitsToGo(const Value& object) const {
  return client::IsBeingDeleted(object) && client::HasFinalizer(object, finalizer_);
}

bool StorageProtection::IsBare(const Value& object) const {
  return !client::IsBeingDeleted(object) && !client::HasFinalizer(object, finalizer_);
}

Action StorageProtection::Release(const Value& object) const {
  return {.request = RemoveFinalizerRequest(resource_, object, finalizer_)};
}

Work StorageProtection::Sync(const std::string& key) {
  Work work;
  const Value* object = objects_.Get(key);
  if (object == nullptr) return work;
  if (WaitsToGo(*object) && !IsUsed(*object)) work.actions.push_back(Release(*object));
  if (IsBare(*object)) {
    Value changed = *object;
    changed.Edit("metadata").Edit("finalizers").Append(finalizer_);
    work.actions.push_back({.request = client::UpdateRequest(resource_, std::move(changed))});
  }
  return work;
}

VolumeClaimProtection::VolumeClaimProtection(Host& host)
    : StorageProtection(host, kClaims, kClaimFinalizer),
      pods_(Watch(resources::kPods, [this](const Change& change) { OnPod(change); })) {}

void VolumeClaimProtection::OnPod(const Change& change) {
  if (change.type != Change::Type::kDeleted && !IsShutDown(change.object)) return;
  for (const Value& volume : change.object["spec"]["volumes"].Items()) {
    const std::string claim = ClaimOfVolume(change.object, volume);
    if (!claim.empty()) Add(fmt::format("{}/{}", client::NamespaceOf(change.object), claim));
  }
}

bool VolumeClaimProtection::IsUsed(const Value& claim) const {
  return std::ranges::any_of(pods_.InNamespace(client::NamespaceOf(claim)),
                             [&](const Value* pod) { return Uses(*pod, claim); });
}

Action VolumeClaimProtection::Release(const Value& claim) const {
  return {.request = {.verb = client::Verb::kList,
                      .resource = resources::kPods,
                      .ns = std::string(client::NamespaceOf(claim))},
          .then = [claim](const Value& pods) -> std::optional<client::Request> {
            if (std::ranges::any_of(pods["items"].Items(),
                                    [&](const Value& pod) { return Uses(pod, claim); })) {
              return std::nullopt;  // its end brings the claim back
            }
            return RemoveFinalizerRequest(kClaims, claim, kClaimFinalizer);
          }};
}

VolumeProtection::VolumeProtection(Host& host)
    : StorageProtection(host, kVolumes, kVolumeFinalizer) {}

bool VolumeProtection::IsUsed(const Value& volume) const {
  return volume["status"]["phase"].AsString() == "Bound";
}

VolumeClassProtection::VolumeClassProtection(Host& host)
    : StorageProtection(host, kVolumeClasses, kVolumeClassFinalizer),
      claims_(Watch(kClaims, [this](const Change& change) { OnUser(change); })),
      volumes_(Watch(kVolumes, [this](const Change& change) { OnUser(change); })) {}

void VolumeClassProtection::OnUser(const Change& change) {
  // What it named before counts: the change may have let go of it.
  for (const Value* user : {&change.object, &change.old_object}) {
    for (const std::string_view name : ClassesOf(*user)) {
      if (!name.empty()) Add(std::string(name));
    }
  }
}

bool VolumeClassProtection::IsUsed(const Value& volume_class) const {
  const auto names_it = [name = client::NameOf(volume_class)](const auto& entry) {
    return std::ranges::any_of(ClassesOf(entry.second),
                               [&](std::string_view used) { return used == name; });
  };
  return std::ranges::any_of(claims_.objects(), names_it) ||
         std::ranges::any_of(volumes_.objects(), names_it);
}

}  // namespace drachma::controllers
