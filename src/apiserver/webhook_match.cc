#include "apiserver/webhook_match.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "api/selectors.h"
#include "apiserver/status.h"

namespace drachma::apiserver {
namespace {

using json::Value;

constexpr std::string_view kGroup = "admissionregistration.k8s.io";

bool IsNamespace(const AdmissionRequest& request) {
  return request.group.empty() && request.resource == "namespaces";
}

bool ExactOrWildcard(const Value& items, std::string_view wanted) {
  return std::ranges::any_of(items.Items(), [&](const Value& item) {
    return item.AsString() == "*" || item.AsString() == wanted;
  });
}

bool ScopeMatches(std::string_view scope, const AdmissionRequest& request) {
  const bool cluster = IsNamespace(request) || request.ns.empty();
  if (scope == "Namespaced") return !cluster;
  if (scope == "Cluster") return cluster;
  return scope == "*" || scope.empty();
}

bool ResourceMatches(const Value& resources, std::string_view resource,
                     std::string_view subresource) {
  return std::ranges::any_of(resources.Items(), [&](const Value& item) {
    const std::string_view text = item.AsString();
    const std::size_t slash = text.find('/');
    const std::string_view main = text.substr(0, slash);
    const std::string_view sub =
        slash == std::string_view::npos ? std::string_view() : text.substr(slash + 1);
    return (main == "*" || main == resource) && (sub == "*" || sub == subresource);
  });
}

Result<api::LabelSelector> SelectorOf(const Value& selector) {
  // The default of both selectors is the empty one, which matches everything.
  static const Value kEverything = Value::Object();
  Result<api::LabelSelector> parsed =
      api::LabelSelector::FromObject(selector.IsNull() ? kEverything : selector);
  if (!parsed) {
    return Fail(Code::kInternal, "Internal error occurred: " + parsed.error().message);
  }
  return parsed;
}

std::optional<ResourceKind> FormAskedFor(const Value& hook, const AdmissionRequest& request,
                                         const Equivalents& equivalents) {
  ResourceKind own = FormOf(request);
  const auto rules = hook["rules"].Items();
  for (const Value& rule : rules) {
    if (RuleMatches(rule, request, own)) return own;
  }
  if (hook["matchPolicy"].AsString("Equivalent") != "Equivalent") return std::nullopt;
  const std::vector<ResourceKind> others =
      equivalents(request.group, request.version, request.resource);
  for (const Value& rule : rules) {
    for (const ResourceKind& other : others) {
      if (!RuleMatches(rule, request, other)) continue;
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

std::string_view OperationName(Operation operation) {
  constexpr std::array<std::string_view, 4> kNames = {"CREATE", "UPDATE", "DELETE", "CONNECT"};
  return kNames[static_cast<std::size_t>(operation)];
}

bool RuleMatches(const Value& rule, const AdmissionRequest& request, const ResourceKind& as) {
  return ScopeMatches(rule["scope"].AsString(), request) &&
         ExactOrWildcard(rule["operations"], OperationName(request.operation)) &&
         ExactOrWildcard(rule["apiGroups"], as.group) &&
         ExactOrWildcard(rule["apiVersions"], as.version) &&
         ResourceMatches(rule["resources"], as.resource, request.subresource);
}

Result<bool> NamespaceMatches(const Value& criteria, const AdmissionRequest& request,
                              const ObjectReader& objects) {
  const std::string ns = SubjectOf(request).ns;
  if (ns.empty()) return true;  // of the cluster: never exempt
  DRA_ASSIGN(const api::LabelSelector selector, SelectorOf(criteria["namespaceSelector"]));
  if (selector.empty()) return true;
  if (IsNamespace(request) && !request.object.IsNull()) {
    return selector.Matches(request.object["metadata"]["labels"]);
  }
  const Value found = objects.Get("", "namespaces", "", ns);
  if (found.IsNull()) return std::unexpected(NotFoundError("", "namespaces", ns));
  return selector.Matches(found["metadata"]["labels"]);
}

Result<bool> ObjectMatches(const Value& criteria, const AdmissionRequest& request) {
  DRA_ASSIGN(const api::LabelSelector selector, SelectorOf(criteria["objectSelector"]));
  if (selector.empty()) return true;
  return std::ranges::any_of(
      std::array{&request.object, &request.old_object}, [&](const Value* object) {
        return !object->IsNull() && selector.Matches((*object)["metadata"]["labels"]);
      });
}

WebhookSubject SubjectOf(const AdmissionRequest& request) {
  WebhookSubject subject{.ns = request.ns, .name = request.name};
  const Value& object = request.object.IsNull() ? request.old_object : request.object;
  if (subject.name.empty()) subject.name = object["metadata"]["name"].AsString();
  if (IsNamespace(request)) subject.ns = subject.name;
  return subject;
}

ResourceKind FormOf(const AdmissionRequest& request) {
  ResourceKind own{.group = request.group,
                   .version = request.version,
                   .resource = request.resource,
                   .kind = request.kind};
  if (request.subresource == "scale") {
    own.kind = "Scale";
    own.kind_group_version = "autoscaling/v1";
  } else if (request.subresource == "binding") {
    own.kind = "Binding";
    own.kind_group_version = "v1";
  }
  return own;
}

bool IsExemptFromWebhooks(const AdmissionRequest& request) {
  static constexpr auto kExempt = std::to_array<std::string_view>(
      {"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration",
       "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "MutatingAdmissionPolicy",
       "MutatingAdmissionPolicyBinding"});
  return request.group == kGroup && std::ranges::find(kExempt, request.kind) != kExempt.end();
}

Result<std::optional<WebhookInvocation>> MatchWebhook(const Value& hook,
                                                      const AdmissionRequest& request,
                                                      const ObjectReader& objects,
                                                      const Equivalents& equivalents) {
  std::optional<ResourceKind> as = FormAskedFor(hook, request, equivalents);
  if (!as) return std::nullopt;
  DRA_ASSIGN(const bool object, ObjectMatches(hook, request));
  if (!object) return std::nullopt;
  DRA_ASSIGN(const bool ns, NamespaceMatches(hook, request, objects));
  if (!ns) return std::nullopt;
  return WebhookInvocation{.hook = hook, .as = std::move(*as)};
}

}  // namespace drachma::apiserver
