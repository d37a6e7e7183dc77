#pragma once

#include <map>
#include <string>

#include "controllers/compute_domain_kinds.h"

namespace drachma::cluster {

// The gates that an API server takes: those of the drivers are not Kubernetes'.
[[nodiscard]] inline std::map<std::string, bool> WithoutDriverGates(
    std::map<std::string, bool> gates) {
  gates.erase(controllers::compute_domain::kHostManagedGate);
  return gates;
}

}  // namespace drachma::cluster
