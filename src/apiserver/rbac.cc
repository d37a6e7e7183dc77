#include "apiserver/rbac.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "apiserver/status.h"

namespace drachma::apiserver {
namespace {

using json::Value;

constexpr std::string_view kRbacGroup = "rbac.authorization.k8s.io";

std::vector<std::string> Strings(const Value& list) {
  std::vector<std::string> strings;
  for (const Value& item : list.Items()) strings.emplace_back(item.AsString());
  return strings;
}

bool Has(const std::vector<std::string>& list, std::string_view wanted) {
  return std::ranges::any_of(list, [&](const std::string& item) { return item == wanted; });
}

bool HasOrAny(const std::vector<std::string>& list, std::string_view wanted) {
  return Has(list, "*") || Has(list, wanted);
}

bool ResourceMatches(const Rule& rule, std::string_view resource, std::string_view subresource) {
  const std::string combined =
      subresource.empty() ? std::string(resource) : fmt::format("{}/{}", resource, subresource);
  if (HasOrAny(rule.resources, combined)) return true;
  return !subresource.empty() && Has(rule.resources, fmt::format("*/{}", subresource));
}

bool PathMatches(const Rule& rule, std::string_view path) {
  return std::ranges::any_of(rule.non_resource_urls, [&](std::string_view allowed) {
    if (allowed == "*" || allowed == path) return true;
    return allowed.ends_with('*') && path.starts_with(allowed.substr(0, allowed.size() - 1));
  });
}

bool SubjectMatches(const Value& subject, const User& user, std::string_view binding_ns) {
  const std::string_view kind = subject["kind"].AsString();
  const std::string_view name = subject["name"].AsString();
  if (kind == "User") return user.name == name;
  if (kind == "Group") return Has(user.groups, name);
  if (kind != "ServiceAccount") return false;
  const std::string_view ns = subject["namespace"].AsString(binding_ns);
  return !ns.empty() && user.name == fmt::format("system:serviceaccount:{}:{}", ns, name);
}

// How a reason names a binding.
std::string SourceOf(const Value& binding, const Value& subject, const std::string& ns) {
  const std::string_view name = binding["metadata"]["name"].AsString();
  const std::string_view kind = subject["kind"].AsString();
  const std::string_view who = subject["name"].AsString();
  return fmt::format(
      "{} \"{}\" of {} \"{}\" to {} \"{}\"", ns.empty() ? "ClusterRoleBinding" : "RoleBinding",
      ns.empty() ? std::string(name) : fmt::format("{}/{}", name, ns),
      binding["roleRef"]["kind"].AsString(), binding["roleRef"]["name"].AsString(), kind,
      kind == "ServiceAccount" ? fmt::format("{}/{}", who, subject["namespace"].AsString(ns))
                               : std::string(who));
}

// Who a user is, as a key: the same key means the same rules.
std::string KeyOf(const User& user) {
  std::string key = user.name;
  for (const std::string& group : user.groups) key += '\n' + group;
  return key;
}

// Upstream prints the rules that are missing as compact Go structs.
std::string CompactRule(const Rule& rule) {
  const std::pair<const char*, const std::vector<std::string>*> parts[] = {
      {"APIGroups", &rule.api_groups},
      {"Resources", &rule.resources},
      {"ResourceNames", &rule.resource_names},
      {"NonResourceURLs", &rule.non_resource_urls},
      {"Verbs", &rule.verbs}};
  std::string text;
  for (const auto& [name, values] : parts) {
    if (values->empty()) continue;
    text +=
        fmt::format("{}{}:[\"{}\"]", text.empty() ? "" : ", ", name, fmt::join(*values, "\" \""));
  }
  return "{" + text + "}";
}

// A rule as rules of one verb, group, resource (and name, or path) each.
std::vector<Rule> BreakDown(const Rule& rule) {
  std::vector<Rule> parts;
  for (const std::string& verb : rule.verbs) {
    for (const std::string& path : rule.non_resource_urls) {
      parts.push_back({.verbs = {verb}, .non_resource_urls = {path}});
    }
    for (const std::string& group : rule.api_groups) {
      for (const std::string& resource : rule.resources) {
        Rule part{.verbs = {verb}, .api_groups = {group}, .resources = {resource}};
        if (rule.resource_names.empty()) parts.push_back(part);
        for (const std::string& name : rule.resource_names) {
          part.resource_names = {name};
          parts.push_back(part);
        }
      }
    }
  }
  return parts;
}

// Whether one rule of the owner allows a broken-down part.
bool CoversPart(const Rule& owner, const Rule& part) {
  if (!HasOrAny(owner.verbs, part.verbs[0])) return false;
  if (!part.non_resource_urls.empty()) return PathMatches(owner, part.non_resource_urls[0]);
  if (!HasOrAny(owner.api_groups, part.api_groups[0])) return false;
  const std::string_view wanted = part.resources[0];
  const std::size_t slash = wanted.find('/');
  const std::string_view sub =
      slash == std::string_view::npos ? std::string_view() : wanted.substr(slash + 1);
  if (!ResourceMatches(owner, wanted.substr(0, slash), sub)) return false;
  if (owner.resource_names.empty()) return true;
  return !part.resource_names.empty() && Has(owner.resource_names, part.resource_names[0]);
}

}  // namespace

Rule RuleFromJson(const Value& rule) {
  return {.verbs = Strings(rule["verbs"]),
          .api_groups = Strings(rule["apiGroups"]),
          .resources = Strings(rule["resources"]),
          .resource_names = Strings(rule["resourceNames"]),
          .non_resource_urls = Strings(rule["nonResourceURLs"])};
}

bool RuleAllows(const Rule& rule, const Attributes& attributes) {
  if (!HasOrAny(rule.verbs, attributes.verb)) return false;
  if (!attributes.is_resource) return PathMatches(rule, attributes.path);
  return HasOrAny(rule.api_groups, attributes.group) &&
         ResourceMatches(rule, attributes.resource, attributes.subresource) &&
         (rule.resource_names.empty() || Has(rule.resource_names, attributes.name));
}

bool RulesCover(const std::vector<Rule>& owner, const Rule& wanted) {
  return std::ranges::all_of(BreakDown(wanted), [&](const Rule& part) {
    return std::ranges::any_of(owner, [&](const Rule& rule) { return CoversPart(rule, part); });
  });
}

Decision RbacAuthorizer::Authorize(const Attributes& attributes, std::string& reason) {
  const UserRules& rules = RulesOf(attributes.user);
  const auto allows = [&](const std::string& ns) {
    const auto found = rules.by_namespace.find(ns);
    if (found == rules.by_namespace.end()) return false;
    const auto rule = std::ranges::find_if(
        found->second, [&](const BoundRule& bound) { return RuleAllows(bound.rule, attributes); });
    if (rule == found->second.end()) return false;
    if (attributes.explain) reason = "RBAC: allowed by " + *rule->source;
    return true;
  };
  if (allows("") || (!attributes.ns.empty() && allows(attributes.ns))) return Decision::kAllow;
  if (!rules.problems.empty()) reason = fmt::format("RBAC: {}", fmt::join(rules.problems, ", "));
  return Decision::kNoOpinion;
}

void RbacAuthorizer::Rules(const User& user, const std::string& ns, std::vector<Rule>& rules) {
  const UserRules& own = RulesOf(user);
  for (const std::string& from : {std::string(), ns}) {
    const auto found = own.by_namespace.find(from);
    if (found != own.by_namespace.end()) {
      for (const BoundRule& bound : found->second) rules.push_back(bound.rule);
    }
    if (ns.empty()) break;
  }
}

const RbacAuthorizer::UserRules& RbacAuthorizer::RulesOf(const User& user) {
  const std::uint64_t generation = generation_.load();
  if (gathered_ != generation || users_.size() >= kUsersMax) users_.clear();
  gathered_ = generation;
  const auto [entry, added] = users_.try_emplace(KeyOf(user));
  if (added) entry->second = Gather(user);
  return entry->second;
}

RbacAuthorizer::UserRules RbacAuthorizer::Gather(const User& user) const {
  UserRules rules;
  for (const std::string_view plural : {"clusterrolebindings", "rolebindings"}) {
    objects_.ForEach(kRbacGroup, plural, "", [&](const Value& binding) {
      const std::string ns(binding["metadata"]["namespace"].AsString());
      const auto subjects = binding["subjects"].Items();
      const auto subject = std::ranges::find_if(
          subjects, [&](const Value& entry) { return SubjectMatches(entry, user, ns); });
      if (subject != subjects.end()) Bind(binding, *subject, ns, rules);
    });
  }
  return rules;
}

void RbacAuthorizer::Bind(const Value& binding, const Value& subject, const std::string& ns,
                          UserRules& rules) const {
  const std::string_view kind = binding["roleRef"]["kind"].AsString();
  const std::string_view name = binding["roleRef"]["name"].AsString();
  const bool cluster = kind == "ClusterRole";
  const Value role = objects_.Get(kRbacGroup, cluster ? "clusterroles" : "roles",
                                  cluster ? std::string() : ns, name);
  if (role.IsNull()) {
    rules.problems.push_back(
        fmt::format("{}.{} \"{}\" not found", cluster ? "clusterrole" : "role", kRbacGroup, name));
    return;
  }
  const auto source = std::make_shared<const std::string>(SourceOf(binding, subject, ns));
  std::vector<BoundRule>& into = rules.by_namespace[ns];
  for (const Value& rule : role["rules"].Items()) into.push_back({RuleFromJson(rule), source});
}

bool RbacEscalation::May(const AdmissionRequest& request, std::string_view verb,
                         std::string_view resource, std::string_view name) {
  std::string reason;
  return authorizer_.Authorize({.user = request.user,
                                .verb = std::string(verb),
                                .group = std::string(kRbacGroup),
                                .version = request.version,
                                .resource = std::string(resource),
                                .ns = request.ns,
                                .name = std::string(name)},
                               reason) == Decision::kAllow;
}

Status RbacEscalation::Validate(AdmissionRequest& request, const ObjectReader& objects) {
  if (request.group != kRbacGroup || request.operation == Operation::kDelete ||
      request.user.InGroup(kMastersGroup)) {
    return {};
  }
  const bool binding = request.resource.ends_with("bindings");
  Value granted = request.object["rules"];
  if (binding) {
    const Value& ref = request.object["roleRef"];
    const std::string plural = ref["kind"].AsString() == "ClusterRole" ? "clusterroles" : "roles";
    if (May(request, "bind", plural, ref["name"].AsString())) return {};
    const Value role = objects.Get(
        kRbacGroup, plural, plural == "roles" ? request.ns : std::string(), ref["name"].AsString());
    if (role.IsNull()) {
      return std::unexpected(NotFoundError(kRbacGroup, request.resource, ref["name"].AsString()));
    }
    granted = role["rules"];
  } else {
    if (request.operation == Operation::kUpdate && granted == request.old_object["rules"])
      return {};
    if (May(request, "escalate", request.resource, request.name)) return {};
  }
  std::vector<Rule> own;
  authorizer_.Rules(request.user, request.ns, own);
  std::string missing;
  for (const Value& rule : granted.Items()) {
    const Rule wanted = RuleFromJson(rule);
    if (!RulesCover(own, wanted)) missing += "\n" + CompactRule(wanted);
  }
  if (missing.empty()) return {};
  const std::string message = fmt::format(
      "{}.{} \"{}\" is forbidden: user \"{}\" (groups=[{}]) is attempting to grant RBAC "
      "permissions "
      "not currently held:{}",
      request.resource, kRbacGroup, request.name, request.user.name,
      fmt::format("\"{}\"", fmt::join(request.user.groups, "\" \"")), missing);
  return std::unexpected(Error{.code = Code::kForbidden,
                               .message = message,
                               .group = std::string(kRbacGroup),
                               .kind = request.resource,
                               .name = request.name});
}

}  // namespace drachma::apiserver
