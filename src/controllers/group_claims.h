#pragma once

#include <string_view>

#include "client/client.h"
#include "controllers/cache.h"
#include "json/value.h"

namespace drachma::controllers {

inline const client::Resource kPodGroups = {"scheduling.k8s.io", "v1beta1", "podgroups"};

// The name of the PodGroup that a pod belongs to; empty for none.
[[nodiscard]] std::string_view GroupNameOf(const json::Value& pod);

// Whether an entry of status.reservedFor is a pod group.
[[nodiscard]] bool IsGroup(const json::Value& consumer);

// The entry of status.reservedFor for the pod, or for its group when that is not null.
[[nodiscard]] json::Value ConsumerOf(const json::Value& pod, const json::Value* group);

// The name of the claim that was made for the entry of `owner`, found by ownership and annotation:
// also before the owner's status names it. Empty when there is none.
[[nodiscard]] std::string_view OwnedClaim(const Cache& claims, const json::Value& owner,
                                          std::string_view entry);

}  // namespace drachma::controllers
