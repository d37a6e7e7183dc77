#include "apiserver/custom_resources.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "apiserver/custom_kind.h"
#include "apiserver/custom_scale.h"
#include "base/log.h"

namespace drachma::apiserver {
namespace {

using json::Value;

constexpr std::string_view kDefinitions =
    "/registry/apiextensions.k8s.io/customresourcedefinitions/";
constexpr std::string_view kPlural = "customresourcedefinitions";
constexpr std::string_view kGroup = "apiextensions.k8s.io";

Value Condition(const Value& old, std::string_view type, bool on, std::string_view reason,
                std::string_view message, Time now) {
  const std::string_view status = on ? "True" : "False";
  Value since = FormatTime(now);
  for (const Value& before : old.Items()) {
    if (before["type"].AsString() == type && before["status"].AsString() == status) {
      since = before["lastTransitionTime"];
    }
  }
  return Value::Object({{"type", type},
                        {"status", status},
                        {"lastTransitionTime", since},
                        {"reason", reason},
                        {"message", message}});
}

// Names with what upstream fills in.
Value AcceptedNames(const Value& definition, const CustomKind* kind) {
  Value names = definition["spec"]["names"];
  if (kind == nullptr) return names;
  if (!names.Has("singular")) names.Set("singular", kind->info().singular);
  if (!names.Has("listKind")) names.Set("listKind", kind->info().list_kind);
  return names;
}

}  // namespace

Value DefinitionStatus(const Value& definition, const std::string& fault, Time now) {
  const Value& old = definition["status"];
  Value stored = old["storedVersions"].IsArray() ? old["storedVersions"] : Value::Array();
  for (const Value& version : definition["spec"]["versions"].Items()) {
    const auto items = stored.Items();
    const bool known =
        std::ranges::any_of(items, [&](const Value& name) { return name == version["name"]; });
    if (version["storage"].AsBool() && !known) stored.Append(version["name"]);
  }
  const Value& conditions = old["conditions"];
  const bool served = fault.empty();
  Value all = Value::Array(
      {Condition(conditions, "NamesAccepted", true, "NoConflicts", "no conflicts found", now),
       Condition(conditions, "Established", served, served ? "InitialNamesAccepted" : "NotServed",
                 served ? "the initial names have been accepted" : fault, now)});
  return Value::Object({{"acceptedNames", definition["spec"]["names"]},
                        {"conditions", std::move(all)},
                        {"storedVersions", std::move(stored)}});
}

Status CustomResources::Start() {
  DRA_ASSIGN(const store::Page page, core_.store().List(kDefinitions));
  for (const store::RecordPtr& record : page.records) Serve(record->Object());
  const auto ready = [self = std::weak_ptr(self_), &executor = core_.executor()] {
    executor.Post([self] {
      const auto held = self.lock();
      if (held != nullptr && *held != nullptr) (*held)->Follow();
    });
  };
  DRA_ASSIGN(watch_, core_.store().Subscribe(kDefinitions, page.revision, ready));
  Follow();
  return {};
}

void CustomResources::Follow() {
  Result<store::WatchBatch> batch = watch_->Take();
  if (!batch) {
    // The definitions changed faster than they could be followed: begin again from the list.
    Log(LogLevel::kWarning, "apiserver", "following definitions again: {}", batch.error().message);
    if (const Status started = Start(); !started) {
      Log(LogLevel::kError, "apiserver", "custom resources: {}", started.error().message);
    }
    return;
  }
  for (const store::EventPtr& event : batch->events) {
    if (event->type == store::EventType::kDeleted) {
      Stop(event->record->Object());
    } else {
      Serve(event->record->Object());
    }
  }
}

void CustomResources::Serve(const Value& definition) {
  std::string fault;
  Result<std::shared_ptr<const CustomKind>> kind = MakeCustomKind(definition);
  if (!kind) {
    fault = kind.error().message;
  } else if (const KindPtr other = core_.kinds().Find((*kind)->group(), (*kind)->plural());
             other != nullptr && dynamic_cast<const CustomKind*>(other.get()) == nullptr) {
    fault = fmt::format("{}.{} is a built-in resource", (*kind)->plural(), (*kind)->group());
  } else {
    core_.kinds().Put(*kind);
    core_.AddHandler(fmt::format("{}/{}/scale", (*kind)->group(), (*kind)->plural()),
                     HandleCustomScale);
    core_.BumpServedGeneration();
  }
  Value status = DefinitionStatus(definition, fault, core_.Now());
  status.Set("acceptedNames", AcceptedNames(definition, kind ? kind->get() : nullptr));
  if (!(status == definition["status"])) WriteStatus(definition, std::move(status));
}

void CustomResources::WriteStatus(const Value& definition, Value status) {
  auto job = std::make_shared<WriteJob>();
  job->kind = core_.kinds().Find(kGroup, kPlural);
  job->name = definition["metadata"]["name"].AsString();
  job->subresource = "status";
  job->strategy = WriteJob::Strategy::kSkip;
  job->uid_precondition = definition["metadata"]["uid"].AsString();
  job->request.user = AdminUser();
  job->request.call.verb = client::Verb::kUpdate;
  job->request.call.resource = {std::string(kGroup), "v1", std::string(kPlural)};
  job->request.call.name = job->name;
  job->transform = [status = std::move(status)](const Value& existing) -> Result<Value> {
    Value updated = existing;
    updated.Set("status", status);
    return updated;
  };
  job->done = [name = job->name](Result<Answer> answer) {
    // A definition that changed or went meanwhile comes back as an event of its own.
    if (!answer && answer.error().code != Code::kNotFound &&
        answer.error().code != Code::kConflict) {
      Log(LogLevel::kWarning, "apiserver", "status of {}: {}", name, answer.error().message);
    }
  };
  core_.Run(std::move(job));
}

void CustomResources::Stop(const Value& definition) {
  const std::string_view group = definition["spec"]["group"].AsString();
  const std::string_view plural = definition["spec"]["names"]["plural"].AsString();
  const KindPtr kind = core_.kinds().Find(group, plural);
  if (dynamic_cast<const CustomKind*>(kind.get()) == nullptr) return;
  const Result<store::Page> page = core_.store().List(kind->ScopeOf(""));
  if (page) {
    for (const store::RecordPtr& record : page->records) {
      core_.store().Delete(record->key, store::kAnyRevision, [](Result<store::RecordPtr>) {});
    }
  }
  core_.kinds().Remove(group, plural);
  core_.BumpServedGeneration();
}

}  // namespace drachma::apiserver
