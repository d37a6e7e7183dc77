#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "json/json.h"
#include "num/quantity.h"
#include "validation/ip_families.h"
#include "validation/names.h"
#include "validation/object_meta.h"
#include "validation/pod_rules.h"
#include "validation/strategy_tables.h"

// Namespaces, nodes, configuration and accounts: pkg/registry/core of Kubernetes.
namespace drachma::validation {
namespace {

using json::Value;

constexpr std::size_t kDataBytesMax = 1024 * 1024;

// Number of bytes that base64 text stands for.
std::size_t DecodedSize(std::string_view base64) {
  std::size_t size = base64.size() / 4 * 3;
  if (base64.ends_with("==")) return size - 2;
  return base64.ends_with("=") ? size - 1 : size;
}

ErrorList MetaOf(const Value& object, Scope scope, NameRule rule) {
  return ValidateCoreObjectMeta(object["metadata"], scope, rule, "metadata");
}
ErrorList MetaUpdateOf(const Value& object, const Value& old) {
  return ValidateCoreObjectMetaUpdate(object["metadata"], old["metadata"], "metadata");
}
ErrorList UpdateMetaOnly(const Context&, const Value& object, const Value& old) {
  return MetaUpdateOf(object, old);
}

// --- Namespace

void PrepareNamespaceCreate(const Context&, Value& ns) {
  ns.Set("status", Value::Object({{"phase", "Active"}}));
  const auto finalizers = ns["spec"]["finalizers"].Items();
  const bool has = std::ranges::any_of(
      finalizers, [](const Value& name) { return name.AsString() == "kubernetes"; });
  if (!has) ns.Edit("spec").Edit("finalizers").Append("kubernetes");
  // Namespaces named by generateName get their label here, defaulting came before the name.
  const std::string name(ns["metadata"]["name"].AsString());
  ns.Edit("metadata").Edit("labels").Set("kubernetes.io/metadata.name", name);
}

void PrepareNamespaceUpdate(const Context&, Value& ns, const Value& old) {
  TakeOver(ns, old, "spec");
  TakeOver(ns, old, "status");
  const std::string name(old["metadata"]["name"].AsString());
  ns.Edit("metadata").Edit("labels").Set("kubernetes.io/metadata.name", name);
}

void PrepareNamespaceFinalize(const Context&, Value& ns, const Value& old) {
  TakeOver(ns, old, "status");
}

ErrorList ValidateNamespaceFinalizers(const Value& ns) {
  ErrorList errors;
  for (const Value& finalizer : ns["spec"]["finalizers"].Items()) {
    const std::string_view name = finalizer.AsString();
    Append(errors, InvalidEach("spec.finalizers", name, IsLabelKey(name)));
    static constexpr std::array<std::string_view, 3> kStandard = {"kubernetes", "orphan",
                                                                  "foregroundDeletion"};
    if (name.contains('/') || std::ranges::find(kStandard, name) != kStandard.end()) continue;
    errors.push_back(
        Invalid("spec.finalizers", ShownText(name),
                "name is neither a standard finalizer name nor is it fully qualified"));
  }
  return errors;
}

ErrorList ValidateNamespace(const Context&, const Value& ns) {
  ErrorList errors = MetaOf(ns, Scope::kCluster, NameIsDnsLabel);
  Append(errors, ValidateNamespaceFinalizers(ns));
  return errors;
}

ErrorList ValidateNamespaceStatus(const Context&, const Value& ns, const Value& old) {
  ErrorList errors = MetaUpdateOf(ns, old);
  const std::string_view phase = ns["status"]["phase"].AsString();
  const bool deleted = !ns["metadata"]["deletionTimestamp"].IsNull();
  if (!deleted && phase != "Active") {
    errors.push_back(Invalid("status.Phase", ShownNamed(phase),
                             "may only be 'Active' if `deletionTimestamp` is empty"));
  } else if (deleted && phase != "Terminating") {
    errors.push_back(Invalid("status.Phase", ShownNamed(phase),
                             "may only be 'Terminating' if `deletionTimestamp` is not empty"));
  }
  return errors;
}

ErrorList ValidateNamespaceFinalize(const Context&, const Value& ns, const Value& old) {
  ErrorList errors = MetaUpdateOf(ns, old);
  Append(errors, ValidateNamespaceFinalizers(ns));
  return errors;
}

// --- Node

ErrorList ValidateTaints(const Value& taints) {
  ErrorList errors;
  std::set<std::pair<std::string, std::string>> seen;
  for (std::size_t i = 0; i < taints.size(); ++i) {
    const Value& taint = taints.Items()[i];
    // Upstream has them below metadata.
    const std::string at = Index("metadata.taints", i);
    const std::string_view key = taint["key"].AsString();
    const std::string_view effect = taint["effect"].AsString();
    Append(errors, ValidateLabelName(key, Child(at, "key")));
    const Faults faults = IsLabelValue(taint["value"].AsString());
    if (!faults.empty()) {
      errors.push_back(Invalid(Child(at, "value"), ShownText(taint["value"].AsString()),
                               fmt::format("{}", fmt::join(faults, ";"))));
    }
    if (effect.empty()) {
      errors.push_back(Required(Child(at, "effect")));
    } else {
      Append(errors, ValidateTaintEffect(effect, Child(at, "effect")));
    }
    if (!seen.emplace(effect, key).second) {
      static constexpr std::array<std::string_view, 4> kFields = {"key", "value", "effect",
                                                                  "timeAdded"};
      Value internal = Internal(taint, kFields);
      internal.Set("Value", taint["value"].AsString());
      errors.push_back(Duplicate(at, Shown(internal)));
      errors.back().detail = "taints must be unique by key and effect pair";
    }
  }
  return errors;
}

ErrorList ValidateNodeResources(const Value& node) {
  ErrorList errors;
  for (const std::string_view kind : {"capacity", "allocatable"}) {
    for (const json::Member& amount : node["status"][kind].Members()) {
      Append(errors, ValidateResourceQuantity(amount.key(), amount.value,
                                              Child(Child("status", kind), amount.key())));
    }
  }
  return errors;
}

ErrorList ValidatePodCidrs(const Value& cidrs) {
  const std::string path = "spec.podCIDRs";
  ErrorList errors;
  std::vector<IpFamily> families;
  std::string unread;
  for (std::size_t i = 0; i < cidrs.size(); ++i) {
    const std::string_view text = cidrs.Items()[i].AsString();
    const Cidr cidr = ReadCidr(text);
    families.push_back(cidr.family);
    if (!cidr.fault.empty()) errors.push_back(Invalid(Index(path, i), ShownText(text), cidr.fault));
    if (cidr.family == IpFamily::kNone && unread.empty()) {
      unread = fmt::format(
          "invalid PodCIDRs. failed to check with dual stack with error:invalid CIDR[{}]: <nil> "
          "(invalid CIDR address: {})",
          i, text);
    }
  }
  Append(errors, ValidateDualStack(families, unread, cidrs, path, "CIDR"));
  return errors;
}

ErrorList ValidateNode(const Context&, const Value& node) {
  ErrorList errors = MetaOf(node, Scope::kCluster, NameIsDnsSubdomain);
  Append(errors, ValidateTaints(node["spec"]["taints"]));
  Append(errors, ValidateNodeResources(node));
  Append(errors, ValidatePodCidrs(node["spec"]["podCIDRs"]));
  return errors;
}

ErrorList ValidateNodeUpdate(const Context&, const Value& node, const Value& old) {
  ErrorList errors = MetaUpdateOf(node, old);
  Append(errors, ValidateNodeResources(node));
  const auto addresses = node["status"]["addresses"].Items();
  for (std::size_t i = 1; i < addresses.size(); ++i) {
    const auto before = addresses.first(i);
    if (std::ranges::find(before, addresses[i]) == before.end()) continue;
    errors.push_back(Duplicate(Index("status.addresses", i), Shown(addresses[i])));
  }
  const Value& cidrs = old["spec"]["podCIDRs"];
  Append(errors, ValidatePodCidrs(node["spec"]["podCIDRs"]));
  if (!cidrs.empty() && cidrs != node["spec"]["podCIDRs"]) {
    errors.push_back(Forbidden("spec.podCIDRs",
                               "node updates may not change podCIDR except from \"\" to valid"));
  }
  const std::string_view provider = old["spec"]["providerID"].AsString();
  const std::string_view now = node["spec"]["providerID"].AsString();
  if (!provider.empty() && now != provider) {
    errors.push_back(Invalid(
        "spec.providerID", "null",
        now.empty() ? "field cannot be cleared once set" : "field cannot be modified once set"));
  }
  Append(errors, ValidateTaints(node["spec"]["taints"]));
  return errors;
}

// --- ConfigMap and Secret

ErrorList ValidateConfigMapData(const Value& object) {
  ErrorList errors;
  std::size_t bytes = 0;
  const Value& binary = object["binaryData"];
  for (const std::string_view field : {"data", "binaryData"}) {
    for (const json::Member& entry : object[field].Members()) {
      const std::string path = Key(field, entry.key());
      Append(errors, InvalidEach(path, entry.key(), IsConfigMapKey(entry.key())));
      if (field == "data" && binary.Has(entry.key())) {
        errors.push_back(
            Invalid(path, ShownText(entry.key()), "duplicate of key present in binaryData"));
      }
      const std::string_view text = entry.value.AsString();
      bytes += field == "data" ? text.size() : DecodedSize(text);
    }
  }
  // The whole object: upstream's rendering of a path without a name.
  if (bytes > kDataBytesMax) errors.push_back(TooLong("[]", kDataBytesMax));
  return errors;
}

// What may change in an object that says that it does not change.
ErrorList ValidateFrozen(const Value& object, const Value& old,
                         std::initializer_list<std::string_view> fields) {
  if (!old["immutable"].AsBool()) return {};
  static constexpr const char* kText = "field is immutable when `immutable` is set";
  ErrorList errors;
  if (!object["immutable"].AsBool()) errors.push_back(Forbidden("immutable", kText));
  for (const std::string_view field : fields) {
    if (!SemanticEqual(object[field], old[field])) {
      errors.push_back(Forbidden(std::string(field), kText));
    }
  }
  return errors;
}

ErrorList ValidateConfigMap(const Context&, const Value& object) {
  ErrorList errors = MetaOf(object, Scope::kNamespaced, NameIsDnsSubdomain);
  Append(errors, ValidateConfigMapData(object));
  return errors;
}

ErrorList ValidateConfigMapUpdate(const Context& context, const Value& object, const Value& old) {
  ErrorList errors = MetaUpdateOf(object, old);
  Append(errors, ValidateFrozen(object, old, {"data", "binaryData"}));
  Append(errors, ValidateConfigMap(context, object));
  return errors;
}

struct SecretKeys {
  std::string_view type;
  std::vector<std::string_view> keys;
};

ErrorList ValidateSecretType(const Value& secret) {
  static const std::array<SecretKeys, 4> kTypes = {{
      {"kubernetes.io/dockercfg", {".dockercfg"}},
      {"kubernetes.io/dockerconfigjson", {".dockerconfigjson"}},
      {"kubernetes.io/ssh-auth", {"ssh-privatekey"}},
      {"kubernetes.io/tls", {"tls.crt", "tls.key"}},
  }};
  const std::string_view type = secret["type"].AsString();
  const Value& data = secret["data"];
  ErrorList errors;
  if (type == "kubernetes.io/service-account-token") {
    static constexpr std::string_view kName = "kubernetes.io/service-account.name";
    if (secret["metadata"]["annotations"][kName].AsString().empty()) {
      errors.push_back(Required(Key("metadata.annotations", kName)));
    }
  }
  if (type == "kubernetes.io/basic-auth" && !data.Has("username") && !data.Has("password")) {
    errors.push_back(Required("data[username]"));
    errors.push_back(Required("data[password]"));
  }
  for (const SecretKeys& row : kTypes) {
    if (row.type != type) continue;
    for (const std::string_view key : row.keys) {
      if (!data.Has(key)) errors.push_back(Required(Key("data", key)));
    }
  }
  return errors;
}

ErrorList ValidateSecret(const Context&, const Value& secret) {
  ErrorList errors = MetaOf(secret, Scope::kNamespaced, NameIsDnsSubdomain);
  std::size_t bytes = 0;
  for (const json::Member& entry : secret["data"].Members()) {
    Append(errors, InvalidEach(Key("data", entry.key()), entry.key(), IsConfigMapKey(entry.key())));
    bytes += DecodedSize(entry.value.AsString());
  }
  if (bytes > kDataBytesMax) errors.push_back(TooLong("data", kDataBytesMax));
  Append(errors, ValidateSecretType(secret));
  return errors;
}

void PrepareSecretUpdate(const Context&, Value& secret, const Value& old) {
  if (secret["type"].AsString().empty()) TakeOver(secret, old, "type");
}

ErrorList ValidateSecretUpdate(const Context& context, const Value& secret, const Value& old) {
  ErrorList errors = MetaUpdateOf(secret, old);
  Append(errors, ValidateImmutable(secret["type"], old["type"], "type"));
  Append(errors, ValidateFrozen(secret, old, {"data"}));
  Append(errors, ValidateSecret(context, secret));
  return errors;
}

// --- ServiceAccount

ErrorList ValidateServiceAccount(const Context&, const Value& account) {
  return MetaOf(account, Scope::kNamespaced, NameIsDnsSubdomain);
}

constexpr std::string_view kStatus = "status";

constexpr Strategy kRows[] = {
    {.kind = "Namespace",
     .scope = Scope::kCluster,
     .prepare_create = PrepareNamespaceCreate,
     .prepare_update = PrepareNamespaceUpdate,
     .validate_create = ValidateNamespace,
     .validate_update = UpdateMetaOnly,
     .reset_fields = kStatus},
    {.kind = "Namespace",
     .subresource = kStatus,
     .scope = Scope::kCluster,
     .prepare_update = KeepSpec,
     .validate_update = ValidateNamespaceStatus,
     .reset_fields = "spec"},
    {.kind = "Namespace",
     .subresource = "finalize",
     .scope = Scope::kCluster,
     .prepare_update = PrepareNamespaceFinalize,
     .validate_update = ValidateNamespaceFinalize,
     .reset_fields = kStatus},
    {.kind = "Node",
     .scope = Scope::kCluster,
     .prepare_update = KeepStatus,
     .validate_create = ValidateNode,
     .validate_update = ValidateNodeUpdate,
     .reset_fields = kStatus},
    {.kind = "Node",
     .subresource = kStatus,
     .scope = Scope::kCluster,
     .prepare_update = KeepSpec,
     .validate_update = ValidateNodeUpdate,
     .reset_fields = "spec"},
    {.kind = "ConfigMap",
     .validate_create = ValidateConfigMap,
     .validate_update = ValidateConfigMapUpdate},
    {.kind = "Secret",
     .prepare_update = PrepareSecretUpdate,
     .validate_create = ValidateSecret,
     .validate_update = ValidateSecretUpdate},
    {.kind = "ServiceAccount",
     .validate_create = ValidateServiceAccount,
     .validate_update = UpdateMetaOnly},
};

}  // namespace

std::span<const Strategy> CoreStrategies() { return kRows; }

}  // namespace drachma::validation
