#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "validation/names.h"
#include "validation/object_meta.h"
#include "validation/pod_rules.h"

namespace drachma::validation {
namespace {

using json::Value;

constexpr std::size_t kRestartRulesMax = 20;
constexpr std::size_t kExitCodesMax = 255;
constexpr std::int64_t kIdMax = std::numeric_limits<std::int32_t>::max();

ErrorList ValidatePorts(const Value& ports, const std::string& path) {
  static constexpr std::array<std::string_view, 3> kProtocols = {"SCTP", "TCP", "UDP"};
  ErrorList errors;
  NameSet names;
  const auto port_number = [&](std::int64_t port, const std::string& at) {
    for (const std::string& fault : IsPortNumber(port)) {
      errors.push_back(Invalid(at, ShownInt(port), fault));
    }
  };
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const Value& port = ports.Items()[i];
    const std::string at = Index(path, i);
    if (const std::string_view name = port["name"].AsString(); !name.empty()) {
      const Faults faults = IsPortName(name);
      Append(errors, InvalidEach(Child(at, "name"), name, faults));
      if (faults.empty() && !names.emplace(name).second) {
        errors.push_back(Duplicate(Child(at, "name"), ShownText(name)));
      }
    }
    if (port["containerPort"].AsInt() == 0) {
      errors.push_back(Required(Child(at, "containerPort")));
    } else {
      port_number(port["containerPort"].AsInt(), Child(at, "containerPort"));
    }
    if (port["hostPort"].AsInt() != 0) port_number(port["hostPort"].AsInt(), Child(at, "hostPort"));
    Append(errors, ValidateChoice(port["protocol"].AsString(), kProtocols, Child(at, "protocol")));
  }
  return errors;
}

// A key of a ConfigMap or Secret.
ErrorList ValidateKeyRef(const Value& ref, const std::string& path) {
  const std::string_view name = ref["name"].AsString();
  const std::string_view key = ref["key"].AsString();
  ErrorList errors = InvalidEach(Child(path, "name"), name, IsDns1123Subdomain(name));
  if (key.empty()) {
    errors.push_back(Required(Child(path, "key")));
  } else {
    Append(errors, InvalidEach(Child(path, "key"), key, IsConfigMapKey(key)));
  }
  return errors;
}

ErrorList ValidateEnvSource(const Value& variable, const std::string& path) {
  static constexpr std::array<std::string_view, 9> kFields = {"metadata.name",
                                                              "metadata.namespace",
                                                              "metadata.uid",
                                                              "spec.nodeName",
                                                              "spec.serviceAccountName",
                                                              "status.hostIP",
                                                              "status.hostIPs",
                                                              "status.podIP",
                                                              "status.podIPs"};
  const Value& source = variable["valueFrom"];
  if (source.IsNull()) return {};
  ErrorList errors;
  int sources = 0;
  const auto each = [&](std::string_view kind, const auto& rule) {
    if (source[kind].IsNull()) return;
    ++sources;
    Append(errors, rule(source[kind], Child(path, kind)));
  };
  each("fieldRef",
       [](const Value& ref, const std::string& at) { return ValidateFieldRef(ref, kFields, at); });
  each("resourceFieldRef", [](const Value& ref, const std::string& at) {
    return ValidateResourceFieldRef(ref, false, at);
  });
  each("configMapKeyRef", ValidateKeyRef);
  each("secretKeyRef", ValidateKeyRef);
  each("fileKeyRef", [](const Value&, const std::string&) { return ErrorList(); });
  if (sources == 0) {
    errors.push_back(
        Invalid(path, "\"\"",
                "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, "
                "`secretKeyRef` or `fileKeyRef`"));
  } else if (!variable["value"].AsString().empty()) {
    errors.push_back(Invalid(path, "\"\"", "may not be specified when `value` is not empty"));
  } else if (sources > 1) {
    errors.push_back(Invalid(path, "\"\"", "may not have more than one field specified at a time"));
  }
  return errors;
}

ErrorList ValidateEnv(const Value& variables, const std::string& path) {
  ErrorList errors;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const Value& variable = variables.Items()[i];
    const std::string at = Index(path, i);
    const std::string_view name = variable["name"].AsString();
    if (name.empty()) {
      errors.push_back(Required(Child(at, "name")));
    } else {
      Append(errors, InvalidEach(Child(at, "name"), name, IsRelaxedEnvVarName(name)));
    }
    Append(errors, ValidateEnvSource(variable, Child(at, "valueFrom")));
  }
  return errors;
}

ErrorList ValidateEnvFrom(const Value& sources, const std::string& path) {
  ErrorList errors;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const Value& source = sources.Items()[i];
    const std::string at = Index(path, i);
    if (const std::string_view prefix = source["prefix"].AsString(); !prefix.empty()) {
      Append(errors, InvalidEach(Child(at, "prefix"), prefix, IsRelaxedEnvVarName(prefix)));
    }
    int set = 0;
    for (const std::string_view kind : {"configMapRef", "secretRef"}) {
      if (source[kind].IsNull()) continue;
      ++set;
      const std::string_view name = source[kind]["name"].AsString();
      const std::string name_path = Child(Child(at, kind), "name");
      if (name.empty()) {
        errors.push_back(Required(name_path));
      } else {
        Append(errors, InvalidEach(name_path, name, NameIsDnsSubdomain(name, NamePart::kPrefix)));
      }
    }
    if (set == 0) {
      errors.push_back(Invalid(path, "\"\"", "must specify one of: `configMapRef` or `secretRef`"));
    } else if (set > 1) {
      errors.push_back(
          Invalid(path, "\"\"", "may not have more than one field specified at a time"));
    }
  }
  return errors;
}

ErrorList ValidateResizePolicy(const Value& policies, std::string_view pod_restart_policy,
                               const std::string& path) {
  static constexpr std::array<std::string_view, 2> kResources = {"cpu", "memory"};
  static constexpr std::array<std::string_view, 2> kPolicies = {"NotRequired", "RestartContainer"};
  ErrorList errors;
  NameSet seen;
  for (std::size_t i = 0; i < policies.size(); ++i) {
    const std::string_view resource = policies.Items()[i]["resourceName"].AsString();
    const std::string_view policy = policies.Items()[i]["restartPolicy"].AsString();
    if (!seen.emplace(resource).second) {
      errors.push_back(Duplicate(Index(path, i), ShownNamed(resource)));
    }
    Append(errors, ValidateChoice(resource, kResources, path));
    Append(errors, ValidateChoice(policy, kPolicies, path));
    if (pod_restart_policy == "Never" && policy != "NotRequired") {
      errors.push_back(Invalid(path, ShownNamed(policy),
                               "must be 'NotRequired' when pod `restartPolicy` is 'Never'"));
    }
  }
  return errors;
}

ErrorList ValidateSecurity(const Value& security, const std::string& path) {
  ErrorList errors;
  for (const std::string_view field : {"runAsUser", "runAsGroup"}) {
    const Value& id = security[field];
    if (id.IsNull() || (id.AsInt() >= 0 && id.AsInt() <= kIdMax)) continue;
    errors.push_back(Invalid(Child(path, field), ShownInt(id.AsInt()),
                             fmt::format("must be between 0 and {}, inclusive", kIdMax)));
  }
  if (!security["allowPrivilegeEscalation"].AsBool(true) && security["privileged"].AsBool()) {
    static constexpr std::array<std::string_view, 12> kFields = {"capabilities",
                                                                 "privileged",
                                                                 "sELinuxOptions",
                                                                 "windowsOptions",
                                                                 "runAsUser",
                                                                 "runAsGroup",
                                                                 "runAsNonRoot",
                                                                 "readOnlyRootFilesystem",
                                                                 "allowPrivilegeEscalation",
                                                                 "procMount",
                                                                 "seccompProfile",
                                                                 "appArmorProfile"};
    errors.push_back(
        Invalid(path, Shown(Internal(security, kFields)),
                "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"));
  }
  return errors;
}

// What all containers of whatever sort have in common.
ErrorList ValidateContainer(const Value& container, const PodFacts& facts,
                            const std::string& path) {
  static constexpr std::array<std::string_view, 2> kMessagePolicies = {"File",
                                                                       "FallbackToLogsOnError"};
  static constexpr std::array<std::string_view, 3> kPullPolicies = {"Always", "IfNotPresent",
                                                                    "Never"};
  ErrorList errors;
  const std::string_view name = container["name"].AsString();
  if (name.empty()) {
    errors.push_back(Required(Child(path, "name")));
  } else {
    errors = ValidateDnsLabelAt(name, Child(path, "name"));
  }
  if (container["image"].AsString().empty()) errors.push_back(Required(Child(path, "image")));
  Append(errors, ValidateChoice(container["terminationMessagePolicy"].AsString(), kMessagePolicies,
                                Child(path, "terminationMessagePolicy")));
  Append(errors, ValidatePorts(container["ports"], Child(path, "ports")));
  Append(errors, ValidateEnv(container["env"], Child(path, "env")));
  Append(errors, ValidateEnvFrom(container["envFrom"], Child(path, "envFrom")));
  Append(errors, ValidateVolumeMounts(container, facts, path));
  Append(errors, ValidateChoice(container["imagePullPolicy"].AsString(), kPullPolicies,
                                Child(path, "imagePullPolicy")));
  Append(errors, ValidateResources(container["resources"], ResourceHolder::kContainer, facts.claims,
                                   Child(path, "resources")));
  Append(errors, ValidateResizePolicy(container["resizePolicy"], facts.restart_policy,
                                      Child(path, "resizePolicy")));
  Append(errors, ValidateSecurity(container["securityContext"], Child(path, "securityContext")));
  return errors;
}

ErrorList ValidateRestartPolicy(const Value& container, const std::string& path) {
  static constexpr std::array<std::string_view, 3> kPolicies = {"Always", "Never", "OnFailure"};
  static constexpr std::array<std::string_view, 2> kActions = {"Restart", "RestartAllContainers"};
  static constexpr std::array<std::string_view, 2> kOperators = {"In", "NotIn"};
  const Value& policy = container["restartPolicy"];
  const Value& rules = container["restartPolicyRules"];
  ErrorList errors;
  if (policy.IsNull()) {
    if (rules.empty()) return {};
    errors.push_back(Required(Child(path, "restartPolicy"),
                              "must specify restartPolicy when restart rules are used"));
  } else if (std::ranges::find(kPolicies, policy.AsString()) == kPolicies.end()) {
    errors.push_back(
        NotSupported(Child(path, "restartPolicy"), ShownNamed(policy.AsString()), kPolicies));
  }
  const std::string rules_path = Child(path, "restartPolicyRules");
  if (rules.size() > kRestartRulesMax) {
    errors.push_back(TooMany(rules_path, rules.size(), kRestartRulesMax));
  }
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const Value& rule = rules.Items()[i];
    const std::string at = Index(rules_path, i);
    const std::string_view action = rule["action"].AsString();
    if (std::ranges::find(kActions, action) == kActions.end()) {
      errors.push_back(NotSupported(Child(at, "action"), ShownNamed(action), kActions));
    }
    const Value& codes = rule["exitCodes"];
    if (codes.IsNull()) {
      errors.push_back(Required(Child(at, "exitCodes"), "must be specified"));
      continue;
    }
    const std::string_view op = codes["operator"].AsString();
    if (std::ranges::find(kOperators, op) == kOperators.end()) {
      errors.push_back(NotSupported(Child(at, "exitCodes.operator"), ShownNamed(op), kOperators));
    }
    if (codes["values"].size() > kExitCodesMax) {
      errors.push_back(
          TooMany(Child(at, "exitCodes.values"), codes["values"].size(), kExitCodesMax));
    }
  }
  return errors;
}

// Host ports that an earlier container of the list has.
ErrorList ValidateHostPorts(std::span<const Value> containers, const std::string& path) {
  ErrorList errors;
  NameSet seen;
  for (std::size_t c = 0; c < containers.size(); ++c) {
    const auto ports = containers[c]["ports"].Items();
    for (std::size_t p = 0; p < ports.size(); ++p) {
      if (ports[p]["hostPort"].AsInt() == 0) continue;
      const std::string key =
          fmt::format("{}/{}/{}", ports[p]["protocol"].AsString(), ports[p]["hostIP"].AsString(),
                      ports[p]["hostPort"].AsInt());
      if (seen.insert(key).second) continue;
      errors.push_back(
          Duplicate(Child(Index(Child(Index(path, c), "ports"), p), "hostPort"), ShownText(key)));
    }
  }
  return errors;
}

std::string_view Trimmed(std::string_view text) {
  const auto space = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
  while (!text.empty() && space(text.front())) text.remove_prefix(1);
  while (!text.empty() && space(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace

ErrorList ValidateImagesOfPod(const Value& containers, const std::string& path) {
  ErrorList errors;
  for (std::size_t i = 0; i < containers.size(); ++i) {
    const std::string_view image = containers.Items()[i]["image"].AsString();
    if (Trimmed(image).size() == image.size()) continue;
    errors.push_back(Invalid(Child(Index(path, i), "image"), ShownText(image),
                             "must not have leading or trailing whitespace"));
  }
  return errors;
}

ErrorList ValidateContainers(const Value& containers, const PodFacts& facts,
                             const std::string& path) {
  if (containers.empty()) return {Required(path)};
  ErrorList errors;
  NameSet names;
  for (std::size_t i = 0; i < containers.size(); ++i) {
    const Value& container = containers.Items()[i];
    const std::string at = Index(path, i);
    Append(errors, ValidateContainer(container, facts, at));
    const std::string_view name = container["name"].AsString();
    if (!names.emplace(name).second) {
      errors.push_back(Duplicate(Child(at, "name"), ShownText(name)));
    }
    if (!container["lifecycle"].IsNull()) {
      Append(errors, ValidateLifecycle(container["lifecycle"], facts, Child(at, "lifecycle")));
    }
    Append(errors, ValidateProbes(container, facts, at));
    Append(errors, ValidateRestartPolicy(container, at));
  }
  Append(errors, ValidateHostPorts(containers.Items(), path));
  return errors;
}

ErrorList ValidateInitContainers(const Value& spec, const PodFacts& facts,
                                 const std::string& path) {
  ErrorList errors;
  NameSet names;
  for (const Value& container : spec["containers"].Items()) {
    names.emplace(container["name"].AsString());
  }
  const auto containers = spec["initContainers"].Items();
  for (std::size_t i = 0; i < containers.size(); ++i) {
    const Value& container = containers[i];
    const std::string at = Index(path, i);
    Append(errors, ValidateContainer(container, facts, at));
    Append(errors, ValidateRestartPolicy(container, at));
    const std::string_view name = container["name"].AsString();
    if (names.contains(name)) {
      errors.push_back(Duplicate(Child(at, "name"), ShownText(name)));
    } else if (!name.empty()) {
      names.emplace(name);
    }
    // Init containers run one by one, so only their own ports can collide.
    Append(errors, ValidateHostPorts(containers.subspan(i, 1), path));
    if (container["restartPolicy"].AsString() == "Always") {
      if (!container["lifecycle"].IsNull()) {
        Append(errors, ValidateLifecycle(container["lifecycle"], facts, Child(at, "lifecycle")));
      }
      Append(errors, ValidateProbes(container, facts, at));
      continue;
    }
    for (const std::string_view field :
         {"lifecycle", "livenessProbe", "readinessProbe", "startupProbe"}) {
      if (container[field].IsNull()) continue;
      errors.push_back(Forbidden(
          Child(at, field), "may not be set for init containers without restartPolicy=Always"));
    }
    const auto policies = container["resizePolicy"].Items();
    for (std::size_t j = 0; j < policies.size(); ++j) {
      if (policies[j]["restartPolicy"].AsString() != "RestartContainer") continue;
      errors.push_back(Invalid(
          Child(Index(Child(at, "resizePolicy"), j), "restartPolicy"), "\"RestartContainer\"",
          "must not be set to 'RestartContainer' for non-sidecar initContainers"));
    }
  }
  return errors;
}

ErrorList ValidateEphemeralContainers(const Value& spec, const PodFacts& facts,
                                      const std::string& path) {
  static constexpr std::array<std::string_view, 8> kNotAllowed = {
      "ports",          "resources",    "resizePolicy", "livenessProbe",
      "readinessProbe", "startupProbe", "lifecycle",    "restartPolicy"};
  ErrorList errors;
  NameSet others;
  for (const std::string_view list : {"containers", "initContainers"}) {
    for (const Value& container : spec[list].Items()) others.emplace(container["name"].AsString());
  }
  NameSet names = others;
  const auto containers = spec["ephemeralContainers"].Items();
  for (std::size_t i = 0; i < containers.size(); ++i) {
    const Value& container = containers[i];
    const std::string at = Index(path, i);
    Append(errors, ValidateContainer(container, facts, at));
    const std::string_view image = container["image"].AsString();
    if (Trimmed(image).size() != image.size()) {
      errors.push_back(Invalid(Child(at, "image"), ShownText(image),
                               "must not have leading or trailing whitespace"));
    }
    const std::string_view name = container["name"].AsString();
    if (!names.emplace(name).second) {
      errors.push_back(Duplicate(Child(at, "name"), ShownText(name)));
    }
    const std::string_view target = container["targetContainerName"].AsString();
    if (!target.empty() && !others.contains(target)) {
      errors.push_back(NotFound(Child(at, "targetContainerName"), ShownText(target)));
    }
    for (const std::string_view field : kNotAllowed) {
      if (container[field].IsNull() || (!container[field].IsString() && container[field].empty())) {
        continue;
      }
      errors.push_back(Forbidden(Child(at, field), "cannot be set for an Ephemeral Container"));
    }
    const auto mounts = container["volumeMounts"].Items();
    for (std::size_t j = 0; j < mounts.size(); ++j) {
      for (const std::string_view field : {"subPath", "subPathExpr"}) {
        if (mounts[j][field].AsString().empty()) continue;
        errors.push_back(Forbidden(Child(Index(Child(at, "volumeMounts"), j), field),
                                   "cannot be set for an Ephemeral Container"));
      }
    }
  }
  return errors;
}

}  // namespace drachma::validation
