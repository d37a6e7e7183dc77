#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "validation/drop_fields.h"
#include "validation/names.h"
#include "validation/object_meta.h"
#include "validation/strategy_tables.h"
#include "validation/workload_rules.h"

// Pod groups, composite ones and workloads: pkg/registry/scheduling and pkg/apis/scheduling of
// Kubernetes. Nearly all of their rules are declarative.
namespace drachma::validation {
namespace {

using json::Value;

constexpr std::string_view kScheduling = "scheduling.k8s.io";
constexpr std::string_view kStatus = "status";

ErrorList MetaUpdateOf(const Value& object, const Value& old) {
  return ValidateCoreObjectMetaUpdate(object["metadata"], old["metadata"], "metadata");
}

const std::vector<GatedFields>& PodGroupFields() {
  static const std::vector<GatedFields> rows = {
      {{"TopologyAwareWorkloadScheduling"}, {"spec.schedulingConstraints"}},
      {{"DRAWorkloadResourceClaims"}, {"spec.resourceClaims"}},
      {{"PodGroupPreemptionPolicy"}, {"spec.preemptionPolicy"}},
      {{"CompositePodGroup"}, {"spec.parentCompositePodGroupName"}},
  };
  return rows;
}
const std::vector<GatedFields>& PodGroupStatusFields() {
  static const std::vector<GatedFields> rows = {
      {{"DRAWorkloadResourceClaims"}, {"status.resourceClaimStatuses"}, {"spec.resourceClaims"}}};
  return rows;
}
const std::vector<GatedFields>& WorkloadFields() {
  static const std::vector<GatedFields> rows = {
      {{"TopologyAwareWorkloadScheduling"}, {"spec.podGroupTemplates[].schedulingConstraints"}},
      {{"DRAWorkloadResourceClaims"}, {"spec.podGroupTemplates[].resourceClaims"}},
      {{"PodGroupPreemptionPolicy"}, {"spec.podGroupTemplates[].preemptionPolicy"}},
      {{"CompositePodGroup"}, {"spec.compositePodGroupTemplates"}},
  };
  return rows;
}

void PreparePodGroupCreate(const Context& context, Value& group) {
  ClearStatus(context, group);
  DropDisabled(context, PodGroupFields(), group, nullptr);
}
void PreparePodGroupUpdate(const Context& context, Value& group, const Value& old) {
  KeepStatus(context, group, old);
  DropDisabled(context, PodGroupFields(), group, &old);
}
void PreparePodGroupStatusUpdate(const Context& context, Value& group, const Value& old) {
  KeepAllButStatus(context, group, old);
  DropDisabled(context, PodGroupStatusFields(), group, &old);
}
void PrepareWorkloadCreate(const Context& context, Value& workload) {
  DropDisabled(context, WorkloadFields(), workload, nullptr);
}
void PrepareWorkloadUpdate(const Context& context, Value& workload, const Value& old) {
  DropDisabled(context, WorkloadFields(), workload, &old);
}

const std::vector<GatedFields>& CompositeFields() {
  static const std::vector<GatedFields> rows = {
      {{"PodGroupPreemptionPolicy"}, {"spec.preemptionPolicy"}}};
  return rows;
}
void PrepareCompositeCreate(const Context& context, Value& group) {
  ClearStatus(context, group);
  DropDisabled(context, CompositeFields(), group, nullptr);
}
void PrepareCompositeUpdate(const Context& context, Value& group, const Value& old) {
  KeepStatus(context, group, old);
  DropDisabled(context, CompositeFields(), group, &old);
}

ErrorList ValidateGroupMeta(const Context&, const Value& object) {
  return ValidateCoreObjectMeta(object["metadata"], Scope::kNamespaced, NameIsDnsSubdomain,
                                "metadata");
}
ErrorList ValidatePodGroup(const Context& context, const Value& group) {
  ErrorList errors = ValidateGroupMeta(context, group);
  const Value& spec = group["spec"];
  if (!spec["parentCompositePodGroupName"].IsNull() && spec["workloadRef"].IsNull()) {
    FieldError missing =
        Required("spec.workloadRef", "must be set when parentCompositePodGroupName is set");
    missing.origin = "dependentRequired";
    Append(errors, Covered({std::move(missing)}));
  }
  return errors;
}
ErrorList UpdateMetaOnly(const Context&, const Value& object, const Value& old) {
  return MetaUpdateOf(object, old);
}
ErrorList ValidateCompositeStatus(const Context&, const Value& group, const Value& old) {
  ErrorList errors = MetaUpdateOf(group, old);
  Append(errors, ValidateConditions(group["status"]["conditions"], "status.conditions"));
  return errors;
}
ErrorList ValidatePodGroupStatus(const Context&, const Value& group, const Value& old) {
  ErrorList errors = MetaUpdateOf(group, old);
  Append(errors, ValidateConditions(group["status"]["conditions"], "status.conditions"));
  const auto statuses = group["status"]["resourceClaimStatuses"].Items();
  for (std::size_t i = 0; i < statuses.size(); ++i) {
    const std::string_view name = statuses[i]["name"].AsString();
    const bool known =
        std::ranges::any_of(group["spec"]["resourceClaims"].Items(),
                            [&](const Value& claim) { return claim["name"].AsString() == name; });
    if (known) continue;
    errors.push_back(Invalid(Child(Index("status.resourceClaimStatuses", i), "name"),
                             ShownText(name),
                             "must match the name of an entry in `spec.resourceClaims`"));
  }
  return errors;
}

// --- Workload: what its templates say together (ValidateWorkloadSpec).

constexpr std::string_view kGroups = "podGroupTemplates";
constexpr std::string_view kComposites = "compositePodGroupTemplates";
constexpr int kTemplateDepthMax = 4;  // WorkloadMaxTemplateDepth

// Names are unique over the whole tree; within one list the declarative rules say it.
class TemplateNames {
 public:
  explicit TemplateNames(const Value& spec) {
    for (const Value& group : spec[kGroups].Items()) seen_.emplace(group["name"].AsString());
    Composites(spec[kComposites], std::string(Child("spec", kComposites)));
  }
  [[nodiscard]] ErrorList errors() && { return std::move(errors_); }

 private:
  void List(const Value& list, const std::string& path) {
    std::set<std::string> own;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::string name(list.Items()[i]["name"].AsString());
      if (seen_.contains(name)) {
        errors_.push_back(Duplicate(Child(Index(path, i), "name"), ShownText(name)));
      }
      own.insert(name);
    }
    seen_.merge(own);
  }
  void Composites(const Value& list, const std::string& path) {
    List(list, path);
    for (std::size_t i = 0; i < list.size(); ++i) {
      const Value& composite = list.Items()[i];
      const std::string at = Index(path, i);
      List(composite[kGroups], Child(at, kGroups));
      Composites(composite[kComposites], Child(at, kComposites));
    }
  }

  std::set<std::string> seen_;
  ErrorList errors_;
};

int DepthOf(const Value& composite) {
  int deepest = 0;
  for (const Value& child : composite[kComposites].Items()) {
    deepest = std::max(deepest, DepthOf(child));
  }
  return deepest + 1;
}

// All templates name one priority.
class TemplatePriorities {
 public:
  bool Agree(const Value& groups) {
    return std::ranges::all_of(groups.Items(), [this](const Value& group) { return Same(group); });
  }
  bool AgreeBelow(const Value& composite) {
    return Same(composite) &&
           std::ranges::all_of(composite[kComposites].Items(),
                               [this](const Value& child) { return AgreeBelow(child); }) &&
           Agree(composite[kGroups]);
  }

 private:
  bool Same(const Value& part) {
    const auto own = std::pair(std::string(part["priorityClassName"].AsString()), part["priority"]);
    if (!first_) first_ = own;
    return *first_ == own;
  }
  std::optional<std::pair<std::string, Value>> first_;
};

void NeedChildren(const Value& composite, const std::string& path, ErrorList& errors) {
  const Value& children = composite[kComposites];
  if (composite[kGroups].empty() && children.empty()) {
    errors.push_back(Invalid(path, ShownText(composite["name"].AsString()),
                             "must have at least one child PodGroupTemplate or "
                             "CompositePodGroupTemplate"));
  }
  for (std::size_t i = 0; i < children.size(); ++i) {
    NeedChildren(children.Items()[i], Index(Child(path, kComposites), i), errors);
  }
}

ErrorList ValidateWorkloadSpec(const Value& spec) {
  ErrorList errors = TemplateNames(spec).errors();
  const auto composites = spec[kComposites].Items();
  const std::string path = Child("spec", kComposites);
  for (std::size_t i = 0; i < composites.size(); ++i) {
    if (DepthOf(composites[i]) < kTemplateDepthMax) continue;
    errors.push_back(
        Invalid(Index(path, i), Shown(composites[i][kComposites]),
                "maximum template hierarchy depth is " + std::to_string(kTemplateDepthMax)));
  }
  TemplatePriorities priorities;
  if (!priorities.Agree(spec[kGroups])) {
    errors.push_back(Invalid("spec", "null", "detected multiple priority configurations"));
  } else if (!std::ranges::all_of(composites, [&priorities](const Value& composite) {
               return priorities.AgreeBelow(composite);
             })) {
    errors.push_back(Invalid("spec", "null",
                             "all priority and priorityClassName values must be identical, "
                             "detected multiple values"));
  }
  for (std::size_t i = 0; i < composites.size(); ++i) {
    NeedChildren(composites[i], Index(path, i), errors);
  }
  return errors;
}

ErrorList ValidateWorkload(const Context& context, const Value& workload) {
  ErrorList errors = ValidateGroupMeta(context, workload);
  Append(errors, ValidateWorkloadSpec(workload["spec"]));
  return errors;
}
ErrorList ValidateWorkloadUpdate(const Context&, const Value& workload, const Value& old) {
  ErrorList errors = MetaUpdateOf(workload, old);
  Append(errors, ValidateWorkloadSpec(workload["spec"]));
  return errors;
}

constexpr Strategy kRows[] = {
    {.group = kScheduling,
     .kind = "PodGroup",
     .allow_unconditional_update = Never,
     .prepare_create = PreparePodGroupCreate,
     .prepare_update = PreparePodGroupUpdate,
     .validate_create = ValidatePodGroup,
     .validate_update = UpdateMetaOnly,
     .reset_fields = kStatus},
    {.group = kScheduling,
     .kind = "PodGroup",
     .subresource = kStatus,
     .allow_unconditional_update = Never,
     .prepare_update = PreparePodGroupStatusUpdate,
     .validate_update = ValidatePodGroupStatus,
     .reset_fields = "metadata,spec"},
    {.group = kScheduling,
     .kind = "Workload",
     .allow_unconditional_update = Never,
     .prepare_create = PrepareWorkloadCreate,
     .prepare_update = PrepareWorkloadUpdate,
     .validate_create = ValidateWorkload,
     .validate_update = ValidateWorkloadUpdate},
    {.group = kScheduling,
     .kind = "CompositePodGroup",
     .allow_unconditional_update = Never,
     .prepare_create = PrepareCompositeCreate,
     .prepare_update = PrepareCompositeUpdate,
     .validate_create = ValidateGroupMeta,
     .validate_update = UpdateMetaOnly,
     .reset_fields = kStatus},
    {.group = kScheduling,
     .kind = "CompositePodGroup",
     .subresource = kStatus,
     .allow_unconditional_update = Never,
     .prepare_update = KeepAllButStatus,
     .validate_update = ValidateCompositeStatus,
     .reset_fields = "metadata,spec"},
};

}  // namespace

std::span<const Strategy> SchedulingStrategies() { return kRows; }

}  // namespace drachma::validation
