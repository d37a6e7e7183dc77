#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "client/client.h"

namespace drachma::client {

// An API server in memory for tests: objects with resourceVersions and uids, optimistic
// concurrency, finalizers, watches with bookmarks, status and binding subresources, merge and
// (for the lists that our rooms patch) strategic merge patches. No validation, no defaults.
// Failures are scripted.
//
// Everything runs on one thread. Answers come as tasks of the client's executor, never from within
// a call.
class FakeApi {
 public:
  FakeApi();
  ~FakeApi();

  // A factory of clients; valid as long as the FakeApi.
  [[nodiscard]] ClientFactory& factory();

  // Puts objects of a YAML text (or one object) there, as if somebody else had written them:
  // new, or replacing the one of that name whole. Needs apiVersion, kind, metadata.name.
  // REQUIRES: well-formed YAML of known kinds.
  void Apply(std::string_view yaml);
  json::Value Put(json::Value object);
  // Deletes at once, whatever the finalizers.
  void Remove(const Resource& resource, std::string_view ns, std::string_view name);
  // The object, or null.
  [[nodiscard]] json::Value Get(const Resource& resource, std::string_view ns,
                                std::string_view name) const;
  [[nodiscard]] std::vector<json::Value> List(const Resource& resource) const;
  // Changes an object in place and tells the watchers. REQUIRES: it exists.
  void Change(const Resource& resource, std::string_view ns, std::string_view name,
              const std::function<void(json::Value&)>& change);

  // Every request that came, in order.
  [[nodiscard]] const std::vector<Request>& requests() const { return requests_; }
  void ForgetRequests() { requests_.clear(); }
  // The next `times` requests for which `matches` holds are answered with `error`.
  void FailNext(std::function<bool(const Request&)> matches, Error error, int times = 1);
  // Called before a request is carried out; may change objects to make a race.
  void OnRequest(std::function<void(const Request&)> hook) { hook_ = std::move(hook); }
  // Ends all watches with `error`.
  void CloseWatches(const Error& error);
  // Forgets what happened: watches from older versions get 410.
  void Compact();
  // Whether watches may ask for initial events; a server without gets LIST.
  void AllowWatchList(bool allow) { watch_list_ = allow; }
  [[nodiscard]] std::size_t watch_count() const { return watches_.size(); }

 private:
  class FakeClient;
  class FakeFactory;
  class FakeWatch;
  struct Failure;
  using Table = std::map<std::string, json::Value, std::less<>>;
  struct Logged {
    std::int64_t version;
    Resource resource;
    WatchEvent event;
  };

  Result<json::Value> Serve(const Request& request);
  Result<json::Value> Create(const Request& request);
  Result<json::Value> Update(const Request& request, json::Value object);
  Result<json::Value> Patch(const Request& request);
  Result<json::Value> Delete(const Request& request);
  Result<json::Value> DeleteCollection(const Request& request);
  Result<json::Value> Bind(const Request& request);
  Result<json::Value> ListOf(const Request& request) const;
  json::Value Store(const Resource& resource, json::Value object, WatchEvent::Type type);
  void Drop(const Resource& resource, const std::string& key);
  void Publish(const Resource& resource, WatchEvent event);
  void Begin(FakeWatch& watch);

  std::map<Resource, Table> tables_;
  std::int64_t version_ = 0;
  std::int64_t compacted_ = 0;
  std::vector<Logged> log_;
  std::vector<Request> requests_;
  std::deque<Failure> failures_;
  std::function<void(const Request&)> hook_;
  std::vector<FakeWatch*> watches_;
  bool watch_list_ = true;
  Random random_{1};
  std::unique_ptr<FakeFactory> factory_;
};

// The resource that an object of this apiVersion and kind is of: for the kinds of our rooms.
[[nodiscard]] std::optional<Resource> ResourceOfKind(std::string_view api_version,
                                                     std::string_view kind);

}  // namespace drachma::client
