// Jobs and CronJobs.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>

#include "api/selectors.h"
#include "validation/cron_schedule.h"
#include "validation/job_policies.h"
#include "validation/names.h"
#include "validation/object_meta.h"
#include "validation/pod_rules.h"
#include "validation/workload_rules.h"

namespace drachma::validation {
namespace {

using json::Value;

std::string ShownOrNull(const Value& value) { return value.IsNull() ? "null" : Shown(value); }

ErrorList NonNegativeFields(const Value& holder, std::span<const std::string_view> fields,
                            const std::string& path) {
  ErrorList errors;
  for (const std::string_view field : fields) {
    if (holder[field].IsNull()) continue;
    Append(errors, ValidateNonNegative(holder[field].AsInt(), Child(path, field)));
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
    return {NotSupported(Child(path, "completionMode"), ShownNamed(mode), kModes)};
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

ErrorList ValidateTimeZone(const Value& zone) {
  const std::string path = "spec.timeZone";
  if (zone.IsNull()) return {};
  const std::string_view name = zone.AsString();
  if (name.empty()) {
    return {Invalid(path, Shown(zone), "timeZone must be nil or non-empty string")};
  }
  if (AsciiLower(name) == "local") {
    return {Invalid(path, Shown(zone),
                    "timeZone must be an explicit time zone as defined in "
                    "https://www.iana.org/time-zones")};
  }
  if (IsTimeZone(name)) return {};
  return {Invalid(path, Shown(zone), fmt::format("unknown time zone {}", name))};
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

}  // namespace

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
  Append(errors, ValidateManagedBy(spec, path));
  Append(errors, ValidateCompletionMode(spec, path));
  Append(errors, ValidateFailurePolicy(spec, path));
  if (spec["completionMode"].AsString() == "Indexed") {
    Append(errors, ValidateSuccessPolicy(spec, path));
  }
  Append(errors, ValidateReplacementPolicy(spec, Child(path, "podReplacementPolicy")));
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
  ErrorList errors = ValidateJobSpec(spec, "spec");
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
    if (std::string fault = CronScheduleFault(schedule); !fault.empty()) {
      errors.push_back(Invalid("spec.schedule", ShownText(schedule), std::move(fault)));
    }
    if (schedule.contains("TZ")) {
      errors.push_back(Invalid("spec.schedule", ShownText(schedule),
                               "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"));
    }
  }
  Append(errors, NonNegativeFields(spec, kDeadline, "spec"));
  Append(errors, ValidateTimeZone(spec["timeZone"]));
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
