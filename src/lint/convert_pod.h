#pragma once

#include <string>
#include <vector>

#include "json/value.h"
#include "lint/finding.h"
#include "lint/plugin_resources.h"
#include "lint/rules.h"

namespace drachma::lint {

// What becomes of one object. With an error among `found` nothing is done.
struct Conversion {
  std::vector<Change> changes;    // in order
  std::vector<json::Value> made;  // objects that it needs, to stand before it
  std::vector<Found> found;       // what cannot be converted, and what to know

  // An error at `path`.
  void Refuse(std::string path, std::string rule, std::string message);
  void Warn(std::string path, std::string rule, std::string message);
  [[nodiscard]] bool refused() const;
};

// The pod specs of an object: a Pod's, a workload's, and every template of a pod in kinds that are
// not known.
[[nodiscard]] std::vector<std::string> PodSpecPathsOf(const json::Value& object);

// Device plugins' resources in a pod or workload become claims: a ResourceClaimTemplate with a
// request for each container and resource (a ResourceClaim where devices are shared), and labels of
// GPU feature discovery become selectors.
[[nodiscard]] Conversion PodToClaims(const json::Value& object, const PluginCatalog& catalog);

// ResourceQuotas count the devices of a class; LimitRanges cannot.
[[nodiscard]] Conversion QuotaToClaims(const json::Value& object, const PluginCatalog& catalog);

}  // namespace drachma::lint
