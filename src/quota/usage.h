#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "json/value.h"
#include "num/quantity.h"

namespace drachma::quota {

// Amounts by resource name ("pods", "requests.cpu", "count/resourceclaims.resource.k8s.io",
// "gpu.example.com.deviceclass.resource.k8s.io/devices").
using Amounts = std::map<std::string, Quantity, std::less<>>;
// Of a ResourceList; what is no quantity is left out.
[[nodiscard]] Amounts AmountsOf(const json::Value& list);

// The objects that usage depends on beside the one that is counted: DeviceClasses, whose extended
// resource names are charged, and the pod that a claim stands in for.
class Objects {
 public:
  virtual ~Objects() = default;
  // The object in its storage version, or null.
  [[nodiscard]] virtual json::Value Get(std::string_view group, std::string_view plural,
                                        std::string_view ns, std::string_view name) const = 0;
  // All objects, of one namespace or (`ns` empty) of all.
  virtual void ForEach(std::string_view group, std::string_view plural, std::string_view ns,
                       const std::function<void(const json::Value&)>& visit) const = 0;
};

// What an object (in its storage version) takes of the quotas of its namespace. The rules are
// upstream's pkg/quota/v1/evaluator/core: pods, services, volume claims and resource claims by
// what they ask for, everything else by its number. Pure.
[[nodiscard]] Amounts UsageOf(std::string_view group, std::string_view plural,
                              const json::Value& object, const Objects& objects, Time now);

// Whether a pod is still charged for: it has not ended, and its deletion is not overdue.
[[nodiscard]] bool IsCharged(const json::Value& pod, Time now);
// "requests.example.com/gpu": how a quota names an extended resource.
[[nodiscard]] bool IsExtendedResourceQuota(std::string_view name);

}  // namespace drachma::quota
