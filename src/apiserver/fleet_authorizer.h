#pragma once

#include <string>
#include <vector>

#include "apiserver/auth.h"

namespace drachma::apiserver {

// The process that simulates many nodes. It reads for all of them at once, and acts as each node
// and as the drivers' account for what these do.
inline constexpr const char* kFleetUser = "drachma:node-fleet";
// The service account of kube-system that the simulated nodes' DRA drivers act as.
inline constexpr const char* kDriverAccount = "drachma-dra-driver";
// The service account of kube-system that the controller of ComputeDomains acts as.
inline constexpr const char* kComputeDomainAccount = "compute-domain-controller";

// What the three may do. Upstream's bootstrap policy does not know them and the policy of a cluster
// is its owner's, so the rules stand here, as the node authoriser's do. Stateless; any thread.
class FleetAuthorizer final : public Authorizer {
 public:
  [[nodiscard]] Decision Authorize(const Attributes& attributes, std::string& reason) override;
  void Rules(const User& user, const std::string& ns, std::vector<Rule>& rules) override;
};

}  // namespace drachma::apiserver
