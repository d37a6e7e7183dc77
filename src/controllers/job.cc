#include "controllers/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "client/objects.h"
#include "controllers/objects.h"

namespace drachma::controllers {
namespace {

using client::Change;
using json::Value;
namespace resources = client::resources;

const client::Resource kJobs = {"batch", "v1", "jobs"};
const OwnerKind kJob = {kJobs, "Job"};
constexpr std::string_view kTracking = "batch.kubernetes.io/job-tracking";
constexpr std::string_view kPodKey = "pod:";  // before the keys of pods
constexpr std::int64_t kBackoffLimit = 6;     // the default of spec.backoffLimit
constexpr std::string_view kIndex = "batch.kubernetes.io/job-completion-index";

bool IsFinished(const Value& job) {
  return client::IsConditionTrue(job, "Complete") || client::IsConditionTrue(job, "Failed");
}

bool IsIndexed(const Value& job) { return job["spec"]["completionMode"].AsString() == "Indexed"; }

bool HasUid(const Value& list, std::string_view uid) {
  return std::ranges::any_of(list.Items(),
                             [&](const Value& item) { return item.AsString() == uid; });
}

Value Without(const Value& list, std::string_view uid) {
  Value kept = Value::Array();
  for (const Value& item : list.Items()) {
    if (item.AsString() != uid) kept.Append(item);
  }
  return kept;
}

// Takes the finalizer off `pod`, so that it may go.
Action Untrack(const Value& pod) {
  Value metadata =
      Value::Object({{"uid", client::UidOf(pod)},
                     {"finalizers", Without(pod["metadata"]["finalizers"], kTracking)}});
  Action action{.request = client::PatchRequest(
                    resources::kPods, client::NamespaceOf(pod), client::NameOf(pod),
                    client::PatchType::kMerge, Value::Object({{"metadata", std::move(metadata)}}))};
  action.settle = [](const Result<Value>& answer) -> Status {
    if (answer || answer.error().code == Code::kNotFound) return {};
    return std::unexpected(answer.error());
  };
  return action;
}

void SetOrErase(Value& object, std::string_view field, std::int64_t number) {
  if (number == 0) {
    object.Erase(field);
  } else {
    object.Set(field, number);
  }
}

std::optional<std::int64_t> IndexOf(const Value& pod) {
  const std::string_view text = client::AnnotationOf(pod, kIndex);
  std::int64_t index = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (text.empty() || error != std::errc()) return std::nullopt;
  return index;
}

// When a pod's last container ended; its creation when nothing says so.
Time EndOf(const Value& pod) {
  Time end = client::CreatedAt(pod);
  for (const Value& status : pod["status"]["containerStatuses"].Items()) {
    const auto time = ParseTime(status["state"]["terminated"]["finishedAt"].AsString());
    if (time) end = std::max(end, *time);
  }
  return end;
}

// When pods may be made again after failures: the wait counts from the end of the latest failed
// pod, and doubles with each failure since the last success (upstream's backoffStore).
Time BackoffUntil(const std::vector<const Value*>& pods) {
  Time last_success;
  for (const Value* pod : pods) {
    if ((*pod)["status"]["phase"].AsString() == "Succeeded") {
      last_success = std::max(last_success, EndOf(*pod));
    }
  }
  Time last_failure;
  std::int64_t failures = 0;
  for (const Value* pod : pods) {
    if ((*pod)["status"]["phase"].AsString() != "Failed" || EndOf(*pod) <= last_success) continue;
    last_failure = std::max(last_failure, EndOf(*pod));
    ++failures;
  }
  if (failures == 0) return {};
  constexpr std::int64_t kDoublingsMax = 16;
  const Duration wait = JobController::kBackoffMin * (1LL << std::min(failures - 1, kDoublingsMax));
  return last_failure + std::min<Duration>(JobController::kBackoffMax, wait);
}

// Whether containers that run again in their pods did so more often than the Job allows
// (pastBackoffLimitOnFailure).
bool RestartedTooOften(const Value& job, const std::vector<const Value*>& pods) {
  if (job.At({"spec", "template", "spec", "restartPolicy"}).AsString() != "OnFailure") return false;
  std::int64_t restarts = 0;
  for (const Value* pod : pods) {
    if (client::IsPodTerminal(*pod)) continue;
    for (const std::string_view list : {"initContainerStatuses", "containerStatuses"}) {
      for (const Value& container : (*pod)["status"][list].Items()) {
        restarts += container["restartCount"].AsInt();
      }
    }
  }
  return restarts > 0 && restarts >= job["spec"]["backoffLimit"].AsInt(kBackoffLimit);
}

EventToRecord JobEvent(const Value& job, client::EventType type, std::string reason,
                       std::string message) {
  return {.object = Reference("batch/v1", "Job", job),
          .type = type,
          .reason = std::move(reason),
          .message = std::move(message)};
}

}  // namespace

std::string FormatIndexes(const std::set<std::int64_t>& indexes) {
  std::string text;
  for (auto first = indexes.begin(); first != indexes.end();) {
    auto last = first;
    auto next = std::next(first);
    while (next != indexes.end() && *next == *last + 1) last = next++;
    if (!text.empty()) text += ',';
    text += fmt::format("{}", *first);
    if (last != first) text += fmt::format("{}{}", *last == *first + 1 ? ',' : '-', *last);
    first = next;
  }
  return text;
}

std::set<std::int64_t> ParseIndexes(std::string_view text) {
  std::set<std::int64_t> indexes;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    std::int64_t first = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), first);
    std::int64_t last = first;
    if (error == std::errc() && end != part.data() + part.size()) {
      std::from_chars(end + 1, part.data() + part.size(), last);
    }
    for (std::int64_t i = first; error == std::errc() && i <= last; ++i) indexes.insert(i);
    text.remove_prefix(std::min(text.size(), part.size() + 1));
  }
  return indexes;
}

struct JobController::View {
  const Value& job;
  std::vector<const Value*> pods;    // all that the Job owns
  std::vector<const Value*> active;  // neither finished nor being deleted
  std::int64_t parallelism = 1;
  std::optional<std::int64_t> completions;

  View(const Value& the_job, std::vector<const Value*> owned)
      : job(the_job), pods(std::move(owned)), parallelism(job["spec"]["parallelism"].AsInt(1)) {
    if (job["spec"].Has("completions")) completions = job["spec"]["completions"].AsInt();
    std::ranges::copy_if(pods, std::back_inserter(active),
                         [](const Value* pod) { return IsPodActive(*pod); });
  }
  [[nodiscard]] bool Suspended() const { return job["spec"]["suspend"].AsBool(); }
};

JobController::JobController(Host& host)
    : Controller(host),
      jobs_(Watch(kJobs, [this](const Change& change) { OnJob(change); })),
      pods_(Watch(resources::kPods, [this](const Change& change) { OnPod(change); })),
      owners_(kJob, jobs_, pods_, [this](std::string key) { Add(std::move(key)); }) {}

void JobController::OnJob(const Change& change) {
  Add(client::KeyOf(change.object));
  if (change.type != Change::Type::kDeleted) return;
  const std::string_view uid = client::UidOf(change.object);
  gone_.Add(uid);
  for (const Value* pod : pods_.OwnedBy(uid)) {
    Add(fmt::format("{}{}", kPodKey, client::KeyOf(*pod)));
  }
}

void JobController::OnPod(const Change& change) {
  owners_.OnPod(change);
  const Value& pod = change.object;
  if (change.type == Change::Type::kDeleted || !client::HasFinalizer(pod, kTracking)) return;
  // While the first copies come in, its Job may only be late: SyncPod looks again.
  const Value* owner = client::ControllerOf(pod);
  if (owner == nullptr || jobs_.ByUid((*owner)["uid"].AsString()) == nullptr) {
    Add(fmt::format("{}{}", kPodKey, client::KeyOf(pod)));
  }
}

// Status after counting the ends of pods: see the class comment.
static Value Counted(const Value& job, const std::vector<const Value*>& pods) {
  Value status = job["status"].IsObject() ? job["status"] : Value::Object();
  Value uncounted = status["uncountedTerminatedPods"].IsObject() ? status["uncountedTerminatedPods"]
                                                                 : Value::Object();
  std::set<std::int64_t> completed = ParseIndexes(status["completedIndexes"].AsString());
  const auto pod_of = [&](std::string_view uid) -> const Value* {
    const auto found =
        std::ranges::find_if(pods, [&](const Value* pod) { return client::UidOf(*pod) == uid; });
    return found == pods.end() ? nullptr : *found;
  };
  for (const auto& [kind, counter] :
       {std::pair("succeeded", "succeeded"), std::pair("failed", "failed")}) {
    const Value waiting = uncounted[kind];
    for (const Value& uid : waiting.Items()) {
      const Value* pod = pod_of(uid.AsString());
      if (pod != nullptr && client::HasFinalizer(*pod, kTracking)) continue;
      uncounted.Set(kind, Without(uncounted[kind], uid.AsString()));
      status.Set(counter, status[counter].AsInt() + 1);
    }
  }
  for (const Value* pod : pods) {
    if (!client::IsPodTerminal(*pod) || !client::HasFinalizer(*pod, kTracking)) continue;
    const bool succeeded = (*pod)["status"]["phase"].AsString() == "Succeeded";
    const char* kind = succeeded ? "succeeded" : "failed";
    if (succeeded && IsIndexed(job)) completed.insert(IndexOf(*pod).value_or(0));
    if (!HasUid(uncounted[kind], client::UidOf(*pod))) {
      uncounted.Edit(kind).Append(client::UidOf(*pod));
    }
  }
  for (const char* kind : {"succeeded", "failed"}) {
    if (uncounted[kind].empty()) uncounted.Erase(kind);
  }
  status.Set("uncountedTerminatedPods", uncounted);
  // An empty text is not kept by the server: it would be written again and again.
  if (IsIndexed(job) && !completed.empty()) {
    status.Set("completedIndexes", FormatIndexes(completed));
  }
  return status;
}

// What has succeeded or failed, those under way of being counted included.
static std::int64_t Total(const Value& status, std::string_view kind) {
  return status[kind].AsInt() +
         static_cast<std::int64_t>(status["uncountedTerminatedPods"][kind].size());
}

Value JobController::NextStatus(const View& view, Work& work) const {
  const Value& job = view.job;
  Value status = Counted(job, view.pods);
  const std::string now = FormatTime(Now());
  const auto condition = [&](std::string_view type, bool on, std::string_view reason,
                             std::string_view message) {
    status.Set("conditions",
               WithCondition(status["conditions"], NewCondition(type, on, reason, message, now)));
  };
  if (!view.Suspended() && !status.Has("startTime")) status.Set("startTime", now);
  std::int64_t ready = 0;
  std::int64_t terminating = 0;
  for (const Value* pod : view.pods) {
    if (IsPodActive(*pod) && IsPodReady(*pod)) ++ready;
    if (client::IsBeingDeleted(*pod) && !client::IsPodTerminal(*pod)) ++terminating;
  }
  SetOrErase(status, "active", static_cast<std::int64_t>(view.active.size()));
  status.Set("ready", ready);
  status.Set("terminating", terminating);
  if (view.Suspended()) {
    condition("Suspended", true, "JobSuspended", "Job suspended");
    status.Erase("startTime");
  } else if (client::ConditionOf(job, "Suspended") != nullptr) {
    condition("Suspended", false, "JobResumed", "Job resumed");
  }
  const std::int64_t succeeded = Total(status, "succeeded");
  const std::int64_t failed = Total(status, "failed");
  const bool too_many_failures = failed > job["spec"]["backoffLimit"].AsInt(kBackoffLimit) ||
                                 RestartedTooOften(job, view.pods);
  const auto started = ParseTime(status["startTime"].AsString());
  const Value* deadline = job["spec"].Find("activeDeadlineSeconds");
  bool late = false;
  if (deadline != nullptr && started) {
    const Duration left = *started + std::chrono::seconds(deadline->AsInt()) - Now();
    late = left <= Duration(0);
    if (!late) work.again = std::min(work.again.value_or(left), left);
  }
  const bool enough =
      view.completions ? succeeded >= *view.completions : succeeded > 0 && view.active.empty();
  const bool counted = status["uncountedTerminatedPods"].empty();
  const bool at_rest = view.active.empty() && terminating == 0 && counted;
  const bool given_up = client::IsConditionTrue(job, "FailureTarget");
  if (given_up || too_many_failures || late) {
    std::string_view reason = late ? "DeadlineExceeded" : "BackoffLimitExceeded";
    std::string_view message = late ? "Job was active longer than specified deadline"
                                    : "Job has reached the specified backoff limit";
    if (given_up) {
      reason = (*client::ConditionOf(job, "FailureTarget"))["reason"].AsString();
      message = (*client::ConditionOf(job, "FailureTarget"))["message"].AsString();
    }
    condition("FailureTarget", true, reason, message);
    if (at_rest) condition("Failed", true, reason, message);
  } else if (enough) {
    condition("SuccessCriteriaMet", true, "CompletionsReached",
              "Reached expected number of succeeded pods");
    if (at_rest) {
      condition("Complete", true, "CompletionsReached",
                "Reached expected number of succeeded pods");
      // The clock may have been set back; an end before its start is refused.
      status.Set("completionTime", std::max<std::string_view>(now, status["startTime"].AsString()));
    }
  }
  return status;
}

void JobController::Create(const View& view, std::size_t count, Work& work) {
  const Value& job = view.job;
  std::set<std::int64_t> taken = ParseIndexes(job["status"]["completedIndexes"].AsString());
  for (const Value* pod : view.active) taken.insert(IndexOf(*pod).value_or(-1));
  std::int64_t index = 0;
  for (std::size_t i = 0; i < std::min(count, kBurst); ++i) {
    Value pod = PodFromTemplate(kJob, job, job["spec"]["template"]);
    pod.Edit("metadata").Set("finalizers", Value::Array({kTracking}));
    if (IsIndexed(job)) {
      while (taken.contains(index)) ++index;
      taken.insert(index);
      const std::string text = fmt::format("{}", index);
      Value& meta = pod.Edit("metadata");
      meta.Edit("annotations").Set(kIndex, text);
      meta.Edit("labels").Set(kIndex, text);
      meta.Set("generateName", fmt::format("{}-{}-", client::NameOf(job), index));
      pod.Edit("spec").Set("hostname", fmt::format("{}-{}", client::NameOf(job), index));
      for (const std::string_view list : {"initContainers", "containers"}) {
        for (std::size_t c = 0; c < pod["spec"][list].size(); ++c) {
          pod.Edit("spec").Edit(list).EditItem(c).Edit("env").Append(
              Value::Object({{"name", "JOB_COMPLETION_INDEX"}, {"value", text}}));
        }
      }
    }
    Action action{.request = client::CreateRequest(resources::kPods, client::NamespaceOf(job),
                                                   std::move(pod))};
    action.settle = [this, job](const Result<Value>& answer) -> Status {
      if (!answer) {
        Record(JobEvent(job, client::EventType::kWarning, "FailedCreate",
                        fmt::format("Error creating: {}", answer.error().message)));
        return std::unexpected(answer.error());
      }
      Record(JobEvent(job, client::EventType::kNormal, "SuccessfulCreate",
                      fmt::format("Created pod: {}", client::NameOf(*answer))));
      return {};
    };
    work.actions.push_back(std::move(action));
  }
}

void JobController::Delete(const View& view, const std::vector<const Value*>& pods, Work& work) {
  for (const Value* pod : pods) {
    work.actions.push_back({.request = client::DeleteRequest(resources::kPods, *pod)});
    work.events.push_back(JobEvent(view.job, client::EventType::kNormal, "SuccessfulDelete",
                                   fmt::format("Deleted pod: {}", client::NameOf(*pod))));
  }
}

void JobController::ManagePods(const View& view, Work& work) {
  const Value& job = view.job;
  const Value& status = job["status"];
  const bool over = client::IsConditionTrue(job, "SuccessCriteriaMet") ||
                    client::IsConditionTrue(job, "FailureTarget");
  std::int64_t wanted = view.parallelism;
  if (view.completions) {
    wanted = std::min(wanted, *view.completions - Total(status, "succeeded"));
  } else if (Total(status, "succeeded") > 0) {
    wanted = static_cast<std::int64_t>(view.active.size());  // work queue: no new ones
  }
  if (over || view.Suspended()) wanted = 0;
  wanted = std::max<std::int64_t>(wanted, 0);
  const auto active = static_cast<std::int64_t>(view.active.size());
  if (active > wanted) {
    const auto count = std::min(static_cast<std::size_t>(active - wanted), kBurst);
    return Delete(view, VictimsOf(view.active, view.active, count, Now()), work);
  }
  if (active == wanted) return;
  const Duration left = BackoffUntil(view.pods) - Now();
  if (left > Duration(0)) {
    work.again = std::min(work.again.value_or(left), left);
    return;
  }
  Create(view, static_cast<std::size_t>(wanted - active), work);
}

Work JobController::SyncPod(const std::string& key, std::string_view pod_key) {
  Work work;
  const Value* pod = pods_.Get(pod_key);
  if (pod == nullptr || !client::HasFinalizer(*pod, kTracking)) return work;
  if (const Value* owner = client::ControllerOf(*pod)) {
    if ((*owner)["kind"].AsString() != kJob.kind || (*owner)["apiVersion"].AsString() != "batch/v1")
      return work;
    const std::string uid((*owner)["uid"].AsString());
    if (jobs_.ByUid(uid) != nullptr) return work;  // the Job's own look sees to it
    if (!gone_.Contains(uid)) {
      // The copy of Jobs may lag behind that of pods, and the end of a pod must not go uncounted.
      Action lookup{.request = client::GetRequest(kJobs, client::NamespaceOf(*pod),
                                                  (*owner)["name"].AsString())};
      lookup.settle = [this, key, uid](const Result<Value>& answer) {
        return gone_.Learn(answer, uid, [&] { Add(key); });
      };
      work.actions.push_back(std::move(lookup));
      return work;
    }
  }
  work.actions.push_back(Untrack(*pod));
  return work;
}

Work JobController::Sync(const std::string& key) {
  if (key.starts_with(kPodKey)) {
    return SyncPod(key, std::string_view(key).substr(kPodKey.size()));
  }
  Work work;
  const Value* job = jobs_.Get(key);
  if (job == nullptr) return work;
  work.actions = owners_.Ownership(*job);
  if (!work.actions.empty()) return work;
  const View view(*job, pods_.OwnedBy(client::UidOf(*job)));
  const bool finished = IsFinished(*job);
  if (!finished) {
    Value status = NextStatus(view, work);
    if (!(status == (*job)["status"])) {
      Value next = *job;
      next.Set("status", std::move(status));
      if (IsFinished(next)) {
        const bool complete = client::IsConditionTrue(next, "Complete");
        work.events.push_back(JobEvent(
            *job, complete ? client::EventType::kNormal : client::EventType::kWarning,
            complete ? "Completed"
                     : std::string((*client::ConditionOf(next, "Failed"))["reason"].AsString()),
            complete ? "Job completed"
                     : std::string((*client::ConditionOf(next, "Failed"))["message"].AsString())));
      }
      work.actions.push_back({.request = client::UpdateRequest(kJobs, std::move(next), "status")});
      return work;
    }
  }
  for (const Value* pod : view.pods) {
    const bool counted =
        HasUid((*job)["status"]["uncountedTerminatedPods"]["succeeded"], client::UidOf(*pod)) ||
        HasUid((*job)["status"]["uncountedTerminatedPods"]["failed"], client::UidOf(*pod));
    const bool idle = finished || client::IsBeingDeleted(*job);
    if (!client::HasFinalizer(*pod, kTracking) || !(counted || idle)) continue;
    work.actions.push_back(Untrack(*pod));
  }
  if (!work.actions.empty()) return work;
  if (!finished && !client::IsBeingDeleted(*job)) ManagePods(view, work);
  return work;
}

}  // namespace drachma::controllers
