#pragma once

#include <functional>
#include <string>
#include <vector>

#include "json/value.h"
#include "lint/rules.h"

namespace drachma::lint {

// Rules about the resources of containers.
// resources.claims as names, where each is an object.
void ClaimsAsNames(const json::Value& object, const RuleContext& context,
                   std::vector<Found>& found);
// Fractions of devices, requests without limits or other than them.
void ExtendedResources(const json::Value& object, const RuleContext& context,
                       std::vector<Found>& found);

// Rules about workloads that have no version or field any more, or never had a default.
void NodeNameWithExtendedResource(const json::Value& object, const RuleContext& context,
                                  std::vector<Found>& found);
void OldWorkloadVersion(const json::Value& object, const RuleContext& context,
                        std::vector<Found>& found);
void JobWithoutRestartPolicy(const json::Value& object, const RuleContext& context,
                             std::vector<Found>& found);

// Calls `visit` with every container of a pod or workload and its path.
void ForEachContainer(const json::Value& object,
                      const std::function<void(const json::Value&, const std::string&)>& visit);

}  // namespace drachma::lint
