#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "client/client.h"
#include "client/informer.h"
#include "json/value.h"

namespace drachma::controllers {

// The controllers' copy of one resource, in the order of keys, with the indexes they ask for. An
// informer feeds it; tests feed it by hand. Belongs to the controllers' executor.
class Cache {
 public:
  using Objects = std::map<std::string, json::Value, std::less<>>;
  using Listener = std::function<void(const client::Change&)>;

  explicit Cache(client::Resource resource) : resource_(std::move(resource)) {}

  enum class State : std::uint8_t {
    kUnlisted,  // not read yet
    kListed,    // holds all objects, or the server has no such resource
    kFailed,    // cannot be read; it is tried again
  };

  [[nodiscard]] const client::Resource& resource() const { return resource_; }
  [[nodiscard]] State state() const { return state_; }
  // Why it cannot be read; empty unless kFailed.
  [[nodiscard]] const std::string& failure() const { return failure_; }
  // The object "namespace/name" (or "name"), or null.
  [[nodiscard]] const json::Value* Get(std::string_view key) const;
  [[nodiscard]] const json::Value* Get(std::string_view ns, std::string_view name) const;
  [[nodiscard]] const Objects& objects() const { return objects_; }
  // Objects of one namespace in the order of their names.
  [[nodiscard]] std::vector<const json::Value*> InNamespace(std::string_view ns) const;
  // Objects with an owner reference to `uid`, in the order of their keys.
  [[nodiscard]] std::vector<const json::Value*> OwnedBy(std::string_view uid) const;
  // The object with that uid, or null.
  [[nodiscard]] const json::Value* ByUid(std::string_view uid) const;

  // `listener` hears of every change once the copy holds it.
  void Listen(Listener listener) { listeners_.push_back(std::move(listener)); }
  // `listener` hears whenever the copy has become whole.
  void ListenListed(std::function<void()> listener) {
    listed_listeners_.push_back(std::move(listener));
  }
  void Apply(const client::Change& change);
  void SetState(State state, std::string failure = {});
  // The resource is gone and its objects with it: tells of each one's deletion.
  void RemoveAll();
  // Drops the objects without a word: they live on, in another resource.
  void Forget();
  // Puts an object in place by hand (tests).
  void Put(json::Value object);

  // The newest resourceVersion that the copy has seen.
  [[nodiscard]] std::int64_t reached() const { return reached_; }
  // Calls `seen` once the copy has reached `resource_version` (at once when it has).
  void WhenReached(std::int64_t resource_version, std::function<void()> seen);
  // Calls `seen` once the object `key` of `uid` is gone or marked for deletion.
  void WhenDeleted(const std::string& key, const std::string& uid, std::function<void()> seen);

 private:
  void Index(const std::string& key, const json::Value& object, bool present);
  [[nodiscard]] bool IsDeleted(const std::string& key, std::string_view uid) const;
  void Notify(const std::string& key);

  struct DeletionWaiter {
    std::string uid;
    std::function<void()> seen;
  };

  const client::Resource resource_;
  Objects objects_;
  std::map<std::string, std::set<std::string, std::less<>>, std::less<>> by_owner_;
  std::map<std::string, std::string, std::less<>> by_uid_;
  std::vector<Listener> listeners_;
  std::vector<std::function<void()>> listed_listeners_;
  State state_ = State::kUnlisted;
  std::string failure_;
  std::int64_t reached_ = 0;
  std::multimap<std::int64_t, std::function<void()>> waiters_;
  std::multimap<std::string, DeletionWaiter> deletion_waiters_;
};

// resourceVersion as the number that it is (KEP-5504); 0 when it is none.
[[nodiscard]] std::int64_t RevisionOf(const json::Value& object);

// One Cache for each resource that any controller watches.
class Caches {
 public:
  // Made when first asked for.
  [[nodiscard]] Cache& Of(const client::Resource& resource);
  // Null when no controller watches it.
  [[nodiscard]] Cache* Find(const client::Resource& resource) const;
  [[nodiscard]] const std::map<client::Resource, std::unique_ptr<Cache>>& all() const {
    return caches_;
  }

 private:
  std::map<client::Resource, std::unique_ptr<Cache>> caches_;
};

}  // namespace drachma::controllers
