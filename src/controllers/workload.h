#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "client/client.h"
#include "controllers/controller.h"
#include "json/value.h"

// What the controllers of workloads have in common (k8s.io/kubernetes/pkg/controller's
// controller_utils and controller_ref_manager).
namespace drachma::controllers {

// A kind that owns objects.
struct OwnerKind {
  client::Resource resource;
  std::string_view kind;
};

// A pod that counts: not finished and not being deleted.
[[nodiscard]] bool IsPodActive(const json::Value& pod);
[[nodiscard]] bool IsPodReady(const json::Value& pod);
// How long until a ready pod has been ready for `min_ready`; zero or less when it is available,
// nothing when it is not ready.
[[nodiscard]] std::optional<Duration> UntilAvailable(const json::Value& pod, Duration min_ready,
                                                     Time now);

// Pods of a workload that are ready, and those of them that are so for long enough.
struct ReadyCounts {
  std::int64_t ready = 0;
  std::int64_t available = 0;

  // Counts `pod`. When it is ready but not available yet, `work` comes again when it will be.
  void Add(const json::Value& pod, Duration min_ready, Time now, Work& work);
};
// Sets a count of a status, or leaves it out when it is zero (omitempty).
void SetCount(json::Value& status, std::string_view field, std::int64_t count);

// An owner reference with controller and blockOwnerDeletion.
[[nodiscard]] json::Value ControllerReference(const OwnerKind& kind, const json::Value& owner);
// A pod made from spec.template of `owner`, to be named by the API server.
[[nodiscard]] json::Value PodFromTemplate(const OwnerKind& kind, const json::Value& owner,
                                          const json::Value& pod_template);

// Takes `object`, which matches the owner's selector and has no controller, or lets one go that
// does not match any more.
[[nodiscard]] Action Adopt(const client::Resource& resource, const json::Value& object,
                           const OwnerKind& kind, const json::Value& owner);
[[nodiscard]] Action Release(const client::Resource& resource, const json::Value& object,
                             const json::Value& owner);

// The `count` pods that are deleted first when there are too many (ActivePodsWithRanks). `related`
// are all pods of the same owner's owner: two on one node make each of them the better victim.
[[nodiscard]] std::vector<const json::Value*> VictimsOf(
    std::vector<const json::Value*> pods, const std::vector<const json::Value*>& related,
    std::size_t count, Time now);

// An int or a percentage of `total` (intstr.GetScaledValueFromIntOrPercent).
enum class Rounding { kUp, kDown };
[[nodiscard]] std::int64_t Scaled(const json::Value& int_or_percent, std::int64_t total,
                                  Rounding rounding);

// A short text that is likely unique to `value`: for names of what is made from a template. It only
// uses the characters of generated names.
[[nodiscard]] std::string TemplateHash(const json::Value& value, std::int64_t collisions);

}  // namespace drachma::controllers
