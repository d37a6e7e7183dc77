#include <algorithm>
#include <array>
#include <string>

#include "validation/drop_fields.h"
#include "validation/names.h"
#include "validation/object_meta.h"
#include "validation/pod_rules.h"
#include "validation/strategy_tables.h"
#include "validation/workload_rules.h"

// RBAC, disruption budgets, priority classes, leases.
namespace drachma::validation {
namespace {

using json::Value;

constexpr std::string_view kRbac = "rbac.authorization.k8s.io";
constexpr std::string_view kScheduling = "scheduling.k8s.io";
constexpr std::int64_t kUserPriorityMax = 1'000'000'000;

ErrorList MetaUpdateOf(const Value& object, const Value& old) {
  return ValidateCoreObjectMetaUpdate(object["metadata"], old["metadata"], "metadata");
}

// --- RBAC. Names may hold any characters that fit into a URL's path.

ErrorList ValidateRules(const Value& rules, Scope scope) {
  ErrorList errors;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const Value& rule = rules.Items()[i];
    const std::string at = Index("rules", i);
    if (rule["verbs"].empty()) {
      Append(errors,
             Covered({Required(Child(at, "verbs"), "verbs must contain at least one value")}));
    }
    const Value& urls = rule["nonResourceURLs"];
    const std::string urls_path = Child(at, "nonResourceURLs");
    if (!urls.empty()) {
      if (scope == Scope::kNamespaced) {
        errors.push_back(
            Invalid(urls_path, Shown(urls), "namespaced rules cannot apply to non-resource URLs"));
      }
      if (!rule["apiGroups"].empty() || !rule["resources"].empty() ||
          !rule["resourceNames"].empty()) {
        errors.push_back(
            Invalid(urls_path, Shown(urls),
                    "rules cannot apply to both regular resources and non-resource URLs"));
      }
      continue;
    }
    if (rule["apiGroups"].empty()) {
      errors.push_back(
          Required(Child(at, "apiGroups"), "resource rules must supply at least one api group"));
    }
    if (rule["resources"].empty()) {
      errors.push_back(
          Required(Child(at, "resources"), "resource rules must supply at least one resource"));
    }
  }
  return errors;
}

ErrorList ValidateAggregation(const Value& rule) {
  if (rule.IsNull()) return {};
  const std::string path = "aggregationRule.clusterRoleSelectors";
  const auto selectors = rule["clusterRoleSelectors"].Items();
  ErrorList errors;
  if (selectors.empty()) {
    errors.push_back(
        Required(path, "at least one clusterRoleSelector required if aggregationRule is non-nil"));
  }
  for (std::size_t i = 0; i < selectors.size(); ++i) {
    Append(errors, ValidateLabelSelector(selectors[i], Index(path, i)));
  }
  return errors;
}

template <Scope kScope>
ErrorList ValidateRole(const Context&, const Value& role) {
  ErrorList errors = ValidateObjectMeta(role["metadata"], kScope, NameIsPathSegment, "metadata");
  Append(errors, ValidateRules(role["rules"], kScope));
  if (kScope == Scope::kCluster) Append(errors, ValidateAggregation(role["aggregationRule"]));
  return errors;
}

template <Scope kScope>
ErrorList ValidateRoleUpdate(const Context& context, const Value& role, const Value& old) {
  ErrorList errors = ValidateRole<kScope>(context, role);
  Append(errors, ValidateObjectMetaUpdate(role["metadata"], old["metadata"], "metadata"));
  return errors;
}

ErrorList ValidateSubject(const Value& subject, Scope scope, const std::string& path) {
  static constexpr std::array<std::string_view, 3> kKinds = {"ServiceAccount", "User", "Group"};
  static constexpr std::array<std::string_view, 1> kRbacGroup = {kRbac};
  static constexpr std::array<std::string_view, 1> kNoGroup = {""};
  ErrorList errors;
  const std::string_view name = subject["name"].AsString();
  const std::string_view group = subject["apiGroup"].AsString();
  const std::string_view kind = subject["kind"].AsString();
  if (name.empty()) Append(errors, Covered({Required(Child(path, "name"))}));
  if (kind == "ServiceAccount") {
    if (!name.empty()) {
      Append(errors, InvalidEach(Child(path, "name"), name, IsDns1123Subdomain(name)));
    }
    if (!group.empty()) {
      errors.push_back(NotSupported(Child(path, "apiGroup"), ShownText(group), kNoGroup));
    }
    if (scope == Scope::kCluster && subject["namespace"].AsString().empty()) {
      errors.push_back(Required(Child(path, "namespace")));
    }
  } else if (kind == "User" || kind == "Group") {
    if (group != kRbac) {
      errors.push_back(NotSupported(Child(path, "apiGroup"), ShownText(group), kRbacGroup));
    }
  } else {
    errors.push_back(NotSupported(Child(path, "kind"), ShownText(kind), kKinds));
  }
  return errors;
}

template <Scope kScope>
ErrorList ValidateBinding(const Context&, const Value& binding) {
  static constexpr std::array<std::string_view, 1> kGroups = {kRbac};
  static constexpr std::array<std::string_view, 2> kRoles = {"Role", "ClusterRole"};
  // Cluster-wide bindings name ClusterRoles only.
  const auto roles = std::span(kRoles).subspan(kScope == Scope::kCluster ? 1 : 0);
  ErrorList errors = ValidateObjectMeta(binding["metadata"], kScope, NameIsPathSegment, "metadata");
  const Value& ref = binding["roleRef"];
  if (ref["apiGroup"].AsString() != kRbac) {
    errors.push_back(
        NotSupported("roleRef.apiGroup", ShownText(ref["apiGroup"].AsString()), kGroups));
  }
  const std::string_view kind = ref["kind"].AsString();
  if (std::ranges::find(roles, kind) == roles.end()) {
    errors.push_back(NotSupported("roleRef.kind", ShownText(kind), roles));
  }
  const std::string_view name = ref["name"].AsString();
  if (name.empty()) {
    Append(errors, Covered({Required("roleRef.name")}));
  } else {
    Append(errors, InvalidEach("roleRef.name", name, IsPathSegmentName(name)));
  }
  const auto subjects = binding["subjects"].Items();
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    Append(errors, ValidateSubject(subjects[i], kScope, Index("subjects", i)));
  }
  return errors;
}

template <Scope kScope>
ErrorList ValidateBindingUpdate(const Context& context, const Value& binding, const Value& old) {
  ErrorList errors = ValidateBinding<kScope>(context, binding);
  Append(errors, ValidateObjectMetaUpdate(binding["metadata"], old["metadata"], "metadata"));
  if (!SemanticEqual(binding["roleRef"], old["roleRef"])) {
    const Value& ref = binding["roleRef"];
    const Value internal = Value::Object({{"APIGroup", ref["apiGroup"].AsString()},
                                          {"Kind", ref["kind"].AsString()},
                                          {"Name", ref["name"].AsString()}});
    Append(errors, Covered(WithOrigin({Invalid("roleRef", Shown(internal), "field is immutable")},
                                      "immutable")));
  }
  return errors;
}

// --- PodDisruptionBudget

ErrorList ValidateBudgetSpec(const Value& spec) {
  static constexpr std::array<std::string_view, 2> kPolicies = {"AlwaysAllow", "IfHealthyBudget"};
  ErrorList errors;
  if (!spec["minAvailable"].IsNull() && !spec["maxUnavailable"].IsNull()) {
    static constexpr std::array<std::string_view, 4> kFields = {
        "minAvailable", "selector", "maxUnavailable", "unhealthyPodEvictionPolicy"};
    errors.push_back(Invalid("spec", Shown(Internal(spec, kFields)),
                             "minAvailable and maxUnavailable cannot be both set"));
  }
  for (const std::string_view field : {"minAvailable", "maxUnavailable"}) {
    if (spec[field].IsNull()) continue;
    Append(errors, ValidateIntOrPercent(spec[field], Child("spec", field)));
    Append(errors, ValidateAtMost100Percent(spec[field], Child("spec", field)));
  }
  Append(errors, ValidateLabelSelector(spec["selector"], "spec.selector"));
  const Value& policy = spec["unhealthyPodEvictionPolicy"];
  if (!policy.IsNull() && std::ranges::find(kPolicies, policy.AsString()) == kPolicies.end()) {
    errors.push_back(
        NotSupported("spec.unhealthyPodEvictionPolicy", ShownNamed(policy.AsString()), kPolicies));
  }
  return errors;
}

ErrorList ValidateBudget(const Context&, const Value& budget) {
  return ValidateBudgetSpec(budget["spec"]);
}
ErrorList ValidateBudgetUpdate(const Context&, const Value& budget, const Value&) {
  return ValidateBudgetSpec(budget["spec"]);
}
ErrorList ValidateBudgetStatus(const Context&, const Value& budget, const Value&) {
  const Value& status = budget["status"];
  ErrorList errors = ValidateConditions(status["conditions"], "status.conditions");
  for (const std::string_view field :
       {"disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"}) {
    Append(errors, ValidateNonNegative(status[field].AsInt(), Child("status", field)));
  }
  return errors;
}

// --- PriorityClass

struct SystemClass {
  std::string_view name;
  std::int64_t value;
};
constexpr std::array<SystemClass, 2> kSystemClasses = {
    {{"system-node-critical", 2'000'001'000}, {"system-cluster-critical", 2'000'000'000}}};

// Why a class with the system's prefix is none of the system's; empty when it is one.
std::string SystemClassFault(const Value& object) {
  const std::string_view name = object["metadata"]["name"].AsString();
  for (const SystemClass& known : kSystemClasses) {
    if (known.name != name) continue;
    if (object["value"].AsInt() != known.value) {
      return "value of " + std::string(name) + " PriorityClass must be " +
             std::to_string(known.value);
    }
    if (object["globalDefault"].AsBool()) {
      return "globalDefault of " + std::string(name) + " PriorityClass must be false";
    }
    return {};
  }
  return std::string(name) + " is not a known system priority class";
}

ErrorList ValidatePriorityClass(const Context&, const Value& object) {
  static constexpr std::array<std::string_view, 2> kPolicies = {"PreemptLowerPriority", "Never"};
  ErrorList errors =
      ValidateCoreObjectMeta(object["metadata"], Scope::kCluster, NameIsDnsSubdomain, "metadata");
  if (object["metadata"]["name"].AsString().starts_with("system-")) {
    const std::string fault = SystemClassFault(object);
    if (!fault.empty()) {
      errors.push_back(Forbidden("metadata.name",
                                 "priority class names with 'system-' prefix are reserved for "
                                 "system use only. error: " +
                                     fault));
    }
  } else if (object["value"].AsInt() > kUserPriorityMax) {
    errors.push_back(Forbidden("value", "maximum allowed value of a user defined priority is " +
                                            std::to_string(kUserPriorityMax)));
  }
  if (!object["preemptionPolicy"].IsNull()) {
    Append(errors,
           ValidateChoice(object["preemptionPolicy"].AsString(), kPolicies, "preemptionPolicy"));
  }
  return errors;
}

ErrorList ValidatePriorityClassUpdate(const Context&, const Value& object, const Value& old) {
  ErrorList errors = MetaUpdateOf(object, old);
  if (object["value"].AsInt() != old["value"].AsInt()) {
    errors.push_back(Forbidden("value", "may not be changed in an update."));
  }
  Append(errors, ValidateImmutable(object["preemptionPolicy"], old["preemptionPolicy"],
                                   "preemptionPolicy"));
  return errors;
}

// --- Lease

ErrorList ValidateLeaseSpec(const Value& spec) {
  ErrorList errors;
  const Value& duration = spec["leaseDurationSeconds"];
  if (!duration.IsNull() && duration.AsInt() <= 0) {
    errors.push_back(
        Invalid("spec.leaseDurationSeconds", ShownInt(duration.AsInt()), "must be greater than 0"));
  }
  const Value& transitions = spec["leaseTransitions"];
  if (!transitions.IsNull() && transitions.AsInt() < 0) {
    errors.push_back(Invalid("spec.leaseTransitions", ShownInt(transitions.AsInt()),
                             "must be greater than or equal to 0"));
  }
  return errors;
}

const std::vector<GatedFields>& LeaseFields() {
  static const std::vector<GatedFields> rows = {
      {{"CoordinatedLeaderElection"}, {"spec.strategy", "spec.preferredHolder"}}};
  return rows;
}

void PrepareLeaseCreate(const Context& context, Value& lease) {
  DropDisabled(context, LeaseFields(), lease, nullptr);
}
void PrepareLeaseUpdate(const Context& context, Value& lease, const Value& old) {
  DropDisabled(context, LeaseFields(), lease, &old);
}
ErrorList ValidateLease(const Context&, const Value& lease) {
  ErrorList errors =
      ValidateObjectMeta(lease["metadata"], Scope::kNamespaced, NameIsDnsSubdomain, "metadata");
  Append(errors, ValidateLeaseSpec(lease["spec"]));
  return errors;
}
ErrorList ValidateLeaseUpdate(const Context&, const Value& lease, const Value& old) {
  ErrorList errors = ValidateObjectMetaUpdate(lease["metadata"], old["metadata"], "metadata");
  Append(errors, ValidateLeaseSpec(lease["spec"]));
  return errors;
}

constexpr std::string_view kStatus = "status";

// A definition starts with its storage version as the only one that objects may be stored in.
void PrepareDefinitionCreate(const Context& context, Value& definition) {
  ClearStatusAndStartGeneration(context, definition);
  for (const Value& version : definition["spec"]["versions"].Items()) {
    if (!version["storage"].AsBool()) continue;
    definition.Edit("status").Set("storedVersions", Value::Array({version["name"]}));
    return;
  }
}

ErrorList ValidateDefinition(const Context&, const Value& definition) {
  return ValidateCoreObjectMeta(definition["metadata"], Scope::kCluster, NameIsDnsSubdomain,
                                "metadata");
}

constexpr Strategy kRows[] = {
    {.group = "apiextensions.k8s.io",
     .kind = "CustomResourceDefinition",
     .scope = Scope::kCluster,
     .prepare_create = PrepareDefinitionCreate,
     .prepare_update = KeepStatusAndCountGeneration,
     .validate_create = ValidateDefinition,
     .reset_fields = "status"},
    {.group = kRbac,
     .kind = "Role",
     .allow_create_on_update = Rule::kYes,
     .validate_create = ValidateRole<Scope::kNamespaced>,
     .validate_update = ValidateRoleUpdate<Scope::kNamespaced>},
    {.group = kRbac,
     .kind = "ClusterRole",
     .scope = Scope::kCluster,
     .allow_create_on_update = Rule::kYes,
     .validate_create = ValidateRole<Scope::kCluster>,
     .validate_update = ValidateRoleUpdate<Scope::kCluster>},
    {.group = kRbac,
     .kind = "RoleBinding",
     .allow_create_on_update = Rule::kYes,
     .validate_create = ValidateBinding<Scope::kNamespaced>,
     .validate_update = ValidateBindingUpdate<Scope::kNamespaced>},
    {.group = kRbac,
     .kind = "ClusterRoleBinding",
     .scope = Scope::kCluster,
     .allow_create_on_update = Rule::kYes,
     .validate_create = ValidateBinding<Scope::kCluster>,
     .validate_update = ValidateBindingUpdate<Scope::kCluster>},
    {.group = "policy",
     .kind = "PodDisruptionBudget",
     .allow_unconditional_update = Never,
     .prepare_create = ClearStatusAndStartGeneration,
     .prepare_update = KeepStatusAndCountGeneration,
     .validate_create = ValidateBudget,
     .validate_update = ValidateBudgetUpdate,
     .reset_fields = kStatus},
    {.group = "policy",
     .kind = "PodDisruptionBudget",
     .subresource = kStatus,
     .allow_unconditional_update = Never,
     .prepare_update = KeepSpec,
     .validate_update = ValidateBudgetStatus,
     .reset_fields = "spec"},
    {.group = kScheduling,
     .kind = "PriorityClass",
     .scope = Scope::kCluster,
     .prepare_create = StartGeneration,
     .validate_create = ValidatePriorityClass,
     .validate_update = ValidatePriorityClassUpdate},
    {.group = "coordination.k8s.io",
     .kind = "Lease",
     .allow_create_on_update = Rule::kYes,
     .allow_unconditional_update = Never,
     .prepare_create = PrepareLeaseCreate,
     .prepare_update = PrepareLeaseUpdate,
     .validate_create = ValidateLease,
     .validate_update = ValidateLeaseUpdate},
};

}  // namespace

std::span<const Strategy> ClusterStrategies() { return kRows; }

}  // namespace drachma::validation
