// What a Deployment's status says of its rollout.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "client/objects.h"
#include "controllers/deployment.h"
#include "controllers/deployment_conditions.h"
#include "controllers/objects.h"
#include "controllers/workload.h"

namespace drachma::controllers {

using json::Value;
namespace resources = client::resources;

namespace {

struct Counts {
  std::int64_t replicas = 0;
  std::int64_t ready = 0;
  std::int64_t available = 0;
  std::int64_t terminating = 0;
};

Counts CountsOf(const Sets& sets) {
  Counts counts;
  for (const Value* set : sets) {
    const Value& status = (*set)["status"];
    counts.replicas += status["replicas"].AsInt();
    counts.ready += status["readyReplicas"].AsInt();
    counts.available += status["availableReplicas"].AsInt();
    counts.terminating += status["terminatingReplicas"].AsInt();
  }
  return counts;
}

// Whether the rollout moved between two statuses.
bool Progressed(const Value& before, const Value& after) {
  const auto count = [](const Value& status, std::string_view field) {
    return status[field].AsInt();
  };
  const auto old_pods = [&](const Value& status) {
    return count(status, "replicas") - count(status, "updatedReplicas");
  };
  return count(after, "updatedReplicas") > count(before, "updatedReplicas") ||
         old_pods(after) < old_pods(before) ||
         count(after, "readyReplicas") > count(before, "readyReplicas") ||
         count(after, "availableReplicas") > count(before, "availableReplicas");
}

std::optional<Time> ProgressSince(const Value* progressing) {
  if (progressing == nullptr) return std::nullopt;
  const auto time = ParseTime((*progressing)["lastUpdateTime"].AsString());
  return time ? std::optional(*time) : std::nullopt;
}

}  // namespace

void DeploymentController::NoteProgress(const Rollout& rollout, Value& status, Work& work) const {
  const Value& deployment = rollout.deployment;
  if (!HasDeadline(deployment)) {
    RemoveCondition(status, "Progressing");
    return;
  }
  if (deployment["spec"]["paused"].AsBool() || client::IsBeingDeleted(deployment)) return;
  const Value* progressing = client::ConditionOf(deployment, "Progressing");
  const std::string_view reason =
      progressing == nullptr ? std::string_view() : (*progressing)["reason"].AsString();
  const std::int64_t wanted = ReplicasOf(deployment);
  const std::int64_t updated = status["updatedReplicas"].AsInt();
  const std::int64_t replicas = status["replicas"].AsInt();
  if (replicas == updated && reason == "NewReplicaSetAvailable") return;  // nothing is rolled out

  const std::string now = FormatTime(Now());
  const std::string subject =
      rollout.newest == nullptr ? fmt::format("Deployment \"{}\"", client::NameOf(deployment))
                                : fmt::format("ReplicaSet \"{}\"", client::NameOf(*rollout.newest));
  if (updated == wanted && replicas == wanted && status["availableReplicas"].AsInt() == wanted) {
    SetCondition(status,
                 DeploymentCondition("Progressing", "True", "NewReplicaSetAvailable",
                                     fmt::format("{} has successfully progressed.", subject), now));
  } else if (Progressed(deployment["status"], status)) {
    // Also with the same reason as before: lastUpdateTime is what the deadline counts from.
    status.Set("conditions",
               WithCondition(status["conditions"],
                             DeploymentCondition("Progressing", "True", "ReplicaSetUpdated",
                                                 fmt::format("{} is progressing.", subject), now)));
  } else if (progressing == nullptr && rollout.newest != nullptr) {
    SetCondition(status, DeploymentCondition("Progressing", "True", "FoundNewReplicaSet",
                                             fmt::format("Found new replica set \"{}\"",
                                                         client::NameOf(*rollout.newest)),
                                             now));
  } else if (const std::optional<Time> since = ProgressSince(progressing)) {
    const Duration left =
        *since + std::chrono::seconds(deployment["spec"]["progressDeadlineSeconds"].AsInt()) -
        Now();
    if (left <= Duration(0)) {
      SetCondition(status,
                   DeploymentCondition("Progressing", "False", "ProgressDeadlineExceeded",
                                       fmt::format("{} has timed out progressing.", subject), now));
    } else if (reason != "NewReplicaSetAvailable") {
      work.again = left + std::chrono::seconds(1);
    }
  }
}

void DeploymentController::NoteFailure(const Rollout& rollout, Value& status) {
  for (const Value* set : rollout.all) {
    const Value* failure = client::ConditionOf(*set, "ReplicaFailure");
    if (failure == nullptr) continue;
    SetCondition(status,
                 DeploymentCondition("ReplicaFailure", "True", (*failure)["reason"].AsString(),
                                     (*failure)["message"].AsString(),
                                     (*failure)["lastTransitionTime"].AsString()));
    return;
  }
  RemoveCondition(status, "ReplicaFailure");
}

void DeploymentController::SyncStatus(const Rollout& rollout, Work& work) {
  const Value& deployment = rollout.deployment;
  const Value& old = deployment["status"];
  const std::int64_t wanted = ReplicasOf(deployment);
  const Counts all = CountsOf(rollout.all);
  Value status = old.IsObject() ? old : Value::Object();
  status.Set("observedGeneration", deployment["metadata"]["generation"].AsInt());
  SetCount(status, "replicas", all.replicas);
  SetCount(status, "updatedReplicas",
           rollout.newest == nullptr ? 0 : (*rollout.newest)["status"]["replicas"].AsInt());
  SetCount(status, "readyReplicas", all.ready);
  SetCount(status, "availableReplicas", all.available);
  SetCount(status, "unavailableReplicas",
           std::max<std::int64_t>(0, SumOfReplicas(rollout.all) - all.available));
  if (host().Enabled("DeploymentReplicaSetTerminatingReplicas", true)) {
    status.Set("terminatingReplicas", all.terminating);
  }
  const std::string now = FormatTime(Now());
  const bool enough = all.available >= wanted - FencesOf(deployment).unavailable;
  SetCondition(status,
               enough ? DeploymentCondition("Available", "True", "MinimumReplicasAvailable",
                                            "Deployment has minimum availability.", now)
                      : DeploymentCondition("Available", "False", "MinimumReplicasUnavailable",
                                            "Deployment does not have minimum availability.", now));
  NoteProgress(rollout, status, work);
  NoteFailure(rollout, status);
  if (status == old) return;
  Value next = deployment;
  next.Set("status", std::move(status));
  work.actions.push_back(
      {.request = client::UpdateRequest(resources::kDeployments, std::move(next), "status")});
}

}  // namespace drachma::controllers
