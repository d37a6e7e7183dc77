#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "apiserver/auth.h"
#include "base/result.h"
#include "json/value.h"

namespace drachma::apiserver {

// What admission has recorded in the audit log beside the request (audit.Event's annotations).
using AuditAnnotations = std::map<std::string, std::string>;

enum class Operation : std::uint8_t { kCreate, kUpdate, kDelete, kConnect };

// The second run of the steps that change an object: there is one when a policy or a webhook has
// changed it (upstream's ReinvocationContext).
struct Reinvocation {
  // What those of one kind that wish it (reinvocationPolicy IfNeeded) need to be evaluated again.
  struct Steps {
    std::set<std::string> reinvocable;  // evaluated before the newest change
    std::set<std::string> again;        // those of them that saw an older object
    json::Value last_output;            // the object after the first run

    void Changed() { again.merge(std::exchange(reinvocable, {})); }
  };
  bool running = false;  // this is the second run
  bool wanted = false;
  Steps policies;
  Steps webhooks;
};

// What a write is about, as admission plugins see it. Objects are in the kind's storage version
// (v1 for resource.k8s.io), with defaults.
struct AdmissionRequest {
  Operation operation = Operation::kCreate;
  std::string group;
  std::string version;  // of the request's URL
  std::string resource;
  std::string subresource;
  std::string kind;
  std::string ns;
  std::string name;
  User user;
  bool dry_run = false;
  json::Value object;                 // null for deletes
  json::Value old_object;             // null for creates
  json::Value options;                // CreateOptions, UpdateOptions, DeleteOptions
  std::vector<std::string> warnings;  // plugins may add; they become Warning headers
  // Plugins may add, one text for each key; null when the request is not recorded.
  std::shared_ptr<AuditAnnotations> annotations = {};
  Reinvocation reinvocation = {};
};

// Reads objects for plugins, from memory: what has been committed. On the server's executor only.
class ObjectReader {
 public:
  virtual ~ObjectReader() = default;
  // The object in its storage version, or null.
  [[nodiscard]] virtual json::Value Get(std::string_view group, std::string_view plural,
                                        std::string_view ns, std::string_view name) const = 0;
  // All objects, of one namespace or (`ns` empty) of all, in the order of their keys.
  virtual void ForEach(std::string_view group, std::string_view plural, std::string_view ns,
                       const std::function<void(const json::Value&)>& visit) const = 0;
};

// One step of the admission chain. Plugins run in the order of their registration: all Admit, then
// validation of the object, then all Validate. Called on the server's executor, one request at a
// time; they must not block (those that ask other servers implement AsyncAdmission).
class AdmissionPlugin {
 public:
  virtual ~AdmissionPlugin() = default;
  // Upstream's name of the plugin, by which flags enable and disable it ("NamespaceLifecycle").
  [[nodiscard]] virtual std::string_view name() const = 0;
  // May change request.object. ERRORS: what the client is answered (usually kForbidden).
  [[nodiscard]] virtual Status Admit(AdmissionRequest& /*request*/,
                                     const ObjectReader& /*objects*/) {
    return {};
  }
  // Looks at the final object. ERRORS: as above.
  [[nodiscard]] virtual Status Validate(AdmissionRequest& /*request*/,
                                        const ObjectReader& /*objects*/) {
    return {};
  }
};

// Admission that waits for others: webhooks. Runs after all Admit (kMutating) or after all Validate
// (kValidating). `done` is called exactly once, on the server's executor; the server reads the
// object again afterwards and starts over when it has changed in the meantime.
class AsyncAdmission {
 public:
  enum class Phase : std::uint8_t { kMutating, kValidating };
  using Done = std::move_only_function<void(Status)>;

  virtual ~AsyncAdmission() = default;
  // Whether anything waits for this request; false is the fast path.
  [[nodiscard]] virtual bool Handles(const AdmissionRequest& request, Phase phase) const = 0;
  // `request` lives until `done` is called.
  virtual void Review(AdmissionRequest& request, Phase phase, Done done) = 0;
};

}  // namespace drachma::apiserver
