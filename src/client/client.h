#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/executor.h"
#include "base/result.h"
#include "json/value.h"

namespace drachma::client {

// A resource as it stands in a URL: ("resource.k8s.io", "v1", "resourceclaims"); group "" is core.
struct Resource {
  std::string group;
  std::string version;
  std::string plural;

  friend auto operator<=>(const Resource&, const Resource&) = default;
};

enum class Verb : std::uint8_t {
  kGet,
  kList,
  kWatch,
  kCreate,
  kUpdate,
  kPatch,
  kDelete,
  kDeleteCollection,
};

enum class PatchType : std::uint8_t { kNone, kJson, kMerge, kStrategicMerge, kApply };

// Somebody whom a client acts as (client-go's ImpersonationConfig). Groups are left to the server
// for service accounts and nodes, which it knows by their names.
struct Identity {
  std::string user;
  std::vector<std::string> groups;
  std::map<std::string, std::vector<std::string>> extra;
};

// One request to the API. It means the same in process and over HTTPS; what it does not name it
// leaves to the server's defaults.
struct Request {
  Verb verb = Verb::kGet;
  Resource resource;
  std::string ns;           // empty for cluster-scoped resources and for lists over all namespaces
  std::string name;         // empty for list, watch, create, delete collection
  std::string subresource;  // "status", "scale", "binding", "eviction", "token", "finalize", …

  json::Value body;  // the object, the patch or the DeleteOptions; null for none
  PatchType patch = PatchType::kNone;

  // Query parameters of the API conventions; unset ones are not sent.
  std::string label_selector;
  std::string field_selector;
  std::string resource_version;
  std::string resource_version_match;
  std::string continue_token;
  std::int64_t limit = 0;
  std::string field_manager;
  std::string field_validation;  // "Strict", "Warn", "Ignore"
  bool force = false;            // server-side apply takes over conflicting fields
  bool dry_run = false;
  std::optional<bool> send_initial_events;
  bool allow_watch_bookmarks = false;
  int timeout_seconds = 0;

  // Null: the client's own user. Otherwise the server checks that this one may impersonate it.
  std::shared_ptr<const Identity> as;
};

using Callback = std::move_only_function<void(Result<json::Value>)>;

// What a watch delivers, in order. An error is the last thing of a watch; kExpired (410) and kGone
// ask for a new list. `kBookmark` carries only a resourceVersion.
struct WatchEvent {
  enum class Type : std::uint8_t { kAdded, kModified, kDeleted, kBookmark };
  Type type = Type::kAdded;
  json::Value object;
};

class WatchHandler {
 public:
  virtual ~WatchHandler() = default;
  virtual void OnEvent(WatchEvent event) = 0;
  // The watch is over: by an error, or cleanly (a time-out of the server) with an empty message and
  // Code::kTimeout. Nothing follows.
  virtual void OnClosed(Error error) = 0;
};

// Ends its watch when destroyed; no call to the handler after that. REQUIRES: destroyed on the
// client's executor.
class Watch {
 public:
  virtual ~Watch() = default;
};

// The way of controllers, scheduler, nodes and commands to an API server: over HTTPS, or in process
// without serialising (the server implements this interface). One client belongs to one actor:
// callbacks and watch events run on the executor it was made for, in the order of the answers.
// Not thread-safe: used from that executor only. Callbacks still outstanding when the client is
// destroyed are dropped.
class Client {
 public:
  virtual ~Client() = default;
  // Sends `request`; `done` gets the answered object (a list's whole List object, a Status for
  // deletes that answer one), or the API's error as it came.
  // ERRORS: those of the API; kUnavailable when the server cannot be reached.
  virtual void Call(Request request, Callback done) = 0;
  // Starts a watch (verb kWatch). `handler` must live as long as the returned object.
  [[nodiscard]] virtual std::unique_ptr<Watch> StartWatch(Request request,
                                                          WatchHandler& handler) = 0;
  [[nodiscard]] virtual Executor& executor() = 0;
};

// Makes clients with the identity of one user: one per actor.
class ClientFactory {
 public:
  virtual ~ClientFactory() = default;
  // `user_agent` names the actor ("drachma-scheduler"); the server derives the field manager from
  // it. `executor` must outlive the client.
  [[nodiscard]] virtual std::unique_ptr<Client> NewClient(Executor& executor,
                                                          std::string user_agent) = 0;
};

}  // namespace drachma::client
