#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/pod_security.h"
#include "json/value.h"

// What the rules of the Pod Security Standards share: walks over a pod's containers and words.
// Private to pod_security_*.cc.
namespace drachma::apiserver::pod_security {

using json::Value;
using Violation = std::optional<SecurityViolation>;
using Names = std::vector<std::string>;
using NameSet = std::set<std::string>;

template <typename Range>
std::string Quoted(const Range& items) {
  return items.empty() ? std::string() : fmt::format("\"{}\"", fmt::join(items, "\", \""));
}

inline std::string_view Plural(std::string_view one, std::string_view many, std::size_t count) {
  return count == 1 ? one : many;
}

// `containers "a", "b"`.
inline std::string Containers(const Names& names) {
  return fmt::format("{} {}", Plural("container", "containers", names.size()), Quoted(names));
}

template <typename Visit>
void ForEachContainer(const Value& pod, Visit visit) {
  for (const char* list : {"initContainers", "containers", "ephemeralContainers"}) {
    for (const Value& container : pod["spec"][list].Items()) visit(container);
  }
}

inline std::string NameOf(const Value& container) {
  return std::string(container["name"].AsString());
}
inline const Value& SecurityOf(const Value& container) { return container["securityContext"]; }
inline const Value& PodSecurityOf(const Value& pod) { return pod["spec"]["securityContext"]; }

// The containers for which `bad` is true.
template <typename Bad>
Names BadContainers(const Value& pod, Bad bad) {
  Names names;
  ForEachContainer(pod, [&](const Value& container) {
    if (bad(container)) names.push_back(NameOf(container));
  });
  return names;
}

// `pod and containers "a"`: who sets what is forbidden.
inline std::string Setters(bool pod, const Names& containers) {
  if (containers.empty()) return "pod";
  return pod ? "pod and " + Containers(containers) : Containers(containers);
}

inline bool InUserNamespace(const Value& pod) {
  return pod["spec"]["hostUsers"].IsBool() && !pod["spec"]["hostUsers"].AsBool();
}

template <typename List>
bool Contains(const List& list, std::string_view text) {
  return std::ranges::find(list, text) != std::end(list);
}

// Proc file systems that show more than usual.
inline Violation ProcMount(const Value& pod) {
  NameSet types;
  const Names names = BadContainers(pod, [&](const Value& container) {
    const Value& type = SecurityOf(container)["procMount"];
    if (type.IsNull() || type.AsString() == "Default") return false;
    types.emplace(type.AsString());
    return true;
  });
  if (names.empty()) return std::nullopt;
  return SecurityViolation{
      "procMount", fmt::format("{} must not set securityContext.procMount to {}", Containers(names),
                               Quoted(types))};
}

// Profiles that are set, and (for `required`) those that are not.
enum class Seccomp : std::uint8_t { kOptional, kRequired };
template <Seccomp kWanted>
Violation SeccompProfiles(const Value& pod) {
  NameSet values;
  const auto bad = [&](const Value& security) {
    const Value& profile = security["seccompProfile"];
    const std::string_view type = profile["type"].AsString();
    if (!profile.IsObject() || type == "Localhost" || type == "RuntimeDefault") return false;
    values.emplace(type);
    return true;
  };
  const bool pod_sets = bad(PodSecurityOf(pod));
  const Names names =
      BadContainers(pod, [&](const Value& container) { return bad(SecurityOf(container)); });
  if (pod_sets || !names.empty()) {
    return SecurityViolation{
        "seccompProfile", fmt::format("{} must not set securityContext.seccompProfile.type to {}",
                                      Setters(pod_sets, names), Quoted(values))};
  }
  if (kWanted == Seccomp::kOptional || PodSecurityOf(pod)["seccompProfile"].IsObject()) {
    return std::nullopt;
  }
  const Names without = BadContainers(pod, [](const Value& container) {
    return !SecurityOf(container)["seccompProfile"].IsObject();
  });
  if (without.empty()) return std::nullopt;
  return SecurityViolation{
      "seccompProfile",
      fmt::format("pod or {} must set securityContext.seccompProfile.type to \"RuntimeDefault\" or "
                  "\"Localhost\"",
                  Containers(without))};
}

}  // namespace drachma::apiserver::pod_security
