#include "validation/workload_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "api/selectors.h"
#include "validation/names.h"
#include "validation/object_meta.h"
#include "validation/pod_rules.h"

namespace drachma::validation {
namespace {

using json::Value;

std::string ShownOrNull(const Value& value) { return value.IsNull() ? "null" : Shown(value); }

// The number of an IntOrString, percent signs aside; and whether it is a percentage.
std::optional<std::int64_t> PercentOf(const Value& value) {
  if (!value.IsString() || !IsPercent(value.AsString()).empty()) return std::nullopt;
  const std::string digits(value.AsString().substr(0, value.AsString().size() - 1));
  return digits.size() > 9 ? std::int64_t{1'000'000'000} : std::stoll(digits);
}
std::int64_t NumberOf(const Value& value) {
  if (value.IsString()) return PercentOf(value).value_or(0);
  return value.AsInt();
}

// A selector that must be there and select something; false when templates cannot be held
// against it.
ErrorList ValidateSelector(const Value& selector, const char* empty_text, const std::string& path) {
  if (selector.IsNull()) return {Required(path)};
  ErrorList errors = ValidateLabelSelector(selector, path);
  if (selector["matchLabels"].empty() && selector["matchExpressions"].empty()) {
    errors.push_back(Invalid(path, Shown(selector), empty_text));
  }
  return errors;
}

ErrorList ValidateSelected(const Value& selector, const Value& pod_template,
                           const std::string& path) {
  const Value& labels = pod_template["metadata"]["labels"];
  const auto parsed = api::LabelSelector::FromObject(selector);
  if (!parsed || parsed->empty() || parsed->Matches(labels)) return {};
  return {Invalid(Child(path, "metadata.labels"), ShownOrNull(labels),
                  "`selector` does not match template `labels`")};
}

// Pods of these kinds are restarted for ever.
ErrorList ValidateAlwaysRunning(const Value& pod_template, std::string_view kind,
                                const std::string& path) {
  static constexpr std::array<std::string_view, 1> kAlways = {"Always"};
  ErrorList errors;
  const std::string_view policy = pod_template["spec"]["restartPolicy"].AsString();
  if (policy != "Always") {
    errors.push_back(NotSupported(Child(path, "spec.restartPolicy"), ShownNamed(policy), kAlways));
  }
  if (!pod_template["spec"]["activeDeadlineSeconds"].IsNull()) {
    errors.push_back(Forbidden(Child(path, "spec.activeDeadlineSeconds"),
                               fmt::format("activeDeadlineSeconds in {} is not Supported", kind)));
  }
  return errors;
}

// Whether the selector can be made out: pods can be held against it.
bool IsReadable(const Value& selector) {
  return api::LabelSelector::FromObject(selector).has_value();
}

ErrorList ValidateReplicaTemplate(const Value& spec, std::string_view kind) {
  if (!IsReadable(spec["selector"])) {
    return {Invalid("spec.selector", Shown(spec["selector"]), "invalid label selector")};
  }
  const Value& pod_template = spec["template"];
  ErrorList errors = ValidateSelected(spec["selector"], pod_template, "spec.template");
  Append(errors, ValidatePodTemplate(pod_template, "spec.template"));
  Append(errors, ValidateAlwaysRunning(pod_template, kind, "spec.template"));
  return errors;
}

ErrorList NonNegativeFields(const Value& holder, std::span<const std::string_view> fields,
                            const std::string& path) {
  ErrorList errors;
  for (const std::string_view field : fields) {
    if (holder[field].IsNull()) continue;
    Append(errors, ValidateNonNegative(holder[field].AsInt(), Child(path, field)));
  }
  return errors;
}

// An update strategy of any of the kinds, as upstream's internal type shows itself.
std::string ShownStrategy(const Value& strategy, std::span<const std::string_view> rolling_fields) {
  static constexpr std::array<std::string_view, 2> kFields = {"type", "rollingUpdate"};
  Value internal = Internal(strategy, kFields);
  internal.Set("RollingUpdate", Internal(strategy["rollingUpdate"], rolling_fields));
  return Shown(internal);
}

constexpr std::array<std::string_view, 2> kRollingFields = {"maxUnavailable", "maxSurge"};
constexpr std::array<std::string_view, 2> kStatefulRollingFields = {"partition", "maxUnavailable"};

ErrorList ValidateDeploymentStrategy(const Value& strategy) {
  static constexpr std::array<std::string_view, 2> kTypes = {"Recreate", "RollingUpdate"};
  const std::string path = "spec.strategy";
  const Value& rolling = strategy["rollingUpdate"];
  const std::string rolling_path = Child(path, "rollingUpdate");
  const std::string_view type = strategy["type"].AsString();
  if (type == "Recreate") {
    if (rolling.IsNull()) return {};
    return {Forbidden(rolling_path, "may not be specified when strategy `type` is 'Recreate'")};
  }
  if (type != "RollingUpdate")
    return {NotSupported(path, ShownStrategy(strategy, kRollingFields), kTypes)};
  if (rolling.IsNull()) {
    return {Required(rolling_path, "this should be defaulted and never be nil")};
  }
  const Value& unavailable = rolling["maxUnavailable"];
  const std::string unavailable_path = Child(rolling_path, "maxUnavailable");
  ErrorList errors = ValidateIntOrPercent(unavailable, unavailable_path);
  Append(errors, ValidateIntOrPercent(rolling["maxSurge"], Child(rolling_path, "maxSurge")));
  if (NumberOf(unavailable) == 0 && NumberOf(rolling["maxSurge"]) == 0) {
    errors.push_back(
        Invalid(unavailable_path, ShownOrNull(unavailable), "may not be 0 when `maxSurge` is 0"));
  }
  Append(errors, ValidateAtMost100Percent(unavailable, unavailable_path));
  return errors;
}

ErrorList ValidateStatefulSetStrategy(const Value& strategy) {
  const std::string path = "spec.updateStrategy";
  const std::string_view type = strategy["type"].AsString();
  const Value& rolling = strategy["rollingUpdate"];
  if (type.empty()) return {Required(path)};
  if (type == "OnDelete") {
    if (rolling.IsNull()) return {};
    return {Invalid(Child(path, "rollingUpdate"), Shown(Internal(rolling, kStatefulRollingFields)),
                    "only allowed for updateStrategy 'RollingUpdate'")};
  }
  if (type != "RollingUpdate") {
    return {Invalid(path, ShownStrategy(strategy, kStatefulRollingFields),
                    "must be 'RollingUpdate' or 'OnDelete'")};
  }
  return ValidateNonNegative(rolling["partition"].AsInt(), Child(path, "rollingUpdate.partition"));
}

ErrorList ValidateClaimRetention(const Value& policy) {
  static constexpr std::array<std::string_view, 2> kPolicies = {"Retain", "Delete"};
  const std::string path = "spec.persistentVolumeClaimRetentionPolicy";
  ErrorList errors;
  if (policy.IsNull()) return errors;
  for (const std::string_view field : {"whenDeleted", "whenScaled"}) {
    const std::string_view value = policy[field].AsString();
    if (std::ranges::find(kPolicies, value) != kPolicies.end()) continue;
    errors.push_back(NotSupported(Child(path, field), ShownNamed(value), kPolicies));
  }
  return errors;
}

ErrorList ValidateDaemonSetStrategy(const Value& strategy) {
  static constexpr std::array<std::string_view, 2> kTypes = {"RollingUpdate", "OnDelete"};
  const std::string path = "spec.updateStrategy";
  const std::string_view type = strategy["type"].AsString();
  if (type == "OnDelete") return {};
  if (type != "RollingUpdate")
    return {NotSupported(path, ShownStrategy(strategy, kRollingFields), kTypes)};
  const Value& rolling = strategy["rollingUpdate"];
  const std::string rolling_path = Child(path, "rollingUpdate");
  if (rolling.IsNull()) return {Required(rolling_path)};
  const Value& unavailable = rolling["maxUnavailable"];
  const Value& surge = rolling["maxSurge"];
  const std::string unavailable_path = Child(rolling_path, "maxUnavailable");
  const std::string surge_path = Child(rolling_path, "maxSurge");
  ErrorList errors = ValidateIntOrPercent(unavailable, unavailable_path);
  Append(errors, ValidateIntOrPercent(surge, surge_path));
  Append(errors, ValidateAtMost100Percent(unavailable, unavailable_path));
  Append(errors, ValidateAtMost100Percent(surge, surge_path));
  const bool any_unavailable = NumberOf(unavailable) != 0;
  const bool any_surge = NumberOf(surge) != 0;
  if (any_unavailable && any_surge) {
    errors.push_back(
        Invalid(surge_path, ShownOrNull(surge), "may not be set when maxUnavailable is non-zero"));
  } else if (!any_unavailable && !any_surge) {
    errors.push_back(Required(unavailable_path, "cannot be 0 when maxSurge is 0"));
  }
  return errors;
}

}  // namespace

ErrorList ValidateIntOrPercent(const Value& value, const std::string& path) {
  if (!value.IsString()) return ValidateNonNegative(value.AsInt(), path);
  return InvalidEach(path, value.AsString(), IsPercent(value.AsString()));
}

ErrorList ValidateAtMost100Percent(const Value& value, const std::string& path) {
  const auto percent = PercentOf(value);
  if (!percent || *percent <= 100) return {};
  return {Invalid(path, Shown(value), "must not be greater than 100%")};
}

ErrorList ValidateDeploymentSpec(const Value& spec) {
  static constexpr std::array<std::string_view, 2> kBefore = {"replicas"};
  static constexpr std::array<std::string_view, 3> kNumbers = {
      "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"};
  ErrorList errors = NonNegativeFields(spec, std::span(kBefore).first(1), "spec");
  Append(errors, ValidateSelector(spec["selector"], "empty selector is invalid for deployment",
                                  "spec.selector"));
  Append(errors, ValidateReplicaTemplate(spec, "ReplicaSet"));
  Append(errors, ValidateDeploymentStrategy(spec["strategy"]));
  Append(errors, NonNegativeFields(spec, kNumbers, "spec"));
  const Value& deadline = spec["progressDeadlineSeconds"];
  if (!deadline.IsNull() && deadline.AsInt() <= spec["minReadySeconds"].AsInt()) {
    errors.push_back(Invalid("spec.progressDeadlineSeconds", ShownInt(deadline.AsInt()),
                             "must be greater than minReadySeconds"));
  }
  return errors;
}

ErrorList ValidateReplicaSetSpec(const Value& spec) {
  static constexpr std::array<std::string_view, 2> kNumbers = {"replicas", "minReadySeconds"};
  ErrorList errors = NonNegativeFields(spec, kNumbers, "spec");
  Append(errors, ValidateSelector(spec["selector"], "empty selector is invalid for deployment",
                                  "spec.selector"));
  Append(errors, ValidateReplicaTemplate(spec, "ReplicaSet"));
  return errors;
}

// The volumes of a pod of a StatefulSet: those of its claims stand before the template's and
// replace them.
Value VolumesWithClaims(const Value& spec) {
  Value volumes = Value::Array();
  const auto named = [&](const Value& name) {
    return std::ranges::any_of(volumes.Items(),
                               [&](const Value& volume) { return volume["name"] == name; });
  };
  for (const Value& claim : spec["volumeClaimTemplates"].Items()) {
    const std::string name(claim["metadata"]["name"].AsString());
    if (named(name)) continue;
    volumes.Append(Value::Object(
        {{"name", name}, {"persistentVolumeClaim", Value::Object({{"claimName", name}})}}));
  }
  const std::size_t of_claims = volumes.size();
  for (const Value& volume : spec["template"]["spec"]["volumes"].Items()) {
    const auto claims = volumes.Items().first(of_claims);
    const bool replaced = std::ranges::any_of(
        claims, [&](const Value& claim) { return claim["name"] == volume["name"]; });
    if (!replaced) volumes.Append(volume);
  }
  return volumes;
}

ErrorList ValidateStatefulSetSpec(const Value& spec) {
  static constexpr std::array<std::string_view, 2> kNumbers = {"replicas", "minReadySeconds"};
  ErrorList errors;
  const std::string_view policy = spec["podManagementPolicy"].AsString();
  if (policy.empty()) {
    errors.push_back(Required("spec.podManagementPolicy"));
  } else if (policy != "OrderedReady" && policy != "Parallel") {
    errors.push_back(Invalid("spec.podManagementPolicy", ShownNamed(policy),
                             "must be 'OrderedReady' or 'Parallel'"));
  }
  Append(errors, ValidateStatefulSetStrategy(spec["updateStrategy"]));
  Append(errors, ValidateClaimRetention(spec["persistentVolumeClaimRetentionPolicy"]));
  Append(errors, NonNegativeFields(spec, kNumbers, "spec"));
  if (!spec["ordinals"].IsNull()) {
    Append(errors, ValidateNonNegative(spec["ordinals"]["start"].AsInt(), "spec.ordinals.start"));
  }
  if (const std::string_view service = spec["serviceName"].AsString(); !service.empty()) {
    Append(errors, ValidateDnsLabelAt(service, "spec.serviceName"));
  }
  Append(errors, ValidateSelector(spec["selector"], "empty selector is invalid for statefulset",
                                  "spec.selector"));
  if (!IsReadable(spec["selector"])) {
    errors.push_back(Invalid("spec.selector", Shown(spec["selector"]), ""));
    Append(errors, ValidateAlwaysRunning(spec["template"], "StatefulSet", "spec.template"));
    return errors;
  }
  // The controller fills these in for each pod.
  Value pod_template = spec["template"];
  if (!pod_template["spec"].IsNull()) {
    Value& pod = pod_template.Edit("spec");
    pod.Erase("subdomain");
    pod.Erase("hostname");
    if (!spec["volumeClaimTemplates"].empty()) pod.Set("volumes", VolumesWithClaims(spec));
  }
  Append(errors, ValidateSelected(spec["selector"], pod_template, "spec.template"));
  Append(errors, ValidatePodTemplate(pod_template, "spec.template"));
  Append(errors, ValidateAlwaysRunning(spec["template"], "StatefulSet", "spec.template"));
  return errors;
}

ErrorList ValidateDaemonSetSpec(const Value& spec) {
  static constexpr std::array<std::string_view, 1> kReady = {"minReadySeconds"};
  static constexpr std::array<std::string_view, 1> kHistory = {"revisionHistoryLimit"};
  ErrorList errors = ValidateLabelSelector(spec["selector"], "spec.selector");
  Append(errors, ValidateSelected(spec["selector"], spec["template"], "spec.template"));
  const Value& selector = spec["selector"];
  if (!selector.IsNull() && selector["matchLabels"].empty() &&
      selector["matchExpressions"].empty()) {
    errors.push_back(
        Invalid("spec.selector", Shown(selector), "empty selector is invalid for daemonset"));
  }
  Append(errors, ValidatePodTemplate(spec["template"], "spec.template"));
  Append(errors, ValidateAlwaysRunning(spec["template"], "DaemonSet", "spec.template"));
  Append(errors, NonNegativeFields(spec, kReady, "spec"));
  Append(errors, ValidateDaemonSetStrategy(spec["updateStrategy"]));
  Append(errors, NonNegativeFields(spec, kHistory, "spec"));
  return errors;
}

}  // namespace drachma::validation
