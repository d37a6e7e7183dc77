#include "controllers/garbage_collector.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "api/kinds.h"
#include "client/objects.h"
#include "controllers/objects.h"

namespace drachma::controllers {
namespace {

using client::Change;
using json::Value;

// Owners that are known to be gone; upstream keeps 500.
constexpr std::size_t kGoneUidsMax = 2000;
// Keys that are kept for a kind that is not known; more are looked at when they change.
constexpr std::size_t kUndefinedMax = 10'000;
// How long a key waits for the first copies of a new kind before it looks again.
constexpr Duration kCopyWait = std::chrono::milliseconds(100);

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
  return PatchMetadata(kind, object, "finalizers", FinalizersWithout(object, name));
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

GarbageCollector::GarbageCollector(Host& host)
    : CollectingController(host, Which::kAll), gone_(kGoneUidsMax) {}

void GarbageCollector::AddItem(std::size_t kind, const Value& object) {
  Add(fmt::format("{}:{}", kind, client::KeyOf(object)));
}

std::vector<GarbageCollector::Item> GarbageCollector::DependentsOf(std::string_view uid) const {
  std::vector<Item> found;
  for (std::size_t kind = 0; kind < kinds().size(); ++kind) {
    for (const Value* object : kinds()[kind].cache->OwnedBy(uid)) found.push_back({kind, object});
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
  const std::optional<std::size_t> kind = FindKind(group, reference["kind"].AsString());
  if (!kind) return;
  const Value* owner = kinds()[*kind].cache->ByUid(reference["uid"].AsString());
  if (owner != nullptr && client::IsBeingDeleted(*owner)) AddItem(*kind, *owner);
}

// Owners of this kind may have come and gone before anybody looked.
void GarbageCollector::OnListed(std::size_t kind) {
  const CollectedKind& info = kinds()[kind].info;
  const auto waiting = undefined_.extract(fmt::format("{}/{}", info.resource.group, info.kind));
  if (waiting.empty()) return;
  for (const std::string& key : waiting.mapped()) Add(key);
}

GarbageCollector::Owners GarbageCollector::ClassifyOwners(std::size_t kind, const Value& object,
                                                          const std::string& key) {
  Owners owners;
  const bool namespaced = kinds()[kind].info.namespaced;
  for (const Value& reference : object["metadata"]["ownerReferences"].Items()) {
    const std::string_view uid = reference["uid"].AsString();
    if (gone_.Contains(uid)) {
      owners.dangling.push_back(&reference);
      continue;
    }
    const auto [group, version] = api::SplitGroupVersion(reference["apiVersion"].AsString());
    const std::optional<std::size_t> found = FindKind(group, reference["kind"].AsString());
    if (!found) {
      owners.solid.push_back(&reference);  // nobody here can say that it is gone
      auto& keys = undefined_[fmt::format("{}/{}", group, reference["kind"].AsString())];
      if (keys.size() < kUndefinedMax) keys.insert(key);
      continue;
    }
    const auto& [info, copy, defined] = kinds()[*found];
    if (info.namespaced && !namespaced) {
      owners.dangling.push_back(&reference);
      continue;
    }
    const Cache& cache = *copy;
    const Value* owner = cache.ByUid(uid);
    if (owner != nullptr && client::NameOf(*owner) == reference["name"].AsString()) {
      const bool waits = Waits(*owner) && reference["blockOwnerDeletion"].AsBool();
      (waits ? owners.waiting : owners.solid).push_back(&reference);
      continue;
    }
    const std::string_view ns = info.namespaced ? client::NamespaceOf(object) : "";
    Action lookup{.request = client::GetRequest(info.resource, ns, reference["name"].AsString())};
    lookup.settle = [this, key, uid = std::string(uid)](const Result<Value>& answer) {
      return gone_.Learn(answer, uid, [&] { Add(key); });
    };
    owners.lookups.push_back(std::move(lookup));
  }
  return owners;
}

Action GarbageCollector::Delete(std::size_t kind, const Value& object,
                                std::string_view propagation) const {
  Action action{.request = client::DeleteRequest(kinds()[kind].info.resource, object)};
  // The version keeps an adoption that happens meanwhile from being overlooked.
  action.request.body.Edit("preconditions")
      .Set("resourceVersion", client::ResourceVersionOf(object));
  action.request.body.Set("propagationPolicy", propagation);
  return action;
}

Action GarbageCollector::UnblockAndDelete(std::size_t kind, const Value& object) const {
  Value references = object["metadata"]["ownerReferences"];
  for (std::size_t i = 0; i < references.size(); ++i) {
    if (references.Items()[i]["blockOwnerDeletion"].AsBool()) {
      references.EditItem(i).Set("blockOwnerDeletion", false);
    }
  }
  Action action =
      PatchMetadata(kinds()[kind].info, object, "ownerReferences", std::move(references));
  // At once: a further look would take the owners that no longer block for a reason to live.
  action.then = [this, kind](const Value& answer) {
    return std::optional(Delete(kind, answer, "Foreground").request);
  };
  return action;
}

Work GarbageCollector::SyncLeaving(std::size_t kind, const Value& object) {
  Work work;
  const CollectedKind& info = kinds()[kind].info;
  const std::string_view uid = client::UidOf(object);
  if (client::HasFinalizer(object, kOrphanFinalizer)) {
    for (const Item& item : DependentsOf(uid)) {
      work.actions.push_back(KeepOwners(kinds()[item.kind].info, *item.object, [&](const Value& r) {
        return r["uid"].AsString() != uid;
      }));
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
  const Value* object = kinds()[kind].cache->Get(std::string_view(key).substr(colon + 1));
  if (object == nullptr) return {};
  // Dependents of a kind that was defined just now may not be here yet.
  if (AwaitsCopies()) return {.again = kCopyWait};
  if (client::IsBeingDeleted(*object)) return SyncLeaving(kind, *object);

  Work work;
  Owners owners = ClassifyOwners(kind, *object, key);
  if (!owners.lookups.empty()) {
    work.actions = std::move(owners.lookups);
    return work;
  }
  if (owners.dangling.empty() && owners.waiting.empty()) return work;
  if (!owners.solid.empty()) {
    work.actions.push_back(KeepOwners(kinds()[kind].info, *object, [&](const Value& reference) {
      return std::ranges::find(owners.solid, &reference) != owners.solid.end();
    }));
    return work;
  }
  const std::vector<Item> dependents = DependentsOf(client::UidOf(*object));
  if (!owners.waiting.empty() && !dependents.empty()) {
    // An owner and a dependent that both wait may wait for each other through this object: so that
    // no circle closes, it stops blocking its owners first. As upstream, a chain counts as well.
    const bool circle =
        std::ranges::any_of(dependents, [](const Item& item) { return Waits(*item.object); });
    work.actions.push_back(circle ? UnblockAndDelete(kind, *object)
                                  : Delete(kind, *object, "Foreground"));
    return work;
  }
  const bool orphan = client::HasFinalizer(*object, kOrphanFinalizer);
  const bool foreground = client::HasFinalizer(*object, kForegroundFinalizer);
  work.actions.push_back(
      Delete(kind, *object, orphan ? "Orphan" : (foreground ? "Foreground" : "Background")));
  return work;
}

}  // namespace drachma::controllers
