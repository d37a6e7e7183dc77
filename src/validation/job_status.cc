#include "validation/job_status.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "validation/object_meta.h"
#include "validation/pod_rules.h"

namespace drachma::validation {

using json::Value;

bool HasCondition(const Value& job, std::string_view type, std::string_view state) {
  const auto conditions = job["status"]["conditions"].Items();
  return std::ranges::any_of(conditions, [&](const Value& condition) {
    return condition["type"].AsString() == type && condition["status"].AsString() == state;
  });
}

namespace {

constexpr char kConditions[] = "status.conditions";

FieldError WrongConditions(std::string detail) {
  return Invalid(kConditions, {}, std::move(detail));
}

// What a status says, before and after a write.
struct Change {
  const Value& job;
  const Value& old;
  const Value& spec = job["spec"];
  const Value& now = job["status"];
  const Value& before = old["status"];
  bool complete = HasCondition(job, "Complete");
  bool failed = HasCondition(job, "Failed");
  bool failing = HasCondition(job, "FailureTarget");
  bool succeeded = HasCondition(job, "SuccessCriteriaMet");
  bool finished = complete || failed;
  bool was_finished = HasCondition(old, "Complete") || HasCondition(old, "Failed");

  [[nodiscard]] bool Changed(std::string_view field) const { return now[field] != before[field]; }
  [[nodiscard]] bool Changed(bool is, std::string_view condition) const {
    return is != HasCondition(old, condition);
  }
  [[nodiscard]] bool Indexed() const { return spec["completionMode"].AsString() == "Indexed"; }
};

// --- Lists of indexes: "1,3-5,7".

struct Interval {
  std::int64_t first = 0;
  std::int64_t last = 0;
};

Result<std::int64_t> ParseIndex(std::string_view text, std::int64_t completions) {
  std::int64_t index = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), index);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) {
    return BadInput(fmt::format("cannot convert string to integer for index: {}", ShownText(text)));
  }
  if (index >= completions) return BadInput(fmt::format("too large index: {}", ShownText(text)));
  return index;
}

Result<Interval> ParseInterval(std::string_view text, std::int64_t completions) {
  const auto parts = std::ranges::count(text, '-') + 1;
  if (parts > 2) {
    return BadInput(fmt::format(
        "the fragment {} violates the requirement that an index interval can have at most two "
        "parts separated by '-'",
        ShownText(text)));
  }
  const std::size_t dash = text.find('-');
  Interval interval;
  DRA_ASSIGN(interval.first, ParseIndex(text.substr(0, dash), completions));
  interval.last = interval.first;
  if (dash == std::string_view::npos) return interval;
  DRA_ASSIGN(interval.last, ParseIndex(text.substr(dash + 1), completions));
  if (interval.first >= interval.last) {
    return BadInput(fmt::format("non-increasing order, previous: {}, current: {}", interval.first,
                                interval.last));
  }
  return interval;
}

std::vector<std::string_view> Fragments(std::string_view text) {
  std::vector<std::string_view> fragments;
  if (text.empty()) return fragments;
  for (std::size_t comma = text.find(','); comma != std::string_view::npos;
       comma = text.find(',')) {
    fragments.push_back(text.substr(0, comma));
    text.remove_prefix(comma + 1);
  }
  fragments.push_back(text);
  return fragments;
}

Status CheckIndexes(std::string_view text, std::int64_t completions) {
  std::optional<std::int64_t> last;
  for (const std::string_view fragment : Fragments(text)) {
    DRA_ASSIGN(const Interval interval, ParseInterval(fragment, completions));
    if (last && *last >= interval.first) {
      return BadInput(
          fmt::format("non-increasing order, previous: {}, current: {}", *last, interval.first));
    }
    last = interval.last;
  }
  return {};
}

// The first index that stands in both lists; fragments that are none are passed over.
std::optional<std::int64_t> CommonIndex(std::string_view a, std::string_view b,
                                        std::int64_t completions) {
  for (const std::string_view one : Fragments(a)) {
    const auto x = ParseInterval(one, completions);
    if (!x) continue;
    for (const std::string_view other : Fragments(b)) {
      const auto y = ParseInterval(other, completions);
      if (y && x->first <= y->last && y->first <= x->last) return std::max(x->first, y->first);
    }
  }
  return std::nullopt;
}

ErrorList ValidateIndexList(const Change& change, const std::string& field) {
  const Value& text = change.now[field];
  const Status good = CheckIndexes(text.AsString(), change.spec["completions"].AsInt());
  if (good) return {};
  return {Invalid("status." + field, ShownText(text.AsString()),
                  fmt::format("error parsing {}: {}", field, good.error().message))};
}

ErrorList ValidateIndexes(const Change& change) {
  ErrorList errors;
  const bool completed_changed = change.Changed("completedIndexes");
  const bool failed_changed = change.Changed("failedIndexes");
  const std::string_view completed = change.now["completedIndexes"].AsString();
  const Value& failed = change.now["failedIndexes"];
  const std::string shown_failed = ShownText(failed.AsString());
  const bool bounded = !change.spec["completions"].IsNull();
  const bool per_index = !change.spec["backoffLimitPerIndex"].IsNull();
  if (completed_changed && bounded) Append(errors, ValidateIndexList(change, "completedIndexes"));
  if (failed_changed && bounded && per_index && !failed.IsNull()) {
    Append(errors, ValidateIndexList(change, "failedIndexes"));
  }
  if (completed_changed && !completed.empty() && !change.Indexed()) {
    errors.push_back(
        Invalid("status.completedIndexes", ShownText(completed),
                "cannot set non-empty completedIndexes when non-indexed completion mode"));
  }
  if (failed_changed && !per_index && !failed.IsNull()) {
    errors.push_back(
        Invalid("status.failedIndexes", shown_failed,
                "cannot set non-null failedIndexes when backoffLimitPerIndex is null"));
  }
  if (!(failed_changed || completed_changed) || !bounded || failed.IsNull()) return errors;
  const auto common = CommonIndex(completed, failed.AsString(), change.spec["completions"].AsInt());
  if (common) {
    errors.push_back(
        Invalid("status.failedIndexes", shown_failed,
                fmt::format("failedIndexes and completedIndexes overlap at index: {}", *common)));
  }
  return errors;
}

// --- The parts of a status.

ErrorList ValidateCounts(const Value& status) {
  ErrorList errors;
  for (const std::string_view field : {"active", "succeeded", "failed", "ready", "terminating"}) {
    Append(errors, ValidateNonNegative(status[field].AsInt(), Child("status", field)));
  }
  std::set<std::string_view> seen;
  for (const std::string_view list : {"succeeded", "failed"}) {
    const auto uids = status["uncountedTerminatedPods"][list].Items();
    for (std::size_t i = 0; i < uids.size(); ++i) {
      const std::string path = Index(Child("status.uncountedTerminatedPods", list), i);
      const std::string_view uid = uids[i].AsString();
      if (uid.empty()) {
        errors.push_back(Invalid(path, ShownNamed(uid), "must not be empty"));
      } else if (!seen.insert(uid).second) {
        errors.push_back(Duplicate(path, ShownNamed(uid)));
      }
    }
  }
  return errors;
}

ErrorList ValidateCompletionTime(const Change& change) {
  ErrorList errors;
  const Value& start = change.now["startTime"];
  const Value& completion = change.now["completionTime"];
  const bool changed =
      change.Changed(change.complete, "Complete") || change.Changed("completionTime");
  const std::string path = "status.completionTime";
  if (changed && !completion.IsNull() && !change.complete) {
    errors.push_back(Invalid(path, Shown(completion),
                             "cannot set completionTime when there is no Complete=True condition"));
  }
  if (changed && completion.IsNull() && change.complete) {
    errors.push_back(Required(path, "completionTime is required for Complete jobs"));
  }
  // Times in one zone and one form compare as texts.
  if ((change.Changed("startTime") || change.Changed("completionTime")) && !start.IsNull() &&
      !completion.IsNull() && completion.AsString() < start.AsString()) {
    errors.push_back(Invalid(path, Shown(completion), "must be equal to or after `startTime`"));
  }
  return errors;
}

ErrorList ValidateFinished(const Change& change) {
  ErrorList errors;
  if (!change.finished) return errors;
  const bool finishes = !change.was_finished;
  const Value& status = change.now;
  if ((finishes || change.Changed("active")) && status["active"].AsInt() > 0) {
    errors.push_back(Invalid("status.active", ShownInt(status["active"].AsInt()),
                             "active>0 is invalid for finished job"));
  }
  const bool never_ran =
      change.spec["suspend"].AsBool() && change.spec["completions"].AsInt(-1) == 0;
  if ((finishes || change.Changed("startTime")) && !never_ran && status["startTime"].IsNull()) {
    errors.push_back(Required("status.startTime", "startTime is required for finished job"));
  }
  const Value& uncounted = status["uncountedTerminatedPods"];
  if ((finishes || change.Changed("uncountedTerminatedPods")) &&
      uncounted["failed"].size() + uncounted["succeeded"].size() > 0) {
    const Value shown =
        Value::Object({{"Succeeded", uncounted["succeeded"]}, {"Failed", uncounted["failed"]}});
    errors.push_back(
        Invalid("status.uncountedTerminatedPods", Shown(shown), "must be empty for finished job"));
  }
  return errors;
}

ErrorList ValidateConditionsTogether(const Change& change) {
  ErrorList errors;
  const bool complete_changed = change.Changed(change.complete, "Complete");
  const bool failed_changed = change.Changed(change.failed, "Failed");
  if ((complete_changed || failed_changed) && change.complete && change.failed) {
    errors.push_back(WrongConditions("cannot set Complete=True and Failed=true conditions"));
  }
  if ((complete_changed || change.Changed(change.failing, "FailureTarget")) && change.complete &&
      change.failing) {
    errors.push_back(WrongConditions("cannot set Complete=True and FailureTarget=true conditions"));
  }
  return errors;
}

ErrorList ValidateConditionsBefore(const Change& change) {
  ErrorList errors;
  if ((change.Changed(change.failed, "Failed") || change.Changed("failedIndexes")) &&
      change.failed && !change.failing) {
    errors.push_back(WrongConditions(
        "cannot set Failed=True condition without the FailureTarget=true condition"));
  }
  if ((change.Changed(change.complete, "Complete") ||
       change.Changed(change.succeeded, "SuccessCriteriaMet")) &&
      change.complete && !change.succeeded) {
    errors.push_back(WrongConditions(
        "cannot set Complete=True condition without the SuccessCriteriaMet=true condition"));
  }
  return errors;
}

ErrorList ValidateRunning(const Change& change) {
  ErrorList errors;
  const Value& status = change.now;
  if ((change.finished != change.was_finished || change.Changed("terminating")) &&
      status["terminating"].AsInt() > 0 && change.finished) {
    errors.push_back(Invalid("status.terminating", ShownInt(status["terminating"].AsInt()),
                             "terminating>0 is invalid for finished job"));
  }
  if ((change.Changed("ready") || change.Changed("active")) &&
      status["ready"].AsInt() > status["active"].AsInt() && !status["ready"].IsNull()) {
    errors.push_back(Invalid("status.ready", ShownInt(status["ready"].AsInt()),
                             "cannot set more ready pods than active"));
  }
  if (change.succeeded && change.failed) {
    errors.push_back(
        WrongConditions("cannot set SuccessCriteriaMet=True and Failed=true conditions"));
  }
  if (change.succeeded && change.failing) {
    errors.push_back(
        WrongConditions("cannot set SuccessCriteriaMet=True and FailureTarget=true conditions"));
  }
  if (!change.spec["successPolicy"].IsNull() && !change.succeeded && change.complete) {
    errors.push_back(WrongConditions(
        "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True"));
  }
  return errors;
}

// --- From one status to the next.

ErrorList ValidateSteps(const Change& change) {
  ErrorList errors;
  const Value& now = change.now;
  const Value& before = change.before;
  for (const std::string_view type : {"Failed", "Complete", "FailureTarget"}) {
    if (HasCondition(change.old, type) && !HasCondition(change.job, type)) {
      errors.push_back(
          WrongConditions(fmt::format("cannot disable the terminal {}=True condition", type)));
    }
  }
  const bool scales = change.Indexed() && change.spec["completions"] == change.spec["parallelism"];
  for (const std::string_view counter : {"failed", "succeeded"}) {
    if (counter == "succeeded" && scales) continue;
    if (now[counter].AsInt() >= before[counter].AsInt()) continue;
    errors.push_back(Invalid(Child("status", counter), ShownInt(now[counter].AsInt()),
                             fmt::format("cannot decrease the {} counter", counter)));
  }
  const auto moved = [&](std::string_view field) {
    return !before[field].IsNull() && now[field] != before[field];
  };
  if (moved("completionTime") && !now["completionTime"].IsNull()) {
    errors.push_back(
        Invalid("status.completionTime", Shown(now["completionTime"]), "field is immutable"));
  }
  const bool resuming =
      HasCondition(change.old, "Suspended") && HasCondition(change.job, "Suspended", "False");
  if (moved("startTime") && !resuming && !change.spec["suspend"].AsBool()) {
    errors.push_back(Invalid("status.startTime", Shown(now["startTime"]),
                             "field is immutable for unsuspended job once set"));
  }
  const bool had_succeeded = HasCondition(change.old, "SuccessCriteriaMet");
  if (had_succeeded && !change.succeeded) {
    errors.push_back(WrongConditions("cannot disable the SuccessCriteriaMet=True condition"));
  }
  if (HasCondition(change.old, "Complete") && !had_succeeded && change.succeeded) {
    errors.push_back(WrongConditions(
        "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions"));
  }
  return errors;
}

}  // namespace

ErrorList ValidateJobStatusUpdate(const Context& /*context*/, const Value& job,
                                  const Value& old_job) {
  ErrorList errors = ValidateCoreObjectMetaUpdate(job["metadata"], old_job["metadata"], "metadata");
  const Change change{.job = job, .old = old_job};
  Append(errors, ValidateCounts(job["status"]));
  for (const auto rule :
       {ValidateConditionsTogether, ValidateCompletionTime, ValidateConditionsBefore,
        ValidateFinished, ValidateIndexes, ValidateRunning, ValidateSteps}) {
    Append(errors, rule(change));
  }
  return errors;
}

}  // namespace drachma::validation
