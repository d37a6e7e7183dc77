#include "quota/match.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace drachma::quota {
namespace {

using json::Value;

bool OneOf(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

// --- Which resource names are whose.

bool IsOfPods(std::string_view name) {
  return OneOf(name, {"count/pods", "pods", "cpu", "memory", "ephemeral-storage", "requests.cpu",
                      "requests.memory", "requests.ephemeral-storage", "limits.cpu",
                      "limits.memory", "limits.ephemeral-storage"}) ||
         name.starts_with("hugepages-") || name.starts_with("requests.hugepages-") ||
         IsExtendedResourceQuota(name);
}

bool IsOfServices(std::string_view name) {
  return OneOf(name,
               {"count/services", "services", "services.nodeports", "services.loadbalancers"});
}

bool IsOfVolumeClaims(std::string_view name) {
  return OneOf(name,
               {"count/persistentvolumeclaims", "persistentvolumeclaims", "requests.storage"}) ||
         name.ends_with(".storageclass.storage.k8s.io/persistentvolumeclaims") ||
         name.ends_with(".storageclass.storage.k8s.io/requests.storage");
}

// A class's devices have up to three names: the class's own, the implicit extended resource, and
// the one that the class gives.
bool IsOfClaims(std::string_view name, const Objects& objects) {
  if (name == "count/resourceclaims.resource.k8s.io" ||
      name.ends_with(".deviceclass.resource.k8s.io/devices")) {
    return true;
  }
  if (!IsExtendedResourceQuota(name)) return false;
  const std::string_view resource = name.substr(std::string_view("requests.").size());
  bool found = false;
  objects.ForEach("resource.k8s.io", "deviceclasses", "", [&](const Value& device_class) {
    constexpr std::string_view kImplicit = "deviceclass.resource.kubernetes.io/";
    const bool implicit =
        resource.starts_with(kImplicit) &&
        resource.substr(kImplicit.size()) == device_class["metadata"]["name"].AsString();
    found =
        found || implicit || device_class["spec"]["extendedResourceName"].AsString() == resource;
  });
  return found;
}

bool IsCountOf(std::string_view name, std::string_view group, std::string_view plural) {
  if (group.empty()) {
    const bool older =
        OneOf(name, {"configmaps", "replicationcontrollers", "resourcequotas", "secrets"});
    return name == fmt::format("count/{}", plural) || (older && name == plural);
  }
  return name == fmt::format("count/{}.{}", plural, group);
}

// --- Scopes.

bool IsBestEffort(const Value& pod) { return pod["status"]["qosClass"].AsString() == "BestEffort"; }

// In, NotIn, Exists or DoesNotExist of one name, which may be empty for none.
bool Selects(const Value& selector, std::string_view name) {
  const std::string_view op = selector["operator"].AsString();
  if (op == "Exists") return !name.empty();
  if (op == "DoesNotExist") return name.empty();
  const bool listed =
      !name.empty() && std::ranges::any_of(selector["values"].Items(),
                                           [&](const Value& value) { return value == name; });
  return op == "In" ? listed : !listed;
}

bool NamesOtherNamespaces(const Value& term) {
  return !term["namespaces"].empty() || !term["namespaceSelector"].IsNull();
}

bool HasCrossNamespaceAffinity(const Value& pod) {
  for (const std::string_view kind : {"podAffinity", "podAntiAffinity"}) {
    const Value& affinity = pod["spec"]["affinity"][kind];
    if (std::ranges::any_of(affinity["requiredDuringSchedulingIgnoredDuringExecution"].Items(),
                            NamesOtherNamespaces) ||
        std::ranges::any_of(affinity["preferredDuringSchedulingIgnoredDuringExecution"].Items(),
                            [](const Value& weighted) {
                              return NamesOtherNamespaces(weighted["podAffinityTerm"]);
                            })) {
      return true;
    }
  }
  return false;
}

bool PodInScope(const Value& pod, const Value& selector) {
  const std::string_view scope = selector["scopeName"].AsString();
  if (scope == "Terminating") return IsTerminating(pod);
  if (scope == "NotTerminating") return !IsTerminating(pod);
  if (scope == "BestEffort") return IsBestEffort(pod);
  if (scope == "NotBestEffort") return !IsBestEffort(pod);
  if (scope == "CrossNamespacePodAffinity") return HasCrossNamespaceAffinity(pod);
  return scope == "PriorityClass" && Selects(selector, pod["spec"]["priorityClassName"].AsString());
}

// A volume claim is of all attribute classes that it was given, asks for or moves to.
bool VolumeClaimInScope(const Value& claim, const Value& selector) {
  if (selector["scopeName"].AsString() != "VolumeAttributesClass") return false;
  const Value& status = claim["status"];
  const std::array<std::string_view, 3> classes = {
      claim["spec"]["volumeAttributesClassName"].AsString(),
      status["currentVolumeAttributesClassName"].AsString(),
      status["modifyVolumeStatus"]["targetVolumeAttributesClassName"].AsString()};
  if (std::ranges::all_of(classes, &std::string_view::empty)) return Selects(selector, "");
  return std::ranges::any_of(
      classes, [&](std::string_view name) { return !name.empty() && Selects(selector, name); });
}

bool InScope(std::string_view group, std::string_view plural, const Value& object,
             const Value& selector) {
  if (!group.empty()) return false;
  if (plural == "pods") return PodInScope(object, selector);
  return plural == "persistentvolumeclaims" && VolumeClaimInScope(object, selector);
}

}  // namespace

Names MatchingResources(std::string_view group, std::string_view plural, const Value& limits,
                        const Objects& objects) {
  Names names;
  for (const json::Member& limit : limits.Members()) {
    const std::string_view name = limit.key();
    bool matches = false;
    if (group == "resource.k8s.io" && plural == "resourceclaims") {
      matches = IsOfClaims(name, objects);
    } else if (group.empty() && plural == "pods") {
      matches = IsOfPods(name);
    } else if (group.empty() && plural == "services") {
      matches = IsOfServices(name);
    } else if (group.empty() && plural == "persistentvolumeclaims") {
      matches = IsOfVolumeClaims(name);
    } else {
      matches = IsCountOf(name, group, plural);
    }
    if (matches) names.emplace(name);
  }
  return names;
}

bool InScopes(const Value& quota, std::string_view group, std::string_view plural,
              const Value& object) {
  const Value& spec = quota["spec"];
  for (const Value& scope : spec["scopes"].Items()) {
    const Value selector = Value::Object({{"scopeName", scope}, {"operator", "Exists"}});
    if (!InScope(group, plural, object, selector)) return false;
  }
  return std::ranges::all_of(
      spec["scopeSelector"]["matchExpressions"].Items(),
      [&](const Value& selector) { return InScope(group, plural, object, selector); });
}

std::string MissingRequests(const Value& pod, const Names& restricted) {
  const Value& of_pod = pod["spec"]["resources"];
  if (!of_pod["requests"].empty() || !of_pod["limits"].empty()) return {};
  std::string missing;
  // Upstream will not add to these: they have to be said for historical reasons only.
  for (const std::string_view name :
       {"cpu", "limits.cpu", "limits.memory", "memory", "requests.cpu", "requests.memory"}) {
    if (!restricted.contains(name)) continue;
    const std::size_t dot = name.find('.');
    const std::string_view resource = dot == std::string_view::npos ? name : name.substr(dot + 1);
    const std::string_view field = name.starts_with("limits.") ? "limits" : "requests";
    Names containers;
    for (const std::string_view list : {"containers", "initContainers"}) {
      for (const Value& container : pod["spec"][list].Items()) {
        if (container["resources"][field].Has(resource)) continue;
        containers.emplace(container["name"].AsString());
      }
    }
    if (containers.empty()) continue;
    missing +=
        fmt::format("{}{} for: {}", missing.empty() ? "" : "; ", name, fmt::join(containers, ","));
  }
  return missing.empty() ? missing : "must specify " + missing;
}

bool IsTerminating(const Value& pod) {
  const Value& deadline = pod["spec"]["activeDeadlineSeconds"];
  return deadline.IsInt() && deadline.AsInt() >= 0;
}

}  // namespace drachma::quota
