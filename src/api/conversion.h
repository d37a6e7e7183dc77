#pragma once

#include <string_view>

#include "base/result.h"
#include "json/value.h"

namespace drachma::api {

// Converts an object (canonical, apiVersion and kind set) to the apiVersion `target` of the same
// kind, or of its twin (core Event and events.k8s.io Event). Nothing is lost both ways.
// Versions that are alike but for their name share everything below the root.
// ERRORS: kBadRequest when upstream knows no conversion ("no kind …"); the rare values that an
// older version cannot express keep upstream's treatment.
[[nodiscard]] Result<json::Value> Convert(json::Value object, std::string_view target);

// autoscaling/v1 Scale of a workload (Deployment, ReplicaSet, StatefulSet,
// ReplicationController; apps/v1 and v1).
[[nodiscard]] json::Value ScaleOf(const json::Value& workload);

}  // namespace drachma::api
