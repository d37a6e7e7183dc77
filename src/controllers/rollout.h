#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "json/value.h"

// The arithmetic of rollouts: which ReplicaSet has how many pods next. Pure.
namespace drachma::controllers {

inline constexpr std::string_view kRevision = "deployment.kubernetes.io/revision";
inline constexpr std::string_view kRevisionHistory = "deployment.kubernetes.io/revision-history";
inline constexpr std::string_view kDesiredReplicas = "deployment.kubernetes.io/desired-replicas";
inline constexpr std::string_view kMaxReplicas = "deployment.kubernetes.io/max-replicas";
inline constexpr std::string_view kTemplateHashLabel = "pod-template-hash";

// How far a rolling update may go over and under the wanted number of pods, both resolved; not both
// zero.
struct Fences {
  std::int64_t surge = 0;
  std::int64_t unavailable = 0;
};
[[nodiscard]] Fences FencesOf(const json::Value& deployment);

[[nodiscard]] std::int64_t ReplicasOf(const json::Value& object);  // spec.replicas, 1 by default
[[nodiscard]] std::int64_t RevisionNumberOf(const json::Value& set);
// The number in an annotation; nothing when there is none.
[[nodiscard]] std::optional<std::int64_t> NumberIn(const json::Value& object,
                                                   std::string_view annotation);
[[nodiscard]] bool IsRollingUpdate(const json::Value& deployment);
// Whether a ReplicaSet was made from this template: equal but for the hash label.
[[nodiscard]] bool SameTemplate(const json::Value& a, const json::Value& b);

using Sets = std::vector<const json::Value*>;
// A new number of replicas for a set.
using Scale = std::pair<const json::Value*, std::int64_t>;

[[nodiscard]] std::int64_t SumOfReplicas(const Sets& sets);
// Replicas of the new set, which may be null when it is yet to be made.
[[nodiscard]] std::int64_t NewSetReplicas(const json::Value& deployment, const Sets& all,
                                          const json::Value* new_set);
// The old sets that a rolling update takes down now: first pods that are not available anyway, then
// as many as the available ones of the new set allow.
[[nodiscard]] std::vector<Scale> OldSetsToScaleDown(const json::Value& deployment, const Sets& old,
                                                    const json::Value& new_set);
// The sets after the Deployment itself was scaled in the middle of a rollout: in proportion to
// their sizes.
[[nodiscard]] std::vector<Scale> Proportional(const json::Value& deployment, const Sets& active);

}  // namespace drachma::controllers
