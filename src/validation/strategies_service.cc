#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "validation/names.h"
#include "validation/object_meta.h"
#include "validation/pod_rules.h"
#include "validation/strategy_tables.h"

// Services: pkg/registry/core/service of Kubernetes; addresses of the cluster are not allocated.
namespace drachma::validation {
namespace {

using json::Value;

constexpr std::string_view kStatus = "status";

ErrorList MetaOf(const Value& object, Scope scope, NameRule rule) {
  return ValidateCoreObjectMeta(object["metadata"], scope, rule, "metadata");
}
ErrorList MetaUpdateOf(const Value& object, const Value& old) {
  return ValidateCoreObjectMetaUpdate(object["metadata"], old["metadata"], "metadata");
}
ErrorList UpdateMetaOnly(const Context&, const Value& object, const Value& old) {
  return MetaUpdateOf(object, old);
}

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
  const std::string_view type = spec["type"].AsString();
  if (ports.empty() && !headless && type != "ExternalName") {
    errors.push_back(Required("spec.ports"));
  }
  if (headless && (type == "LoadBalancer" || type == "NodePort")) {
    errors.push_back(Invalid("spec.clusterIPs[0]", ShownText("None"),
                             fmt::format("may not be set to 'None' for {} services", type)));
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

constexpr std::int64_t kAffinitySecondsMax = 86400;

ErrorList ValidateAffinity(const Value& spec) {
  static constexpr std::array<std::string_view, 2> kAffinities = {"ClientIP", "None"};
  const std::string path = "spec.sessionAffinityConfig";
  const std::string_view affinity = spec["sessionAffinity"].AsString();
  const Value& config = spec["sessionAffinityConfig"];
  ErrorList errors = ValidateChoice(affinity, kAffinities, "spec.sessionAffinity");
  if (affinity == "None" && !config.IsNull()) {
    errors.push_back(Forbidden(path, "must not be set when session affinity is None"));
  }
  if (affinity != "ClientIP") return errors;
  static constexpr const char* kWhen = "when session affinity type is ClientIP";
  const Value& timeout = config["clientIP"]["timeoutSeconds"];
  if (config.IsNull()) {
    errors.push_back(Required(path, kWhen));
  } else if (config["clientIP"].IsNull()) {
    errors.push_back(Required(Child(path, "clientIP"), kWhen));
  } else if (timeout.IsNull()) {
    errors.push_back(Required(Child(path, "clientIP.timeoutSeconds"), kWhen));
  } else if (timeout.AsInt() <= 0 || timeout.AsInt() > kAffinitySecondsMax) {
    errors.push_back(Invalid(Child(path, "clientIP.timeoutSeconds"), ShownInt(timeout.AsInt()),
                             "must be greater than 0 and less than 86400"));
  }
  return errors;
}

bool IsIp(std::string_view text) {
  std::array<unsigned char, sizeof(in6_addr)> parsed{};
  const std::string address(text);
  return inet_pton(AF_INET, address.c_str(), parsed.data()) == 1 ||
         inet_pton(AF_INET6, address.c_str(), parsed.data()) == 1;
}

// clusterIP, clusterIPs, ipFamilies and ipFamilyPolicy fit together
// (ValidateServiceClusterIPsRelatedFields).
ErrorList ValidateAddresses(const Value& spec) {
  static constexpr std::array<std::string_view, 2> kFamilies = {"IPv4", "IPv6"};
  static constexpr std::array<std::string_view, 3> kPolicies = {"PreferDualStack",
                                                                "RequireDualStack", "SingleStack"};
  if (spec["type"].AsString() == "ExternalName") return {};
  const std::string path = "spec.clusterIPs";
  const auto addresses = spec["clusterIPs"].Items();
  const std::string_view first = spec["clusterIP"].AsString();
  ErrorList errors;
  if (first.empty() && !addresses.empty()) {
    errors.push_back(Invalid(path, Shown(spec["clusterIPs"]),
                             "must be empty when `clusterIP` is not specified"));
  } else if (!first.empty() && addresses.empty()) {
    errors.push_back(Required(path));
  } else if (!first.empty() && addresses[0].AsString() != first) {
    errors.push_back(
        Invalid(path, Shown(spec["clusterIPs"]), "first value must match `clusterIP`"));
  }
  const auto families = spec["ipFamilies"].Items();
  for (std::size_t i = 0; i < families.size(); ++i) {
    const std::string at = Index("spec.ipFamilies", i);
    const std::string_view family = families[i].AsString();
    if (std::ranges::find(kFamilies, family) == kFamilies.end()) {
      errors.push_back(NotSupported(at, ShownNamed(family), kFamilies));
    }
    const auto before = families.first(i);
    if (std::ranges::find(before, families[i]) != before.end()) {
      errors.push_back(Duplicate(at, ShownNamed(family)));
    }
  }
  const Value& policy = spec["ipFamilyPolicy"];
  if (!policy.IsNull() && std::ranges::find(kPolicies, policy.AsString()) == kPolicies.end()) {
    errors.push_back(NotSupported("spec.ipFamilyPolicy", ShownNamed(policy.AsString()), kPolicies));
  }
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const std::string_view address = addresses[i].AsString();
    if (i == 0 && address == "None") {
      if (addresses.size() == 1) continue;
      errors.push_back(
          Invalid(path, Shown(spec["clusterIPs"]), "'None' must be the first and only value"));
    } else if (!IsIp(address)) {
      errors.push_back(Invalid(Index(path, i), ShownText(address),
                               "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"));
    }
  }
  if (addresses.size() > 2) {
    errors.push_back(Invalid(path, Shown(spec["clusterIPs"]), "may only hold up to 2 values"));
  }
  return errors;
}

// What upstream fills in for services without an address; all others get one from its allocator.
void FillHeadless(Value& service) {
  Value& spec = service.Edit("spec");
  if (spec["type"].AsString() == "ExternalName") return;
  const Value address = spec["clusterIP"];
  if (!address.AsString().empty() && spec["clusterIPs"].empty()) {
    spec.Set("clusterIPs", Value::Array({address}));
  }
  if (address.AsString().empty() && !spec["clusterIPs"].empty() &&
      !service["metadata"].Has("uid")) {
    const Value listed = spec["clusterIPs"].Items()[0];
    spec.Set("clusterIP", listed);
  }
  if (spec["clusterIP"].AsString() != "None") return;
  const bool selects = !spec["selector"].empty();
  if (spec["ipFamilyPolicy"].IsNull()) {
    const bool dual = !selects || spec["ipFamilies"].size() > 1;
    spec.Set("ipFamilyPolicy", dual ? "RequireDualStack" : "SingleStack");
  }
  if (!spec["ipFamilies"].empty()) return;
  const bool both = !selects && spec["ipFamilyPolicy"].AsString() != "SingleStack";
  spec.Set("ipFamilies", both ? Value::Array({"IPv4", "IPv6"}) : Value::Array({"IPv4"}));
}

void PrepareServiceCreate(const Context& context, Value& service) {
  ClearStatus(context, service);
  FillHeadless(service);
}

// Addresses that an update leaves out stay (patchAllocatedValues).
void PrepareServiceUpdate(const Context& context, Value& service, const Value& old) {
  KeepStatus(context, service, old);
  Value& spec = service.Edit("spec");
  const Value& before = old["spec"];
  if (spec["type"].AsString() == "ExternalName") return;
  if (spec["clusterIP"].AsString().empty() && spec["clusterIPs"].empty()) {
    TakeOver(spec, before, "clusterIP");
    TakeOver(spec, before, "clusterIPs");
  } else if (spec["clusterIP"] != before["clusterIP"] &&
             spec["clusterIPs"] == before["clusterIPs"]) {
    // Only one of the two was edited: the other follows.
    const Value address = spec["clusterIP"];
    spec.Set("clusterIPs", address.AsString().empty() ? Value::Array() : Value::Array({address}));
  }
  for (const std::string_view field : {"ipFamilies", "ipFamilyPolicy"}) {
    if (spec[field].IsNull()) TakeOver(spec, before, field);
  }
  FillHeadless(service);
}

ErrorList ValidateDuplicatePorts(const Value& ports) {
  static constexpr std::array<std::string_view, 6> kFields = {"name", "protocol",   "appProtocol",
                                                              "port", "targetPort", "nodePort"};
  ErrorList errors;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const Value& port = ports.Items()[i];
    const auto before = ports.Items().first(i);
    const bool seen = std::ranges::any_of(before, [&](const Value& other) {
      return other["protocol"] == port["protocol"] && other["port"] == port["port"];
    });
    if (!seen) continue;
    Value internal = Internal(Value::Object({{"protocol", port["protocol"]}}), kFields);
    internal.Set("Name", "");
    internal.Set("Port", port["port"].AsInt());
    internal.Set("TargetPort", 0);
    internal.Set("NodePort", 0);
    errors.push_back(Duplicate(Index("spec.ports", i), Shown(internal)));
  }
  return errors;
}

ErrorList ValidateServiceSpec(const Value& spec) {
  static constexpr std::array<std::string_view, 4> kTypes = {"ClusterIP", "ExternalName",
                                                             "LoadBalancer", "NodePort"};
  ErrorList errors = ValidateServicePorts(spec);
  Append(errors, ValidateLabels(spec["selector"], "spec.selector"));
  Append(errors, ValidateAffinity(spec));
  Append(errors, ValidateAddresses(spec));
  Append(errors, ValidateChoice(spec["type"].AsString(), kTypes, "spec.type"));
  Append(errors, ValidateDuplicatePorts(spec["ports"]));
  return errors;
}

ErrorList ValidateService(const Context&, const Value& service) {
  ErrorList errors = MetaOf(service, Scope::kNamespaced, NameIsDnsLabel);
  Append(errors, ValidateServiceSpec(service["spec"]));
  return errors;
}

ErrorList ValidateServiceUpdate(const Context&, const Value& service, const Value& old) {
  ErrorList errors = MetaUpdateOf(service, old);
  const Value& was = old["spec"]["clusterIP"];
  const bool fixed = !was.AsString().empty() && old["spec"]["type"].AsString() != "ExternalName" &&
                     service["spec"]["type"].AsString() != "ExternalName";
  if (fixed) {
    const Value& now = service["spec"]["clusterIPs"];
    if (service["spec"]["clusterIP"] != was) {
      errors.push_back(Invalid("spec.clusterIPs[0]", now.IsNull() ? "null" : Shown(now),
                               "may not change once set"));
    }
  }
  Append(errors, ValidateServiceSpec(service["spec"]));
  return errors;
}

std::vector<std::string> WarnOfService(const Context&, const Value& service) {
  const Value& spec = service["spec"];
  if (spec["clusterIP"].AsString() != "None") return {};
  std::vector<std::string> warnings;
  if (!spec["loadBalancerIP"].AsString().empty()) {
    warnings.emplace_back("spec.loadBalancerIP is ignored for headless services");
  }
  if (!spec["externalIPs"].empty()) {
    warnings.emplace_back("spec.externalIPs is ignored for headless services");
  }
  if (spec["sessionAffinity"].AsString() == "ClientIP") {
    warnings.emplace_back("spec.SessionAffinity is ignored for headless services");
  }
  return warnings;
}

std::vector<std::string> WarnOfServiceUpdate(const Context& context, const Value& service,
                                             const Value&) {
  return WarnOfService(context, service);
}

constexpr Strategy kRows[] = {
    {.kind = "Service",
     .allow_create_on_update = Rule::kYes,
     .prepare_create = PrepareServiceCreate,
     .prepare_update = PrepareServiceUpdate,
     .validate_create = ValidateService,
     .validate_update = ValidateServiceUpdate,
     .warn_create = WarnOfService,
     .warn_update = WarnOfServiceUpdate,
     .reset_fields = kStatus},
    {.kind = "Service",
     .subresource = kStatus,
     .prepare_update = KeepSpec,
     .validate_update = UpdateMetaOnly,
     .reset_fields = "spec"},
};

}  // namespace

std::span<const Strategy> ServiceStrategies() { return kRows; }

}  // namespace drachma::validation
