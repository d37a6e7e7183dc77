#include <array>

#include "apiserver/pod_security_checks.h"
#include "apiserver/pod_security_containers.h"

// What pods must do to be restricted.
namespace drachma::apiserver {
namespace {

using namespace pod_security;  // NOLINT: its other half

bool OnWindows(const Value& pod) { return pod["spec"]["os"]["name"].AsString() == "windows"; }
// Windows has no such settings: its pods need none of them since 1.25.
template <Violation (*kCheck)(const Value&)>
Violation NotOnWindows(const Value& pod) {
  return OnWindows(pod) ? std::nullopt : kCheck(pod);
}
// Root in a user namespace is nobody outside of it.
template <Violation (*kCheck)(const Value&)>
Violation OutsideUserNamespaces(const Value& pod) {
  return InUserNamespace(pod) ? std::nullopt : kCheck(pod);
}

Violation PrivilegeEscalation(const Value& pod) {
  const Names names = BadContainers(pod, [](const Value& container) {
    return SecurityOf(container)["allowPrivilegeEscalation"].AsBool(true);
  });
  if (names.empty()) return std::nullopt;
  return SecurityViolation{
      "allowPrivilegeEscalation != false",
      fmt::format("{} must set securityContext.allowPrivilegeEscalation=false", Containers(names))};
}

Violation RestrictedCapabilities(const Value& pod) {
  NameSet added;
  const Names keeping = BadContainers(pod, [](const Value& container) {
    const auto dropped = SecurityOf(container)["capabilities"]["drop"].Items();
    return std::ranges::none_of(dropped,
                                [](const Value& item) { return item.AsString() == "ALL"; });
  });
  const Names adding = BadContainers(pod, [&](const Value& container) {
    bool bad = false;
    for (const Value& capability : SecurityOf(container)["capabilities"]["add"].Items()) {
      if (capability.AsString() == "NET_BIND_SERVICE") continue;
      bad = true;
      added.emplace(capability.AsString());
    }
    return bad;
  });
  Names details;
  if (!keeping.empty()) {
    details.push_back(fmt::format("{} must set securityContext.capabilities.drop=[\"ALL\"]",
                                  Containers(keeping)));
  }
  if (!adding.empty()) {
    details.push_back(fmt::format("{} must not include {} in securityContext.capabilities.add",
                                  Containers(adding), Quoted(added)));
  }
  if (details.empty()) return std::nullopt;
  return SecurityViolation{"unrestricted capabilities",
                           fmt::format("{}", fmt::join(details, "; "))};
}

Violation RestrictedVolumes(const Value& pod) {
  static constexpr auto kAllowed =
      std::to_array<std::string_view>({"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral",
                                       "image", "persistentVolumeClaim", "projected", "secret"});
  static constexpr auto kOthers = std::to_array<std::string_view>({"hostPath",
                                                                   "gcePersistentDisk",
                                                                   "awsElasticBlockStore",
                                                                   "gitRepo",
                                                                   "nfs",
                                                                   "iscsi",
                                                                   "glusterfs",
                                                                   "rbd",
                                                                   "flexVolume",
                                                                   "cinder",
                                                                   "cephfs",
                                                                   "flocker",
                                                                   "fc",
                                                                   "azureFile",
                                                                   "vsphereVolume",
                                                                   "quobyte",
                                                                   "azureDisk",
                                                                   "photonPersistentDisk",
                                                                   "portworxVolume",
                                                                   "scaleIO",
                                                                   "storageos"});
  Names names;
  NameSet types;
  for (const Value& volume : pod["spec"]["volumes"].Items()) {
    const auto has = [&](std::string_view source) { return volume[source].IsObject(); };
    if (std::ranges::any_of(kAllowed, has)) continue;
    names.push_back(NameOf(volume));
    const auto other = std::ranges::find_if(kOthers, has);
    types.emplace(other == kOthers.end() ? "unknown" : *other);
  }
  if (names.empty()) return std::nullopt;
  return SecurityViolation{
      "restricted volume types",
      fmt::format("{} {} {} {} {}", Plural("volume", "volumes", names.size()), Quoted(names),
                  Plural("uses", "use", names.size()),
                  Plural("restricted volume type", "restricted volume types", types.size()),
                  Quoted(types))};
}

Violation RunAsNonRoot(const Value& pod) {
  constexpr const char* kReason = "runAsNonRoot != true";
  const Value& of_pod = PodSecurityOf(pod)["runAsNonRoot"];
  const bool pod_bad = of_pod.IsBool() && !of_pod.AsBool();
  const Names bad = BadContainers(pod, [](const Value& container) {
    const Value& value = SecurityOf(container)["runAsNonRoot"];
    return value.IsBool() && !value.AsBool();
  });
  if (pod_bad || !bad.empty()) {
    return SecurityViolation{
        kReason,
        fmt::format("{} must not set securityContext.runAsNonRoot=false", Setters(pod_bad, bad))};
  }
  if (of_pod.AsBool()) return std::nullopt;
  const Names without = BadContainers(
      pod, [](const Value& container) { return !SecurityOf(container)["runAsNonRoot"].IsBool(); });
  if (without.empty()) return std::nullopt;
  return SecurityViolation{
      kReason,
      fmt::format("pod or {} must set securityContext.runAsNonRoot=true", Containers(without))};
}

Violation RunAsUser(const Value& pod) {
  const auto bad = [](const Value& security) {
    return security["runAsUser"].IsInt() && security["runAsUser"].AsInt() == 0;
  };
  const bool pod_sets = bad(PodSecurityOf(pod));
  const Names names =
      BadContainers(pod, [&](const Value& container) { return bad(SecurityOf(container)); });
  if (!pod_sets && names.empty()) return std::nullopt;
  return SecurityViolation{"runAsUser=0",
                           fmt::format("{} must not set runAsUser=0", Setters(pod_sets, names))};
}

constexpr auto kRestricted = SecurityLevel::kRestricted;

constexpr auto kChecks = std::to_array<SecurityCheck>({
    {"allowPrivilegeEscalation", kRestricted, 8, PrivilegeEscalation},
    {"allowPrivilegeEscalation", kRestricted, 25, NotOnWindows<PrivilegeEscalation>},
    {"capabilities_restricted", kRestricted, 22, RestrictedCapabilities, "capabilities_baseline"},
    {"capabilities_restricted", kRestricted, 25, NotOnWindows<RestrictedCapabilities>,
     "capabilities_baseline"},
    {"procMount_restricted", kRestricted, 35, ProcMount, "procMount"},
    {"restrictedVolumes", kRestricted, 0, RestrictedVolumes, "hostPathVolumes"},
    {"runAsNonRoot", kRestricted, 0, RunAsNonRoot},
    {"runAsNonRoot", kRestricted, 35, OutsideUserNamespaces<RunAsNonRoot>},
    {"runAsUser", kRestricted, 23, RunAsUser},
    {"runAsUser", kRestricted, 35, OutsideUserNamespaces<RunAsUser>},
    {"seccompProfile_restricted", kRestricted, 19, SeccompProfiles<Seccomp::kRequired>,
     "seccompProfile_baseline"},
    {"seccompProfile_restricted", kRestricted, 25,
     NotOnWindows<SeccompProfiles<Seccomp::kRequired>>, "seccompProfile_baseline"},
});

}  // namespace

std::span<const SecurityCheck> RestrictedSecurityChecks() { return kChecks; }

}  // namespace drachma::apiserver
