#include "controllers/cache.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "client/objects.h"

namespace drachma::controllers {

using client::Change;
using json::Value;

std::int64_t RevisionOf(const Value& object) {
  const std::string_view text = client::ResourceVersionOf(object);
  std::int64_t revision = 0;
  std::from_chars(text.data(), text.data() + text.size(), revision);
  return revision;
}

const Value* Cache::Get(std::string_view key) const {
  const auto found = objects_.find(key);
  return found == objects_.end() ? nullptr : &found->second;
}

const Value* Cache::Get(std::string_view ns, std::string_view name) const {
  if (ns.empty()) return Get(name);
  return Get(std::string(ns) + "/" + std::string(name));
}

std::vector<const Value*> Cache::InNamespace(std::string_view ns) const {
  std::vector<const Value*> found;
  const std::string prefix = std::string(ns) + "/";
  for (auto it = objects_.lower_bound(prefix);
       it != objects_.end() && it->first.starts_with(prefix); ++it) {
    found.push_back(&it->second);
  }
  return found;
}

std::vector<const Value*> Cache::OwnedBy(std::string_view uid) const {
  std::vector<const Value*> found;
  const auto keys = by_owner_.find(uid);
  if (keys == by_owner_.end()) return found;
  for (const std::string& key : keys->second) found.push_back(Get(key));
  return found;
}

const Value* Cache::ByUid(std::string_view uid) const {
  const auto key = by_uid_.find(uid);
  return key == by_uid_.end() ? nullptr : Get(key->second);
}

void Cache::Index(const std::string& key, const Value& object, bool present) {
  const std::string uid(client::UidOf(object));
  if (present) {
    by_uid_.insert_or_assign(uid, key);
  } else {
    by_uid_.erase(uid);
  }
  for (const Value& owner : object["metadata"]["ownerReferences"].Items()) {
    const std::string owner_uid(owner["uid"].AsString());
    if (present) {
      by_owner_[owner_uid].insert(key);
    } else if (const auto keys = by_owner_.find(owner_uid); keys != by_owner_.end()) {
      keys->second.erase(key);
      if (keys->second.empty()) by_owner_.erase(keys);
    }
  }
}

void Cache::Apply(const Change& change) {
  const std::string key = client::KeyOf(change.object);
  if (const auto old = objects_.find(key); old != objects_.end()) {
    Index(key, old->second, false);
    objects_.erase(old);
  }
  if (change.type != Change::Type::kDeleted) {
    objects_.emplace(key, change.object);
    Index(key, change.object, true);
  }
  reached_ = std::max(reached_, RevisionOf(change.object));
  for (const Listener& listener : listeners_) listener(change);
  Notify(key);
}

void Cache::SetState(State state, std::string failure) {
  const bool listed = state == State::kListed && state_ != State::kListed;
  state_ = state;
  failure_ = std::move(failure);
  if (!listed) return;
  for (const auto& listener : listed_listeners_) listener();
}

void Cache::RemoveAll() {
  while (!objects_.empty()) {
    const Value object = objects_.begin()->second;
    Apply({.type = Change::Type::kDeleted, .old_object = object, .object = object});
  }
}

void Cache::Forget() {
  objects_.clear();
  by_owner_.clear();
  by_uid_.clear();
}

void Cache::Put(Value object) {
  Apply({.type = Change::Type::kAdded, .old_object = {}, .object = std::move(object)});
}

bool Cache::IsDeleted(const std::string& key, std::string_view uid) const {
  const Value* object = Get(key);
  return object == nullptr || client::UidOf(*object) != uid || client::IsBeingDeleted(*object);
}

void Cache::WhenReached(std::int64_t resource_version, std::function<void()> seen) {
  if (reached_ >= resource_version) {
    seen();
  } else {
    waiters_.emplace(resource_version, std::move(seen));
  }
}

void Cache::WhenDeleted(const std::string& key, const std::string& uid,
                        std::function<void()> seen) {
  if (IsDeleted(key, uid)) {
    seen();
  } else {
    deletion_waiters_.emplace(key, DeletionWaiter{uid, std::move(seen)});
  }
}

void Cache::Notify(const std::string& key) {
  std::vector<std::function<void()>> ready;
  while (!waiters_.empty() && waiters_.begin()->first <= reached_) {
    ready.push_back(std::move(waiters_.begin()->second));
    waiters_.erase(waiters_.begin());
  }
  auto [first, last] = deletion_waiters_.equal_range(key);
  while (first != last) {
    if (IsDeleted(key, first->second.uid)) {
      ready.push_back(std::move(first->second.seen));
      first = deletion_waiters_.erase(first);
    } else {
      ++first;
    }
  }
  for (const auto& seen : ready) seen();
}

Cache& Caches::Of(const client::Resource& resource) {
  auto& cache = caches_[resource];
  if (!cache) cache = std::make_unique<Cache>(resource);
  return *cache;
}

Cache* Caches::Find(const client::Resource& resource) const {
  const auto found = caches_.find(resource);
  return found == caches_.end() ? nullptr : found->second.get();
}

}  // namespace drachma::controllers
