#include <array>

#include "apiserver/pod_security_checks.h"
#include "apiserver/pod_security_containers.h"
#include "validation/field_error.h"

// What no pod but a privileged one may do.
namespace drachma::apiserver {
namespace {

using namespace pod_security;  // NOLINT: its other half
using json::Member;

Violation AppArmor(const Value& pod) {
  constexpr std::string_view kPrefix = "container.apparmor.security.beta.kubernetes.io/";
  NameSet values;
  const auto bad = [&](const Value& security) {
    const Value& profile = security["appArmorProfile"];
    const std::string_view type = profile["type"].AsString();
    if (!profile.IsObject() || type == "RuntimeDefault" || type == "Localhost") return false;
    values.emplace(type);
    return true;
  };
  const bool pod_sets = bad(PodSecurityOf(pod));
  const Names names =
      BadContainers(pod, [&](const Value& container) { return bad(SecurityOf(container)); });
  Names setters;
  if (pod_sets || !names.empty()) setters.push_back(Setters(pod_sets, names));
  NameSet annotations;
  for (const Member& annotation : pod["metadata"]["annotations"].Members()) {
    const std::string_view text = annotation.value.AsString();
    const bool fine = text.empty() || text == "runtime/default" || text.starts_with("localhost/");
    if (annotation.key().starts_with(kPrefix) && !fine) {
      annotations.insert(fmt::format("{}={}", annotation.key(), validation::ShownText(text)));
    }
  }
  Names all(values.begin(), values.end());
  all.insert(all.end(), annotations.begin(), annotations.end());
  if (!annotations.empty()) {
    setters.emplace_back(Plural("annotation", "annotations", annotations.size()));
  }
  if (setters.empty()) return std::nullopt;
  return SecurityViolation{
      std::string(Plural("forbidden AppArmor profile", "forbidden AppArmor profiles", all.size())),
      fmt::format("{} must not set AppArmor profile type to {}", fmt::join(setters, " and "),
                  Quoted(all))};
}

Violation BaselineCapabilities(const Value& pod) {
  static constexpr auto kAllowed = std::to_array<std::string_view>(
      {"AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD",
       "NET_BIND_SERVICE", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"});
  NameSet added;
  const Names names = BadContainers(pod, [&](const Value& container) {
    bool bad = false;
    for (const Value& capability : SecurityOf(container)["capabilities"]["add"].Items()) {
      if (Contains(kAllowed, capability.AsString())) continue;
      bad = true;
      added.emplace(capability.AsString());
    }
    return bad;
  });
  if (names.empty()) return std::nullopt;
  return SecurityViolation{"non-default capabilities",
                           fmt::format("{} must not include {} in securityContext.capabilities.add",
                                       Containers(names), Quoted(added))};
}

Violation HostNamespaces(const Value& pod) {
  Names set;
  for (const char* field : {"hostNetwork", "hostPID", "hostIPC"}) {
    if (pod["spec"][field].AsBool()) set.push_back(fmt::format("{}=true", field));
  }
  if (set.empty()) return std::nullopt;
  return SecurityViolation{"host namespaces", fmt::format("{}", fmt::join(set, ", "))};
}

Violation HostPathVolumes(const Value& pod) {
  Names names;
  for (const Value& volume : pod["spec"]["volumes"].Items()) {
    if (volume["hostPath"].IsObject()) names.push_back(NameOf(volume));
  }
  if (names.empty()) return std::nullopt;
  return SecurityViolation{
      "hostPath volumes",
      fmt::format("{} {}", Plural("volume", "volumes", names.size()), Quoted(names))};
}

Violation HostPorts(const Value& pod) {
  NameSet ports;
  const Names names = BadContainers(pod, [&](const Value& container) {
    bool bad = false;
    for (const Value& port : container["ports"].Items()) {
      if (port["hostPort"].AsInt() == 0) continue;
      bad = true;
      ports.insert(std::to_string(port["hostPort"].AsInt()));
    }
    return bad;
  });
  if (names.empty()) return std::nullopt;
  return SecurityViolation{
      "hostPort",
      fmt::format("{} {} {} {}", Containers(names), Plural("uses", "use", names.size()),
                  Plural("hostPort", "hostPorts", ports.size()), fmt::join(ports, ", "))};
}

Violation ProbeHosts(const Value& pod) {
  NameSet hosts;
  NameSet names;
  ForEachContainer(pod, [&](const Value& container) {
    const Value& lifecycle = container["lifecycle"];
    for (const Value* handler :
         {&container["livenessProbe"], &container["readinessProbe"], &container["startupProbe"],
          &lifecycle["postStart"], &lifecycle["preStop"]}) {
      for (const char* action : {"httpGet", "tcpSocket"}) {
        const std::string_view host = (*handler)[action]["host"].AsString();
        if (host.empty()) continue;
        hosts.emplace(host);
        names.insert(NameOf(container));
      }
    }
  });
  if (names.empty()) return std::nullopt;
  return SecurityViolation{
      "probe or lifecycle host",
      fmt::format("{} {} {} {}", Containers(Names(names.begin(), names.end())),
                  Plural("uses", "use", names.size()),
                  Plural("probe or lifecycle host", "probe or lifecycle hosts", hosts.size()),
                  Quoted(hosts))};
}

Violation Privileged(const Value& pod) {
  const Names names = BadContainers(
      pod, [](const Value& container) { return SecurityOf(container)["privileged"].AsBool(); });
  if (names.empty()) return std::nullopt;
  return SecurityViolation{
      "privileged",
      fmt::format("{} must not set securityContext.privileged=true", Containers(names))};
}

Violation ProcMountOutsideUserNamespaces(const Value& pod) {
  return InUserNamespace(pod) ? std::nullopt : ProcMount(pod);
}

template <std::size_t kSize>
Violation SeLinux(const Value& pod, const std::array<std::string_view, kSize>& allowed) {
  NameSet types;
  bool user = false;
  bool role = false;
  const auto bad = [&](const Value& security) {
    const Value& options = security["seLinuxOptions"];
    const bool type = options.IsObject() && !Contains(allowed, options["type"].AsString());
    if (type) types.emplace(options["type"].AsString());
    const bool has_user = !options["user"].AsString().empty();
    const bool has_role = !options["role"].AsString().empty();
    user = user || has_user;
    role = role || has_role;
    return type || has_user || has_role;
  };
  const bool pod_sets = bad(PodSecurityOf(pod));
  const Names names =
      BadContainers(pod, [&](const Value& container) { return bad(SecurityOf(container)); });
  if (!pod_sets && names.empty()) return std::nullopt;
  Names what;
  if (!types.empty()) {
    what.push_back(fmt::format("{} {}", Plural("type", "types", types.size()), Quoted(types)));
  }
  if (user) what.emplace_back("user may not be set");
  if (role) what.emplace_back("role may not be set");
  return SecurityViolation{"seLinuxOptions",
                           fmt::format("{} set forbidden securityContext.seLinuxOptions: {}",
                                       Setters(pod_sets, names), fmt::join(what, "; "))};
}

Violation SeLinux0(const Value& pod) {
  return SeLinux<4>(pod, {"", "container_t", "container_init_t", "container_kvm_t"});
}
Violation SeLinux31(const Value& pod) {
  return SeLinux<5>(
      pod, {"", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"});
}

Violation SeccompAnnotations(const Value& pod) {
  NameSet forbidden;
  const Value& annotations = pod["metadata"]["annotations"];
  const auto look = [&](const std::string& key) {
    const Value* value = annotations.Find(key);
    if (value == nullptr) return;
    const std::string_view text = value->AsString();
    if (text == "runtime/default" || text == "docker/default" || text.starts_with("localhost/")) {
      return;
    }
    forbidden.insert(fmt::format("{}={}", key, validation::ShownText(text)));
  };
  look("seccomp.security.alpha.kubernetes.io/pod");
  ForEachContainer(pod, [&](const Value& container) {
    look("container.seccomp.security.alpha.kubernetes.io/" + NameOf(container));
  });
  if (forbidden.empty()) return std::nullopt;
  return SecurityViolation{
      "seccompProfile",
      fmt::format("forbidden {} {}", Plural("annotation", "annotations", forbidden.size()),
                  fmt::join(forbidden, ", "))};
}

// The kernel parameters that are safe, each with the version from which on it counts as such.
template <int kMinor>
Violation Sysctls(const Value& pod) {
  struct Row {
    std::string_view name;
    int since;
  };
  static constexpr auto kSafe = std::to_array<Row>({
      {"kernel.shm_rmid_forced", 0},
      {"net.ipv4.ip_local_port_range", 0},
      {"net.ipv4.tcp_syncookies", 0},
      {"net.ipv4.ping_group_range", 0},
      {"net.ipv4.ip_unprivileged_port_start", 0},
      {"net.ipv4.ip_local_reserved_ports", 27},
      {"net.ipv4.tcp_keepalive_time", 29},
      {"net.ipv4.tcp_fin_timeout", 29},
      {"net.ipv4.tcp_keepalive_intvl", 29},
      {"net.ipv4.tcp_keepalive_probes", 29},
      {"net.ipv4.tcp_rmem", 32},
      {"net.ipv4.tcp_wmem", 32},
      {"net.ipv4.tcp_slow_start_after_idle", 37},
      {"net.ipv4.tcp_notsent_lowat", 37},
  });
  Names forbidden;
  for (const Value& sysctl : PodSecurityOf(pod)["sysctls"].Items()) {
    const std::string_view name = sysctl["name"].AsString();
    const bool safe = std::ranges::any_of(
        kSafe, [&](const Row& row) { return row.name == name && row.since <= kMinor; });
    if (!safe) forbidden.emplace_back(name);
  }
  if (forbidden.empty()) return std::nullopt;
  return SecurityViolation{"forbidden sysctls", fmt::format("{}", fmt::join(forbidden, ", "))};
}

Violation WindowsHostProcess(const Value& pod) {
  const auto bad = [](const Value& security) {
    return security["windowsOptions"]["hostProcess"].AsBool();
  };
  const bool pod_sets = bad(PodSecurityOf(pod));
  const Names names =
      BadContainers(pod, [&](const Value& container) { return bad(SecurityOf(container)); });
  if (!pod_sets && names.empty()) return std::nullopt;
  return SecurityViolation{
      "hostProcess", fmt::format("{} must not set securityContext.windowsOptions.hostProcess=true",
                                 Setters(pod_sets, names))};
}

constexpr auto kBaseline = SecurityLevel::kBaseline;

constexpr auto kChecks = std::to_array<SecurityCheck>({
    {"appArmorProfile", kBaseline, 0, AppArmor},
    {"capabilities_baseline", kBaseline, 0, BaselineCapabilities},
    {"hostNamespaces", kBaseline, 0, HostNamespaces},
    {"hostPathVolumes", kBaseline, 0, HostPathVolumes},
    {"hostPorts", kBaseline, 0, HostPorts},
    {"hostProbesAndHostLifecycle", kBaseline, 34, ProbeHosts},
    {"privileged", kBaseline, 0, Privileged},
    {"procMount", kBaseline, 0, ProcMount},
    {"procMount", kBaseline, 35, ProcMountOutsideUserNamespaces},
    {"seLinuxOptions", kBaseline, 0, SeLinux0},
    {"seLinuxOptions", kBaseline, 31, SeLinux31},
    {"seccompProfile_baseline", kBaseline, 0, SeccompAnnotations},
    {"seccompProfile_baseline", kBaseline, 19, SeccompProfiles<Seccomp::kOptional>},
    {"sysctls", kBaseline, 0, Sysctls<0>},
    {"sysctls", kBaseline, 27, Sysctls<27>},
    {"sysctls", kBaseline, 29, Sysctls<29>},
    {"sysctls", kBaseline, 32, Sysctls<32>},
    {"sysctls", kBaseline, 37, Sysctls<37>},
    {"windowsHostProcess", kBaseline, 0, WindowsHostProcess},
});

}  // namespace

std::span<const SecurityCheck> BaselineSecurityChecks() { return kChecks; }

}  // namespace drachma::apiserver
