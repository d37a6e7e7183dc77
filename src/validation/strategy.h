#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"
#include "validation/field_error.h"

namespace drachma::validation {

// Who asks (user.Info).
struct User {
  std::string name;
  std::string uid;
  std::vector<std::string> groups;
  std::map<std::string, std::vector<std::string>> extra;
};

// A question to the authoriser, about the user of the request (authorizer.Attributes).
struct Access {
  std::string verb;
  std::string group;
  std::string version;
  std::string resource;
  std::string subresource;
  std::string ns;
  std::string name;
};

struct AccessAnswer {
  bool allowed = false;
  std::string reason;  // the authoriser's words, empty when it has none
};

// What a rule may ask about the request and its surroundings. Rules are pure functions of this and
// of the objects: same answers, same result.
struct Context {
  std::string verb = "create";  // "create", "update", "patch", "delete"
  std::string group;            // of the request's path
  std::string version;          // of the request's path: rules made from tags see its fields
  std::string resource;         // plural
  std::string subresource;
  std::string ns;    // of the request; empty for cluster-scoped resources
  std::string name;  // of the request; empty for create
  User user;
  std::string now;  // RFC 3339 in seconds, UTC
  // The object of a create or update as the client wrote it, before decoding: the few rules that
  // tell an empty list from none look here. Null when there is none (patches, files).
  json::Value sent;
  // The JSON text of that body; "" for other forms. Limits in bytes count its spaces, too.
  std::string_view sent_text;

  // Whether a feature gate is on. Unset: every gate is off.
  std::function<bool(std::string_view gate)> enabled;
  // The object of a namespace, read live. ERRORS: kNotFound, or what the store says.
  std::function<Result<json::Value>(std::string_view ns)> lookup_namespace;
  // Whether the user of the request may do that. Unset: everything is allowed.
  std::function<AccessAnswer(const Access&)> authorize;
  // A fresh UUID in its usual spelling, and five characters for metadata.generateName.
  std::function<std::string()> new_uid;
  std::function<std::string()> name_suffix;

  [[nodiscard]] bool Enabled(std::string_view gate) const { return enabled && enabled(gate); }
};

enum class Scope : std::uint8_t { kCluster, kNamespaced };
enum class Rule : std::uint8_t { kNo, kYes };

// The rules of one resource or subresource (upstream's RESTCreateStrategy and RESTUpdateStrategy).
// Objects are decoded and defaulted trees in the form in which they are stored: resource.k8s.io in
// the shape of v1 whatever version the client used (`Context::version` says which that was, for the
// paths of errors), all other groups in the shape of their newest served version. Unset functions
// do nothing. All are pure; any thread.
struct Strategy {
  std::string_view group;
  std::string_view kind;
  std::string_view subresource;
  Scope scope = Scope::kNamespaced;
  // A PUT of a name that does not exist creates it.
  Rule allow_create_on_update = Rule::kNo;
  // A PUT without resourceVersion overwrites. Unset: yes.
  bool (*allow_unconditional_update)(const Context&) = nullptr;

  // Before validation: clears status, drops fields of disabled features, sets the generation.
  void (*prepare_create)(const Context&, json::Value& object) = nullptr;
  void (*prepare_update)(const Context&, json::Value& object, const json::Value& old) = nullptr;
  // All faults, in upstream's order.
  ErrorList (*validate_create)(const Context&, const json::Value& object) = nullptr;
  ErrorList (*validate_update)(const Context&, const json::Value& object,
                               const json::Value& old) = nullptr;
  // Texts of Warning headers for an object that is accepted.
  std::vector<std::string> (*warn_create)(const Context&, const json::Value& object) = nullptr;
  std::vector<std::string> (*warn_update)(const Context&, const json::Value& object,
                                          const json::Value& old) = nullptr;
  // Top-level paths that server-side apply through this (sub)resource does not own ("status", or
  // "metadata" and "spec"), separated by commas.
  std::string_view reset_fields = {};
};

// The strategy of a resource ("" for the main one, "status", "scale"…, pods also
// "ephemeralcontainers", "resize"). Kinds without rules of their own get the common one: metadata,
// status cleared or kept apart, generation counted for kinds that have spec and status upstream
// counts it for. `subresource` "status" is for every kind.
[[nodiscard]] const Strategy& StrategyFor(std::string_view group, std::string_view kind,
                                          std::string_view subresource = {});

// Upstream's rest.BeforeCreate. Fills in uid, creationTimestamp, name from generateName and
// namespace; prepares, validates, collects warnings. `object` is what is to be stored afterwards.
// ERRORS: kBadRequest for another namespace than the request's, kInvalid with all causes.
[[nodiscard]] Status BeforeCreate(const Strategy& strategy, const Context& context,
                                  json::Value& object, std::vector<std::string>* warnings);

// Upstream's rest.BeforeUpdate: takes over what an update cannot change, prepares, validates,
// collects warnings. REQUIRES: object.metadata.resourceVersion is set (from old for unconditional
// updates). ERRORS: as BeforeCreate.
[[nodiscard]] Status BeforeUpdate(const Strategy& strategy, const Context& context,
                                  json::Value& object, const json::Value& old,
                                  std::vector<std::string>* warnings);

// The 422 of a PUT without resourceVersion where that is not allowed (registry.Store.Update). It
// names the resource, not the kind.
[[nodiscard]] Error MissingResourceVersion(const Context& context, std::string_view name);

// Everything of one create at once, without the system fields: for `check`, which
// validates files. Prepares a copy and returns its faults.
[[nodiscard]] ErrorList Check(const Strategy& strategy, const Context& context,
                              const json::Value& object);

}  // namespace drachma::validation
