#include <arpa/inet.h>
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
#include "validation/names.h"
#include "validation/object_meta.h"
#include "validation/pod_rules.h"
#include "validation/strategy_tables.h"

// Kinds of the core group without pods, and events: pkg/registry/core of Kubernetes.
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

enum class Family : std::uint8_t { kNone, kV4, kV6 };

// The address family of "address/bits"; none when that is no CIDR.
Family FamilyOf(std::string_view cidr) {
  const std::size_t slash = cidr.find('/');
  if (slash == std::string_view::npos) return Family::kNone;
  const std::string address(cidr.substr(0, slash));
  const std::string_view bits = cidr.substr(slash + 1);
  int number = -1;
  const auto [end, fault] = std::from_chars(bits.data(), bits.data() + bits.size(), number);
  if (fault != std::errc() || end != bits.data() + bits.size() || number < 0) return Family::kNone;
  std::array<unsigned char, sizeof(in6_addr)> parsed{};
  if (inet_pton(AF_INET, address.c_str(), parsed.data()) == 1) {
    return number <= 32 ? Family::kV4 : Family::kNone;
  }
  if (inet_pton(AF_INET6, address.c_str(), parsed.data()) == 1) {
    return number <= 128 ? Family::kV6 : Family::kNone;
  }
  return Family::kNone;
}

ErrorList ValidatePodCidrs(const Value& cidrs) {
  const std::string path = "spec.podCIDRs";
  ErrorList errors;
  std::vector<Family> families;
  for (std::size_t i = 0; i < cidrs.size(); ++i) {
    const std::string_view cidr = cidrs.Items()[i].AsString();
    families.push_back(FamilyOf(cidr));
    if (families.back() != Family::kNone) continue;
    errors.push_back(Invalid(Index(path, i), ShownText(cidr),
                             "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"));
  }
  if (families.size() < 2) return errors;
  const bool dual = std::ranges::find(families, Family::kV4) != families.end() &&
                    std::ranges::find(families, Family::kV6) != families.end();
  if (!dual || families.size() > 2) {
    errors.push_back(
        Invalid(path, Shown(cidrs), "may specify no more than one CIDR for each IP family"));
  }
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

// --- ResourceQuota

ErrorList ValidateQuotaName(std::string_view name, const std::string& path) {
  static constexpr std::array<std::string_view, 19> kStandard = {"cpu",
                                                                 "memory",
                                                                 "ephemeral-storage",
                                                                 "requests.cpu",
                                                                 "requests.memory",
                                                                 "requests.storage",
                                                                 "requests.ephemeral-storage",
                                                                 "limits.cpu",
                                                                 "limits.memory",
                                                                 "limits.ephemeral-storage",
                                                                 "pods",
                                                                 "resourcequotas",
                                                                 "services",
                                                                 "replicationcontrollers",
                                                                 "secrets",
                                                                 "persistentvolumeclaims",
                                                                 "configmaps",
                                                                 "services.nodeports",
                                                                 "services.loadbalancers"};
  ErrorList errors = ValidateResourceName(name, path);
  const bool standard = std::ranges::find(kStandard, name) != kStandard.end() ||
                        IsHugePageResourceName(name) || name.starts_with("requests.hugepages-");
  if (!name.contains('/') && !standard) {
    errors.push_back(Invalid(path, ShownNamed(name), "must be a standard resource for quota"));
  }
  return errors;
}

ErrorList ValidateQuotaAmounts(const Value& amounts, const std::string& path) {
  ErrorList errors;
  for (const json::Member& amount : amounts.Members()) {
    const std::string at = Key(path, amount.key());
    Append(errors, ValidateQuotaName(amount.key(), at));
    Append(errors, ValidateResourceQuantity(amount.key(), amount.value, at));
  }
  return errors;
}

ErrorList ValidateQuotaScopes(const Value& spec) {
  static constexpr std::array<std::string_view, 7> kScopes = {
      "Terminating",          "NotTerminating", "BestEffort",
      "NotBestEffort",        "PriorityClass",  "CrossNamespacePodAffinity",
      "VolumeAttributesClass"};
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kConflicts = {
      {{"BestEffort", "NotBestEffort"}, {"Terminating", "NotTerminating"}}};
  const Value& scopes = spec["scopes"];
  ErrorList errors;
  const auto has = [&](std::string_view name) {
    return std::ranges::any_of(scopes.Items(),
                               [&](const Value& scope) { return scope.AsString() == name; });
  };
  for (const Value& scope : scopes.Items()) {
    if (std::ranges::find(kScopes, scope.AsString()) == kScopes.end()) {
      errors.push_back(Invalid("spec.scopes", Shown(scopes), "unsupported scope"));
    }
  }
  for (const auto& [one, other] : kConflicts) {
    if (has(one) && has(other)) {
      errors.push_back(Invalid("spec.scopes", Shown(scopes), "conflicting scopes"));
    }
  }
  return errors;
}

ErrorList ValidateQuotaSpec(const Value& spec) {
  ErrorList errors = ValidateQuotaAmounts(spec["hard"], "spec.hard");
  Append(errors, ValidateQuotaScopes(spec));
  return errors;
}

ErrorList ValidateQuota(const Context&, const Value& quota) {
  ErrorList errors = MetaOf(quota, Scope::kNamespaced, NameIsDnsSubdomain);
  Append(errors, ValidateQuotaSpec(quota["spec"]));
  return errors;
}

ErrorList ValidateQuotaUpdate(const Context&, const Value& quota, const Value& old) {
  ErrorList errors = MetaUpdateOf(quota, old);
  Append(errors, ValidateQuotaSpec(quota["spec"]));
  Append(errors, ValidateImmutable(quota["spec"]["scopes"], old["spec"]["scopes"], "spec.scopes"));
  return errors;
}

ErrorList ValidateQuotaStatus(const Context&, const Value& quota, const Value& old) {
  ErrorList errors = MetaUpdateOf(quota, old);
  Append(errors, ValidateQuotaAmounts(quota["status"]["hard"], "status.hard"));
  Append(errors, ValidateQuotaAmounts(quota["status"]["used"], "status.used"));
  return errors;
}

// --- Service: ports and names; addresses are the server's.

ErrorList ValidateExternalName(const Value& spec) {
  ErrorList errors;
  for (const std::string_view field : {"clusterIPs", "ipFamilies", "ipFamilyPolicy"}) {
    if (spec[field].empty() && !spec[field].IsString()) continue;
    errors.push_back(Forbidden(Child("spec", field), "may not be set for ExternalName services"));
  }
  std::string_view name = spec["externalName"].AsString();
  if (name.ends_with('.')) name.remove_suffix(1);
  if (name.empty()) {
    errors.push_back(Required("spec.externalName"));
    return errors;
  }
  for (std::string& fault : IsDns1123Subdomain(name)) {
    errors.push_back(Invalid("spec.externalName", ShownText(name), std::move(fault)));
  }
  return errors;
}

ErrorList ValidateServicePorts(const Value& spec) {
  static constexpr std::array<std::string_view, 3> kProtocols = {"SCTP", "TCP", "UDP"};
  ErrorList errors;
  const Value& ports = spec["ports"];
  const bool headless = spec["clusterIP"].AsString() == "None";
  if (ports.empty() && !headless && spec["type"].AsString() != "ExternalName") {
    errors.push_back(Required("spec.ports"));
  }
  if (spec["type"].AsString() == "ExternalName") Append(errors, ValidateExternalName(spec));
  NameSet names;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const Value& port = ports.Items()[i];
    const std::string at = Index("spec.ports", i);
    const std::string_view name = port["name"].AsString();
    if (name.empty()) {
      if (ports.size() > 1) errors.push_back(Required(Child(at, "name")));
    } else {
      Append(errors, ValidateDnsLabelAt(name, Child(at, "name")));
      if (!names.emplace(name).second) {
        errors.push_back(Duplicate(Child(at, "name"), ShownText(name)));
      }
    }
    for (const std::string& fault : IsPortNumber(port["port"].AsInt())) {
      errors.push_back(Invalid(Child(at, "port"), ShownInt(port["port"].AsInt()), fault));
    }
    Append(errors, ValidateChoice(port["protocol"].AsString(), kProtocols, Child(at, "protocol")));
    Append(errors, ValidatePortOrName(port["targetPort"], Child(at, "targetPort")));
  }
  return errors;
}

ErrorList ValidateServiceSpec(const Value& spec) {
  static constexpr std::array<std::string_view, 4> kTypes = {"ClusterIP", "ExternalName",
                                                             "LoadBalancer", "NodePort"};
  static constexpr std::array<std::string_view, 2> kAffinities = {"ClientIP", "None"};
  ErrorList errors = ValidateServicePorts(spec);
  Append(errors, ValidateLabels(spec["selector"], "spec.selector"));
  Append(errors,
         ValidateChoice(spec["sessionAffinity"].AsString(), kAffinities, "spec.sessionAffinity"));
  Append(errors, ValidateChoice(spec["type"].AsString(), kTypes, "spec.type"));
  return errors;
}

ErrorList ValidateService(const Context&, const Value& service) {
  ErrorList errors = MetaOf(service, Scope::kNamespaced, NameIsDns1035Label);
  Append(errors, ValidateServiceSpec(service["spec"]));
  return errors;
}

ErrorList ValidateServiceUpdate(const Context&, const Value& service, const Value& old) {
  ErrorList errors = MetaUpdateOf(service, old);
  const Value& was = old["spec"]["clusterIP"];
  const bool fixed = !was.AsString().empty() && old["spec"]["type"].AsString() != "ExternalName" &&
                     service["spec"]["type"].AsString() != "ExternalName";
  if (fixed) {
    Append(errors, ValidateImmutable(service["spec"]["clusterIP"], was, "spec.clusterIP"));
  }
  Append(errors, ValidateServiceSpec(service["spec"]));
  return errors;
}

// --- Event: of both groups; the strict rules hold for events.k8s.io/v1.

ErrorList ValidateEventTexts(const Value& event, const Context& context) {
  struct Limit {
    std::string_view field;
    std::string path;
    std::size_t max;
    bool required;
  };
  const bool core = context.group.empty();
  const std::array<Limit, 4> limits = {{
      {"reportingInstance", "reportingInstance", 128, true},
      {"action", "action", 128, true},
      {"reason", "reason", 128, true},
      {"message", "message", 1024, false},
  }};
  const std::string controller_path = core ? "reportingComponent" : "reportingController";
  const std::string_view controller = event["reportingComponent"].AsString();
  ErrorList errors;
  if (controller.empty()) errors.push_back(Required(controller_path));
  Append(errors, ValidateQualifiedNameAt(controller, controller_path));
  for (const Limit& limit : limits) {
    const std::string_view text = event[limit.field].AsString();
    if (text.empty() && limit.required) errors.push_back(Required(limit.path));
    if (text.size() > limit.max) {
      errors.push_back(
          Invalid(limit.path, "\"\"", fmt::format("can have at most {} characters", limit.max)));
    }
  }
  return errors;
}

ErrorList ValidateEventBasics(const Context& context, const Value& event) {
  const std::string_view ns = event["metadata"]["namespace"].AsString();
  const std::string_view involved = event["involvedObject"]["namespace"].AsString();
  const FieldError mismatch =
      Invalid("involvedObject.namespace", ShownText(involved), "does not match event.namespace");
  ErrorList errors;
  if (event["eventTime"].IsNull()) {
    const bool good = involved.empty() ? ns.empty() || ns == "default" : ns == involved;
    if (!good) errors.push_back(mismatch);
    return errors;
  }
  if (involved.empty() && ns != "default" && ns != "kube-system") errors.push_back(mismatch);
  Append(errors, ValidateEventTexts(event, context));
  return errors;
}

ErrorList ValidateEvent(const Context& context, const Value& event) {
  ErrorList errors = ValidateEventBasics(context, event);
  if (context.group.empty()) return errors;
  Append(errors, MetaOf(event, Scope::kNamespaced, NameIsDnsSubdomain));
  if (event["eventTime"].IsNull()) errors.push_back(Required("eventTime"));
  const std::string_view type = event["type"].AsString();
  if (type != "Normal" && type != "Warning") {
    errors.push_back(Invalid("type", "\"\"", fmt::format("has invalid value: {}", type)));
  }
  for (const std::string_view field : {"firstTimestamp", "lastTimestamp"}) {
    if (!event[field].IsNull()) {
      errors.push_back(Invalid(std::string(field), "\"\"", "needs to be unset"));
    }
  }
  if (event["count"].AsInt() != 0) {
    errors.push_back(Invalid("count", "\"\"", "needs to be unset"));
  }
  if (!event["source"].empty()) errors.push_back(Invalid("source", "\"\"", "needs to be unset"));
  return errors;
}

ErrorList ValidateEventUpdate(const Context& context, const Value& event, const Value& old) {
  ErrorList errors = ValidateEventBasics(context, event);
  if (context.group.empty()) return errors;
  Append(errors, MetaUpdateOf(event, old));
  for (const std::string_view field :
       {"involvedObject", "reason", "message", "source", "firstTimestamp", "lastTimestamp", "count",
        "type", "eventTime", "action", "related", "reportingComponent", "reportingInstance"}) {
    Append(errors, ValidateImmutable(
                       event[field], old[field],
                       field == "reportingComponent" ? "reportingController" : std::string(field)));
  }
  return errors;
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
    {.kind = "ResourceQuota",
     .prepare_create = ClearStatus,
     .prepare_update = KeepStatus,
     .validate_create = ValidateQuota,
     .validate_update = ValidateQuotaUpdate,
     .reset_fields = kStatus},
    {.kind = "ResourceQuota",
     .subresource = kStatus,
     .prepare_update = KeepSpec,
     .validate_update = ValidateQuotaStatus,
     .reset_fields = "spec"},
    {.kind = "Service",
     .allow_create_on_update = Rule::kYes,
     .prepare_create = ClearStatus,
     .prepare_update = KeepStatus,
     .validate_create = ValidateService,
     .validate_update = ValidateServiceUpdate,
     .reset_fields = kStatus},
    {.kind = "Service",
     .subresource = kStatus,
     .prepare_update = KeepSpec,
     .validate_update = UpdateMetaOnly,
     .reset_fields = "spec"},
    {.kind = "Event",
     .allow_create_on_update = Rule::kYes,
     .validate_create = ValidateEvent,
     .validate_update = ValidateEventUpdate},
    {.group = "events.k8s.io",
     .kind = "Event",
     .allow_create_on_update = Rule::kYes,
     .validate_create = ValidateEvent,
     .validate_update = ValidateEventUpdate},
};

}  // namespace

std::span<const Strategy> CoreStrategies() { return kRows; }

}  // namespace drachma::validation
