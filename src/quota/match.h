#pragma once

#include <set>
#include <string>
#include <string_view>

#include "json/value.h"
#include "quota/usage.h"

namespace drachma::quota {

using Names = std::set<std::string, std::less<>>;

// Of the resource names that a quota limits (the keys of `limits`) those that objects of a kind
// can take of: upstream's Evaluator.MatchingResources.
[[nodiscard]] Names MatchingResources(std::string_view group, std::string_view plural,
                                      const json::Value& limits, const Objects& objects);

// Whether an object is in all scopes of a quota. Only pods and volume claims have any: a quota with
// scopes counts nothing else.
[[nodiscard]] bool InScopes(const json::Value& quota, std::string_view group,
                            std::string_view plural, const json::Value& object);

// Why a pod may not be made under a quota that limits `restricted`: a container does not say what
// it needs of a compute resource ("must specify limits.cpu for: a,b"). Empty when it may.
[[nodiscard]] std::string MissingRequests(const json::Value& pod, const Names& restricted);

// Whether a pod has an end: the scopes Terminating and NotTerminating.
[[nodiscard]] bool IsTerminating(const json::Value& pod);

}  // namespace drachma::quota
