// Creates, updates and patches: from the request to the stored object.
#include <fmt/format.h>

#include <utility>

#include "apiserver/codec.h"
#include "apiserver/core.h"
#include "apiserver/limits.h"
#include "apiserver/list.h"
#include "apiserver/objects.h"
#include "apiserver/status.h"
#include "apiserver/transforms.h"

namespace drachma::apiserver {

namespace {

// Moves what admission warned of to the warnings of the request.
void TakeWarnings(WriteJob& job) {
  std::vector<std::string>& from = job.admission.warnings;
  job.warnings.insert(job.warnings.end(), from.begin(), from.end());
  from.clear();
}

// Answers a write with an error; what the request was warned of goes with it.
void Refuse(WriteJob& job, Error error) {
  TakeWarnings(job);
  if (job.request.error_warnings != nullptr) {
    job.request.error_warnings->insert(job.request.error_warnings->end(), job.warnings.begin(),
                                       job.warnings.end());
  }
  job.done(std::unexpected(std::move(error)));
}

WriteJobPtr JobFor(const ApiRequest& request, Done done) {
  auto job = std::make_shared<WriteJob>();
  job->request.error_warnings = request.error_warnings;
  job->done = std::move(done);
  return job;
}

}  // namespace

void Core::Create(ApiRequest request, const KindPtr& kind, Done done) {
  const WriteJobPtr job = JobFor(request, std::move(done));
  Result<json::Value> object = ReadObject(*kind, request, Now(), job->warnings);
  if (!object) return Refuse(*job, std::move(object.error()));
  WipeSystemFields(*object);
  if (Status matched = MatchNamespace(*kind, request.call.ns, *object); !matched) {
    return Refuse(*job, std::move(matched.error()));
  }
  DedupOwnerReferences(*object, job->warnings);
  job->kind = kind;
  job->subresource = request.call.subresource;
  job->ns = request.call.ns;
  job->name = (*object)["metadata"]["name"].AsString();
  job->missing = WriteJob::Missing::kCreate;
  job->present = WriteJob::Present::kFail;
  job->transform = CreateTransform(*kind, request, std::move(*object), Now());
  job->request = std::move(request);
  Run(job);
}

void Core::Update(ApiRequest request, const KindPtr& kind, Done done) {
  const WriteJobPtr job = JobFor(request, std::move(done));
  Result<json::Value> object = ReadObject(*kind, request, Now(), job->warnings);
  if (!object) return Refuse(*job, std::move(object.error()));
  if (Status matched = MatchNamespace(*kind, request.call.ns, *object); !matched) {
    return Refuse(*job, std::move(matched.error()));
  }
  if (Status named = CheckName(*object, request.call.name); !named) {
    return Refuse(*job, std::move(named.error()));
  }
  DedupOwnerReferences(*object, job->warnings);
  job->kind = kind;
  job->subresource = request.call.subresource;
  job->ns = request.call.ns;
  job->name = request.call.name;
  job->uid_precondition = (*object)["metadata"]["uid"].AsString();
  if (kind->info().Has(api::kCreateOnUpdate) && job->subresource.empty()) {
    job->missing = WriteJob::Missing::kCreate;
  }
  job->transform = UpdateTransform(*kind, request, std::move(*object), Now());
  job->request = std::move(request);
  Run(job);
}

void Core::Patch(ApiRequest request, const KindPtr& kind, Done done) {
  auto job = std::make_shared<WriteJob>();
  Result<ParsedBody> patch = ParsePatch(request);
  if (!patch) {
    // What is no JSON at all is refused at once, all else when the object is there.
    const bool missing = request.call.patch != client::PatchType::kApply &&
                         patch.error().message != kNoJsonPatch &&
                         store_.Head(kind->KeyOf(request.call.ns, request.call.name)) == nullptr;
    if (!missing) return done(std::unexpected(std::move(patch.error())));
    return done(std::unexpected(NotFoundError(kind->group(), kind->plural(), request.call.name)));
  }
  job->kind = kind;
  job->subresource = request.call.subresource;
  job->ns = request.call.ns;
  job->name = request.call.name;
  if (request.call.patch == client::PatchType::kApply && job->subresource.empty()) {
    job->missing = WriteJob::Missing::kCreate;
  }
  job->transform =
      PatchTransform(*kind, request, std::move(*patch), [this] { return Now(); }, job->warnings);
  job->request = std::move(request);
  job->done = std::move(done);
  Run(std::move(job));
}

void Core::Run(WriteJobPtr job) {
  job->warnings_of_request = job->warnings.size();
  Attempt(job);
}

void Core::Attempt(const WriteJobPtr& job) {
  if (++job->attempts > kAttemptsMax) {
    return Refuse(*job, ModifiedError(job->kind->group(), job->kind->plural(), job->name));
  }
  job->warnings.resize(job->warnings_of_request);
  if (Status prepared = Prepare(*job); !prepared) {
    return Refuse(*job, std::move(prepared.error()));
  }
  Change(job);
}

void Core::Change(const WriteJobPtr& job) {
  Review(job->admission, AsyncAdmission::Phase::kMutating, [this, job](Status status) {
    if (!status) return Refuse(*job, std::move(status.error()));
    Reinvocation& reinvocation = job->admission.reinvocation;
    if (!reinvocation.wanted || reinvocation.running) return Mutated(job);
    // The plugins see what policies and webhooks made of the object, and some of these what the
    // others made.
    reinvocation.running = true;
    if (job->strategy == WriteJob::Strategy::kApply) {
      if (Status again = Admit(job->admission); !again) {
        return Refuse(*job, std::move(again.error()));
      }
    }
    Change(job);
  });
}

namespace {

// Upstream's storage reports a wrong uid with this text.
Error UidConflict(const WriteJob& job, std::string_view present) {
  const std::string key =
      job.kind->info().namespaced()
          ? fmt::format("/registry/{}/{}/{}", job.kind->plural(), job.ns, job.name)
          : fmt::format("/registry/{}/{}", job.kind->plural(), job.name);
  return ConflictError(
      job.kind->group(), job.kind->plural(), job.name,
      fmt::format("StorageError: invalid object, Code: 4, Key: {}, ResourceVersion: 0, "
                  "AdditionalErrorMsg: Precondition failed: UID in precondition: {}, UID in "
                  "object meta: {}",
                  key, job.uid_precondition, present));
}

}  // namespace

Status Core::Prepare(WriteJob& job) {
  const std::string key = job.kind->KeyOf(job.ns, job.name);
  job.base = job.present == WriteJob::Present::kFail ? nullptr : store_.Head(key);
  if (job.base == nullptr && job.missing == WriteJob::Missing::kFail) {
    return std::unexpected(NotFoundError(job.kind->group(), job.kind->plural(), job.name));
  }
  const json::Value existing = job.base == nullptr ? json::Value() : job.base->Object();
  if (!job.uid_precondition.empty()) {
    const std::string_view present = existing["metadata"]["uid"].AsString();
    if (present != job.uid_precondition) {
      return std::unexpected(UidConflict(job, present));
    }
  }
  DRA_ASSIGN(job.object, job.transform(existing));
  job.admission = AdmissionOf(job.request, *job.kind,
                              job.base == nullptr ? Operation::kCreate : Operation::kUpdate);
  job.admission.object = std::move(job.object);
  job.admission.old_object = existing;
  if (job.admission.name.empty()) job.admission.name = job.name;
  job.admission.options = OptionsOf(job.request, job.base == nullptr);
  if (job.strategy == WriteJob::Strategy::kSkip) return {};
  return Admit(job.admission);
}

void Core::Review(AdmissionRequest& request, AsyncAdmission::Phase phase,
                  std::move_only_function<void(Status)> next, std::size_t from) {
  for (std::size_t i = from; i < options_.webhooks.size(); ++i) {
    if (!options_.webhooks[i]->Handles(request, phase)) continue;
    options_.webhooks[i]->Review(
        request, phase, [this, &request, phase, i, next = std::move(next)](Status status) mutable {
          if (!status) return next(std::move(status));
          Review(request, phase, std::move(next), i + 1);
        });
    return;
  }
  next({});
}

void Core::Mutated(const WriteJobPtr& job) {
  if (Status checked = Check(*job); !checked) {
    return Refuse(*job, std::move(checked.error()));
  }
  Review(job->admission, AsyncAdmission::Phase::kValidating, [this, job](Status status) {
    if (!status) return Refuse(*job, std::move(status.error()));
    Checked(job);
  });
}

Status Core::Check(WriteJob& job) {
  json::Value& object = job.admission.object;
  DedupOwnerReferences(object, job.admission.warnings);
  if (job.strategy == WriteJob::Strategy::kApply) {
    if (job.base != nullptr) {
      DRA_TRY(CheckUpdate(job));
    } else {
      job.generated_name = object["metadata"]["name"].AsString().empty();
      const validation::Context context = ContextOf(
          job.request, job.request.call.verb == client::Verb::kCreate ? "create" : "patch",
          job.subresource, job.name);
      DRA_TRY(job.kind->BeforeCreate(context, object, &job.warnings));
      job.name = object["metadata"]["name"].AsString();
      // Who looks at the finished object knows the name that was made for it.
      if (job.admission.name.empty()) job.admission.name = job.name;
    }
    DRA_TRY(Validate(job.admission));
  }
  return {};
}

Status Core::CheckUpdate(WriteJob& job) {
  json::Value& object = job.admission.object;
  const json::Value existing = job.base->Object();
  const validation::Context context =
      ContextOf(job.request, job.request.call.verb == client::Verb::kPatch ? "patch" : "update",
                job.subresource, job.name);
  const std::string_view wanted = object["metadata"]["resourceVersion"].AsString();
  const std::string_view present = existing["metadata"]["resourceVersion"].AsString();
  if (wanted.find_first_not_of("0123456789") != std::string_view::npos) {
    return Fail(Code::kUnknown, fmt::format("strconv.ParseUint: parsing {}: invalid syntax",
                                            validation::ShownText(wanted)));
  }
  if (wanted.empty() || wanted == "0") {
    if (!job.kind->AllowsUnconditionalUpdate(context)) {
      return std::unexpected(InvalidFieldError(
          job.kind->group(), job.kind->plural(), job.name, "metadata.resourceVersion",
          "FieldValueInvalid", "Invalid value: 0: must be specified for an update"));
    }
    object.Edit("metadata").Set("resourceVersion", present);
  } else if (wanted != present) {
    return std::unexpected(ModifiedError(job.kind->group(), job.kind->plural(), job.name));
  }
  DRA_TRY(job.kind->BeforeUpdate(context, object, existing, &job.warnings));
  KeepManagedFieldsTimes(object, existing);
  return {};
}

void Core::Checked(const WriteJobPtr& job) {
  TakeWarnings(*job);
  job->object = std::move(job->admission.object);
  json::Value& object = job->object;
  if (job->base != nullptr) {
    if (object == job->base->Object()) return AnswerUnchanged(job);
    job->deletes = DeletesItself(*job->kind, object, job->base->Object());
    if (job->deletes) {
      if (job->request.call.dry_run) return Finish(*job, {.object = object});
      store_.Delete(job->base->key, job->base->revision,
                    [this, self = std::weak_ptr(self_), job](Result<store::RecordPtr> result) {
                      executor_.Post([self, job, result = std::move(result)]() mutable {
                        const auto core = self.lock();
                        if (core == nullptr) return;
                        (*core)->Committed(job, std::move(result));
                      });
                    });
      return;
    }
  } else {
    // What is no number is no version either, and not looked at (etcd3's store.Create); an update
    // that creates drops it.
    const std::string version(object["metadata"]["resourceVersion"].AsString());
    if (job->request.call.verb == client::Verb::kUpdate) {
      object.Edit("metadata").Erase("resourceVersion");
    } else if (ParseResourceVersion(version).value_or(0) != 0) {
      return Refuse(*job,
                    {.code = Code::kUnknown,
                     .message = "resourceVersion should not be set on objects to be created"});
    }
  }
  const std::string key = job->kind->KeyOf(job->ns, job->name);
  if (job->request.call.dry_run) {
    if (job->base == nullptr && store_.Head(key) != nullptr) {
      return Refuse(*job, AlreadyExistsError(job->kind->group(), job->kind->plural(), job->name));
    }
    return Finish(*job, {.object = object});
  }
  if (IsLargerThan(object, kObjectBytesMax)) {
    return Refuse(
        *job, {.code = Code::kTooLarge,
               .message = fmt::format("Request entity too large: limit is {}", kObjectBytesMax)});
  }
  store_.Put(key, object, job->base == nullptr ? store::kMustNotExist : job->base->revision,
             [this, self = std::weak_ptr(self_), job](Result<store::RecordPtr> result) {
               executor_.Post([self, job, result = std::move(result)]() mutable {
                 const auto core = self.lock();
                 if (core == nullptr) return;
                 (*core)->Committed(job, std::move(result));
               });
             });
}

void Core::Committed(const WriteJobPtr& job, Result<store::RecordPtr> result) {
  if (result) {
    // A write that emptied the finalizers of a deleted object is answered with what it wrote.
    if (job->deletes) {
      return Finish(*job, {.object = job->object});
    }
    return Finish(*job, {.record = *result});
  }
  const Code code = result.error().code;
  const std::string_view group = job->kind->group();
  const std::string_view plural = job->kind->plural();
  if (code == Code::kAlreadyExists) {
    const bool may_retry = job->generated_name || job->present == WriteJob::Present::kUpdate;
    if (!may_retry || job->attempts >= kAttemptsMax) {
      return Refuse(*job, AlreadyExistsError(group, plural, job->name));
    }
    if (job->generated_name) job->name.clear();
    return Attempt(job);
  }
  if (code == Code::kConflict) return Attempt(job);
  if (code == Code::kNotFound) {
    if (job->missing == WriteJob::Missing::kCreate) return Attempt(job);
    return Refuse(*job, NotFoundError(group, plural, job->name));
  }
  job->done(std::unexpected(std::move(result.error())));
}

void Core::Finish(WriteJob& job, Answer answer) {
  answer.code = job.base == nullptr ? 201 : 200;
  answer.kind = job.kind;
  answer.version = job.request.resource().version;
  answer.warnings = std::move(job.warnings);
  job.done(std::move(answer));
}

void Core::AnswerUnchanged(const WriteJobPtr& job) {
  // The state that the write left as it is may itself be on its way to the disk: it must not be
  // shown before it is there.
  constexpr Duration kDurableCheck = std::chrono::milliseconds(1);
  if (job->base->revision > store_.Current()) {
    executor_.PostAfter(kDurableCheck, [self = std::weak_ptr(self_), job] {
      const auto core = self.lock();
      if (core == nullptr) return;
      if ((*core)->store_.Head(job->base->key) == job->base) {
        (*core)->AnswerUnchanged(job);
      } else {
        (*core)->Attempt(job);
      }
    });
    return;
  }
  Finish(*job, {.record = job->base});
}

}  // namespace drachma::apiserver
