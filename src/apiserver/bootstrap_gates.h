#pragma once

#include <span>
#include <string_view>

#include "api/features.h"
#include "json/value.h"

namespace drachma::apiserver {

// What of upstream's RBAC policy depends on feature gates that are off by default
// (plugin/pkg/auth/authorizer/rbac/bootstrappolicy). Immutable, any thread.

// Appends to the role `object` the rules that gates which are on give it, unless it has them.
// Returns whether it changed.
bool AddGatedRules(const api::FeatureGates& gates, json::Value& object);

struct GatedObject {
  api::Gate gate;
  std::string_view json;
};

// The objects that exist only with a gate.
[[nodiscard]] std::span<const GatedObject> GatedObjects();

}  // namespace drachma::apiserver
