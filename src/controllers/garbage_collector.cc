#include "controllers/garbage_collector.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "client/objects.h"

namespace drachma::controllers {
namespace {

using client::Change;
using json::Value;

// Owners that are known to be gone; upstream keeps 500.
constexpr std::size_t kGoneUidsMax = 2000;

const Value* ReferenceTo(const Value& object, std::string_view uid) {
  for (const Value& reference : object["metadata"]["ownerReferences"].Items()) {
    if (reference["uid"].AsString() == uid) return &reference;
  }
  return nullptr;
}

// A metadata patch that fails when the object has changed.
Action PatchMetadata(const CollectedKind& kind, const Value& object, std::string_view field,
                     Value value) {
  Value metadata = Value::Object({{"uid", client::UidOf(object)},
                                  {"resourceVersion", client::ResourceVersionOf(object)},
                                  {field, std::move(value)}});
  Action action{.request = client::PatchRequest(
                    kind.resource, client::NamespaceOf(object), client::NameOf(object),
                    client::PatchType::kMerge, Value::Object({{"metadata", std::move(metadata)}}))};
  action.settle = [](const Result<Value>& answer) -> Status {
    if (answer || answer.error().code == Code::kNotFound) return {};
    return std::unexpected(answer.error());
  };
  return action;
}

Action RemoveFinalizer(const CollectedKind& kind, const Value& object, std::string_view name) {
  Value kept = Value::Array();
  for (const Value& finalizer : object["metadata"]["finalizers"].Items()) {
    if (finalizer.AsString() != name) kept.Append(finalizer);
  }
  return PatchMetadata(kind, object, "finalizers", std::move(kept));
}

template <typename Keep>
Action KeepOwners(const CollectedKind& kind, const Value& object, Keep keep) {
  Value kept = Value::Array();
  for (const Value& reference : object["metadata"]["ownerReferences"].Items()) {
    if (keep(reference)) kept.Append(reference);
  }
  return PatchMetadata(kind, object, "ownerReferences", std::move(kept));
}

bool Waits(const Value& object) {
  return client::IsBeingDeleted(object) && client::HasFinalizer(object, kForegroundFinalizer);
}

}  // namespace

GarbageCollector::GarbageCollector(Host& host) : Controller(host), gone_(kGoneUidsMax) {
  const std::vector<CollectedKind>& kinds = CollectedKinds();
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    caches_.push_back(&Watch(kinds[kind].resource,
                             [this, kind](const Change& change) { OnChange(kind, change); }));
  }
}

void GarbageCollector::AddItem(std::size_t kind, const Value& object) {
  Add(fmt::format("{}:{}", kind, client::KeyOf(object)));
}

std::vector<GarbageCollector::Item> GarbageCollector::DependentsOf(std::string_view uid) const {
  std::vector<Item> found;
  for (std::size_t kind = 0; kind < caches_.size(); ++kind) {
    for (const Value* object : caches_[kind]->OwnedBy(uid)) found.push_back({kind, object});
  }
  return found;
}

void GarbageCollector::OnChange(std::size_t kind, const Change& change) {
  const Value& object = change.object;
  const bool deleted = change.type == Change::Type::kDeleted;
  if (deleted) {
    gone_.Add(client::UidOf(object));
    for (const Item& item : DependentsOf(client::UidOf(object))) AddItem(item.kind, *item.object);
  }
  const Value& owners = object["metadata"]["ownerReferences"];
  const bool leaving = client::IsBeingDeleted(object) && !object["metadata"]["finalizers"].empty();
  const bool owners_changed = !owners.SharesWith(change.old_object["metadata"]["ownerReferences"]);
  if (!deleted && (leaving || (!owners.empty() && owners_changed))) AddItem(kind, object);
  // An owner that is being deleted looks again whenever one of its dependents moves or leaves it.
  for (const Value* version : {&change.old_object, &change.object}) {
    for (const Value& reference : (*version)["metadata"]["ownerReferences"].Items()) {
      AddLeavingOwner(reference);
    }
  }
}

void GarbageCollector::AddLeavingOwner(const Value& reference) {
  const auto [group, version] = api::SplitGroupVersion(reference["apiVersion"].AsString());
  const api::KindInfo* info = api::FindKind(group, reference["kind"].AsString());
  const auto found = std::ranges::find(CollectedKinds(), info, &CollectedKind::info);
  if (info == nullptr || found == CollectedKinds().end()) return;
  const auto kind = static_cast<std::size_t>(found - CollectedKinds().begin());
  const Value* owner = caches_[kind]->ByUid(reference["uid"].AsString());
  if (owner != nullptr && client::IsBeingDeleted(*owner)) AddItem(kind, *owner);
}

GarbageCollector::Owners GarbageCollector::ClassifyOwners(std::size_t kind, const Value& object,
                                                          const std::string& key) {
  Owners owners;
  const bool namespaced = CollectedKinds()[kind].info->namespaced();
  for (const Value& reference : object["metadata"]["ownerReferences"].Items()) {
    const std::string_view uid = reference["uid"].AsString();
    const auto [group, version] = api::SplitGroupVersion(reference["apiVersion"].AsString());
    const api::KindInfo* info = api::FindKind(group, reference["kind"].AsString());
    const auto found = std::ranges::find(CollectedKinds(), info, &CollectedKind::info);
    if (info == nullptr || found == CollectedKinds().end()) {
      owners.solid.push_back(&reference);  // nobody here can say that it is gone
      continue;
    }
    if (gone_.Contains(uid) || (info->namespaced() && !namespaced)) {
      owners.dangling.push_back(&reference);
      continue;
    }
    const Cache& cache = *caches_[static_cast<std::size_t>(found - CollectedKinds().begin())];
    const Value* owner = cache.ByUid(uid);
    if (owner != nullptr && client::NameOf(*owner) == reference["name"].AsString()) {
      const bool waits = Waits(*owner) && reference["blockOwnerDeletion"].AsBool();
      (waits ? owners.waiting : owners.solid).push_back(&reference);
      continue;
    }
    const std::string_view ns = info->namespaced() ? client::NamespaceOf(object) : "";
    Action lookup{.request = client::GetRequest(found->resource, ns, reference["name"].AsString())};
    lookup.settle = [this, key, uid = std::string(uid)](const Result<Value>& answer) -> Status {
      const bool gone =
          answer ? client::UidOf(*answer) != uid : answer.error().code == Code::kNotFound;
      if (!answer && !gone) return std::unexpected(answer.error());
      if (gone) gone_.Add(uid);
      if (gone) Add(key);
      return {};
    };
    owners.lookups.push_back(std::move(lookup));
  }
  return owners;
}

Action GarbageCollector::Delete(std::size_t kind, const Value& object,
                                std::string_view propagation) const {
  Action action{.request = client::DeleteRequest(CollectedKinds()[kind].resource, object)};
  // The version keeps an adoption that happens meanwhile from being overlooked.
  action.request.body.Edit("preconditions")
      .Set("resourceVersion", client::ResourceVersionOf(object));
  action.request.body.Set("propagationPolicy", propagation);
  return action;
}

Work GarbageCollector::SyncLeaving(std::size_t kind, const Value& object) {
  Work work;
  const CollectedKind& info = CollectedKinds()[kind];
  const std::string_view uid = client::UidOf(object);
  if (client::HasFinalizer(object, kOrphanFinalizer)) {
    for (const Item& item : DependentsOf(uid)) {
      work.actions.push_back(
          KeepOwners(CollectedKinds()[item.kind], *item.object,
                     [&](const Value& r) { return r["uid"].AsString() != uid; }));
    }
    if (work.actions.empty()) {
      work.actions.push_back(RemoveFinalizer(info, object, kOrphanFinalizer));
    }
    return work;
  }
  if (!client::HasFinalizer(object, kForegroundFinalizer)) return work;
  bool blocked = false;
  for (const Item& item : DependentsOf(uid)) {
    blocked |= (*ReferenceTo(*item.object, uid))["blockOwnerDeletion"].AsBool();
    if (!client::IsBeingDeleted(*item.object)) AddItem(item.kind, *item.object);
  }
  if (!blocked) work.actions.push_back(RemoveFinalizer(info, object, kForegroundFinalizer));
  return work;
}

Work GarbageCollector::Sync(const std::string& key) {
  const std::size_t colon = key.find(':');
  std::size_t kind = 0;
  std::from_chars(key.data(), key.data() + colon, kind);
  const Value* object = caches_[kind]->Get(std::string_view(key).substr(colon + 1));
  if (object == nullptr) return {};
  if (client::IsBeingDeleted(*object)) return SyncLeaving(kind, *object);

  Work work;
  Owners owners = ClassifyOwners(kind, *object, key);
  if (!owners.lookups.empty()) {
    work.actions = std::move(owners.lookups);
    return work;
  }
  if (owners.dangling.empty() && owners.waiting.empty()) return work;
  if (!owners.solid.empty()) {
    work.actions.push_back(KeepOwners(CollectedKinds()[kind], *object, [&](const Value& reference) {
      return std::ranges::find(owners.solid, &reference) != owners.solid.end();
    }));
    return work;
  }
  if (!owners.waiting.empty() && !DependentsOf(client::UidOf(*object)).empty()) {
    work.actions.push_back(Delete(kind, *object, "Foreground"));
    return work;
  }
  const bool orphan = client::HasFinalizer(*object, kOrphanFinalizer);
  const bool foreground = client::HasFinalizer(*object, kForegroundFinalizer);
  work.actions.push_back(
      Delete(kind, *object, orphan ? "Orphan" : (foreground ? "Foreground" : "Background")));
  return work;
}

}  // namespace drachma::controllers
