#pragma once

#include <memory>
#include <string>

#include "controllers/controller.h"

namespace drachma::controllers {

// Fills the rules of ClusterRoles that have an aggregationRule with those of the roles that it
// selects (k8s.io/kubernetes/pkg/controller/clusterroleaggregation). Keys are names.
class ClusterRoleAggregation final : public Controller {
 public:
  static std::unique_ptr<Controller> Make(Host& host) {
    return std::make_unique<ClusterRoleAggregation>(host);
  }
  explicit ClusterRoleAggregation(Host& host);

  [[nodiscard]] Work Sync(const std::string& key) override;

 private:
  Cache& roles_;
};

}  // namespace drachma::controllers
