#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "validation/names.h"
#include "validation/node_selector.h"
#include "validation/object_meta.h"
#include "validation/pod_rules.h"

namespace drachma::validation {
namespace {

using json::Value;

constexpr std::size_t kNameserversMax = 3;
constexpr std::size_t kSearchesMax = 32;
constexpr std::size_t kSearchCharactersMax = 2048;
constexpr std::size_t kSubdomainMax = 253;  // also of the names of sysctls
constexpr std::int64_t kIdMax = std::numeric_limits<std::int32_t>::max();

// {"Name":"a","ResourceClaimName":"c","ResourceClaimTemplateName":null}: the internal type.
std::string ShownPodClaim(const Value& claim) {
  return Shown(Value::Object({{"Name", claim["name"].AsString()},
                              {"ResourceClaimName", claim["resourceClaimName"]},
                              {"ResourceClaimTemplateName", claim["resourceClaimTemplateName"]}}));
}

ErrorList ValidatePodClaim(const Value& claim, NameSet& names, const std::string& path) {
  ErrorList errors;
  const std::string_view name = claim["name"].AsString();
  const std::string name_path = Child(path, "name");
  if (name.empty()) {
    errors.push_back(Required(name_path));
  } else if (names.contains(name)) {
    errors.push_back(Duplicate(name_path, ShownText(name)));
  } else {
    errors = ValidateDnsLabelAt(name, name_path);
    names.emplace(name);
  }
  const Value& direct = claim["resourceClaimName"];
  const Value& by_template = claim["resourceClaimTemplateName"];
  if (!direct.IsNull() && !by_template.IsNull()) {
    errors.push_back(Invalid(path, ShownPodClaim(claim),
                             "at most one of `resourceClaimName` or `resourceClaimTemplateName` "
                             "may be specified"));
  }
  if (direct.IsNull() && by_template.IsNull()) {
    errors.push_back(
        Invalid(path, ShownPodClaim(claim),
                "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"));
  }
  for (const std::string_view field : {"resourceClaimName", "resourceClaimTemplateName"}) {
    if (claim[field].IsNull()) continue;
    const std::string_view text = claim[field].AsString();
    Append(errors, InvalidEach(Child(path, field), text, IsDns1123Subdomain(text)));
  }
  return errors;
}

ErrorList ValidatePodClaims(const Value& claims, const Value* meta, const std::string& path) {
  ErrorList errors;
  NameSet names;
  for (std::size_t i = 0; i < claims.size(); ++i) {
    if (meta != nullptr && (*meta)["annotations"].Has(kMirrorPod)) {
      // The path is upstream's rendering of one with an empty name.
      errors.push_back(Forbidden("[]", "static pods do not support resource claims"));
    } else {
      Append(errors, ValidatePodClaim(claims.Items()[i], names, Index(path, i)));
    }
  }
  return errors;
}

ErrorList ValidateId(const Value& id, const std::string& path) {
  if (id.IsNull() || (id.AsInt() >= 0 && id.AsInt() <= kIdMax)) return {};
  return {Invalid(path, ShownInt(id.AsInt()),
                  fmt::format("must be between 0 and {}, inclusive", kIdMax))};
}

ErrorList ValidateSysctls(const Value& sysctls, const std::string& path) {
  static constexpr const char* kPattern =
      R"(^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$)";
  static const RE2 form(kPattern);
  ErrorList errors;
  NameSet names;
  for (std::size_t i = 0; i < sysctls.size(); ++i) {
    const std::string_view name = sysctls.Items()[i]["name"].AsString();
    const std::string at = Child(Index(path, i), "name");
    if (name.empty()) {
      errors.push_back(Required(at));
    } else if (name.size() > kSubdomainMax || !RE2::FullMatch(name, form)) {
      errors.push_back(Invalid(at, ShownText(name),
                               fmt::format("must have at most {} characters and match regex {}",
                                           kSubdomainMax, kPattern)));
    } else if (!names.emplace(name).second) {
      errors.push_back(Duplicate(at, ShownText(name)));
    }
  }
  return errors;
}

ErrorList ValidatePodSecurity(const Value& security, const std::string& path) {
  ErrorList errors;
  for (const std::string_view field : {"fsGroup", "runAsUser", "runAsGroup"}) {
    Append(errors, ValidateId(security[field], Child(path, field)));
  }
  const auto groups = security["supplementalGroups"].Items();
  for (std::size_t i = 0; i < groups.size(); ++i) {
    Append(errors, ValidateId(groups[i], Index(Child(path, "supplementalGroups"), i)));
  }
  Append(errors, ValidateSysctls(security["sysctls"], Child(path, "sysctls")));
  return errors;
}

// A domain of DNS, whose labels may hold underscores.
ErrorList ValidateSearchDomain(std::string_view domain, const std::string& path) {
  static constexpr const char* kPattern =
      R"(_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*)";
  static const RE2 form(kPattern);
  ErrorList errors;
  if (domain.size() > kSubdomainMax) {
    errors.push_back(Invalid(path, ShownText(domain),
                             fmt::format("must be no more than {} characters", kSubdomainMax)));
  }
  if (!RE2::FullMatch(domain, form)) {
    errors.push_back(Invalid(
        path, ShownText(domain),
        fmt::format("a lowercase RFC 1123 subdomain must consist of lower case alphanumeric "
                    "characters, '_', '-' or '.', and must start and end with an alphanumeric "
                    "character (e.g. 'example.com', regex used for validation is '{}')",
                    kPattern)));
  }
  return errors;
}

ErrorList ValidateDns(const Value& spec, const std::string& path) {
  const Value& config = spec["dnsConfig"];
  const std::string servers_path = Child(path, "nameservers");
  const Value& servers = config["nameservers"];
  if (spec["dnsPolicy"].AsString() == "None") {
    if (config.IsNull()) {
      return {Required(path, "must provide `dnsConfig` when `dnsPolicy` is None")};
    }
    if (servers.empty()) {
      return {Required(servers_path,
                       "must provide at least one DNS nameserver when `dnsPolicy` is None")};
    }
  }
  ErrorList errors;
  if (servers.size() > kNameserversMax) {
    errors.push_back(
        Invalid(servers_path, Shown(servers),
                fmt::format("must not have more than {} nameservers", kNameserversMax)));
  }
  for (std::size_t i = 0; i < servers.size(); ++i) {
    Append(errors, ValidateIp(servers.Items()[i].AsString(), Index(servers_path, i)));
  }
  const Value& searches = config["searches"];
  const std::string searches_path = Child(path, "searches");
  if (searches.size() > kSearchesMax) {
    errors.push_back(Invalid(searches_path, Shown(searches),
                             fmt::format("must not have more than {} search paths", kSearchesMax)));
  }
  std::size_t characters = searches.empty() ? 0 : searches.size() - 1;
  for (const Value& search : searches.Items()) characters += search.AsString().size();
  if (characters > kSearchCharactersMax) {
    errors.push_back(Invalid(searches_path, Shown(searches),
                             fmt::format("must not have more than {} characters (including "
                                         "spaces) in the search list",
                                         kSearchCharactersMax)));
  }
  for (std::size_t i = 0; i < searches.size(); ++i) {
    std::string_view search = searches.Items()[i].AsString();
    if (search == ".") continue;
    if (search.ends_with('.')) search.remove_suffix(1);
    Append(errors, ValidateSearchDomain(search, Index(searches_path, i)));
  }
  const auto options = config["options"].Items();
  for (std::size_t i = 0; i < options.size(); ++i) {
    if (options[i]["name"].AsString().empty()) {
      errors.push_back(Required(Index(Child(path, "options"), i), "must not be empty"));
    }
  }
  return errors;
}

ErrorList ValidateHostNetworkPorts(const Value& spec, PodPlace place, const std::string& path) {
  if (!spec["hostNetwork"].AsBool()) return {};
  ErrorList errors;
  const auto containers = spec["containers"].Items();
  for (std::size_t c = 0; c < containers.size(); ++c) {
    const auto ports = containers[c]["ports"].Items();
    for (std::size_t p = 0; p < ports.size(); ++p) {
      const std::int64_t host = ports[p]["hostPort"].AsInt();
      // Templates may leave it out: the pod gets it by default.
      if (place == PodPlace::kTemplate && host == 0) continue;
      if (host == ports[p]["containerPort"].AsInt()) continue;
      errors.push_back(
          Invalid(Child(Index(Child(Index(Child(path, "containers"), c), "ports"), p), "hostPort"),
                  ShownInt(host), "must match `containerPort` when `hostNetwork` is true"));
    }
  }
  return errors;
}

ErrorList ValidateSchedulingGates(const Value& gates, const std::string& path) {
  ErrorList errors;
  NameSet seen;
  for (std::size_t i = 0; i < gates.size(); ++i) {
    const std::string_view name = gates.Items()[i]["name"].AsString();
    Append(errors, ValidateQualifiedNameAt(name, Index(path, i)));
    if (!seen.emplace(name).second) errors.push_back(Duplicate(Index(path, i), ShownText(name)));
  }
  return errors;
}

ErrorList ValidateHostUsers(const Value& spec, const std::string& path) {
  if (spec["hostUsers"].AsBool(true)) return {};
  static constexpr const char* kDetail = "when `hostUsers` is false";
  ErrorList errors;
  if (spec["hostNetwork"].AsBool())
    errors.push_back(Forbidden(Child(path, "hostNetwork"), kDetail));
  if (spec["hostPID"].AsBool()) errors.push_back(Forbidden(Child(path, "HostPID"), kDetail));
  if (spec["hostIPC"].AsBool()) errors.push_back(Forbidden(Child(path, "HostIPC"), kDetail));
  return errors;
}

ErrorList ValidateHostnameOverride(const Value& spec, const std::string& spec_path) {
  constexpr std::size_t kHostnameMax = 64;
  const Value& name = spec["hostnameOverride"];
  if (name.IsNull()) return {};
  const std::string path = Child(spec_path, "hostnameOverride");
  ErrorList errors;
  if (spec["setHostnameAsFQDN"].AsBool()) {
    errors.push_back(Forbidden(path, "may not be specified when setHostnameAsFQDN is true"));
  }
  if (spec["hostNetwork"].AsBool()) {
    errors.push_back(Forbidden(path, "may not be specified when hostNetwork is true"));
  }
  if (name.AsString().size() > kHostnameMax) errors.push_back(TooLong(path, kHostnameMax));
  Append(errors, ValidateDnsSubdomainAt(name.AsString(), path));
  return errors;
}

// The texts of a spec that are names: each with the rule of its form.
ErrorList ValidateNamesOfSpec(const Value& spec, const std::string& path) {
  ErrorList errors;
  const auto name = [&](std::string_view field, Faults (*rule)(std::string_view)) {
    const std::string_view text = spec[field].AsString();
    if (!text.empty()) Append(errors, InvalidEach(Child(path, field), text, rule(text)));
  };
  name("serviceAccountName", IsDns1123Subdomain);
  const std::string_view account = spec["serviceAccountName"].AsString();
  const std::string_view deprecated = spec["serviceAccount"].AsString();
  if (!deprecated.empty() && deprecated != account) {
    errors.push_back(
        Invalid(Child(path, "deprecatedServiceAccount"), ShownText(deprecated),
                fmt::format("must be the same as serviceAccountName: {}", ShownText(account))));
  }
  name("nodeName", IsDns1123Subdomain);
  const Value& deadline = spec["activeDeadlineSeconds"];
  if (!deadline.IsNull() && (deadline.AsInt() < 1 || deadline.AsInt() > kIdMax)) {
    errors.push_back(Invalid(Child(path, "activeDeadlineSeconds"), ShownInt(deadline.AsInt()),
                             fmt::format("must be between 1 and {}, inclusive", kIdMax)));
  }
  name("hostname", IsDns1123Label);
  name("subdomain", IsDns1123Label);
  Append(errors, ValidateTolerations(spec["tolerations"], Child(path, "tolerations")));
  const auto aliases = spec["hostAliases"].Items();
  for (std::size_t i = 0; i < aliases.size(); ++i) {
    const std::string at = Index(Child(path, "hostAliases"), i);
    Append(errors, ValidateIp(aliases[i]["ip"].AsString(), Child(at, "ip")));
    const auto hosts = aliases[i]["hostnames"].Items();
    for (std::size_t j = 0; j < hosts.size(); ++j) {
      Append(errors, ValidateDnsSubdomainAt(hosts[j].AsString(), Index(Child(at, "hostnames"), j)));
    }
  }
  name("priorityClassName", IsDns1123Subdomain);
  if (const Value& runtime = spec["runtimeClassName"]; !runtime.IsNull()) {
    Append(errors, InvalidEach(Child(path, "runtimeClassName"), runtime.AsString(),
                               IsDns1123Subdomain(runtime.AsString())));
  }
  return errors;
}

ErrorList ValidateSchedulingGroup(const Value& spec, const std::string& path) {
  const Value& group = spec["schedulingGroup"];
  if (group.IsNull()) return {};
  const Value& name = group["podGroupName"];
  const std::string name_path = Child(path, "schedulingGroup.podGroupName");
  if (name.IsNull()) {
    return {Invalid(name_path, "null", "must specify one of: `podGroupName`")};
  }
  return InvalidEach(name_path, name.AsString(), IsDns1123Subdomain(name.AsString()));
}

ErrorList ValidatePodLevelResources(const Value& spec, const PodFacts& facts,
                                    const std::string& path) {
  const Value& resources = spec["resources"];
  if (resources.IsNull()) return {};
  ErrorList errors;
  if (!resources["claims"].IsNull()) {
    errors.push_back(
        Forbidden(Child(path, "claims"), "claims may not be set for Resources at pod-level"));
  }
  Append(errors, ValidateResources(resources, ResourceHolder::kPod, facts.claims, path));
  return errors;
}

// Policies and switches of a spec.
ErrorList ValidateChoicesOfSpec(const Value& spec, const std::string& path) {
  static constexpr std::array<std::string_view, 3> kRestart = {"Always", "OnFailure", "Never"};
  static constexpr std::array<std::string_view, 4> kDns = {"ClusterFirstWithHostNet",
                                                           "ClusterFirst", "Default", "None"};
  ErrorList errors =
      ValidateChoice(spec["restartPolicy"].AsString(), kRestart, Child(path, "restartPolicy"));
  Append(errors, ValidateChoice(spec["dnsPolicy"].AsString(), kDns, Child(path, "dnsPolicy")));
  Append(errors, ValidateLabels(spec["nodeSelector"], Child(path, "nodeSelector")));
  Append(errors, ValidatePodSecurity(spec["securityContext"], Child(path, "securityContext")));
  if (spec["shareProcessNamespace"].AsBool() && spec["hostPID"].AsBool()) {
    errors.push_back(Invalid(Child(path, "shareProcessNamespace"), "true",
                             "ShareProcessNamespace and HostPID cannot both be enabled"));
  }
  return errors;
}

}  // namespace

ErrorList ValidateChoice(std::string_view value, std::span<const std::string_view> supported,
                         const std::string& path) {
  if (value.empty()) return {Required(path)};
  if (std::ranges::find(supported, value) != supported.end()) return {};
  return {NotSupported(path, ShownNamed(value), supported)};
}

ErrorList ValidateQualifiedNameAt(std::string_view name, const std::string& path) {
  return InvalidEach(path, name, IsLabelKey(name), "format=qualified-name");
}
ErrorList ValidatePositive(std::int64_t number, const std::string& path) {
  if (number > 0) return {};
  return WithOrigin({Invalid(path, ShownInt(number), "must be greater than zero")}, "minimum");
}
ErrorList ValidateDnsLabelAt(std::string_view name, const std::string& path) {
  return InvalidEach(path, name, IsDns1123Label(name), "format=k8s-short-name");
}
ErrorList ValidateDnsSubdomainAt(std::string_view name, const std::string& path) {
  return InvalidEach(path, name, IsDns1123Subdomain(name), "format=k8s-long-name");
}
ErrorList ValidateIp(std::string_view ip, const std::string& path) {
  const std::string fault = IpFault(ip);
  // Older fields accept addresses that are not in canonical form.
  if (fault.empty() || fault.starts_with("must be in canonical form")) return {};
  return WithOrigin({Invalid(path, ShownText(ip), fault)}, "format=ip-sloppy");
}

ErrorList ValidatePodSpec(const Value& spec, const Value* meta, PodPlace place,
                          const std::string& path) {
  static constexpr std::array<std::string_view, 2> kPreemption = {"PreemptLowerPriority", "Never"};
  static constexpr std::array<std::string_view, 2> kSystems = {"linux", "windows"};
  PodFacts facts{.grace_period = spec["terminationGracePeriodSeconds"],
                 .restart_policy = std::string(spec["restartPolicy"].AsString()),
                 .host_users = spec["hostUsers"].AsBool(true)};
  ErrorList errors;
  if (facts.grace_period.IsNull()) {
    errors.push_back(Required(Child(path, "terminationGracePeriodSeconds")));
  }
  Append(errors, ValidateVolumes(spec["volumes"], facts, Child(path, "volumes")));
  for (const Value& claim : spec["resourceClaims"].Items()) {
    const std::string_view name = claim["name"].AsString();
    if (!name.empty()) facts.claims.emplace(name);
  }
  Append(errors, ValidatePodClaims(spec["resourceClaims"], meta, Child(path, "resourceClaims")));
  Append(errors, ValidateContainers(spec["containers"], facts, Child(path, "containers")));
  Append(errors, ValidateInitContainers(spec, facts, Child(path, "initContainers")));
  Append(errors, ValidateEphemeralContainers(spec, facts, Child(path, "ephemeralContainers")));
  Append(errors, ValidatePodLevelResources(spec, facts, Child(path, "resources")));
  Append(errors, ValidateHostNetworkPorts(spec, place, path));
  Append(errors, ValidateChoicesOfSpec(spec, path));
  Append(errors, ValidateAffinity(spec["affinity"], Child(path, "affinity")));
  Append(errors, ValidateDns(spec, Child(path, "dnsConfig")));
  const auto readiness = spec["readinessGates"].Items();
  for (std::size_t i = 0; i < readiness.size(); ++i) {
    Append(errors, ValidateQualifiedNameAt(
                       readiness[i]["conditionType"].AsString(),
                       Child(Index(Child(path, "readinessGates"), i), "conditionType")));
  }
  Append(errors, ValidateSchedulingGates(spec["schedulingGates"], Child(path, "schedulingGates")));
  Append(errors, ValidateSpreadConstraints(spec["topologySpreadConstraints"],
                                           Child(path, "topologySpreadConstraints")));
  Append(errors, ValidateHostUsers(spec, path));
  Append(errors, ValidateHostnameOverride(spec, path));
  Append(errors, ValidateNamesOfSpec(spec, path));
  if (!spec["preemptionPolicy"].IsNull()) {
    Append(errors, ValidateChoice(spec["preemptionPolicy"].AsString(), kPreemption,
                                  Child(path, "preemptionPolicy")));
  }
  if (!spec["overhead"].IsNull()) {
    Append(errors, ValidateResources(Value::Object({{"limits", spec["overhead"]}}),
                                     ResourceHolder::kContainer, {}, Child(path, "overhead")));
  }
  if (!spec["os"].IsNull()) {
    const std::string_view name = spec["os"]["name"].AsString();
    if (name.empty()) {
      errors.push_back(Required(Child(path, "os.name")));
    } else if (std::ranges::find(kSystems, name) == kSystems.end()) {
      errors.push_back(NotSupported(Child(path, "os"), ShownNamed(name), kSystems));
    }
  }
  Append(errors, ValidateSchedulingGroup(spec, path));
  return errors;
}

ErrorList ValidatePodAnnotations(const Value& annotations, const Value& spec,
                                 const std::string& path) {
  static constexpr std::string_view kDeletionCost = "controller.kubernetes.io/pod-deletion-cost";
  ErrorList errors;
  if (const Value* mirror = annotations.Find(kMirrorPod);
      mirror != nullptr && spec["nodeName"].AsString().empty()) {
    errors.push_back(Invalid(Key(path, kMirrorPod), Shown(*mirror),
                             "must set spec.nodeName if mirror pod annotation is set"));
  }
  if (const Value* cost = annotations.Find(kDeletionCost); cost != nullptr) {
    const std::string_view text = cost->AsString();
    const bool negative = text.starts_with('-');
    const std::string_view digits = negative ? text.substr(1) : text;
    const bool number = !digits.empty() && digits.size() <= 10 &&
                        std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; }) &&
                        (digits.size() == 1 || digits.front() != '0') &&
                        std::stoll(std::string(digits)) <= kIdMax + (negative ? 1 : 0);
    if (!number) {
      errors.push_back(
          Invalid(Key(path, kDeletionCost), ShownText(text), "must be a 32bit integer"));
    }
  }
  return errors;
}

ErrorList ValidatePodTemplate(const Value& pod_template, const std::string& path) {
  const Value& meta = pod_template["metadata"];
  const Value& spec = pod_template["spec"];
  ErrorList errors = ValidateLabels(meta["labels"], Child(path, "labels"));
  Append(errors, ValidateAnnotations(meta["annotations"], Child(path, "annotations")));
  Append(errors, ValidatePodAnnotations(meta["annotations"], spec, Child(path, "annotations")));
  Append(errors, ValidatePodSpec(spec, nullptr, PodPlace::kTemplate, Child(path, "spec")));
  if (!spec["ephemeralContainers"].empty()) {
    errors.push_back(Forbidden(Child(path, "spec.ephemeralContainers"),
                               "ephemeral containers not allowed in pod template"));
  }
  return errors;
}

}  // namespace drachma::validation
