#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "validation/names.h"
#include "validation/object_meta.h"
#include "validation/pod_rules.h"
#include "validation/strategy_tables.h"

// ResourceQuotas: pkg/registry/core/resourcequota of Kubernetes.
namespace drachma::validation {
namespace {

using json::Value;

constexpr std::string_view kStatus = "status";

ErrorList MetaOf(const Value& object, Scope scope, NameRule rule) {
  return ValidateCoreObjectMeta(object["metadata"], scope, rule, "metadata");
}
ErrorList MetaUpdateOf(const Value& object, const Value& old) {
  return ValidateCoreObjectMetaUpdate(object["metadata"], old["metadata"], "metadata");
}

ErrorList ValidateQuotaName(std::string_view name, const std::string& path) {
  ErrorList errors = ValidateResourceName(name, path);
  if (!name.contains('/') && !IsStandardQuotaName(name)) {
    errors.push_back(Invalid(path, ShownNamed(name), "must be a standard resource for quota"));
  }
  return errors;
}

ErrorList ValidateQuotaAmounts(const Value& amounts, const std::string& path) {
  ErrorList errors;
  for (const json::Member& amount : amounts.Members()) {
    const std::string at = Key(path, amount.key());
    Append(errors, ValidateQuotaName(amount.key(), at));
    Append(errors, ValidateResourceQuantity(amount.key(), amount.value, at));
  }
  return errors;
}

constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kConflictingScopes = {
    {{"BestEffort", "NotBestEffort"}, {"Terminating", "NotTerminating"}}};

bool IsScope(std::string_view name) {
  static constexpr std::array<std::string_view, 7> kScopes = {
      "Terminating",          "NotTerminating", "BestEffort",
      "NotBestEffort",        "PriorityClass",  "CrossNamespacePodAffinity",
      "VolumeAttributesClass"};
  return std::ranges::find(kScopes, name) != kScopes.end();
}

// Resources of pods and of volume claims: what a scope can be about.
bool CountsPods(std::string_view name) { return name == "pods"; }
bool IsPodCompute(std::string_view name) {
  static constexpr std::array<std::string_view, 6> kNames = {
      "cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"};
  return std::ranges::find(kNames, name) != kNames.end();
}

bool ScopeFits(std::string_view scope, std::string_view resource) {
  if (scope == "BestEffort") return CountsPods(resource);
  if (scope == "VolumeAttributesClass") {
    return resource == "persistentvolumeclaims" || resource == "requests.storage";
  }
  return !IsScope(scope) || CountsPods(resource) || IsPodCompute(resource);
}

// Standard resources that `scope` says nothing about, once each.
std::size_t MisfitsOf(std::string_view scope, const Value& hard) {
  return static_cast<std::size_t>(
      std::ranges::count_if(hard.Members(), [&](const json::Member& amount) {
        return IsStandardQuotaName(amount.key()) && !ScopeFits(scope, amount.key());
      }));
}

ErrorList ValidateScopeRequirement(const Value& requirement, const std::string& path) {
  static constexpr std::array<std::string_view, 5> kExistOnly = {
      "BestEffort", "NotBestEffort", "Terminating", "NotTerminating", "CrossNamespacePodAffinity"};
  const std::string_view scope = requirement["scopeName"].AsString();
  const std::string_view op = requirement["operator"].AsString();
  ErrorList errors;
  if (std::ranges::find(kExistOnly, scope) != kExistOnly.end() && op != "Exists") {
    errors.push_back(
        Invalid(Child(path, "operator"), ShownNamed(op),
                "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, "
                "ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, "
                "ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"));
  }
  const Value& values = requirement["values"];
  if (op == "In" || op == "NotIn") {
    if (values.empty()) {
      errors.push_back(
          Required(Child(path, "values"),
                   "must be at least one value when `operator` is 'In' or 'NotIn' for scope "
                   "selector"));
    }
  } else if (op == "Exists" || op == "DoesNotExist") {
    if (!values.empty()) {
      errors.push_back(Invalid(Child(path, "values"), Shown(values),
                               "must be no value when `operator` is 'Exist' or 'DoesNotExist' for "
                               "scope selector"));
    }
  } else {
    errors.push_back(
        Invalid(Child(path, "operator"), ShownNamed(op), "not a valid selector operator"));
  }
  return errors;
}

// The selector in the spelling of upstream's internal type.
std::string ShownScopeSelector(const Value& selector) {
  static constexpr std::array<std::string_view, 3> kFields = {"scopeName", "operator", "values"};
  Value expressions = Value::Array();
  for (const Value& requirement : selector["matchExpressions"].Items()) {
    expressions.Append(Internal(requirement, kFields));
  }
  return Shown(Value::Object({{"MatchExpressions", std::move(expressions)}}));
}

ErrorList ValidateScopeSelector(const Value& spec) {
  const std::string path = "spec.scopeSelector.matchExpressions";
  const Value& selector = spec["scopeSelector"];
  ErrorList errors;
  std::vector<std::string_view> scopes;
  for (const Value& requirement : selector["matchExpressions"].Items()) {
    const std::string_view scope = requirement["scopeName"].AsString();
    scopes.push_back(scope);
    if (!IsScope(scope)) {
      errors.push_back(Invalid(Child(path, "scopeName"), ShownNamed(scope), "unsupported scope"));
    }
    for (std::size_t i = MisfitsOf(scope, spec["hard"]); i > 0; --i) {
      errors.push_back(
          Invalid(path, ShownScopeSelector(selector), "unsupported scope applied to resource"));
    }
    Append(errors, ValidateScopeRequirement(requirement, path));
  }
  for (const auto& [one, other] : kConflictingScopes) {
    if (std::ranges::find(scopes, one) != scopes.end() &&
        std::ranges::find(scopes, other) != scopes.end()) {
      errors.push_back(Invalid("spec.scopes", Shown(spec["scopes"]), "conflicting scopes"));
    }
  }
  return errors;
}

ErrorList ValidateQuotaScopes(const Value& spec) {
  const Value& scopes = spec["scopes"];
  ErrorList errors;
  const auto has = [&](std::string_view name) {
    return std::ranges::any_of(scopes.Items(),
                               [&](const Value& scope) { return scope.AsString() == name; });
  };
  for (const Value& scope : scopes.Items()) {
    if (!IsScope(scope.AsString())) {
      errors.push_back(Invalid("spec.scopes", Shown(scopes), "unsupported scope"));
    }
    for (std::size_t i = MisfitsOf(scope.AsString(), spec["hard"]); i > 0; --i) {
      errors.push_back(
          Invalid("spec.scopes", Shown(scopes), "unsupported scope applied to resource"));
    }
  }
  for (const auto& [one, other] : kConflictingScopes) {
    if (has(one) && has(other)) {
      errors.push_back(Invalid("spec.scopes", Shown(scopes), "conflicting scopes"));
    }
  }
  return errors;
}

ErrorList ValidateQuotaSpec(const Value& spec) {
  ErrorList errors = ValidateQuotaAmounts(spec["hard"], "spec.hard");
  Append(errors, ValidateQuotaScopes(spec));
  Append(errors, ValidateScopeSelector(spec));
  return errors;
}

ErrorList ValidateQuota(const Context&, const Value& quota) {
  ErrorList errors = MetaOf(quota, Scope::kNamespaced, NameIsDnsSubdomain);
  Append(errors, ValidateQuotaSpec(quota["spec"]));
  return errors;
}

ErrorList ValidateQuotaUpdate(const Context&, const Value& quota, const Value& old) {
  ErrorList errors = MetaUpdateOf(quota, old);
  Append(errors, ValidateQuotaSpec(quota["spec"]));
  Append(errors, ValidateImmutable(quota["spec"]["scopes"], old["spec"]["scopes"], "spec.scopes"));
  return errors;
}

ErrorList ValidateQuotaStatus(const Context&, const Value& quota, const Value& old) {
  ErrorList errors = MetaUpdateOf(quota, old);
  Append(errors, ValidateQuotaAmounts(quota["status"]["hard"], "status.hard"));
  Append(errors, ValidateQuotaAmounts(quota["status"]["used"], "status.used"));
  return errors;
}

constexpr Strategy kRows[] = {
    {.kind = "ResourceQuota",
     .prepare_create = ClearStatus,
     .prepare_update = KeepStatus,
     .validate_create = ValidateQuota,
     .validate_update = ValidateQuotaUpdate,
     .reset_fields = kStatus},
    {.kind = "ResourceQuota",
     .subresource = kStatus,
     .prepare_update = KeepSpec,
     .validate_update = ValidateQuotaStatus,
     .reset_fields = "spec"},
};

}  // namespace

std::span<const Strategy> QuotaStrategies() { return kRows; }

}  // namespace drachma::validation
