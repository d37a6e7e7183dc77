// Deletion: grace, finalizers, propagation, collections.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "apiserver/codec.h"
#include "apiserver/core.h"
#include "apiserver/list.h"
#include "apiserver/status.h"

namespace drachma::apiserver {
namespace {

constexpr std::string_view kOrphan = "orphan";
constexpr std::string_view kForeground = "foregroundDeletion";

// Resources whose DELETE answers the object; the others answer a Status (the registries'
// ReturnDeletedObject); of DeviceTaintRules before v1 they did.
bool AnswersDeletedObject(const Kind& kind, std::string_view version) {
  static constexpr std::array<std::string_view, 18> kKinds = {
      "/namespaces",
      "/persistentvolumeclaims",
      "/persistentvolumes",
      "/pods",
      "/podtemplates",
      "/resourcequotas",
      "/serviceaccounts",
      "/services",
      "resource.k8s.io/deviceclasses",
      "resource.k8s.io/resourceclaims",
      "resource.k8s.io/resourceclaimtemplates",
      "resource.k8s.io/resourcepoolstatusrequests",
      "resource.k8s.io/resourceslices",
      "storage.k8s.io/csidrivers",
      "storage.k8s.io/csinodes",
      "storage.k8s.io/storageclasses",
      "storage.k8s.io/volumeattachments",
      "storage.k8s.io/volumeattributesclasses",
  };
  const std::string name = fmt::format("{}/{}", kind.group(), kind.plural());
  if (name == "resource.k8s.io/devicetaintrules") return version != "v1";
  return std::ranges::find(kKinds, name) != kKinds.end();
}

// What is said to those who delete a Job and leave the fate of its pods to the default.
void WarnOfOrphans(const Kind& kind, const json::Value& options,
                   std::vector<std::string>& warnings) {
  if (kind.group() != "batch" || kind.plural() != "jobs") return;
  if (options.Has("propagationPolicy") || options.Has("orphanDependents")) return;
  warnings.emplace_back(
      "child pods are preserved by default when jobs are deleted; set "
      "propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress "
      "this warning");
}

bool IsNamespace(const Kind& kind) { return kind.group().empty() && kind.plural() == "namespaces"; }
bool IsEvent(const Kind& kind) { return kind.plural() == "events"; }

// What is to be done to the present object.
struct Plan {
  enum class Action : std::uint8_t { kNothing, kUpdate, kRemove };
  Action action = Action::kRemove;
  json::Value object;  // the state to store or, for kRemove, the last state to answer
};

bool HasFinalizer(const json::Value& object, std::string_view finalizer) {
  const auto items = object["metadata"]["finalizers"].Items();
  return std::ranges::any_of(items,
                             [&](const json::Value& item) { return item.AsString() == finalizer; });
}

// Which of the two finalizers of the garbage collector the object shall have: options first, then
// what it has, then the kind's own wish.
std::string_view WantedFinalizer(const Kind& kind, const json::Value& object,
                                 const json::Value& options) {
  if (IsEvent(kind)) return {};
  if (options["orphanDependents"].IsBool()) {
    return options["orphanDependents"].AsBool() ? kOrphan : std::string_view();
  }
  const std::string_view policy = options["propagationPolicy"].AsString();
  if (policy == "Orphan") return kOrphan;
  if (policy == "Foreground") return kForeground;
  if (policy == "Background") return {};
  for (const std::string_view finalizer : {kOrphan, kForeground}) {
    if (HasFinalizer(object, finalizer)) return finalizer;
  }
  return kind.info().Has(api::kOrphanByDefault) ? kOrphan : std::string_view();
}

// Sets the garbage collector's finalizer; false when nothing had to change.
bool SetGarbageFinalizer(json::Value& object, std::string_view wanted) {
  json::Value finalizers = json::Value::Array();
  for (const json::Value& item : object["metadata"]["finalizers"].Items()) {
    if (item.AsString() != kOrphan && item.AsString() != kForeground) finalizers.Append(item);
  }
  if (!wanted.empty()) finalizers.Append(wanted);
  const bool same = HasFinalizer(object, kOrphan) == (wanted == kOrphan) &&
                    HasFinalizer(object, kForeground) == (wanted == kForeground);
  if (same) return false;
  if (finalizers.empty()) {
    object.Edit("metadata").Erase("finalizers");
  } else {
    object.Edit("metadata").Set("finalizers", std::move(finalizers));
  }
  return true;
}

void BumpGeneration(json::Value& object) {
  const std::int64_t generation = object["metadata"]["generation"].AsInt();
  if (generation > 0) object.Edit("metadata").Set("generation", generation + 1);
}

void MarkDeleting(json::Value& object, Time when, std::int64_t grace_seconds) {
  if (!object["metadata"].Has("deletionTimestamp")) BumpGeneration(object);
  json::Value& metadata = object.Edit("metadata");
  metadata.Set("deletionTimestamp", FormatTime(when));
  metadata.Set("deletionGracePeriodSeconds", grace_seconds);
}

// The grace of a pod that nobody has deleted yet (podStrategy.CheckGracefulDelete).
std::int64_t PodGrace(const json::Value& pod, const json::Value& options) {
  const std::string_view phase = pod["status"]["phase"].AsString();
  if (pod["spec"]["nodeName"].AsString().empty() || phase == "Failed" || phase == "Succeeded") {
    return 0;
  }
  const std::int64_t grace = options["gracePeriodSeconds"].IsInt()
                                 ? options["gracePeriodSeconds"].AsInt()
                                 : pod["spec"]["terminationGracePeriodSeconds"].AsInt();
  return grace < 0 ? 1 : grace;
}

enum class Grace : std::uint8_t { kNone, kStarted, kPending };

// rest.BeforeDelete for kinds with a grace period: starts or shortens it in `object`.
Grace StartGrace(json::Value& object, const json::Value& options, Time now) {
  using std::chrono::seconds;
  const json::Value& metadata = object["metadata"];
  if (!metadata.Has("deletionTimestamp")) {
    const std::int64_t grace = PodGrace(object, options);
    MarkDeleting(object, now + seconds(grace), grace);
    return Grace::kStarted;
  }
  const std::int64_t present = metadata["deletionGracePeriodSeconds"].AsInt();
  if (present == 0) return Grace::kNone;
  if (!options["gracePeriodSeconds"].IsInt()) return Grace::kPending;
  std::int64_t wanted = options["gracePeriodSeconds"].AsInt();
  if (wanted < 0) wanted = 1;
  if (wanted >= present) return Grace::kPending;
  const Result<Time> deadline = ParseTime(metadata["deletionTimestamp"].AsString());
  Time moved = deadline.value_or(now) - seconds(present) + seconds(wanted);
  if (moved < now) {
    moved = now;
    if (wanted != 0) wanted = 1;
  }
  MarkDeleting(object, moved, wanted);
  return Grace::kStarted;
}

Plan PlanFor(const Kind& kind, json::Value object, const json::Value& options, Time now) {
  const bool graceful = kind.info().Has(api::kGracefulDelete);
  const json::Value before = object;
  Grace grace = Grace::kNone;
  if (graceful) {
    grace = StartGrace(object, options, now);
    if (grace == Grace::kPending) return {.action = Plan::Action::kNothing, .object = object};
  }
  SetGarbageFinalizer(object, WantedFinalizer(kind, object, options));
  const bool finalizers = !object["metadata"]["finalizers"].empty();
  if (grace == Grace::kStarted) {
    const bool now_gone = object["metadata"]["deletionGracePeriodSeconds"].AsInt() == 0;
    return {.action = finalizers || !now_gone ? Plan::Action::kUpdate : Plan::Action::kRemove,
            .object = std::move(object)};
  }
  if (!finalizers) return {.action = Plan::Action::kRemove, .object = std::move(object)};
  const Result<Time> already = ParseTime(object["metadata"]["deletionTimestamp"].AsString());
  MarkDeleting(object, already && *already <= now ? *already : now, 0);
  // Deleting again what waits for its finalizers is no change: nothing is stored, nobody is told.
  return {.action = object == before ? Plan::Action::kNothing : Plan::Action::kUpdate,
          .object = std::move(object)};
}

// Namespaces end by their own finalizers (spec.finalizers), which the namespace controller clears.
Plan PlanForNamespace(const Kind& kind, json::Value object, const json::Value& options, Time now) {
  if (object["metadata"].Has("deletionTimestamp")) {
    if (!object["spec"]["finalizers"].empty()) {
      return {.action = Plan::Action::kNothing, .object = std::move(object)};
    }
    return PlanFor(kind, std::move(object), options, now);
  }
  object.Edit("metadata").Set("deletionTimestamp", FormatTime(now));
  object.Edit("status").Set("phase", "Terminating");
  SetGarbageFinalizer(object, WantedFinalizer(kind, object, options));
  return {.action = Plan::Action::kUpdate, .object = std::move(object)};
}

// Namespaces have words of their own for it.
Error PreconditionError(const Kind& kind, std::string_view name, std::string_view what,
                        std::string_view wanted, std::string_view present) {
  if (IsNamespace(kind)) {
    return ConflictError(kind.group(), kind.plural(), name,
                         fmt::format("Precondition failed: {0} in precondition: {1}, {0} in object "
                                     "meta: {2}",
                                     what, wanted, present));
  }
  return ConflictError(
      kind.group(), kind.info().kind, name,
      fmt::format("the {0} in the precondition ({1}) does not match the {0} in record ({2}). The "
                  "object might have been {3}",
                  what, wanted, present,
                  what == "UID" ? "deleted and then recreated" : "modified"));
}

Status CheckPreconditions(const Kind& kind, const json::Value& object, const json::Value& options) {
  const json::Value& metadata = object["metadata"];
  for (const auto& [field, what] :
       {std::pair{"uid", "UID"}, std::pair{"resourceVersion", "ResourceVersion"}}) {
    const json::Value& wanted = options["preconditions"][field];
    const std::string_view present = metadata[field].AsString();
    if (wanted.IsString() && wanted.AsString() != present) {
      return std::unexpected(
          PreconditionError(kind, metadata["name"].AsString(), what, wanted.AsString(), present));
    }
  }
  return {};
}

// Objects that cannot be read may be deleted unseen when the client asks for it; ours can be read.
Status CheckUnsafe(const Kind& kind, const json::Value& object, const json::Value& options) {
  if (!options["ignoreStoreReadErrorWithClusterBreakingPotential"].AsBool()) return {};
  const std::string_view ns = object["metadata"]["namespace"].AsString();
  const std::string_view name = object["metadata"]["name"].AsString();
  return std::unexpected(ConflictError(
      kind.group(), kind.plural(), name,
      fmt::format("StorageError: invalid object, Code: 4, Key: /registry/{}/{}{}{}, "
                  "ResourceVersion: 0, AdditionalErrorMsg: unsafe deletion is not allowed because "
                  "the object is decodable from storage",
                  kind.plural(), ns, ns.empty() ? "" : "/", name)));
}

bool IsDryRun(const json::Value& options) { return !options["dryRun"].empty(); }

// Answers a delete that admission refuses; what it warned of goes with the error.
void Refuse(DeleteJob& job, Error error) {
  const auto& warnings = job.admission.warnings;
  if (job.request.error_warnings != nullptr) {
    job.request.error_warnings->insert(job.request.error_warnings->end(), warnings.begin(),
                                       warnings.end());
  }
  job.done(std::unexpected(std::move(error)));
}

json::Value DeletedDetails(const Kind& kind, const json::Value& object) {
  json::Value details = json::Value::Object({{"name", object["metadata"]["name"]}});
  if (!kind.group().empty()) details.Set("group", kind.group());
  details.Set("kind", kind.plural());
  details.Set("uid", object["metadata"]["uid"]);
  return details;
}

}  // namespace

void Core::Delete(ApiRequest request, const KindPtr& kind, Done done) {
  auto job = std::make_shared<DeleteJob>();
  Result<json::Value> options = ReadDeleteOptionsBody(request);
  if (!options) return done(std::unexpected(std::move(options.error())));
  job->kind = kind;
  job->ns = request.call.ns;
  job->name = request.call.name;
  job->options = std::move(*options);
  job->request = std::move(request);
  job->request.call.dry_run = IsDryRun(job->options);
  job->done = std::move(done);
  Run(std::move(job));
}

void Core::Run(DeleteJobPtr job) { Attempt(job); }

void Core::Attempt(const DeleteJobPtr& job) {
  const Kind& kind = *job->kind;
  if (++job->attempts > kAttemptsMax) {
    return job->done(std::unexpected(ModifiedError(kind.group(), kind.plural(), job->name)));
  }
  job->base = store_.Head(kind.KeyOf(job->ns, job->name));
  if (job->base == nullptr) {
    return job->done(std::unexpected(NotFoundError(kind.group(), kind.plural(), job->name)));
  }
  job->admission = AdmissionOf(job->request, kind, Operation::kDelete);
  WarnOfOrphans(kind, job->options, job->admission.warnings);
  // The objects of a collection have no name of their own here, as upstream has it.
  const bool collection = job->request.call.verb == client::Verb::kDeleteCollection;
  job->admission.name = collection ? std::string() : job->name;
  job->admission.old_object = job->base->Object();
  job->admission.options = job->options.IsObject() ? job->options : json::Value::Object();
  job->admission.options.Set("kind", "DeleteOptions");
  job->admission.options.Set("apiVersion", "meta.k8s.io/v1");
  Status allowed = Admit(job->admission);
  if (allowed) allowed = Validate(job->admission);
  if (!allowed) return Refuse(*job, std::move(allowed.error()));
  Status fits = CheckPreconditions(kind, job->base->Object(), job->options);
  if (fits) fits = CheckUnsafe(kind, job->base->Object(), job->options);
  if (!fits) return job->done(std::unexpected(std::move(fits.error())));
  Review(job->admission, AsyncAdmission::Phase::kMutating, [this, job](Status seen) {
    if (!seen) return Refuse(*job, std::move(seen.error()));
    Review(job->admission, AsyncAdmission::Phase::kValidating, [this, job](Status status) {
      if (!status) return Refuse(*job, std::move(status.error()));
      Remove(job);
    });
  });
}

void Core::Remove(const DeleteJobPtr& job) {
  const Kind& kind = *job->kind;
  Plan plan = IsNamespace(kind) ? PlanForNamespace(kind, job->base->Object(), job->options, Now())
                                : PlanFor(kind, job->base->Object(), job->options, Now());
  const bool gone = plan.action == Plan::Action::kRemove;
  if (plan.action == Plan::Action::kNothing || IsDryRun(job->options)) {
    return Deleted(job, std::move(plan.object), job->base, gone);
  }
  auto stored = [self = std::weak_ptr(self_), job, gone, last = plan.object,
                 &executor = executor_](Result<store::RecordPtr> result) mutable {
    executor.Post([self, job, gone, last = std::move(last), result = std::move(result)]() mutable {
      const auto core = self.lock();
      if (core != nullptr) (*core)->Deleted(job, std::move(last), std::move(result), gone);
    });
  };
  if (gone) {
    store_.Delete(job->base->key, job->base->revision, std::move(stored));
  } else {
    store_.Put(job->base->key, std::move(plan.object), job->base->revision, std::move(stored));
  }
}

void Core::Deleted(const DeleteJobPtr& job, json::Value last, Result<store::RecordPtr> result,
                   bool gone) {
  const Kind& kind = *job->kind;
  if (!result) {
    const Code code = result.error().code;
    if (code == Code::kConflict || code == Code::kNotFound) return Attempt(job);
    return job->done(std::unexpected(std::move(result.error())));
  }
  Answer answer{.warnings = std::move(job->admission.warnings)};
  if (gone && !AnswersDeletedObject(kind, job->request.resource().version)) {
    answer.object = SuccessStatus(DeletedDetails(kind, last), 0);
    return job->done(std::move(answer));
  }
  if (!gone && job->options["orphanDependents"].IsBool() &&
      !job->options["orphanDependents"].AsBool()) {
    answer.code = 202;
  }
  answer.kind = job->kind;
  answer.version = job->request.resource().version;
  if (!IsDryRun(job->options)) {
    last.Edit("metadata")
        .Set("resourceVersion", (*result)->Object()["metadata"]["resourceVersion"]);
  }
  answer.object = std::move(last);
  job->done(std::move(answer));
}

namespace {

// Deletes the records of a collection one after the other; the first error is the answer, objects
// that went away meanwhile are none.
struct CollectionJob {
  ApiRequest request;
  KindPtr kind;
  json::Value options;
  Answer::List list;
  std::size_t next = 0;
  std::optional<Error> error;
  Done done;
};

void DeleteNext(Core& core, const std::shared_ptr<CollectionJob>& job) {
  if (job->next == job->list.records.size()) {
    if (job->error) return job->done(std::unexpected(std::move(*job->error)));
    Answer answer{.kind = job->kind,
                  .version = job->request.resource().version,
                  .list = std::move(job->list)};
    WarnOfOrphans(*job->kind, job->options, answer.warnings);
    return job->done(std::move(answer));
  }
  const store::RecordPtr record = job->list.records[job->next++];
  auto one = std::make_shared<DeleteJob>();
  one->request = job->request;
  one->kind = job->kind;
  one->ns = record->Object()["metadata"]["namespace"].AsString();
  one->name = record->Object()["metadata"]["name"].AsString();
  one->options = job->options;
  one->done = [&core, job](Result<Answer> answer) {
    if (!answer && answer.error().code != Code::kNotFound && !job->error) {
      job->error = std::move(answer.error());
    }
    DeleteNext(core, job);
  };
  core.Run(std::move(one));
}

}  // namespace

void Core::DeleteCollection(ApiRequest request, const KindPtr& kind, Done done) {
  auto job = std::make_shared<CollectionJob>();
  client::Request list_call = request.call;
  list_call.verb = client::Verb::kList;
  Result<Answer::List> list = ListRecords(store_, *kind, list_call);
  if (!list) return done(std::unexpected(std::move(list.error())));
  Result<json::Value> options = ReadDeleteOptionsBody(request);
  if (!options) return done(std::unexpected(std::move(options.error())));
  job->kind = kind;
  job->options = std::move(*options);
  job->list = std::move(*list);
  job->request = std::move(request);
  job->request.call.dry_run = IsDryRun(job->options);
  job->done = std::move(done);
  DeleteNext(*this, job);
}

}  // namespace drachma::apiserver
