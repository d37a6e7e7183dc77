#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "controllers/controller.h"

namespace drachma::controllers {

// Keeps the status of PodDisruptionBudgets: how many pods they cover, how many must be healthy, and
// how many may be evicted now (k8s.io/kubernetes/pkg/controller/disruption). The eviction
// subresource decides by it. Keys are "NAMESPACE/NAME".
class DisruptionController final : public Controller {
 public:
  // An eviction that was granted and has not happened within this time is forgotten (upstream's
  // DeletionTimeout).
  static constexpr Duration kDeletionTimeout = std::chrono::minutes(2);

  static std::unique_ptr<Controller> Make(Host& host) {
    return std::make_unique<DisruptionController>(host);
  }
  explicit DisruptionController(Host& host);

  [[nodiscard]] Work Sync(const std::string& key) override;

 private:
  [[nodiscard]] std::vector<const json::Value*> PodsOf(const json::Value& budget) const;
  // The replicas that the owners of `pods` ask for in sum.
  [[nodiscard]] std::int64_t ExpectedScale(const std::vector<const json::Value*>& pods) const;
  [[nodiscard]] std::int64_t ScaleOfController(std::string_view ns,
                                               const json::Value& reference) const;

  Cache& budgets_;
  Cache& pods_;
  Cache& replica_sets_;
  Cache& deployments_;
  Cache& stateful_sets_;
};

}  // namespace drachma::controllers
