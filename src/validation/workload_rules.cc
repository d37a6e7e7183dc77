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

ErrorList ValidateReplicaTemplate(const Value& spec, std::string_view kind) {
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

// How many pods an indexed job may have.
ErrorList ValidateCompletionMode(const Value& spec, const std::string& path) {
  static constexpr std::array<std::string_view, 2> kModes = {"NonIndexed", "Indexed"};
  constexpr std::int64_t kIndexedMax = 100'000;
  ErrorList errors;
  const std::string_view mode = spec["completionMode"].AsString("NonIndexed");
  if (mode != kModes[0] && mode != kModes[1]) {
    errors.push_back(NotSupported(Child(path, "completionMode"), ShownNamed(mode), kModes));
  }
  const auto too_many = [&](std::string_view field, std::int64_t max, const std::string& detail) {
    if (spec[field].AsInt() <= max) return;
    errors.push_back(Invalid(Child(path, field), ShownInt(spec[field].AsInt()), detail));
  };
  if (mode == "Indexed") {
    if (spec["completions"].IsNull()) {
      errors.push_back(Required(Child(path, "completions"), "when completion mode is Indexed"));
    }
    too_many("parallelism", kIndexedMax,
             fmt::format("must be less than or equal to {} when completion mode is Indexed",
                         kIndexedMax));
    if (!spec["completions"].IsNull()) {
      too_many("maxFailedIndexes", spec["completions"].AsInt(),
               "must be less than or equal to completions");
    }
    too_many("maxFailedIndexes", kIndexedMax,
             fmt::format("must be less than or equal to {}", kIndexedMax));
    return errors;
  }
  for (const std::string_view field : {"backoffLimitPerIndex", "maxFailedIndexes"}) {
    if (spec[field].IsNull()) continue;
    errors.push_back(Invalid(Child(path, field), ShownInt(spec[field].AsInt()),
                             "requires indexed completion mode"));
  }
  if (!spec["successPolicy"].IsNull()) {
    errors.push_back(Invalid(Child(path, "successPolicy"), Shown(spec["successPolicy"]),
                             "requires indexed completion mode"));
  }
  return errors;
}

ErrorList ValidateHasLabel(const Value& meta, std::string_view key, std::string_view expected) {
  const std::string path = Key("spec.template.metadata.labels", key);
  const Value* label = meta["labels"].Find(key);
  if (label == nullptr) {
    return {Required("spec.template.metadata.labels", fmt::format("must be '{}'", expected))};
  }
  if (label->AsString() == expected) return {};
  return {Invalid("spec.template.metadata.labels", ShownOrNull(meta["labels"]),
                  fmt::format("must be '{}'", expected))};
}

ErrorList ValidateGeneratedSelector(const Value& job) {
  const Value& spec = job["spec"];
  if (spec["manualSelector"].AsBool() || spec["selector"].IsNull()) return {};
  const std::string_view uid = job["metadata"]["uid"].AsString();
  const std::string_view name = job["metadata"]["name"].AsString();
  ErrorList errors;
  Value expected;
  for (const auto& [key, value] : {std::pair{"controller-uid", uid}, std::pair{"job-name", name},
                                   std::pair{"batch.kubernetes.io/controller-uid", uid},
                                   std::pair{"batch.kubernetes.io/job-name", name}}) {
    Append(errors, ValidateHasLabel(spec["template"]["metadata"], key, value));
    expected.Set(key, value);
  }
  const auto selector = api::LabelSelector::FromObject(spec["selector"]);
  if (selector && !selector->Matches(expected)) {
    errors.push_back(
        Invalid("spec.selector", Shown(spec["selector"]), "`selector` not auto-generated"));
  }
  return errors;
}

// Whether each part of a cron schedule has a form that the parser takes: numbers, ranges, steps and
// lists within the bounds of the field, or names of months and days.
struct CronField {
  std::string_view name;
  int min;
  int max;
  std::string_view names;  // separated by spaces, the first is `min`
};
constexpr std::array<CronField, 5> kCronFields = {{
    {"minute", 0, 59, ""},
    {"hour", 0, 23, ""},
    {"dom", 1, 31, ""},
    {"month", 1, 12, "jan feb mar apr may jun jul aug sep oct nov dec"},
    {"dow", 0, 6, "sun mon tue wed thu fri sat"},
}};

std::optional<int> CronNumber(std::string_view text, const CronField& field, std::string& fault) {
  const auto names = Split(field.names, ' ');
  const std::string lower = AsciiLower(text);
  const auto found = std::ranges::find(names, std::string_view(lower));
  if (!field.names.empty() && found != names.end()) {
    return field.min + static_cast<int>(found - names.begin());
  }
  const bool digits = !text.empty() && text.size() < 9 &&
                      std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  if (!digits) {
    fault = fmt::format("failed to parse int from {}: strconv.Atoi: parsing {}: invalid syntax",
                        text, ShownText(text));
    return std::nullopt;
  }
  return std::stoi(std::string(text));
}

std::string CronRangeFault(std::string_view text, const CronField& field) {
  const auto step_parts = Split(text, '/');
  const auto bounds = Split(step_parts[0], '-');
  if (step_parts.size() > 2) return fmt::format("too many slashes: {}", text);
  if (bounds.size() > 2) return fmt::format("too many hyphens: {}", text);
  std::string fault;
  int first = field.min;
  int last = field.max;
  if (bounds[0] != "*" && bounds[0] != "?") {
    const auto low = CronNumber(bounds[0], field, fault);
    if (!low) return fault;
    first = *low;
    last = first;
    if (bounds.size() == 2) {
      const auto high = CronNumber(bounds[1], field, fault);
      if (!high) return fault;
      last = *high;
    } else if (step_parts.size() == 2) {
      last = field.max;
    }
  }
  int step = 1;
  if (step_parts.size() == 2) {
    const auto number = CronNumber(step_parts[1], {field.name, 0, 0, ""}, fault);
    if (!number) return fault;
    step = *number;
  }
  if (first < field.min) {
    return fmt::format("beginning of range ({}) below minimum ({}): {}", first, field.min, text);
  }
  if (last > field.max) {
    return fmt::format("end of range ({}) above maximum ({}): {}", last, field.max, text);
  }
  if (first > last) {
    return fmt::format("beginning of range ({}) beyond end of range ({}): {}", first, last, text);
  }
  if (step == 0) return fmt::format("step of range should be a positive number: {}", text);
  return {};
}

// What robfig/cron's standard parser says about a schedule; empty when it is good.
std::string ScheduleFault(std::string_view schedule) {
  static constexpr std::array<std::string_view, 7> kDescriptors = {
      "@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"};
  for (const std::string_view zone : {"TZ=", "CRON_TZ="}) {
    if (schedule.starts_with(zone)) {
      const std::size_t space = schedule.find(' ');
      schedule = space == std::string_view::npos ? "" : schedule.substr(space + 1);
    }
  }
  if (schedule.starts_with('@')) {
    if (std::ranges::find(kDescriptors, schedule) != kDescriptors.end() ||
        schedule.starts_with("@every ")) {
      return {};
    }
    return fmt::format("unrecognized descriptor: {}", schedule);
  }
  std::vector<std::string_view> fields;
  for (const std::string_view field : Split(schedule, ' ')) {
    if (!field.empty()) fields.push_back(field);
  }
  if (fields.size() != kCronFields.size()) {
    return fmt::format("expected exactly 5 fields, found {}: [{}]", fields.size(),
                       fmt::join(fields, " "));
  }
  for (std::size_t i = 0; i < fields.size(); ++i) {
    for (const std::string_view range : Split(fields[i], ',')) {
      if (range.empty()) continue;
      std::string fault = CronRangeFault(range, kCronFields[i]);
      if (!fault.empty()) return fault;
    }
  }
  return {};
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
  Append(errors, NonNegativeFields(spec, kNumbers, "spec"));
  if (!spec["ordinals"].IsNull()) {
    Append(errors, ValidateNonNegative(spec["ordinals"]["start"].AsInt(), "spec.ordinals.start"));
  }
  if (const std::string_view service = spec["serviceName"].AsString(); !service.empty()) {
    Append(errors, ValidateDnsLabelAt(service, "spec.serviceName"));
  }
  Append(errors, ValidateSelector(spec["selector"], "empty selector is invalid for statefulset",
                                  "spec.selector"));
  // The controller fills these in for each pod.
  Value pod_template = spec["template"];
  if (!pod_template["spec"].IsNull()) {
    Value& pod = pod_template.Edit("spec");
    pod.Erase("subdomain");
    pod.Erase("hostname");
    for (const Value& claim : spec["volumeClaimTemplates"].Items()) {
      const std::string name(claim["metadata"]["name"].AsString());
      pod.Edit("volumes").Append(Value::Object(
          {{"name", name}, {"persistentVolumeClaim", Value::Object({{"claimName", name}})}}));
    }
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

ErrorList ValidateJobSpec(const Value& spec, const std::string& path) {
  static constexpr std::array<std::string_view, 7> kNumbers = {"parallelism",
                                                               "completions",
                                                               "activeDeadlineSeconds",
                                                               "backoffLimit",
                                                               "ttlSecondsAfterFinished",
                                                               "backoffLimitPerIndex",
                                                               "maxFailedIndexes"};
  static constexpr std::array<std::string_view, 2> kPolicies = {"OnFailure", "Never"};
  ErrorList errors = NonNegativeFields(spec, kNumbers, path);
  if (!spec["maxFailedIndexes"].IsNull() && spec["backoffLimitPerIndex"].IsNull()) {
    errors.push_back(
        Required(Child(path, "backoffLimitPerIndex"), "when maxFailedIndexes is specified"));
  }
  Append(errors, ValidateCompletionMode(spec, path));
  Append(errors, ValidatePodTemplate(spec["template"], Child(path, "template")));
  const std::string_view policy = spec["template"]["spec"]["restartPolicy"].AsString();
  const std::string policy_path = Child(path, "template.spec.restartPolicy");
  if (policy.empty() || policy == "Always") {
    errors.push_back(Required(policy_path, "valid values: \"OnFailure\", \"Never\""));
  } else if (policy != "OnFailure" && policy != "Never") {
    errors.push_back(NotSupported(policy_path, ShownNamed(policy), kPolicies));
  } else if (!spec["podFailurePolicy"].IsNull() && policy != "Never") {
    errors.push_back(Invalid(policy_path, ShownNamed(policy),
                             "only \"Never\" is supported when podFailurePolicy is specified"));
  }
  return errors;
}

ErrorList ValidateJob(const Value& job) {
  const Value& spec = job["spec"];
  ErrorList errors = ValidateGeneratedSelector(job);
  Append(errors, ValidateJobSpec(spec, "spec"));
  if (spec["selector"].IsNull()) {
    errors.push_back(Required("spec.selector"));
  } else {
    Append(errors, ValidateLabelSelector(spec["selector"], "spec.selector"));
  }
  const auto selector = api::LabelSelector::FromObject(spec["selector"]);
  const Value& labels = spec["template"]["metadata"]["labels"];
  if (selector && !selector->Matches(labels)) {
    errors.push_back(Invalid("spec.template.metadata.labels", ShownOrNull(labels),
                             "`selector` does not match template `labels`"));
  }
  return errors;
}

ErrorList ValidateCronJobSpec(const Value& spec) {
  static constexpr std::array<std::string_view, 3> kPolicies = {"Allow", "Forbid", "Replace"};
  static constexpr std::array<std::string_view, 2> kHistory = {"successfulJobsHistoryLimit",
                                                               "failedJobsHistoryLimit"};
  static constexpr std::array<std::string_view, 1> kDeadline = {"startingDeadlineSeconds"};
  static constexpr std::array<std::string_view, 2> kManual = {"nil", "false"};
  ErrorList errors;
  const std::string_view schedule = spec["schedule"].AsString();
  if (schedule.empty()) {
    Append(errors, Covered({Required("spec.schedule")}));
  } else {
    if (std::string fault = ScheduleFault(schedule); !fault.empty()) {
      errors.push_back(Invalid("spec.schedule", ShownText(schedule), std::move(fault)));
    }
    if (schedule.contains("TZ")) {
      errors.push_back(Invalid("spec.schedule", ShownText(schedule),
                               "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"));
    }
  }
  Append(errors, NonNegativeFields(spec, kDeadline, "spec"));
  Append(errors,
         ValidateChoice(spec["concurrencyPolicy"].AsString(), kPolicies, "spec.concurrencyPolicy"));
  const Value& job = spec["jobTemplate"]["spec"];
  Append(errors, ValidateJobSpec(job, "spec.jobTemplate.spec"));
  if (!job["selector"].IsNull()) {
    errors.push_back(Invalid("spec.jobTemplate.spec.selector", Shown(job["selector"]),
                             "`selector` will be auto-generated"));
  }
  if (job["manualSelector"].AsBool()) {
    errors.push_back(NotSupported("spec.jobTemplate.spec.manualSelector", "true", kManual));
  }
  Append(errors, NonNegativeFields(spec, kHistory, "spec"));
  return errors;
}

}  // namespace drachma::validation
