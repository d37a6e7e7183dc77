#pragma once

#include <string_view>

#include "base/clock.h"
#include "json/value.h"

namespace drachma::api {

// Sets upstream's default values (SetObjectDefaults_*, SetDefaults_* of pkg/apis) in an object of
// the group, version and kind. `object` is canonical (decode.h) and stays so. Kinds without
// defaults are left alone. `now` is for the few defaults that are a time (taints' timeAdded).
// What admission or a registry strategy fills in is not done here.
void SetDefaults(std::string_view group, std::string_view version, std::string_view kind, Time now,
                 json::Value& object);

// The defaults of a pod's spec alone (templates; what the workload kinds use).
void SetPodSpecDefaults(json::Value& spec);

}  // namespace drachma::api
