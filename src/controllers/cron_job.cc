#include "controllers/cron_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "client/objects.h"
#include "controllers/objects.h"
#include "controllers/workload.h"

namespace drachma::controllers {
namespace {

using client::Change;
using client::EventType;
using json::Value;

const client::Resource kCronJobs = {"batch", "v1", "cronjobs"};
const client::Resource kJobs = {"batch", "v1", "jobs"};
const OwnerKind kCronJob = {kCronJobs, "CronJob"};
constexpr std::string_view kScheduledAt = "batch.kubernetes.io/cronjob-scheduled-timestamp";

EventToRecord CronEvent(const Value& cron_job, EventType type, std::string reason,
                        std::string message) {
  return {.object = Reference("batch/v1", "CronJob", cron_job),
          .type = type,
          .reason = std::move(reason),
          .message = std::move(message)};
}

// "Complete" or "Failed"; empty while the Job runs.
std::string_view EndOf(const Value& job) {
  for (const std::string_view condition : {"Complete", "Failed"}) {
    if (client::IsConditionTrue(job, condition)) return condition;
  }
  return {};
}

std::optional<Time> TimeIn(const Value& text) {
  const Result<Time> time = ParseTime(text.AsString());
  return time ? std::optional(*time) : std::nullopt;
}

std::string JobName(const Value& cron_job, Time scheduled) {
  const auto minute = std::chrono::floor<std::chrono::minutes>(scheduled.time_since_epoch());
  return fmt::format("{}-{}", client::NameOf(cron_job), minute.count());
}

// The moment a Job was made for, if it is one of this controller's.
std::optional<Time> ScheduledTimeOf(const Value& cron_job, const Value& job) {
  const Result<Time> scheduled = ParseTime(client::AnnotationOf(job, kScheduledAt));
  if (!scheduled || client::NameOf(job) != JobName(cron_job, *scheduled)) return std::nullopt;
  return *scheduled;
}

Value JobReference(const Value& job) {
  const Value& metadata = job["metadata"];
  return Value::Object({{"kind", "Job"},
                        {"namespace", metadata["namespace"]},
                        {"name", metadata["name"]},
                        {"uid", metadata["uid"]},
                        {"apiVersion", "batch/v1"},
                        {"resourceVersion", metadata["resourceVersion"]}});
}

// "Mon, 02 Jan 2006 15:04:05 +0000" (RFC 1123 with a number for the zone).
std::string Rfc1123(Time time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::string iso = FormatTime(time);
  static constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                            "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  return fmt::format("{}, {:02} {} {} {} +0000", kDays[std::chrono::weekday(day).c_encoding()],
                     static_cast<unsigned>(date.day()),
                     kMonths[static_cast<unsigned>(date.month()) - 1],
                     static_cast<int>(date.year()), iso.substr(11, 8));
}

// Jobs by their start, those without one last.
bool StartedBefore(const Value* a, const Value* b) {
  const Time a_start = TimeIn((*a)["status"]["startTime"]).value_or(Time::max());
  const Time b_start = TimeIn((*b)["status"]["startTime"]).value_or(Time::max());
  return a_start != b_start ? a_start < b_start : client::NameOf(*a) < client::NameOf(*b);
}

// What the schedule says between the last start and now (mostRecentScheduleTime).
struct Missed {
  Time since;                // the last start, or what bounds it
  std::optional<Time> last;  // the newest moment that was due; nothing when none was
  std::int64_t count = 0;    // how many were, roughly
};

enum class Deadline : std::uint8_t { kIgnore, kObserve };

// ERRORS: kInvalid for a schedule that has no next moment.
Result<Missed> FindMissed(const Value& cron_job, const CronSchedule& schedule, Time now,
                          Deadline deadline) {
  using std::chrono::seconds;
  Missed missed{
      .since =
          TimeIn(cron_job["status"]["lastScheduleTime"]).value_or(client::CreatedAt(cron_job))};
  if (const Value* limit = cron_job["spec"].Find("startingDeadlineSeconds");
      limit != nullptr && limit->IsInt() && deadline == Deadline::kObserve) {
    missed.since = std::max(missed.since, now - seconds(limit->AsInt()));
  }
  const std::optional<Time> first = schedule.Next(missed.since);
  const std::optional<Time> second = first ? schedule.Next(*first) : std::nullopt;
  if (!first || !second) {
    return Fail(Code::kInvalid, "time difference between two schedules is less than 1 second");
  }
  if (now < *first) return missed;
  if (now < *second) {
    missed.last = first;
    return missed;
  }
  // Irregular schedules are only estimated: go back two steps from now and walk from there.
  const Duration step = *second - *first;
  missed.count = (now - *first) / step + 1;
  std::optional<Time> next = schedule.Next(*first + step * (missed.count - 2));
  while (next && *next <= now) {
    missed.last = next;
    next = schedule.Next(*next);
  }
  return missed;
}

// How long until the next moment.
std::optional<Duration> UntilNext(const Value& cron_job, const CronSchedule& schedule, Time now) {
  const Result<Missed> missed = FindMissed(cron_job, schedule, now, Deadline::kIgnore);
  Time from = now;
  if (missed && missed->last) {
    from = *missed->last;
  } else if (missed && missed->count == 0) {
    from = missed->since;
  }
  const std::optional<Time> next = schedule.Next(from);
  if (!next) return std::nullopt;
  return *next + CronJobController::kPadding - now;
}

}  // namespace

CronJobController::CronJobController(Host& host)
    : Controller(host),
      cron_jobs_(
          Watch(kCronJobs, [this](const Change& change) { Add(client::KeyOf(change.object)); })),
      jobs_(Watch(kJobs, [this](const Change& change) {
        const Value* owner = client::ControllerOf(change.object);
        if (owner == nullptr || (*owner)["kind"].AsString() != kCronJob.kind) return;
        Add(fmt::format("{}/{}", client::NamespaceOf(change.object), (*owner)["name"].AsString()));
      })) {}

Value CronJobController::NextStatus(const Value& cron_job, const std::vector<const Value*>& jobs,
                                    Work& work) const {
  const Value& old = cron_job["status"];
  Value status = old.IsObject() ? old : Value::Object();
  Value active = Value::Array();
  const auto owned = [&](const Value& reference) {
    return std::ranges::find_if(
        jobs, [&](const Value* job) { return client::UidOf(*job) == reference["uid"].AsString(); });
  };
  for (const Value& reference : old["active"].Items()) {
    const auto job = owned(reference);
    if (job == jobs.end()) {
      work.events.push_back(
          CronEvent(cron_job, EventType::kNormal, "MissingJob",
                    fmt::format("Active job went missing: {}", reference["name"].AsString())));
    } else if (const std::string_view end = EndOf(**job); !end.empty()) {
      work.events.push_back(CronEvent(
          cron_job, EventType::kNormal, "SawCompletedJob",
          fmt::format("Saw completed job: {}, condition: {}", client::NameOf(**job), end)));
    } else {
      active.Append(reference);
    }
  }
  std::optional<Time> last = TimeIn(old["lastScheduleTime"]);
  std::optional<Time> success = TimeIn(old["lastSuccessfulTime"]);
  for (const Value* job : jobs) {
    const std::optional<Time> scheduled = ScheduledTimeOf(cron_job, *job);
    if (scheduled && (!last || *last < *scheduled)) last = scheduled;
    const std::string_view end = EndOf(*job);
    const std::optional<Time> completed = TimeIn((*job)["status"]["completionTime"]);
    if (end == "Complete" && completed && (!success || *success < *completed)) success = completed;
    if (!end.empty()) continue;
    const auto items = active.Items();
    const bool known = std::ranges::any_of(items, [&](const Value& reference) {
      return reference["uid"] == (*job)["metadata"]["uid"];
    });
    if (known) continue;
    if (scheduled) {
      active.Append(JobReference(*job));
    } else {
      work.events.push_back(
          CronEvent(cron_job, EventType::kWarning, "UnexpectedJob",
                    fmt::format("Saw a job that the controller did not create or forgot: {}",
                                client::NameOf(*job))));
    }
  }
  if (active.empty()) {
    status.Erase("active");
  } else {
    status.Set("active", std::move(active));
  }
  if (last) status.Set("lastScheduleTime", FormatTime(*last));
  if (success) status.Set("lastSuccessfulTime", FormatTime(*success));
  return status;
}

void CronJobController::Delete(const Value& cron_job, const Value& job, Work& work) {
  Action action{.request = client::DeleteRequest(kJobs, job)};
  action.request.body.Set("propagationPolicy", "Background");
  action.settle = [this, cron_job,
                   name = std::string(client::NameOf(job))](const Result<Value>& answer) -> Status {
    if (!answer && answer.error().code != Code::kNotFound) {
      Record(CronEvent(cron_job, EventType::kWarning, "FailedDelete",
                       fmt::format("Deleted job: {}", answer.error().message)));
      return std::unexpected(answer.error());
    }
    Record(CronEvent(cron_job, EventType::kNormal, "SuccessfulDelete",
                     fmt::format("Deleted job {}", name)));
    return {};
  };
  work.actions.push_back(std::move(action));
}

void CronJobController::RemoveOldJobs(const Value& cron_job, const std::vector<const Value*>& jobs,
                                      Work& work) {
  struct Limit {
    std::string_view end;
    std::string_view field;
  };
  for (const Limit& limit : {Limit{"Complete", "successfulJobsHistoryLimit"},
                             Limit{"Failed", "failedJobsHistoryLimit"}}) {
    const Value* most = cron_job["spec"].Find(limit.field);
    if (most == nullptr || !most->IsInt()) continue;
    std::vector<const Value*> ended;
    std::ranges::copy_if(jobs, std::back_inserter(ended), [&](const Value* job) {
      return EndOf(*job) == limit.end && !client::IsBeingDeleted(*job);
    });
    std::ranges::sort(ended, StartedBefore);
    const auto kept = static_cast<std::size_t>(std::max<std::int64_t>(0, most->AsInt()));
    for (std::size_t i = 0; i + kept < ended.size(); ++i) Delete(cron_job, *ended[i], work);
  }
}

void CronJobController::Create(const Value& cron_job, Time scheduled, Work& work) {
  const Value& made_of = cron_job["spec"]["jobTemplate"];
  Value metadata = Value::Object(
      {{"name", JobName(cron_job, scheduled)}, {"namespace", client::NamespaceOf(cron_job)}});
  if (!made_of["metadata"]["labels"].empty()) {
    metadata.Set("labels", made_of["metadata"]["labels"]);
  }
  Value annotations = made_of["metadata"]["annotations"];
  annotations.Set(kScheduledAt, FormatInZone(scheduled, cron_job["spec"]["timeZone"].AsString()));
  metadata.Set("annotations", std::move(annotations));
  metadata.Set("ownerReferences", Value::Array({ControllerReference(kCronJob, cron_job)}));
  Action action{.request = client::CreateRequest(kJobs, client::NamespaceOf(cron_job),
                                                 Value::Object({{"apiVersion", "batch/v1"},
                                                                {"kind", "Job"},
                                                                {"metadata", std::move(metadata)},
                                                                {"spec", made_of["spec"]}}))};
  action.settle = [this, cron_job](const Result<Value>& answer) -> Status {
    if (answer) {
      Record(CronEvent(cron_job, EventType::kNormal, "SuccessfulCreate",
                       fmt::format("Created job {}", client::NameOf(*answer))));
      return {};
    }
    if (answer.error().code == Code::kAlreadyExists) return {};
    Record(CronEvent(cron_job, EventType::kWarning, "FailedCreate",
                     fmt::format("Error creating job: {}", answer.error().message)));
    return std::unexpected(answer.error());
  };
  work.actions.push_back(std::move(action));
}

void CronJobController::Start(const Value& cron_job, const CronSchedule& schedule, Work& work) {
  const Time now = Now();
  const Result<Missed> missed = FindMissed(cron_job, schedule, now, Deadline::kObserve);
  const auto warn = [&](std::string reason, std::string message) {
    work.events.push_back(
        CronEvent(cron_job, EventType::kWarning, std::move(reason), std::move(message)));
  };
  if (!missed) {
    return warn("InvalidSchedule",
                fmt::format("invalid schedule: {} : {}", cron_job["spec"]["schedule"].AsString(),
                            missed.error().message));
  }
  work.again = UntilNext(cron_job, schedule, now);
  if (!missed->last) return;
  if (missed->count > kManyMissed) {
    warn("TooManyMissedTimes",
         "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check "
         "clock skew");
  }
  const Time scheduled = *missed->last;
  const Value* deadline = cron_job["spec"].Find("startingDeadlineSeconds");
  if (deadline != nullptr && deadline->IsInt() &&
      scheduled + std::chrono::seconds(deadline->AsInt()) < now) {
    return warn("MissSchedule",
                fmt::format("Missed scheduled time to start a job: {}", Rfc1123(scheduled)));
  }
  const Value& active = cron_job["status"]["active"];
  const std::string name = JobName(cron_job, scheduled);
  const auto references = active.Items();
  const bool started = std::ranges::any_of(
      references, [&](const Value& reference) { return reference["name"].AsString() == name; });
  if (started || TimeIn(cron_job["status"]["lastScheduleTime"]) == scheduled) return;
  const std::string_view policy = cron_job["spec"]["concurrencyPolicy"].AsString();
  if (policy == "Forbid" && !active.empty()) {
    work.events.push_back(CronEvent(cron_job, EventType::kNormal, "JobAlreadyActive",
                                    "Not starting job because prior execution is running and "
                                    "concurrency policy is Forbid"));
    return;
  }
  if (policy == "Replace") {
    for (const Value& reference : references) {
      const Value* job = jobs_.ByUid(reference["uid"].AsString());
      if (job != nullptr) Delete(cron_job, *job, work);
    }
  }
  Create(cron_job, scheduled, work);
}

Work CronJobController::Sync(const std::string& key) {
  Work work;
  const Value* cron_job = cron_jobs_.Get(key);
  if (cron_job == nullptr) return work;
  const std::vector<const Value*> jobs = jobs_.OwnedBy(client::UidOf(*cron_job));
  Value status = NextStatus(*cron_job, jobs, work);
  if (!(status == (*cron_job)["status"]) && !(status.empty() && (*cron_job)["status"].empty())) {
    Value next = *cron_job;
    next.Set("status", std::move(status));
    work.actions.push_back(
        {.request = client::UpdateRequest(kCronJobs, std::move(next), "status")});
    return work;  // the change itself brings the key back
  }
  RemoveOldJobs(*cron_job, jobs, work);
  if (client::IsBeingDeleted(*cron_job)) return work;
  const Value& spec = (*cron_job)["spec"];
  const std::string_view zone = spec["timeZone"].AsString();
  if (!IsKnownZone(zone)) {
    work.events.push_back(
        CronEvent(*cron_job, EventType::kWarning, "UnknownTimeZone",
                  fmt::format("invalid timeZone: \"{0}\": unknown time zone {0}", zone)));
    return work;
  }
  if (spec["suspend"].AsBool()) return work;
  const std::string_view text = spec["schedule"].AsString();
  const Result<CronSchedule> schedule = CronSchedule::Parse(text, zone);
  if (!schedule) {
    work.events.push_back(CronEvent(
        *cron_job, EventType::kWarning, "UnparseableSchedule",
        fmt::format("unparseable schedule: \"{}\" : {}", text, schedule.error().message)));
    return work;
  }
  Start(*cron_job, *schedule, work);
  return work;
}

}  // namespace drachma::controllers
