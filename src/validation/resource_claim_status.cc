#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "validation/names.h"
#include "validation/node_selector.h"
#include "validation/object_meta.h"
#include "validation/resource_common.h"

// The status of a claim: what was allocated, to whom, and what drivers report; and who may write
// it.
namespace drachma::validation {
namespace {

using json::Value;

constexpr std::size_t kConditionsMax = 8;
constexpr std::size_t kAddressesMax = 16;
constexpr std::int64_t kInterfaceNameMax = 256;
constexpr std::int64_t kHardwareAddressMax = 128;
constexpr std::int64_t kDataBytesMax = 10240;

using DeviceKey = std::array<std::string, 4>;

DeviceKey KeyOfDevice(const Value& entry) {
  DeviceKey key;
  std::size_t i = 0;
  for (const std::string_view field : {"driver", "pool", "device", "shareID"}) {
    key[i++] = entry[field].AsString();
  }
  return key;
}

ErrorList ValidateConsumer(const Value& consumer, const std::string& path) {
  ErrorList errors;
  for (const std::string_view field : {"resource", "name", "uid"}) {
    if (consumer[field].AsString().empty()) errors.push_back(Required(Child(path, field)));
  }
  return errors;
}

ErrorList ValidateNetworkData(const Value& data, const std::string& path) {
  if (data.IsNull()) return {};
  ErrorList errors;
  const auto limit = [&](std::string_view field, std::int64_t max) {
    if (static_cast<std::int64_t>(data[field].AsString().size()) <= max) return;
    Append(errors, Covered(WithOrigin({TooLong(Child(path, field), max)}, "maxBytes")));
  };
  limit("interfaceName", kInterfaceNameMax);
  limit("hardwareAddress", kHardwareAddressMax);
  Append(errors, ValidateSet(
                     data["ips"], kAddressesMax,
                     [](const Value& address, const std::string& at) -> ErrorList {
                       const std::string fault = InterfaceAddressFault(address.AsString());
                       if (fault.empty()) return {};
                       return {Invalid(at, ShownText(address.AsString()), fault)};
                     },
                     [](const Value& address) { return Shown(address); }, Child(path, "ips"),
                     CoveredBy::kDeclarative, CoveredBy::kDeclarative));
  return errors;
}

ErrorList ValidateDeviceStatus(const Context& context, const Value& device,
                               const std::set<DeviceKey>& allocated, const std::string& path) {
  ErrorList errors = ValidateDriverName(device["driver"].AsString(), Child(path, "driver"));
  Append(errors, ValidatePoolName(device["pool"].AsString(), Child(path, "pool")));
  Append(errors, ValidateDnsLabel(device["device"].AsString(), Child(path, "device")));
  if (!device["shareID"].IsNull()) {
    Append(errors, Covered(ValidateShareId(device["shareID"].AsString(), Child(path, "shareID"))));
  }
  if (!allocated.contains(KeyOfDevice(device))) {
    errors.push_back(
        Invalid(path, ShownDeviceId(device), "must be an allocated device in the claim"));
  }
  const Value& conditions = device["conditions"];
  const std::string conditions_path = Child(path, "conditions");
  if (conditions.size() > kConditionsMax) {
    errors.push_back(TooMany(conditions_path, conditions.size(), kConditionsMax));
  }
  Append(errors, ValidateConditions(conditions, conditions_path));
  if (!device["data"].IsNull()) {
    Append(errors,
           ValidateRaw(context, device["data"], Child(path, "data"), Origin::kNew, kDataBytesMax));
  }
  Append(errors, ValidateNetworkData(device["networkData"], Child(path, "networkData")));
  return errors;
}

ErrorList ValidateResult(const Value& result, const RequestNames& names, const std::string& path) {
  ErrorList errors =
      ValidateRequestRef(result["request"].AsString(), Child(path, "request"), names);
  Append(errors, ValidateDriverName(result["driver"].AsString(), Child(path, "driver"),
                                    CoveredBy::kDeclarative));
  Append(errors, Covered(ValidatePoolName(result["pool"].AsString(), Child(path, "pool"))));
  Append(errors, ValidateDnsLabel(result["device"].AsString(), Child(path, "device")));
  Append(errors, ValidateBindingConditions(result, path));
  const auto tolerations = result["tolerations"].Items();
  for (std::size_t i = 0; i < tolerations.size(); ++i) {
    Append(errors, ValidateToleration(tolerations[i], Index(Child(path, "tolerations"), i)));
  }
  if (!result["shareID"].IsNull()) {
    Append(errors, Covered(ValidateShareId(result["shareID"].AsString(), Child(path, "shareID"))));
  }
  Append(errors, ValidateSkipNodeOperations(result["skipNodeOperations"],
                                            Child(path, "skipNodeOperations")));
  return errors;
}

ErrorList ValidateAllocatedConfig(const Context& context, const Value& config,
                                  const RequestNames& names, const std::string& path) {
  static constexpr std::array<std::string_view, 2> kSources = {"FromClaim", "FromClass"};
  ErrorList errors;
  const std::string source_path = Child(path, "source");
  const std::string_view source = config["source"].AsString();
  if (source.empty()) {
    Append(errors, Covered({Required(source_path)}));
  } else if (std::ranges::find(kSources, source) == kSources.end()) {
    Append(errors, Covered({NotSupported(source_path, ShownNamed(source), kSources)}));
  }
  Append(errors, ValidateRequestRefs(config["requests"], Child(path, "requests"), names));
  Append(errors, ValidateConfiguration(context, config, path, Origin::kNew));
  return errors;
}

ErrorList ValidateAllocation(const Context& context, const Value& allocation,
                             const RequestNames& names, const std::string& path) {
  const std::string devices_path = Child(path, "devices");
  const Value& devices = allocation["devices"];
  ErrorList errors = ValidateList(
      devices["results"], kResultsMax,
      [&](const Value& result, const std::string& at) { return ValidateResult(result, names, at); },
      Child(devices_path, "results"), CoveredBy::kDeclarative);
  // As many as a class and a claim have together.
  Append(errors, ValidateList(
                     devices["config"], 2 * kConfigMax,
                     [&](const Value& config, const std::string& at) {
                       return ValidateAllocatedConfig(context, config, names, at);
                     },
                     Child(devices_path, "config"), CoveredBy::kDeclarative));
  if (!allocation["nodeSelector"].IsNull()) {
    Append(errors, ValidateNodeSelector(allocation["nodeSelector"], Child(path, "nodeSelector")));
  }
  return errors;
}

ErrorList ValidateReservations(const Value& status, const Value& old, bool deleted) {
  const Value& reserved = status["reservedFor"];
  if (reserved.empty()) return {};
  if (status["allocation"].IsNull()) {
    return {Forbidden("status.reservedFor", "may not be specified when `allocated` is not set")};
  }
  if (!deleted) return {};
  const auto before = old["reservedFor"].Items();
  const bool added = std::ranges::any_of(reserved.Items(), [&](const Value& consumer) {
    return std::ranges::find(before, consumer) == before.end();
  });
  if (!added) return {};
  return {Forbidden("status.reservedFor",
                    "new entries may not be added while `deallocationRequested` or "
                    "`deletionTimestamp` are set")};
}

// --- Authorisation

std::string Quoted(std::string_view text) { return ShownText(text); }

// The text of the 403 that such a request would have got.
std::string DeniedText(const Context& context, const Access& access, const AccessAnswer& answer) {
  std::string resource = access.resource;
  if (!access.subresource.empty()) resource += "/" + access.subresource;
  const std::string where = access.ns.empty()
                                ? std::string("at the cluster scope")
                                : fmt::format("in the namespace {}", Quoted(access.ns));
  std::string text = fmt::format(
      "{}.{}{} is forbidden: User {} cannot {} resource {} in API group {} {}", access.resource,
      access.group, access.name.empty() ? "" : " " + Quoted(access.name), Quoted(context.user.name),
      access.verb, Quoted(resource), Quoted(access.group), where);
  if (!answer.reason.empty()) text += ": " + answer.reason;
  return text;
}

// What the denial says, or nothing when the user may.
std::string Denied(const Context& context, const Access& access) {
  if (!context.authorize) return {};
  const AccessAnswer answer = context.authorize(access);
  return answer.allowed ? std::string() : DeniedText(context, access, answer);
}

Access SyntheticAccess(const Context& context, std::string verb, std::string subresource) {
  return {.verb = std::move(verb),
          .group = context.group,
          .version = context.version,
          .resource = "resourceclaims",
          .subresource = std::move(subresource)};
}

ErrorList AuthorizeBinding(const Context& context, const Value& status, const Value& old) {
  if (SemanticEqual(status["allocation"], old["allocation"]) &&
      SemanticEqual(status["reservedFor"], old["reservedFor"])) {
    return {};
  }
  const Access access = SyntheticAccess(context, context.verb, "binding");
  const std::string denied = Denied(context, access);
  if (denied.empty()) return {};
  return {Forbidden("status.allocation",
                    fmt::format("changing status.allocation or status.reservedFor requires "
                                "resource=\"resourceclaims/binding\", verb=\"{}\" permission: {}",
                                context.verb, denied))};
}

// Drivers whose entries were added, removed or changed, sorted.
std::set<std::string> ModifiedDrivers(const Value& now, const Value& old) {
  std::map<DeviceKey, const Value*> before;
  for (const Value& device : old.Items()) before[KeyOfDevice(device)] = &device;
  std::set<std::string> drivers;
  for (const Value& device : now.Items()) {
    const auto found = before.find(KeyOfDevice(device));
    if (found == before.end() || !SemanticEqual(*found->second, device)) {
      drivers.emplace(device["driver"].AsString());
    }
    if (found != before.end()) before.erase(found);
  }
  for (const auto& [key, device] : before) drivers.emplace((*device)["driver"].AsString());
  return drivers;
}

// The node to which an allocation is pinned by name; empty when it is not.
std::string_view NodeOf(const Value& allocation) {
  const auto terms = allocation["nodeSelector"]["nodeSelectorTerms"].Items();
  if (terms.size() != 1 || !terms[0]["matchExpressions"].empty()) return {};
  const auto fields = terms[0]["matchFields"].Items();
  if (fields.size() != 1 || fields[0]["key"].AsString() != "metadata.name" ||
      fields[0]["operator"].AsString() != "In" || fields[0]["values"].size() != 1) {
    return {};
  }
  return fields[0]["values"].Items()[0].AsString();
}

bool IsServiceAccountName(std::string_view user) {
  const auto parts = Split(user, ':');
  return parts.size() == 4 && parts[0] == "system" && parts[1] == "serviceaccount" &&
         NameIsDnsLabel(parts[2], NamePart::kWhole).empty() &&
         NameIsDnsSubdomain(parts[3], NamePart::kWhole).empty();
}

// Whether the user is a ServiceAccount whose token is bound to a pod on the node.
bool RunsOnNode(const User& user, std::string_view node) {
  if (node.empty() || !IsServiceAccountName(user.name)) return false;
  const auto names = user.extra.find("authentication.kubernetes.io/node-name");
  return names != user.extra.end() && names->second.size() == 1 &&
         IsDns1123Subdomain(names->second.front()).empty() && names->second.front() == node;
}

ErrorList AuthorizeDevices(const Context& context, const Value& status, const Value& old) {
  std::vector<std::string> verbs;
  if (RunsOnNode(context.user, NodeOf(status["allocation"]))) {
    verbs.push_back("associated-node:" + context.verb);
  }
  verbs.push_back("arbitrary-node:" + context.verb);
  ErrorList errors;
  for (const std::string& driver : ModifiedDrivers(status["devices"], old["devices"])) {
    std::string first_denial;
    bool allowed = false;
    for (const std::string& verb : verbs) {
      Access access = SyntheticAccess(context, verb, "driver");
      access.ns = context.ns;
      access.name = driver;
      const std::string denied = Denied(context, access);
      allowed = allowed || denied.empty();
      if (allowed) break;
      if (first_denial.empty()) first_denial = denied;
    }
    if (allowed) continue;
    errors.push_back(Forbidden(
        "status.devices",
        fmt::format("changing status.devices requires resource=\"resourceclaims/driver\", "
                    "verb=\"[{}]\" permission: {}",
                    fmt::join(verbs, " "), first_denial)));
  }
  return errors;
}

// One error at `path` when the namespace of the claim does not allow admin access.
ErrorList RequireAdminNamespace(const Context& context, std::string_view ns,
                                const std::string& path) {
  static constexpr std::string_view kLabel = "resource.kubernetes.io/admin-access";
  if (!context.lookup_namespace) return {};
  const auto found = context.lookup_namespace(ns);
  if (!found) {
    return {InternalError(
        path, "could not retrieve namespace to verify admin access: " + found.error().message)};
  }
  if ((*found)["metadata"]["labels"][kLabel].AsString() == "true") return {};
  return {Forbidden(path, fmt::format("admin access to devices requires the `{}: true` label on "
                                      "the containing namespace",
                                      kLabel))};
}

// Index of the first result with admin access, or -1.
int AdminResult(const Value& status) {
  const auto results = status["allocation"]["devices"]["results"].Items();
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i]["adminAccess"].AsBool()) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace

ErrorList AuthorizeAdminAccess(const Context& context, const Value& requests, std::string_view ns) {
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (!requests.Items()[i]["exactly"]["adminAccess"].AsBool()) continue;
    return RequireAdminNamespace(context, ns,
                                 Child(Index("spec.devices.requests", i), "adminAccess"));
  }
  return {};
}

ErrorList AuthorizeClaimStatus(const Context& context, const Value& claim, const Value& old) {
  const Value& status = claim["status"];
  const Value& old_status = old["status"];
  ErrorList errors;
  const int admin = AdminResult(status);
  if (admin >= 0 && AdminResult(old_status) < 0) {
    const std::string path =
        Index("status.allocation.devices.results", static_cast<std::size_t>(admin)) +
        ".adminAccess";
    errors = RequireAdminNamespace(context, claim["metadata"]["namespace"].AsString(), path);
  }
  if (!context.Enabled("DRAResourceClaimGranularStatusAuthorization")) return errors;
  Append(errors, AuthorizeBinding(context, status, old_status));
  // Deallocation drops all device status, so it asks for nothing more.
  if (context.Enabled("DRAResourceClaimDeviceStatus") && !status["allocation"].IsNull()) {
    Append(errors, AuthorizeDevices(context, status, old_status));
  }
  return errors;
}

ErrorList ValidateClaimStatus(const Context& context, const Value& claim, const Value& old_claim) {
  const Value& status = claim["status"];
  const Value& old = old_claim["status"];
  const RequestNames names(claim["spec"]["devices"]);
  ErrorList errors = ValidateSet(
      status["reservedFor"], kReservedForMax, ValidateConsumer,
      [](const Value& consumer) { return ShownNamed(consumer["uid"].AsString()); },
      "status.reservedFor", CoveredBy::kDeclarative, CoveredBy::kDeclarative);
  std::set<DeviceKey> allocated;
  for (const Value& result : status["allocation"]["devices"]["results"].Items()) {
    allocated.insert(KeyOfDevice(result));
  }
  Append(errors,
         ValidateSet(
             status["devices"], kAnyNumber,
             [&](const Value& device, const std::string& at) {
               return ValidateDeviceStatus(context, device, allocated, at);
             },
             ShownDeviceId, "status.devices", CoveredBy::kNothing, CoveredBy::kDeclarative));
  const bool deleted = !claim["metadata"]["deletionTimestamp"].IsNull();
  Append(errors, ValidateReservations(status, old, deleted));
  const Value& allocation = status["allocation"];
  if (allocation.IsNull()) return errors;
  if (!old["allocation"].IsNull()) {
    Append(errors,
           Covered(WithOrigin(ValidateImmutable(allocation, old["allocation"], "status.allocation"),
                              "update")));
  } else {
    Append(errors, ValidateAllocation(context, allocation, names, "status.allocation"));
  }
  return errors;
}

}  // namespace drachma::validation
