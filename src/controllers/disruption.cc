#include "controllers/disruption.h"

#include <algorithm>
#include <map>
#include <utility>

#include "client/objects.h"
#include "controllers/objects.h"
#include "controllers/workload.h"

namespace drachma::controllers {
namespace {

using client::Change;
using json::Value;
namespace resources = client::resources;

const client::Resource kBudgets = {"policy", "v1", "poddisruptionbudgets"};
const client::Resource kStatefulSets = {"apps", "v1", "statefulsets"};

}  // namespace

DisruptionController::DisruptionController(Host& host)
    : Controller(host),
      budgets_(
          Watch(kBudgets, [this](const Change& change) { Add(client::KeyOf(change.object)); })),
      pods_(Watch(resources::kPods,
                  [this](const Change& change) {
                    for (const Value* budget :
                         budgets_.InNamespace(client::NamespaceOf(change.object))) {
                      Add(client::KeyOf(*budget));
                    }
                  })),
      replica_sets_(Watch(resources::kReplicaSets)),
      deployments_(Watch(resources::kDeployments)),
      stateful_sets_(Watch(kStatefulSets)) {}

std::vector<const Value*> DisruptionController::PodsOf(const Value& budget) const {
  std::vector<const Value*> pods = pods_.InNamespace(client::NamespaceOf(budget));
  std::erase_if(pods, [&](const Value* pod) {
    return client::IsPodTerminal(*pod) ||
           !client::MatchesSelector(budget["spec"]["selector"], (*pod)["metadata"]["labels"]);
  });
  return pods;
}

std::int64_t DisruptionController::ScaleOfController(std::string_view ns,
                                                     const Value& reference) const {
  const std::string_view kind = reference["kind"].AsString();
  const std::string_view name = reference["name"].AsString();
  const Cache* cache = kind == "ReplicaSet"    ? &replica_sets_
                       : kind == "Deployment"  ? &deployments_
                       : kind == "StatefulSet" ? &stateful_sets_
                                               : nullptr;
  const Value* owner = cache == nullptr ? nullptr : cache->Get(ns, name);
  if (owner == nullptr) return 0;
  if (const Value* above = client::ControllerOf(*owner)) return ScaleOfController(ns, *above);
  return (*owner)["spec"]["replicas"].AsInt(1);
}

std::int64_t DisruptionController::ExpectedScale(const std::vector<const Value*>& pods) const {
  // Each owner counts once, however many of its pods there are now.
  std::map<std::string, std::int64_t> scales;
  for (const Value* pod : pods) {
    const Value* owner = client::ControllerOf(*pod);
    if (owner == nullptr) continue;
    scales.try_emplace(std::string((*owner)["uid"].AsString()),
                       ScaleOfController(client::NamespaceOf(*pod), *owner));
  }
  std::int64_t sum = 0;
  for (const auto& [uid, scale] : scales) sum += scale;
  return sum;
}

Work DisruptionController::Sync(const std::string& key) {
  Work work;
  const Value* budget = budgets_.Get(key);
  if (budget == nullptr) return work;
  const std::vector<const Value*> pods = PodsOf(*budget);
  const Value& spec = (*budget)["spec"];
  const auto count = static_cast<std::int64_t>(pods.size());
  std::int64_t expected = count;
  std::int64_t desired = 0;
  if (spec.Has("maxUnavailable")) {
    expected = ExpectedScale(pods);
    desired = expected - Scaled(spec["maxUnavailable"], expected, Rounding::kUp);
  } else if (spec["minAvailable"].IsString()) {
    expected = ExpectedScale(pods);
    desired = Scaled(spec["minAvailable"], expected, Rounding::kUp);
  } else {
    desired = spec["minAvailable"].AsInt();
  }
  desired = std::max<std::int64_t>(desired, 0);

  // Evictions that were granted and have not happened yet.
  Value disrupted = Value::Object();
  for (const json::Member& entry : (*budget)["status"]["disruptedPods"].Members()) {
    const auto granted = ParseTime(entry.value.AsString());
    const Value* pod = pods_.Get(client::NamespaceOf(*budget), entry.key());
    if (!granted || pod == nullptr || client::IsBeingDeleted(*pod)) continue;
    const Duration left = *granted + kDeletionTimeout - Now();
    if (left <= Duration(0)) continue;
    disrupted.Set(entry.key(), entry.value);
    work.again = std::min(work.again.value_or(left), left);
  }
  const std::int64_t healthy = std::ranges::count_if(pods, [&](const Value* pod) {
    return IsPodReady(*pod) && !client::IsBeingDeleted(*pod) &&
           !disrupted.Has(client::NameOf(*pod));
  });
  const std::int64_t allowed =
      expected > 0 ? std::max<std::int64_t>(healthy - desired, 0) : std::int64_t{0};

  Value status = Value::Object({{"currentHealthy", healthy},
                                {"desiredHealthy", desired},
                                {"disruptionsAllowed", allowed},
                                {"expectedPods", expected},
                                {"observedGeneration", (*budget)["metadata"]["generation"]}});
  if (!disrupted.empty()) status.Set("disruptedPods", disrupted);
  status.Set("conditions",
             WithCondition((*budget)["status"]["conditions"],
                           NewCondition("DisruptionAllowed", allowed > 0,
                                        allowed > 0 ? "SufficientPods" : "InsufficientPods", "",
                                        FormatTime(Now()))));
  if (status == (*budget)["status"]) return work;
  Value next = *budget;
  next.Set("status", std::move(status));
  work.actions.push_back({.request = client::UpdateRequest(kBudgets, std::move(next), "status")});
  return work;
}

}  // namespace drachma::controllers
