#include "controllers/replica_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "client/objects.h"
#include "controllers/objects.h"

namespace drachma::controllers {
namespace {

using client::Change;
using json::Value;
namespace resources = client::resources;

const OwnerKind kReplicaSet = {resources::kReplicaSets, "ReplicaSet"};

EventToRecord SetEvent(const Value& set, client::EventType type, std::string reason,
                       std::string message) {
  return {.object = Reference("apps/v1", "ReplicaSet", set),
          .type = type,
          .reason = std::move(reason),
          .message = std::move(message)};
}

}  // namespace

ReplicaSetController::ReplicaSetController(Host& host)
    : Controller(host),
      sets_(Watch(resources::kReplicaSets,
                  [this](const Change& change) {
                    if (change.type == Change::Type::kDeleted) {
                      failures_.erase(std::string(client::UidOf(change.object)));
                    } else {
                      Add(client::KeyOf(change.object));
                    }
                  })),
      pods_(Watch(resources::kPods, [this](const Change& change) { owners_.OnPod(change); })),
      owners_(kReplicaSet, sets_, pods_, [this](std::string key) { Add(std::move(key)); }) {}

void ReplicaSetController::Create(const Value& set, std::size_t count, Work& work) {
  const Value pod = PodFromTemplate(kReplicaSet, set, set["spec"]["template"]);
  for (std::size_t i = 0; i < std::min(count, kBurst); ++i) {
    Action action{.request =
                      client::CreateRequest(resources::kPods, client::NamespaceOf(set), pod)};
    action.settle = [this, set](const Result<Value>& answer) -> Status {
      std::string uid(client::UidOf(set));
      if (answer) {
        failures_.erase(uid);
        Record(SetEvent(set, client::EventType::kNormal, "SuccessfulCreate",
                        fmt::format("Created pod: {}", client::NameOf(*answer))));
        return {};
      }
      const std::string& text = answer.error().message;
      Record(SetEvent(set, client::EventType::kWarning, "FailedCreate",
                      fmt::format("Error creating: {}", text)));
      failures_.insert_or_assign(std::move(uid), std::pair("FailedCreate", text));
      return std::unexpected(answer.error());
    };
    work.actions.push_back(std::move(action));
  }
}

void ReplicaSetController::Delete(const Value& set, const std::vector<const Value*>& active,
                                  std::size_t count, Work& work) {
  // All pods of the sets of the same owner, that is of the whole Deployment.
  std::vector<const Value*> related;
  const Value* owner = client::ControllerOf(set);
  if (owner == nullptr) {
    related = active;
  } else {
    for (const Value* sibling : sets_.OwnedBy((*owner)["uid"].AsString())) {
      std::ranges::copy(pods_.OwnedBy(client::UidOf(*sibling)), std::back_inserter(related));
    }
  }
  for (const Value* pod : VictimsOf(active, related, std::min(count, kBurst), Now())) {
    Action action{.request = client::DeleteRequest(resources::kPods, *pod)};
    action.settle = [this, set, name = std::string(client::NameOf(*pod))](
                        const Result<Value>& answer) -> Status {
      if (!answer && answer.error().code == Code::kNotFound) return {};
      if (!answer) {
        Record(SetEvent(set, client::EventType::kWarning, "FailedDelete",
                        fmt::format("Error deleting: {}", answer.error().message)));
        return std::unexpected(answer.error());
      }
      Record(SetEvent(set, client::EventType::kNormal, "SuccessfulDelete",
                      fmt::format("Deleted pod: {}", name)));
      return {};
    };
    work.actions.push_back(std::move(action));
  }
}

void ReplicaSetController::ManageReplicas(const Value& set, const std::vector<const Value*>& active,
                                          Work& work) {
  const auto wanted =
      static_cast<std::size_t>(std::max<std::int64_t>(0, set["spec"]["replicas"].AsInt(1)));
  if (active.size() < wanted) {
    Create(set, wanted - active.size(), work);
  } else if (active.size() > wanted) {
    Delete(set, active, active.size() - wanted, work);
  }
}

void ReplicaSetController::UpdateStatus(const Value& set, const std::vector<const Value*>& owned,
                                        Work& work) {
  const Value& old = set["status"];
  const Duration min_ready = std::chrono::seconds(set["spec"]["minReadySeconds"].AsInt());
  const Value& template_labels = set["spec"]["template"]["metadata"]["labels"];
  const Value all_labels = Value::Object({{"matchLabels", template_labels}});
  std::int64_t active = 0;
  std::int64_t labelled = 0;
  std::int64_t terminating = 0;
  ReadyCounts counts;
  for (const Value* pod : owned) {
    if (!IsPodActive(*pod)) {
      if (client::IsBeingDeleted(*pod) && !client::IsPodTerminal(*pod)) ++terminating;
      continue;
    }
    ++active;
    if (client::MatchesSelector(all_labels, (*pod)["metadata"]["labels"])) ++labelled;
    counts.Add(*pod, min_ready, Now(), work);
  }
  Value status = old.IsObject() ? old : Value::Object();
  status.Set("replicas", active);
  SetCount(status, "fullyLabeledReplicas", labelled);
  SetCount(status, "readyReplicas", counts.ready);
  SetCount(status, "availableReplicas", counts.available);
  if (host().Enabled("DeploymentReplicaSetTerminatingReplicas", true)) {
    status.Set("terminatingReplicas", terminating);
  }
  status.Set("observedGeneration", set["metadata"]["generation"].AsInt());
  const auto failure = failures_.find(client::UidOf(set));
  if (failure != failures_.end()) {
    const auto& [reason, message] = failure->second;
    if (client::ConditionOf(set, "ReplicaFailure") == nullptr) {
      status.Set("conditions",
                 WithCondition(status["conditions"], NewCondition("ReplicaFailure", true, reason,
                                                                  message, FormatTime(Now()))));
    }
  } else if (client::ConditionOf(set, "ReplicaFailure") != nullptr) {
    Value kept = Value::Array();
    for (const Value& condition : status["conditions"].Items()) {
      if (condition["type"].AsString() != "ReplicaFailure") kept.Append(condition);
    }
    status.Set("conditions", std::move(kept));
    if (status["conditions"].empty()) status.Erase("conditions");
  }
  if (status == old) return;
  Value next = set;
  next.Set("status", std::move(status));
  work.actions.push_back(
      {.request = client::UpdateRequest(resources::kReplicaSets, std::move(next), "status")});
}

Work ReplicaSetController::Sync(const std::string& key) {
  Work work;
  const Value* set = sets_.Get(key);
  if (set == nullptr) return work;
  work.actions = owners_.Ownership(*set);
  if (!work.actions.empty()) return work;
  const std::vector<const Value*> owned = pods_.OwnedBy(client::UidOf(*set));
  // The status first: it is one call, and creations may fail for long.
  UpdateStatus(*set, owned, work);
  if (client::IsBeingDeleted(*set)) return work;
  std::vector<const Value*> active;
  std::ranges::copy_if(owned, std::back_inserter(active),
                       [](const Value* pod) { return IsPodActive(*pod); });
  ManageReplicas(*set, active, work);
  return work;
}

}  // namespace drachma::controllers
