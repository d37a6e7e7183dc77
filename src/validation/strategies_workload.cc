#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>
#include <vector>

#include "validation/job_status.h"
#include "validation/names.h"
#include "validation/object_meta.h"
#include "validation/pod_rules.h"
#include "validation/shown_internal.h"
#include "validation/strategy_tables.h"
#include "validation/workload_rules.h"
#include "validation/workload_status.h"

// Kinds that make pods: pkg/registry/apps and pkg/registry/batch of Kubernetes.
namespace drachma::validation {
namespace {

using json::Value;

using SpecRule = ErrorList (*)(const Value& spec);

template <SpecRule kRule, NameRule kName>
ErrorList Create(const Context&, const Value& object) {
  ErrorList errors =
      ValidateCoreObjectMeta(object["metadata"], Scope::kNamespaced, kName, "metadata");
  Append(errors, kRule(object["spec"]));
  return errors;
}

template <SpecRule kRule>
ErrorList Update(const Context&, const Value& object, const Value& old) {
  ErrorList errors = ValidateCoreObjectMetaUpdate(object["metadata"], old["metadata"], "metadata");
  Append(errors, kRule(object["spec"]));
  return errors;
}

// The same with a selector that never changes.
template <SpecRule kRule>
ErrorList UpdateWithSelector(const Context& context, const Value& object, const Value& old) {
  ErrorList errors = Update<kRule>(context, object, old);
  Append(errors,
         ValidateImmutable(object["spec"]["selector"], old["spec"]["selector"], "spec.selector"));
  return errors;
}

constexpr std::string_view kVolumeClaim = "k8s.io/api/core/v1.PersistentVolumeClaim";

// The claims of a set that is there cannot change, and are not looked at again.
ErrorList CreateStatefulSet(const Context& context, const Value& object) {
  ErrorList errors = Create<ValidateStatefulSetSpec, NameIsDnsLabel>(context, object);
  const auto claims = object["spec"]["volumeClaimTemplates"].Items();
  for (std::size_t i = 0; i < claims.size(); ++i) {
    const std::string path = Child(Index("spec.volumeClaimTemplates", i), "spec");
    Append(errors, ValidateVolumeClaimSpec(claims[i]["spec"], path));
  }
  return errors;
}

ErrorList UpdateStatefulSet(const Context& context, const Value& object, const Value& old) {
  ErrorList errors = Update<ValidateStatefulSetSpec>(context, object, old);
  for (const std::string_view field :
       {"selector", "volumeClaimTemplates", "serviceName", "podManagementPolicy"}) {
    ErrorList changed =
        ValidateImmutable(object["spec"][field], old["spec"][field], Child("spec", field));
    if (!changed.empty() && field == "volumeClaimTemplates") {
      changed[0].bad_value = ShownInternal(object["spec"][field], kVolumeClaim);
    }
    Append(errors, std::move(changed));
  }
  return errors;
}

ErrorList UpdateStatus(const Context&, const Value& object, const Value& old) {
  return ValidateCoreObjectMetaUpdate(object["metadata"], old["metadata"], "metadata");
}

using StatusRule = ErrorList (*)(const Value& status, const Value& old);

template <StatusRule kRule>
ErrorList UpdateStatusOf(const Context& context, const Value& object, const Value& old) {
  ErrorList errors = UpdateStatus(context, object, old);
  Append(errors, kRule(object["status"], old["status"]));
  return errors;
}

ErrorList CreatePodTemplate(const Context&, const Value& object) {
  ErrorList errors = ValidateCoreObjectMeta(object["metadata"], Scope::kNamespaced,
                                            NameIsDnsSubdomain, "metadata");
  Append(errors, ValidatePodTemplate(object["template"], "template"));
  return errors;
}

ErrorList UpdatePodTemplate(const Context&, const Value& object, const Value& old) {
  ErrorList errors = ValidateCoreObjectMetaUpdate(object["metadata"], old["metadata"], "metadata");
  Append(errors, ValidatePodTemplate(object["template"], "template"));
  return errors;
}

void PreparePodTemplateUpdate(const Context&, Value& object, const Value& old) {
  if (SemanticEqual(object["template"], old["template"])) return;
  object.Edit("metadata").Set("generation", old["metadata"]["generation"].AsInt() + 1);
}

// The generation of a DaemonSet's template stands in an annotation.
constexpr std::string_view kTemplateGeneration = "deprecated.daemonset.template.generation";

std::int64_t TemplateGeneration(const Value& object) {
  const std::string_view text = object["metadata"]["annotations"][kTemplateGeneration].AsString();
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

void SetTemplateGeneration(Value& object, std::int64_t generation) {
  object.Edit("metadata").Edit("annotations").Set(kTemplateGeneration, std::to_string(generation));
}

void PrepareDaemonSetCreate(const Context& context, Value& object) {
  ClearStatusAndStartGeneration(context, object);
  SetTemplateGeneration(object, std::max<std::int64_t>(TemplateGeneration(object), 1));
}

void PrepareDaemonSetUpdate(const Context& context, Value& object, const Value& old) {
  KeepStatusAndCountGeneration(context, object, old);
  const bool same = SemanticEqual(object["spec"]["template"], old["spec"]["template"]);
  SetTemplateGeneration(object, TemplateGeneration(old) + (same ? 0 : 1));
}

void PrepareDaemonSetStatus(const Context& context, Value& object, const Value& old) {
  KeepSpec(context, object, old);
  SetTemplateGeneration(object, TemplateGeneration(old));
}

ErrorList CreateJob(const Context&, const Value& job) {
  ErrorList errors =
      ValidateCoreObjectMeta(job["metadata"], Scope::kNamespaced, NameIsDnsSubdomain, "metadata");
  Append(errors, ValidateGeneratedSelector(job));
  Append(errors, ValidateJob(job));
  return errors;
}

// Gives the containers the resources of those of `old` that have their names.
void TakeOverResources(Value& spec, const Value& old, std::string_view list) {
  if (spec[list].size() != old[list].size()) return;
  for (std::size_t i = 0; i < spec[list].size(); ++i) {
    const Value& before = old[list].Items()[i];
    if (spec[list].Items()[i]["name"] != before["name"]) continue;
    TakeOver(spec.Edit(list).EditItem(i), before, "resources");
  }
}

// A job that is suspended and has no pods may still change where they go and what they ask for
// (shouldAllowMutablePodTemplate, validatePodTemplateUpdate of pkg/apis/batch/validation).
ErrorList ValidateTemplateUpdate(const Value& old_job, const Value& now, const Value& old) {
  const bool suspended = old_job["spec"]["suspend"].AsBool();
  const Value& status = old_job["status"];
  const bool may_change = suspended && status["active"].AsInt() == 0 &&
                          (status["startTime"].IsNull() || HasCondition(old_job, "Suspended"));
  std::string path = "spec.template";
  std::string_view type = "k8s.io/api/core/v1.PodTemplateSpec";
  Value wanted = now;
  Value before = old;
  if (may_change && now.IsObject()) {
    path = "spec.template.spec";
    type = "k8s.io/api/core/v1.PodSpec";
    wanted = now["spec"];
    before = old["spec"];
    for (const std::string_view field : {"nodeSelector", "tolerations", "schedulingGates"}) {
      TakeOver(wanted, before, field);
    }
    // All but the affinity to nodes stays.
    if (!wanted["affinity"].IsNull() || !before["affinity"].IsNull()) {
      TakeOver(wanted.Edit("affinity"), before["affinity"], "nodeAffinity");
      if (wanted["affinity"].empty()) wanted.Erase("affinity");
    }
    for (const std::string_view list : {"containers", "initContainers"}) {
      TakeOverResources(wanted, before, list);
    }
  }
  ErrorList changed = ValidateImmutable(wanted, before, std::move(path));
  if (!changed.empty()) changed[0].bad_value = ShownInternal(may_change ? now["spec"] : now, type);
  return changed;
}

ErrorList UpdateJob(const Context&, const Value& job, const Value& old_job) {
  ErrorList errors = ValidateCoreObjectMetaUpdate(job["metadata"], old_job["metadata"], "metadata");
  const Value& spec = job["spec"];
  const Value& old = old_job["spec"];
  Append(errors, ValidateJob(job));
  const bool indexed = spec["completionMode"].AsString() == "Indexed";
  if (!indexed) {
    Append(errors, ValidateImmutable(spec["completions"], old["completions"], "spec.completions"));
  } else if (spec["completions"] != old["completions"] && !spec["completions"].IsNull() &&
             spec["completions"] != spec["parallelism"]) {
    errors.push_back(Invalid("spec.completions", ShownInt(spec["completions"].AsInt()),
                             "can only be modified in tandem with spec.parallelism"));
  }
  Append(errors, ValidateImmutable(spec["selector"], old["selector"], "spec.selector"));
  Append(errors, ValidateTemplateUpdate(old_job, spec["template"], old["template"]));
  for (const std::string_view field : {"completionMode", "podFailurePolicy", "backoffLimitPerIndex",
                                       "managedBy", "successPolicy"}) {
    ErrorList changed = ValidateImmutable(spec[field], old[field], Child("spec", field));
    if (!changed.empty() && spec[field].IsObject()) {
      changed[0].bad_value = ShownInternal(spec[field], field == "podFailurePolicy"
                                                            ? "k8s.io/api/batch/v1.PodFailurePolicy"
                                                            : "k8s.io/api/batch/v1.SuccessPolicy");
    }
    Append(errors, std::move(changed));
  }
  return errors;
}

// The name of a job is that of the CronJob with eleven more characters.
constexpr std::size_t kCronJobNameMax = 63 - 11;

ErrorList CreateCronJob(const Context& context, const Value& object) {
  ErrorList errors = Create<ValidateCronJobSpec, NameIsDnsSubdomain>(context, object);
  const std::string_view name = object["metadata"]["name"].AsString();
  if (name.size() > kCronJobNameMax) {
    errors.push_back(
        Invalid("metadata.name", ShownText(name), "must be no more than 52 characters"));
  }
  return errors;
}

void PrepareDeploymentUpdate(const Context& context, Value& object, const Value& old) {
  KeepStatusAndCountGeneration(context, object, old);
  // Annotations are copied to the ReplicaSets, so their change is one for the controller.
  if (!SemanticEqual(object["metadata"]["annotations"], old["metadata"]["annotations"])) {
    object.Edit("metadata").Set("generation", old["metadata"]["generation"].AsInt() + 1);
  }
}

void KeepSpecAndLabels(const Context& context, Value& object, const Value& old) {
  KeepSpec(context, object, old);
  TakeOver(object.Edit("metadata"), old["metadata"], "labels");
}

// Labels and a selector by the job's uid, unless the user takes care of them.
void PrepareJobCreate(const Context& context, Value& job) {
  ClearStatusAndStartGeneration(context, job);
  if (job["spec"]["manualSelector"].AsBool()) return;
  const Value uid = job["metadata"]["uid"].AsString();
  const Value name = job["metadata"]["name"].AsString();
  const Value given = job["spec"]["template"]["metadata"]["labels"];
  Value& spec = job.Edit("spec");
  Value& labels = spec.Edit("template").Edit("metadata").Edit("labels");
  const auto add = [&](std::string_view key, const Value& value) {
    if (!labels.Has(key)) labels.Set(key, value);
  };
  add("batch.kubernetes.io/controller-uid", uid);
  add("batch.kubernetes.io/job-name", name);
  add("controller-uid", uid);
  add("job-name", name);
  Value& match = spec.Edit("selector").Edit("matchLabels");
  if (!match.Has("batch.kubernetes.io/controller-uid")) {
    match.Set("batch.kubernetes.io/controller-uid", uid);
  }
  // Labels that were defaulted from the template's are the same map upstream.
  if (!given.IsNull() && job["metadata"]["labels"] == given &&
      context.sent["metadata"]["labels"].empty()) {
    const Value shared = job["spec"]["template"]["metadata"]["labels"];
    job.Edit("metadata").Set("labels", shared);
  }
}

constexpr std::string_view kApps = "apps";
constexpr std::string_view kBatch = "batch";
constexpr std::string_view kStatus = "status";

constexpr Strategy Main(std::string_view group, std::string_view kind,
                        decltype(Strategy::validate_create) create,
                        decltype(Strategy::validate_update) update) {
  return {.group = group,
          .kind = kind,
          .prepare_create = ClearStatusAndStartGeneration,
          .prepare_update = KeepStatusAndCountGeneration,
          .validate_create = create,
          .validate_update = update,
          .reset_fields = kStatus};
}

constexpr Strategy StatusOf(std::string_view group, std::string_view kind,
                            decltype(Strategy::validate_update) update = UpdateStatus) {
  return {.group = group,
          .kind = kind,
          .subresource = kStatus,
          .prepare_update = KeepSpec,
          .validate_update = update,
          .reset_fields = "spec"};
}

constexpr Strategy Deployment() {
  Strategy row = Main(kApps, "Deployment", Create<ValidateDeploymentSpec, NameIsDnsSubdomain>,
                      UpdateWithSelector<ValidateDeploymentSpec>);
  row.prepare_update = PrepareDeploymentUpdate;
  return row;
}
constexpr Strategy DeploymentStatus() {
  Strategy row = StatusOf(kApps, "Deployment", UpdateStatusOf<ValidateDeploymentStatus>);
  row.prepare_update = KeepSpecAndLabels;
  row.reset_fields = "spec,metadata.labels";
  return row;
}
constexpr Strategy DaemonSet() {
  Strategy row = Main(kApps, "DaemonSet", Create<ValidateDaemonSetSpec, NameIsDnsSubdomain>,
                      UpdateWithSelector<ValidateDaemonSetSpec>);
  row.prepare_create = PrepareDaemonSetCreate;
  row.prepare_update = PrepareDaemonSetUpdate;
  return row;
}
constexpr Strategy DaemonSetStatus() {
  Strategy row = StatusOf(kApps, "DaemonSet", UpdateStatusOf<ValidateDaemonSetStatus>);
  row.prepare_update = PrepareDaemonSetStatus;
  return row;
}
constexpr Strategy Job() {
  Strategy row = Main(kBatch, "Job", CreateJob, UpdateJob);
  row.prepare_create = PrepareJobCreate;
  return row;
}

constexpr Strategy kRows[] = {
    {.kind = "PodTemplate",
     .allow_create_on_update = Rule::kYes,
     .prepare_create = StartGeneration,
     .prepare_update = PreparePodTemplateUpdate,
     .validate_create = CreatePodTemplate,
     .validate_update = UpdatePodTemplate},
    Deployment(),
    DeploymentStatus(),
    Main(kApps, "ReplicaSet", Create<ValidateReplicaSetSpec, NameIsDnsSubdomain>,
         UpdateWithSelector<ValidateReplicaSetSpec>),
    StatusOf(kApps, "ReplicaSet", UpdateStatusOf<ValidateReplicaSetStatus>),
    Main(kApps, "StatefulSet", CreateStatefulSet, UpdateStatefulSet),
    StatusOf(kApps, "StatefulSet", UpdateStatusOf<ValidateStatefulSetStatus>),
    DaemonSet(),
    DaemonSetStatus(),
    Job(),
    StatusOf(kBatch, "Job", ValidateJobStatusUpdate),
    Main(kBatch, "CronJob", CreateCronJob, Update<ValidateCronJobSpec>),
    StatusOf(kBatch, "CronJob"),
};

}  // namespace

std::span<const Strategy> WorkloadStrategies() { return kRows; }

}  // namespace drachma::validation
