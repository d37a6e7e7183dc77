#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "client/client.h"
#include "client/event_recorder.h"
#include "controllers/cache.h"

namespace drachma::controllers {

// A call to the API that a controller wants made.
struct Action {
  client::Request request;
  // Looks at the answer first and says what the action counts as: an answer may be an error that
  // is fine, or an error worth an event. Without it NotFound is fine for deletes only.
  std::function<Status(const Result<json::Value>&)> settle;
  // A second call that depends on the first one's answer.
  std::function<std::optional<client::Request>(const json::Value& answer)> then;
};

struct EventToRecord {
  client::ObjectReference object;
  client::EventType type = client::EventType::kNormal;
  std::string reason;
  std::string message;
};

// What a controller decided about one key.
struct Work {
  // Run in batches of 1, 2, 4, …, each batch at once and only if the one before went well
  // (upstream's slow start), so that a hundred creations that a quota refuses cost one call.
  std::vector<Action> actions;
  std::vector<EventToRecord> events;
  // Look again after this time (zero: at once, after the actions), whatever happens.
  std::optional<Duration> again;
  // The key could not be handled: it comes back after its back-off.
  std::optional<Error> error;
};

// What all controllers of a process share.
struct Host {
  Host(const Clock& clock, std::uint64_t seed) : clock(clock), random(seed) {}

  const Clock& clock;
  Random random;
  Caches caches;
  std::map<std::string, bool> feature_gates;  // overrides of upstream's defaults
  std::string root_ca;                        // PEM; what kube-root-ca.crt holds
  bool watch_heartbeats = true;               // whether silent nodes count as lost
  // The gate's override, or upstream's 1.37 default given by the caller.
  [[nodiscard]] bool Enabled(const std::string& gate, bool by_default) const;
};

// A controller: a function from what the caches hold to the calls that bring the world one step
// nearer to what objects ask for. It never waits and never talks to the API itself; the runner
// does, and calls Sync again for a key only when the caches hold what the key's own actions wrote.
// So a controller needs no memory of writes under way, and tests need no API server.
class Controller {
 public:
  using Enqueue = std::function<void(std::string key, Duration delay)>;

  explicit Controller(Host& host) : host_(host) {}
  virtual ~Controller() = default;
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;

  // What to do about `key` now.
  [[nodiscard]] virtual Work Sync(const std::string& key) = 0;

  // Where keys and events go; set by the runner before the caches fill.
  void Connect(Enqueue enqueue, std::function<void(const EventToRecord&)> record) {
    enqueue_ = std::move(enqueue);
    record_ = std::move(record);
  }
  // The resources whose first copies must be there before Sync runs.
  [[nodiscard]] const std::vector<client::Resource>& watched() const { return watched_; }

 protected:
  // Follows `resource`; `changed` runs after each change. For constructors.
  Cache& Watch(const client::Resource& resource,
               std::function<void(const client::Change&)> changed = {});
  void Add(std::string key, Duration delay = Duration(0)) {
    if (enqueue_) enqueue_(std::move(key), delay);
  }
  // Records an event outside of Sync: when an answer comes.
  void Record(const EventToRecord& event) {
    if (record_) record_(event);
  }
  [[nodiscard]] Host& host() { return host_; }
  [[nodiscard]] Time Now() const { return host_.clock.Now(); }

 private:
  Host& host_;
  Enqueue enqueue_;
  std::function<void(const EventToRecord&)> record_;
  std::vector<client::Resource> watched_;
};

// A row of the table of controllers.
struct ControllerEntry {
  // Name of kube-controller-manager ("replicaset-controller").
  std::string_view name;
  // source.component of its events ("replicaset-controller", "resource_claim").
  std::string_view component;
  // The service account of kube-system that it acts as; empty: as the process.
  std::string_view account;
  // Keys in work at once.
  std::size_t concurrency = 5;
  // The gate without which it does not run; empty for none.
  std::string_view gate;
  bool gate_default = true;
  std::function<std::unique_ptr<Controller>(Host& host)> make;
};

// All controllers, in no particular order. A new controller is one entry.
[[nodiscard]] const std::vector<ControllerEntry>& ControllerTable();

}  // namespace drachma::controllers
