#include "controllers/rollout.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <tuple>

#include "client/objects.h"
#include "controllers/workload.h"

namespace drachma::controllers {

using json::Value;

std::int64_t ReplicasOf(const Value& object) { return object["spec"]["replicas"].AsInt(1); }

std::optional<std::int64_t> NumberIn(const Value& object, std::string_view annotation) {
  const std::string_view text = client::AnnotationOf(object, annotation);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::int64_t RevisionNumberOf(const Value& set) { return NumberIn(set, kRevision).value_or(0); }

bool IsRollingUpdate(const Value& deployment) {
  return deployment["spec"]["strategy"]["type"].AsString("RollingUpdate") == "RollingUpdate";
}

Fences FencesOf(const Value& deployment) {
  if (!IsRollingUpdate(deployment)) return {};
  const Value& rolling = deployment["spec"]["strategy"]["rollingUpdate"];
  const std::int64_t replicas = ReplicasOf(deployment);
  const Value quarter("25%");
  const auto fence = [&](std::string_view field) -> const Value& {
    const Value* value = rolling.Find(field);
    return value == nullptr ? quarter : *value;
  };
  Fences fences{.surge = Scaled(fence("maxSurge"), replicas, Rounding::kUp),
                .unavailable = Scaled(fence("maxUnavailable"), replicas, Rounding::kDown)};
  if (fences.surge == 0 && fences.unavailable == 0) fences.unavailable = 1;
  fences.unavailable = std::min(fences.unavailable, replicas);
  return fences;
}

bool SameTemplate(const Value& a, const Value& b) {
  const auto without_hash = [](Value pod_template) {
    Value& labels = pod_template.Edit("metadata").Edit("labels");
    labels.Erase(kTemplateHashLabel);
    return pod_template;
  };
  return without_hash(a) == without_hash(b);
}

std::int64_t SumOfReplicas(const Sets& sets) {
  std::int64_t sum = 0;
  for (const Value* set : sets) sum += ReplicasOf(*set);
  return sum;
}

std::int64_t NewSetReplicas(const Value& deployment, const Sets& all, const Value* new_set) {
  const std::int64_t wanted = ReplicasOf(deployment);
  if (!IsRollingUpdate(deployment)) return wanted;
  const std::int64_t has = new_set == nullptr ? 0 : ReplicasOf(*new_set);
  const std::int64_t room = wanted + FencesOf(deployment).surge - SumOfReplicas(all);
  if (room <= 0) return has;
  return has + std::min(room, wanted - has);
}

std::vector<Scale> OldSetsToScaleDown(const Value& deployment, const Sets& old,
                                      const Value& new_set) {
  const auto available = [](const Value& set) {
    return set["status"]["availableReplicas"].AsInt();
  };
  const std::int64_t minimum = ReplicasOf(deployment) - FencesOf(deployment).unavailable;
  const std::int64_t new_unavailable = ReplicasOf(new_set) - available(new_set);
  std::int64_t removable = SumOfReplicas(old) + ReplicasOf(new_set) - minimum - new_unavailable;
  if (SumOfReplicas(old) == 0 || removable <= 0) return {};

  Sets by_age = old;
  std::ranges::sort(by_age, {}, [](const Value* set) {
    return std::tuple(client::CreatedAt(*set), client::NameOf(*set));
  });
  std::map<const Value*, std::int64_t> next;
  std::int64_t all_available = available(new_set);
  for (const Value* set : by_age) {
    const std::int64_t replicas = ReplicasOf(*set);
    const std::int64_t unhealthy = std::min(removable, replicas - available(*set));
    next[set] = replicas - std::max<std::int64_t>(unhealthy, 0);
    removable -= std::max<std::int64_t>(unhealthy, 0);
    all_available += available(*set);
  }
  std::int64_t spare = all_available - minimum;
  for (const Value* set : by_age) {
    const std::int64_t taken = std::clamp<std::int64_t>(spare, 0, next[set]);
    next[set] -= taken;
    spare -= taken;
  }
  std::vector<Scale> scales;
  for (const Value* set : by_age) {
    if (next[set] != ReplicasOf(*set)) scales.emplace_back(set, next[set]);
  }
  return scales;
}

namespace {

// What a set gains or loses when the Deployment goes to `allowed_max` pods.
std::int64_t FractionOf(const Value& set, const Value& deployment) {
  const std::int64_t replicas = ReplicasOf(set);
  if (ReplicasOf(deployment) == 0) return -replicas;
  std::int64_t before = NumberIn(set, kMaxReplicas).value_or(0);
  if (before == 0) before = deployment["status"]["replicas"].AsInt();
  if (before == 0) return 0;
  const std::int64_t most = ReplicasOf(deployment) + FencesOf(deployment).surge;
  return std::llround(static_cast<double>(replicas * most) / static_cast<double>(before)) -
         replicas;
}

}  // namespace

std::vector<Scale> Proportional(const Value& deployment, const Sets& active) {
  const std::int64_t wanted = ReplicasOf(deployment);
  const std::int64_t allowed = wanted > 0 ? wanted + FencesOf(deployment).surge : 0;
  const std::int64_t to_add = allowed - SumOfReplicas(active);
  Sets by_size = active;
  std::ranges::sort(by_size, [&](const Value* a, const Value* b) {
    if (ReplicasOf(*a) != ReplicasOf(*b)) return ReplicasOf(*a) > ReplicasOf(*b);
    // Newer ones first when pods are added, older ones first when they go.
    return to_add > 0 ? client::CreatedAt(*a) > client::CreatedAt(*b)
                      : client::CreatedAt(*a) < client::CreatedAt(*b);
  });
  std::vector<Scale> scales;
  std::int64_t added = 0;
  for (const Value* set : by_size) {
    std::int64_t share = 0;
    if (to_add != added && ReplicasOf(*set) != 0) {
      const std::int64_t fraction = FractionOf(*set, deployment);
      share = to_add > 0 ? std::min(fraction, to_add - added) : std::max(fraction, to_add - added);
    }
    scales.emplace_back(set, ReplicasOf(*set) + share);
    added += share;
  }
  if (!scales.empty()) {
    scales.front().second = std::max<std::int64_t>(0, scales.front().second + to_add - added);
  }
  return scales;
}

}  // namespace drachma::controllers
