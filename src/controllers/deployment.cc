#include "controllers/deployment.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "client/objects.h"
#include "controllers/deployment_conditions.h"
#include "controllers/objects.h"
#include "controllers/rollout.h"
#include "controllers/workload.h"

namespace drachma::controllers {

using client::Change;
using json::Value;
namespace resources = client::resources;

namespace {

const OwnerKind kDeployment = {resources::kDeployments, "Deployment"};
// The revision-history annotation never gets longer than this.
constexpr std::size_t kRevisionHistoryBytesMax = 2000;

// Annotations of a Deployment that its ReplicaSets do not inherit.
constexpr std::array<std::string_view, 6> kNotInherited = {
    "kubectl.kubernetes.io/last-applied-configuration",
    kRevision,
    kRevisionHistory,
    kDesiredReplicas,
    kMaxReplicas,
    "deprecated.deployment.rollback.to"};

EventToRecord DeploymentEvent(const Value& deployment, client::EventType type, std::string reason,
                              std::string message) {
  return {.object = Reference("apps/v1", "Deployment", deployment),
          .type = type,
          .reason = std::move(reason),
          .message = std::move(message)};
}

// Sets the revision of a ReplicaSet, remembering the one it had: undo makes an old set the newest.
void SetRevision(Value& set, std::int64_t revision) {
  const std::optional<std::int64_t> old = NumberIn(set, kRevision);
  if (old && *old >= revision) return;
  Value& annotations = set.Edit("metadata").Edit("annotations");
  if (old) {
    std::string history(annotations[kRevisionHistory].AsString());
    if (!history.empty()) history += ',';
    history += std::to_string(*old);
    while (history.size() > kRevisionHistoryBytesMax) history.erase(0, history.find(',') + 1);
    annotations.Set(kRevisionHistory, history);
  }
  annotations.Set(kRevision, std::to_string(revision));
}

void InheritAnnotations(const Value& deployment, Value& set) {
  for (const json::Member& member : deployment["metadata"]["annotations"].Members()) {
    if (std::ranges::find(kNotInherited, member.key()) != kNotInherited.end()) continue;
    set.Edit("metadata").Edit("annotations").Set(member.key(), member.value);
  }
}

void SetSizeAnnotations(const Value& deployment, Value& set) {
  Value& annotations = set.Edit("metadata").Edit("annotations");
  const std::int64_t wanted = ReplicasOf(deployment);
  annotations.Set(kDesiredReplicas, std::to_string(wanted));
  annotations.Set(kMaxReplicas, std::to_string(wanted + FencesOf(deployment).surge));
}

}  // namespace

Sets DeploymentController::Rollout::Active() const {
  Sets active;
  std::ranges::copy_if(all, std::back_inserter(active),
                       [](const Value* set) { return ReplicasOf(*set) > 0; });
  return active;
}

std::int64_t DeploymentController::Rollout::NextRevision() const {
  std::int64_t most = 0;
  for (const Value* set : old) most = std::max(most, RevisionNumberOf(*set));
  return most + 1;
}

DeploymentController::DeploymentController(Host& host)
    : Controller(host),
      deployments_(Watch(resources::kDeployments,
                         [this](const Change& change) { Add(client::KeyOf(change.object)); })),
      sets_(Watch(resources::kReplicaSets, [this](const Change& change) { OnReplicaSet(change); })),
      pods_(Watch(resources::kPods, [this](const Change& change) { OnPod(change); })) {}

void DeploymentController::OnReplicaSet(const Change& change) {
  const std::string_view ns = client::NamespaceOf(change.object);
  for (const Value* version : {&change.old_object, &change.object}) {
    const Value* owner = client::ControllerOf(*version);
    if (owner != nullptr && (*owner)["kind"].AsString() == kDeployment.kind) {
      Add(fmt::format("{}/{}", ns, (*owner)["name"].AsString()));
    }
  }
  if (client::ControllerOf(change.object) != nullptr) return;
  for (const Value* deployment : deployments_.InNamespace(ns)) {
    if (client::MatchesSelector((*deployment)["spec"]["selector"],
                                change.object["metadata"]["labels"])) {
      Add(client::KeyOf(*deployment));
    }
  }
}

// Recreate waits for the last old pod.
void DeploymentController::OnPod(const Change& change) {
  if (change.type != Change::Type::kDeleted) return;
  const Value* owner = client::ControllerOf(change.object);
  if (owner == nullptr || (*owner)["kind"].AsString() != "ReplicaSet") return;
  const Value* set = sets_.ByUid((*owner)["uid"].AsString());
  const Value* top = set == nullptr ? nullptr : client::ControllerOf(*set);
  if (top == nullptr) return;
  const Value* deployment = deployments_.ByUid((*top)["uid"].AsString());
  if (deployment != nullptr && !IsRollingUpdate(*deployment)) Add(client::KeyOf(*deployment));
}

void DeploymentController::AdoptAndRelease(const Value& deployment, Work& work) {
  const Value& selector = deployment["spec"]["selector"];
  for (const Value* set : sets_.InNamespace(client::NamespaceOf(deployment))) {
    const Value* owner = client::ControllerOf(*set);
    const bool matches = client::MatchesSelector(selector, (*set)["metadata"]["labels"]);
    if (owner == nullptr && matches && !client::IsBeingDeleted(*set)) {
      work.actions.push_back(Adopt(resources::kReplicaSets, *set, kDeployment, deployment));
    } else if (owner != nullptr && !matches &&
               (*owner)["uid"].AsString() == client::UidOf(deployment)) {
      work.actions.push_back(Release(resources::kReplicaSets, *set, deployment));
    }
  }
}

Work DeploymentController::Sync(const std::string& key) {
  Work work;
  const Value* deployment = deployments_.Get(key);
  if (deployment == nullptr) return work;
  if (!client::IsBeingDeleted(*deployment)) {
    AdoptAndRelease(*deployment, work);
    if (!work.actions.empty()) return work;
  }
  Rollout rollout{.deployment = *deployment, .all = sets_.OwnedBy(client::UidOf(*deployment))};
  std::ranges::sort(rollout.all, {}, [](const Value* set) {
    return std::tuple(client::CreatedAt(*set), client::NameOf(*set));
  });
  for (const Value* set : rollout.all) {
    const bool same = SameTemplate((*set)["spec"]["template"], (*deployment)["spec"]["template"]);
    if (same && rollout.newest == nullptr) {
      rollout.newest = set;
    } else {
      rollout.old.push_back(set);
    }
  }
  if (client::IsBeingDeleted(*deployment)) {
    SyncStatus(rollout, work);
    return work;
  }
  const bool paused = (*deployment)["spec"]["paused"].AsBool();
  const bool scaled = std::ranges::any_of(rollout.Active(), [&](const Value* set) {
    return NumberIn(*set, kDesiredReplicas).value_or(ReplicasOf(*deployment)) !=
           ReplicasOf(*deployment);
  });
  const bool stepped =
      SyncPausedCondition(rollout, work) || SyncAnnotations(rollout, work) ||
      ((paused || scaled) ? ScaleAsOneWhole(rollout, work)
                          : (IsRollingUpdate(*deployment) ? RollingStep(rollout, work)
                                                          : RecreateStep(rollout, work)));
  if (!stepped) SyncStatus(rollout, work);
  return work;
}

// The newest set carries the revision, and the Deployment shows it.
bool DeploymentController::SyncAnnotations(Rollout& rollout, Work& work) {
  if (rollout.newest == nullptr) return false;
  Value set = *rollout.newest;
  InheritAnnotations(rollout.deployment, set);
  SetRevision(set, rollout.NextRevision());
  const Value& min_ready = rollout.deployment["spec"]["minReadySeconds"];
  if (set["spec"]["minReadySeconds"].AsInt() != min_ready.AsInt()) {
    set.Edit("spec").Set("minReadySeconds", min_ready.AsInt());
  }
  if (!(set == *rollout.newest)) {
    work.actions.push_back(
        {.request = client::UpdateRequest(resources::kReplicaSets, std::move(set))});
    return true;
  }
  const std::string_view revision = client::AnnotationOf(*rollout.newest, kRevision);
  if (client::AnnotationOf(rollout.deployment, kRevision) == revision) return false;
  Value next = rollout.deployment;
  next.Edit("metadata").Edit("annotations").Set(kRevision, revision);
  work.actions.push_back(
      {.request = client::UpdateRequest(resources::kDeployments, std::move(next))});
  return true;
}

bool DeploymentController::CreateNewSet(Rollout& rollout, Work& work) {
  const Value& deployment = rollout.deployment;
  const std::int64_t collisions = deployment["status"]["collisionCount"].AsInt();
  const std::string hash = TemplateHash(deployment["spec"]["template"], collisions);
  const std::string name = fmt::format("{}-{}", client::NameOf(deployment), hash);
  Value pod_template = deployment["spec"]["template"];
  pod_template.Edit("metadata").Edit("labels").Set(kTemplateHashLabel, hash);
  Value selector = deployment["spec"]["selector"];
  selector.Edit("matchLabels").Set(kTemplateHashLabel, hash);
  const std::int64_t replicas = NewSetReplicas(deployment, rollout.all, nullptr);
  Value spec = Value::Object({{"replicas", replicas}, {"selector", std::move(selector)}});
  if (const Value* min_ready = deployment["spec"].Find("minReadySeconds")) {
    spec.Set("minReadySeconds", *min_ready);
  }
  Value metadata = Value::Object(
      {{"name", name},
       {"namespace", client::NamespaceOf(deployment)},
       {"labels", pod_template["metadata"]["labels"]},
       {"ownerReferences", Value::Array({ControllerReference(kDeployment, deployment)})}});
  spec.Set("template", std::move(pod_template));
  Value set = Value::Object({{"apiVersion", "apps/v1"},
                             {"kind", "ReplicaSet"},
                             {"metadata", std::move(metadata)},
                             {"spec", std::move(spec)}});
  InheritAnnotations(deployment, set);
  SetRevision(set, rollout.NextRevision());
  SetSizeAnnotations(deployment, set);

  Action action{.request = client::CreateRequest(resources::kReplicaSets,
                                                 client::NamespaceOf(deployment), std::move(set))};
  action.settle = [this, deployment, name, replicas](const Result<Value>& answer) -> Status {
    if (answer) {
      if (replicas > 0) {
        Record(
            DeploymentEvent(deployment, client::EventType::kNormal, "ScalingReplicaSet",
                            fmt::format("Scaled up replica set {} from 0 to {}", name, replicas)));
      }
      return {};
    }
    if (answer.error().code != Code::kAlreadyExists) {
      Record(DeploymentEvent(deployment, client::EventType::kWarning, "ReplicaSetCreateError",
                             fmt::format("Failed to create new replica set \"{}\": {}", name,
                                         answer.error().message)));
    }
    return std::unexpected(answer.error());
  };
  Value status = deployment["status"].IsObject() ? deployment["status"] : Value::Object();
  const Value* taken = sets_.Get(client::NamespaceOf(deployment), name);
  if (taken != nullptr) {
    // Another template has the same hash: the next name is made with a count.
    status.Set("collisionCount", collisions + 1);
    action = {};
  } else if (HasDeadline(deployment)) {
    SetCondition(status, DeploymentCondition("Progressing", "True", "NewReplicaSetCreated",
                                             fmt::format("Created new replica set \"{}\"", name),
                                             FormatTime(Now())));
  }
  if (taken == nullptr) work.actions.push_back(std::move(action));
  if (!(status == deployment["status"])) {
    Value next = deployment;
    next.Set("status", std::move(status));
    work.actions.push_back(
        {.request = client::UpdateRequest(resources::kDeployments, std::move(next), "status")});
  }
  return true;
}

bool DeploymentController::SyncPausedCondition(Rollout& rollout, Work& work) {
  const Value& deployment = rollout.deployment;
  if (!HasDeadline(deployment)) return false;
  const Value* progressing = client::ConditionOf(deployment, "Progressing");
  const std::string_view reason =
      progressing == nullptr ? std::string_view() : (*progressing)["reason"].AsString();
  if (reason == "ProgressDeadlineExceeded") return false;
  const bool noted = reason == "DeploymentPaused";
  const bool paused = deployment["spec"]["paused"].AsBool();
  if (paused == noted) return false;
  Value next = deployment;
  SetCondition(next.Edit("status"),
               paused ? DeploymentCondition("Progressing", "Unknown", "DeploymentPaused",
                                            "Deployment is paused", FormatTime(Now()))
                      : DeploymentCondition("Progressing", "Unknown", "DeploymentResumed",
                                            "Deployment is resumed", FormatTime(Now())));
  work.actions.push_back(
      {.request = client::UpdateRequest(resources::kDeployments, std::move(next), "status")});
  return true;
}

void DeploymentController::ScaleSet(Rollout& rollout, const Value& set, std::int64_t replicas,
                                    Work& work) {
  Value next = set;
  SetSizeAnnotations(rollout.deployment, next);
  next.Edit("spec").Set("replicas", replicas);
  const std::int64_t before = ReplicasOf(set);
  Action action{.request = client::UpdateRequest(resources::kReplicaSets, std::move(next))};
  if (before != replicas) {
    action.settle = [this, deployment = rollout.deployment,
                     text = fmt::format("Scaled {} replica set {} from {} to {}",
                                        replicas > before ? "up" : "down", client::NameOf(set),
                                        before, replicas)](const Result<Value>& answer) -> Status {
      if (!answer) return std::unexpected(answer.error());
      Record(DeploymentEvent(deployment, client::EventType::kNormal, "ScalingReplicaSet", text));
      return {};
    };
  }
  work.actions.push_back(std::move(action));
}

// The Deployment was scaled or is paused: the sets change in size, the rollout does not go on.
bool DeploymentController::ScaleAsOneWhole(Rollout& rollout, Work& work) {
  const Value& deployment = rollout.deployment;
  const Sets active = rollout.Active();
  std::vector<Scale> scales;
  if (active.size() <= 1) {
    const Value* only = !active.empty()             ? active.front()
                        : rollout.newest != nullptr ? rollout.newest
                        : !rollout.all.empty()      ? rollout.all.back()
                                                    : nullptr;
    if (only != nullptr) scales.emplace_back(only, ReplicasOf(deployment));
  } else if (rollout.newest != nullptr && ReplicasOf(*rollout.newest) == ReplicasOf(deployment) &&
             NumberIn(*rollout.newest, kDesiredReplicas) == ReplicasOf(deployment) &&
             (*rollout.newest)["status"]["availableReplicas"].AsInt() == ReplicasOf(deployment)) {
    for (const Value* set : active) {
      if (set != rollout.newest) scales.emplace_back(set, 0);
    }
  } else if (IsRollingUpdate(deployment)) {
    scales = Proportional(deployment, active);
  }
  for (const auto& [set, replicas] : scales) {
    Value sized = *set;
    SetSizeAnnotations(deployment, sized);
    if (replicas != ReplicasOf(*set) || !(sized == *set)) ScaleSet(rollout, *set, replicas, work);
  }
  return !work.actions.empty();
}

bool DeploymentController::ScaleUpNew(Rollout& rollout, Work& work) {
  if (rollout.newest == nullptr) return CreateNewSet(rollout, work);
  const Value& deployment = rollout.deployment;
  const std::int64_t has = ReplicasOf(*rollout.newest);
  const std::int64_t wanted = ReplicasOf(deployment);
  if (has == wanted) return false;
  const std::int64_t next =
      has > wanted ? wanted : NewSetReplicas(deployment, rollout.all, rollout.newest);
  if (next == has) return false;
  ScaleSet(rollout, *rollout.newest, next, work);
  return true;
}

bool DeploymentController::ScaleDownOld(Rollout& rollout, Work& work) {
  for (const auto& [set, replicas] :
       OldSetsToScaleDown(rollout.deployment, rollout.old, *rollout.newest)) {
    ScaleSet(rollout, *set, replicas, work);
  }
  return !work.actions.empty();
}

bool DeploymentController::RollingStep(Rollout& rollout, Work& work) {
  return ScaleUpNew(rollout, work) || ScaleDownOld(rollout, work) || CleanUpOld(rollout, work);
}

bool DeploymentController::OldPodsRun(const Rollout& rollout) const {
  return std::ranges::any_of(rollout.old, [&](const Value* set) {
    const std::vector<const Value*> pods = pods_.OwnedBy(client::UidOf(*set));
    return (*set)["status"]["replicas"].AsInt() > 0 ||
           std::ranges::any_of(pods, [](const Value* p) { return !client::IsPodTerminal(*p); });
  });
}

bool DeploymentController::RecreateStep(Rollout& rollout, Work& work) {
  for (const Value* set : rollout.old) {
    if (ReplicasOf(*set) > 0) ScaleSet(rollout, *set, 0, work);
  }
  if (!work.actions.empty()) return true;
  if (OldPodsRun(rollout)) return false;
  return ScaleUpNew(rollout, work) || CleanUpOld(rollout, work);
}

// Old, empty sets beyond the history limit go once the rollout is complete.
bool DeploymentController::CleanUpOld(Rollout& rollout, Work& work) {
  const Value& deployment = rollout.deployment;
  constexpr std::int64_t kHistoryDefault = 10;
  const std::int64_t limit = deployment["spec"]["revisionHistoryLimit"].AsInt(kHistoryDefault);
  const Value& status = deployment["status"];
  const std::int64_t wanted = ReplicasOf(deployment);
  const bool complete = status["updatedReplicas"].AsInt() == wanted &&
                        status["replicas"].AsInt() == wanted &&
                        status["availableReplicas"].AsInt() == wanted;
  if (!complete || static_cast<std::int64_t>(rollout.old.size()) <= limit) return false;
  Sets by_revision = rollout.old;
  std::ranges::stable_sort(by_revision, {},
                           [](const Value* set) { return RevisionNumberOf(*set); });
  by_revision.resize(rollout.old.size() - static_cast<std::size_t>(limit));
  for (const Value* set : by_revision) {
    const bool empty = (*set)["status"]["replicas"].AsInt() == 0 && ReplicasOf(*set) == 0 &&
                       (*set)["metadata"]["generation"].AsInt() <=
                           (*set)["status"]["observedGeneration"].AsInt() &&
                       !client::IsBeingDeleted(*set);
    if (empty) {
      work.actions.push_back({.request = client::DeleteRequest(resources::kReplicaSets, *set)});
    }
  }
  return !work.actions.empty();
}

}  // namespace drachma::controllers
