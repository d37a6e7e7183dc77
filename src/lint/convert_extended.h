#pragma once

#include <map>
#include <set>
#include <string>

#include "lint/convert_pod.h"

namespace drachma::lint {

// Claims of the input that templates and pods name: "namespace/name".
using ClaimTemplates = std::map<std::string, json::Value, std::less<>>;

// A pod or workload by extended resources: what asks for a device plugin's resource stays as it is
// and gets the DeviceClass that offers it (unless `offered` has it, to which it is added); what
// uses claims of templates asks for the resource instead, where that says the same.
[[nodiscard]] Conversion PodToExtended(const json::Value& object, const PluginCatalog& catalog,
                                       const ClaimTemplates& templates,
                                       std::set<std::string>& offered);

}  // namespace drachma::lint
