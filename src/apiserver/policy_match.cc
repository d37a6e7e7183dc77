#include "apiserver/policy_match.h"

#include <algorithm>
#include <vector>

namespace drachma::apiserver {
namespace {

using json::Value;

// A rule without names is about all objects.
bool NameMatches(const Value& rule, const AdmissionRequest& request) {
  const auto names = rule["resourceNames"].Items();
  return names.empty() || std::ranges::any_of(names, [&](const Value& name) {
           return name.AsString() == request.name;
         });
}

std::optional<ResourceKind> FormOfRules(const Value& rules, const Value& resources,
                                        const AdmissionRequest& request,
                                        const Equivalents& equivalents) {
  const ResourceKind own = FormOf(request);
  for (const Value& rule : rules.Items()) {
    if (RuleMatches(rule, request, own) && NameMatches(rule, request)) return own;
  }
  if (rules.empty() || resources["matchPolicy"].AsString() != "Equivalent") return std::nullopt;
  const std::vector<ResourceKind> others =
      equivalents(request.group, request.version, request.resource);
  for (const Value& rule : rules.Items()) {
    for (const ResourceKind& other : others) {
      if (!RuleMatches(rule, request, other) || !NameMatches(rule, request)) continue;
      ResourceKind as = other;
      if (!own.kind_group_version.empty()) {
        as.kind = own.kind;
        as.kind_group_version = own.kind_group_version;
      }
      return as;
    }
  }
  return std::nullopt;
}

}  // namespace

Result<std::optional<ResourceKind>> MatchPolicyResources(const Value& resources,
                                                         const AdmissionRequest& request,
                                                         const ObjectReader& objects,
                                                         const Equivalents& equivalents) {
  const Value& wanted = resources["resourceRules"];
  std::optional<ResourceKind> form = FormOf(request);
  if (!wanted.empty()) form = FormOfRules(wanted, resources, request, equivalents);
  if (!form) return std::nullopt;
  if (FormOfRules(resources["excludeResourceRules"], resources, request, equivalents)) {
    return std::nullopt;
  }
  DRA_ASSIGN(const bool object, ObjectMatches(resources, request));
  if (!object) return std::nullopt;
  DRA_ASSIGN(const bool ns, NamespaceMatches(resources, request, objects));
  if (!ns) return std::nullopt;
  return form;
}

}  // namespace drachma::apiserver
