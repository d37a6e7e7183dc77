#include <array>
#include <string>
#include <vector>

#include "validation/admission_rules.h"
#include "validation/limit_range.h"
#include "validation/names.h"
#include "validation/object_meta.h"
#include "validation/strategy_tables.h"

// What admission goes by: policies with their bindings, and limit ranges. What a policy's
// expressions must be is for who compiles them (apiserver's policy_rules).
namespace drachma::validation {
namespace {

using json::Value;

constexpr std::string_view kGroup = "admissionregistration.k8s.io";

ErrorList ValidateMeta(const Value& object) {
  return ValidateObjectMeta(object["metadata"], Scope::kCluster, NameIsDnsSubdomain, "metadata");
}

// Names of policies that the API server reads from files.
ErrorList ValidateSuffix(const Value& object) {
  constexpr std::string_view kSuffix = ".static.k8s.io";
  const std::string_view name = object["metadata"]["name"].AsString();
  if (!name.ends_with(kSuffix)) return {};
  return {Invalid("metadata.name", ShownText(name),
                  "names ending with \".static.k8s.io\" are reserved for static manifest-based "
                  "configurations and cannot be managed via the API")};
}

ErrorList CreatePolicy(const Context&, const Value& object) {
  ErrorList errors = ValidateMeta(object);
  Append(errors, ValidateSuffix(object));
  return errors;
}
ErrorList UpdatePolicy(const Context&, const Value& object, const Value&) {
  return ValidateMeta(object);
}

ErrorList UpdateMutatingBinding(const Context&, const Value& object, const Value&) {
  ErrorList errors = ValidateMeta(object);
  Append(errors, ValidateMutatingBindingSpec(object["spec"], "spec"));
  return errors;
}
ErrorList CreateMutatingBinding(const Context& context, const Value& object) {
  ErrorList errors = UpdateMutatingBinding(context, object, object);
  Append(errors, ValidateSuffix(object));
  return errors;
}

ErrorList UpdateBinding(const Context&, const Value& object, const Value&) {
  ErrorList errors = ValidateMeta(object);
  Append(errors, ValidatePolicyBindingSpec(object["spec"], "spec"));
  return errors;
}
ErrorList CreateBinding(const Context& context, const Value& object) {
  ErrorList errors = UpdateBinding(context, object, object);
  Append(errors, ValidateSuffix(object));
  return errors;
}

std::vector<std::string> WarnOfSuffix(const Context&, const Value& object, const Value&) {
  std::vector<std::string> warnings;
  for (const FieldError& error : ValidateSuffix(object)) {
    warnings.push_back(error.path + ": " + error.detail);
  }
  return warnings;
}

ErrorList CreateLimitRange(const Context&, const Value& object) {
  ErrorList errors = ValidateCoreObjectMeta(object["metadata"], Scope::kNamespaced,
                                            NameIsDnsSubdomain, "metadata");
  Append(errors, ValidateLimits(object["spec"]["limits"], "spec.limits"));
  return errors;
}
ErrorList UpdateLimitRange(const Context& context, const Value& object, const Value&) {
  return CreateLimitRange(context, object);
}
void NameLimitRange(const Context& context, Value& object) {
  const bool named = !object["metadata"]["name"].AsString().empty();
  if (!named && context.new_uid) object.Edit("metadata").Set("name", context.new_uid());
}

constexpr auto kStrategies = std::to_array<Strategy>({
    {.group = kGroup,
     .kind = "ValidatingAdmissionPolicy",
     .scope = Scope::kCluster,
     .allow_unconditional_update = Never,
     .prepare_create = ClearStatusAndStartGeneration,
     .prepare_update = KeepStatusAndCountGeneration,
     .validate_create = CreatePolicy,
     .validate_update = UpdatePolicy,
     .warn_update = WarnOfSuffix,
     .reset_fields = "status"},
    {.group = kGroup,
     .kind = "ValidatingAdmissionPolicyBinding",
     .scope = Scope::kCluster,
     .allow_unconditional_update = Never,
     .prepare_create = StartGeneration,
     .prepare_update = CountGeneration,
     .validate_create = CreateBinding,
     .validate_update = UpdateBinding,
     .warn_update = WarnOfSuffix},
    {.group = kGroup,
     .kind = "MutatingAdmissionPolicy",
     .scope = Scope::kCluster,
     .allow_unconditional_update = Never,
     .prepare_create = StartGeneration,
     .prepare_update = CountGeneration,
     .validate_create = CreatePolicy,
     .validate_update = UpdatePolicy,
     .warn_update = WarnOfSuffix},
    {.group = kGroup,
     .kind = "MutatingAdmissionPolicyBinding",
     .scope = Scope::kCluster,
     .allow_unconditional_update = Never,
     .prepare_create = StartGeneration,
     .prepare_update = CountGeneration,
     .validate_create = CreateMutatingBinding,
     .validate_update = UpdateMutatingBinding,
     .warn_update = WarnOfSuffix},
    {.group = "",
     .kind = "LimitRange",
     .scope = Scope::kNamespaced,
     .allow_create_on_update = Rule::kYes,
     .prepare_create = NameLimitRange,
     .validate_create = CreateLimitRange,
     .validate_update = UpdateLimitRange},
});

}  // namespace

std::span<const Strategy> AdmissionStrategies() { return kStrategies; }

}  // namespace drachma::validation
