#include "validation/pod_warnings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "num/quantity.h"
#include "validation/field_error.h"
#include "validation/pod_rules.h"

namespace drachma::validation {
namespace {

using json::Value;
using Texts = std::vector<std::string>;

struct Deprecated {
  std::string_view name;
  std::string_view text;
};

constexpr std::array<Deprecated, 3> kAnnotations = {{
    {"scheduler.alpha.kubernetes.io/critical-pod",
     "non-functional in v1.16+; use the \"priorityClassName\" field instead"},
    {"security.alpha.kubernetes.io/sysctls",
     "non-functional in v1.11+; use the \"sysctls\" field instead"},
    {"security.alpha.kubernetes.io/unsafe-sysctls",
     "non-functional in v1.11+; use the \"sysctls\" field instead"},
}};

constexpr std::array<Deprecated, 9> kVolumes = {{
    {"photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"},
    {"gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"},
    {"scaleIO", "deprecated in v1.16, non-functional in v1.22+"},
    {"flocker", "deprecated in v1.22, non-functional in v1.25+"},
    {"storageos", "deprecated in v1.22, non-functional in v1.25+"},
    {"quobyte", "deprecated in v1.22, non-functional in v1.25+"},
    {"glusterfs", "deprecated in v1.25, non-functional in v1.26+"},
    {"cephfs", "deprecated in v1.28, non-functional in v1.31+"},
    {"rbd", "deprecated in v1.28, non-functional in v1.31+"},
}};

constexpr std::array<Deprecated, 5> kNodeLabels = {{
    {"beta.kubernetes.io/arch", "deprecated since v1.14; use \"kubernetes.io/arch\" instead"},
    {"beta.kubernetes.io/os", "deprecated since v1.14; use \"kubernetes.io/os\" instead"},
    {"failure-domain.beta.kubernetes.io/region",
     "deprecated since v1.17; use \"topology.kubernetes.io/region\" instead"},
    {"failure-domain.beta.kubernetes.io/zone",
     "deprecated since v1.17; use \"topology.kubernetes.io/zone\" instead"},
    {"beta.kubernetes.io/instance-type",
     "deprecated since v1.17; use \"node.kubernetes.io/instance-type\" instead"},
}};

void WarnFractionalBytes(const Value& amounts, const std::string& path, Texts& out) {
  for (const std::string_view name : {"memory", "ephemeral-storage"}) {
    const Value* amount = amounts.Find(name);
    if (amount == nullptr) continue;
    const auto quantity = Quantity::Parse(amount->AsString());
    if (!quantity || quantity->MilliValue() % 1000 == 0) continue;
    out.push_back(fmt::format("{}: fractional byte value {} is invalid, must be an integer",
                              Key(path, name), ShownText(quantity->ToString())));
  }
}

void WarnEnv(const Value& variables, const std::string& path, Texts& out) {
  NameSet seen;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const Value& variable = variables.Items()[i];
    const std::string_view name = variable["name"].AsString();
    if (seen.emplace(name).second) continue;
    // One that builds on the earlier value is meant.
    const std::string ref = fmt::format("$({})", name);
    const std::string_view value = variable["value"].AsString();
    if (variable["valueFrom"].IsNull() && value != ref && value.contains(ref)) continue;
    out.push_back(
        fmt::format("{}: hides previous definition of {}, which may be dropped when using apply",
                    Index(path, i), ShownText(name)));
  }
}

struct SeenPort {
  std::string path;
  std::string host_ip;
  std::int64_t host_port = 0;
};

void WarnPorts(const Value& spec, const std::string& path, Texts& out) {
  std::map<std::string, std::vector<SeenPort>> seen;
  std::map<std::string, std::string> names;
  Texts name_warnings;
  for (const std::string_view list : {"initContainers", "containers"}) {
    const auto containers = spec[list].Items();
    for (std::size_t c = 0; c < containers.size(); ++c) {
      const auto ports = containers[c]["ports"].Items();
      for (std::size_t p = 0; p < ports.size(); ++p) {
        const std::string at = Index(Child(Index(Child(path, list), c), "ports"), p);
        const SeenPort port = {at, std::string(ports[p]["hostIP"].AsString()),
                               ports[p]["hostPort"].AsInt()};
        auto& others = seen[fmt::format("{}/{}", ports[p]["containerPort"].AsInt(),
                                        ports[p]["protocol"].AsString())];
        for (const SeenPort& other : others) {
          if (port.host_ip == other.host_ip && port.host_port == other.host_port) {
            out.push_back(fmt::format("{}: duplicate port definition with {}", at, other.path));
          } else if (port.host_port == 0 || other.host_port == 0) {
            out.push_back(fmt::format("{}: overlapping port definition with {}", at, other.path));
          } else if (port.host_port == other.host_port &&
                     port.host_ip.empty() != other.host_ip.empty()) {
            out.push_back(
                fmt::format("{}: dangerously ambiguous port definition with {}", at, other.path));
          }
        }
        others.push_back(port);
        const std::string name(ports[p]["name"].AsString());
        if (name.empty()) continue;
        const auto [found, fresh] = names.emplace(name, at);
        if (fresh) continue;
        name_warnings.push_back(
            fmt::format("{}: duplicate port name {} with {}, services and probes that select ports "
                        "by name will use {}",
                        at, ShownText(name), found->second, found->second));
      }
    }
  }
  std::ranges::move(name_warnings, std::back_inserter(out));
}

void WarnNullSelectors(const Value& spec, const std::string& path, Texts& out) {
  static constexpr std::string_view kText = ": a null labelSelector results in matching no pod";
  for (const std::string_view kind : {"podAffinity", "podAntiAffinity"}) {
    for (const std::string_view list : {"requiredDuringSchedulingIgnoredDuringExecution",
                                        "preferredDuringSchedulingIgnoredDuringExecution"}) {
      const auto terms = spec["affinity"][kind][list].Items();
      for (std::size_t i = 0; i < terms.size(); ++i) {
        const bool weighted = list.starts_with("preferred");
        const Value& term = weighted ? terms[i]["podAffinityTerm"] : terms[i];
        if (!term["labelSelector"].IsNull()) continue;
        const std::string at = Index(Child(Child(Child(path, "affinity"), kind), list), i);
        out.push_back(Child(at, weighted ? "podAffinityTerm.labelSelector" : "labelSelector") +
                      std::string(kText));
      }
    }
  }
}

void WarnDuplicates(const Value& list, std::string_view field, std::string_view word,
                    const std::string& path, Texts& out) {
  NameSet seen;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string_view value = list.Items()[i][field].AsString();
    if (seen.emplace(value).second) continue;
    out.push_back(
        fmt::format("{}: duplicate {} {}", Child(Index(path, i), field), word, ShownText(value)));
  }
}

void WarnPlacement(const Value& spec, const std::string& path, Texts& out) {
  for (const Deprecated& label : kNodeLabels) {
    if (spec["nodeSelector"].Has(label.name)) {
      out.push_back(
          fmt::format("{}: {}", Key(Child(path, "nodeSelector"), label.name), label.text));
    }
  }
  const auto constraints = spec["topologySpreadConstraints"].Items();
  for (std::size_t i = 0; i < constraints.size(); ++i) {
    const std::string at = Index(Child(path, "topologySpreadConstraints"), i);
    for (const Deprecated& label : kNodeLabels) {
      if (constraints[i]["topologyKey"].AsString() != label.name) continue;
      out.push_back(fmt::format("{}: {} is {}", Child(at, "topologyKey"), label.name, label.text));
    }
    if (constraints[i]["labelSelector"].IsNull()) {
      out.push_back(Child(at, "labelSelector") +
                    ": a null labelSelector results in matching no pod");
    }
  }
}

// Annotations from before there were fields for what they say.
void WarnSeccomp(const Value& holder, const std::string& key, const Value& annotations,
                 const std::string& path, Texts& out) {
  if (holder["securityContext"]["seccompProfile"].IsObject() || !annotations.Has(key)) return;
  out.push_back(Key(path, key) +
                ": non-functional in v1.27+; use the \"seccompProfile\" field instead");
}

bool SaysTheSame(std::string_view annotation, const Value& profile) {
  constexpr std::string_view kLocal = "localhost/";
  const std::string_view type = profile["type"].AsString();
  if (annotation == "runtime/default") return type == "RuntimeDefault";
  if (annotation == "unconfined") return type == "Unconfined";
  return annotation.starts_with(kLocal) && type == "Localhost" &&
         profile["localhostProfile"].AsString() == annotation.substr(kLocal.size());
}

// In templates only: of pods, the annotation and the field are made equal.
void WarnAppArmor(const Value& spec, const Value& container, const Value& annotations,
                  const std::string& path, Texts& out) {
  const std::string key = fmt::format("container.apparmor.security.beta.kubernetes.io/{}",
                                      container["name"].AsString());
  const Value* annotation = annotations.Find(key);
  if (annotation == nullptr || container["securityContext"]["appArmorProfile"].IsObject() ||
      SaysTheSame(annotation->AsString(), spec["securityContext"]["appArmorProfile"])) {
    return;
  }
  out.push_back(Key(path, key) +
                ": deprecated since v1.30; use the \"appArmorProfile\" field instead");
}

}  // namespace

std::vector<std::string> WarningsOfPod(const Value& spec, const Value& meta,
                                       const std::string& path) {
  Texts out;
  const std::string spec_path = Child(path, "spec");
  WarnPlacement(spec, spec_path, out);
  for (const Deprecated& annotation : kAnnotations) {
    if (!meta["annotations"].Has(annotation.name)) continue;
    out.push_back(fmt::format("{}: {}", Key(Child(path, "metadata.annotations"), annotation.name),
                              annotation.text));
  }
  const auto volumes = spec["volumes"].Items();
  for (std::size_t i = 0; i < volumes.size(); ++i) {
    for (const Deprecated& kind : kVolumes) {
      if (volumes[i][kind.name].IsNull()) continue;
      out.push_back(fmt::format("{}: {}", Child(Index(Child(spec_path, "volumes"), i), kind.name),
                                kind.text));
    }
  }
  WarnDuplicates(spec["hostAliases"], "ip", "ip", Child(spec_path, "hostAliases"), out);
  WarnDuplicates(spec["imagePullSecrets"], "name", "name", Child(spec_path, "imagePullSecrets"),
                 out);
  const auto secrets = spec["imagePullSecrets"].Items();
  for (std::size_t i = 0; i < secrets.size(); ++i) {
    if (!secrets[i]["name"].AsString().empty()) continue;
    out.push_back(fmt::format("{}: invalid empty name \"\"",
                              Child(Index(Child(spec_path, "imagePullSecrets"), i), "name")));
  }
  WarnFractionalBytes(spec["overhead"], Child(spec_path, "overhead"), out);
  const Value& annotations = meta["annotations"];
  const std::string annotations_path = Child(path, "metadata.annotations");
  WarnSeccomp(spec, "seccomp.security.alpha.kubernetes.io/pod", annotations, annotations_path, out);
  for (const std::string_view list : {"initContainers", "containers"}) {
    const auto containers = spec[list].Items();
    for (std::size_t i = 0; i < containers.size(); ++i) {
      const std::string at = Index(Child(spec_path, list), i);
      WarnSeccomp(containers[i],
                  fmt::format("container.seccomp.security.alpha.kubernetes.io/{}",
                              containers[i]["name"].AsString()),
                  annotations, annotations_path, out);
      if (!path.empty()) WarnAppArmor(spec, containers[i], annotations, annotations_path, out);
      for (const std::string_view kind : {"limits", "requests"}) {
        WarnFractionalBytes(containers[i]["resources"][kind], Child(Child(at, "resources"), kind),
                            out);
      }
      WarnEnv(containers[i]["env"], Child(at, "env"), out);
    }
  }
  WarnPorts(spec, spec_path, out);
  if (spec["terminationGracePeriodSeconds"].AsInt() < 0) {
    out.push_back(Child(spec_path, "terminationGracePeriodSeconds") +
                  ": must be >= 0; negative values are invalid and will be treated as 1");
  }
  WarnNullSelectors(spec, spec_path, out);
  return out;
}

}  // namespace drachma::validation
