#pragma once

#include <memory>
#include <string>

#include "controllers/controller.h"

namespace drachma::controllers {

// Lets a PodGroup that is being deleted go once no pod that has not ended belongs to it: takes away
// the finalizer that the API server gave it
// (k8s.io/kubernetes/pkg/controller/scheduling/podgroupprotection). Keys are "NAMESPACE/NAME".
class GroupProtection final : public Controller {
 public:
  static std::unique_ptr<Controller> Make(Host& host) {
    return std::make_unique<GroupProtection>(host);
  }
  explicit GroupProtection(Host& host);

  [[nodiscard]] Work Sync(const std::string& key) override;

 private:
  void OnPod(const client::Change& change);
  [[nodiscard]] bool IsUsed(const json::Value& group) const;

  Cache& groups_;
  Cache& pods_;
};

}  // namespace drachma::controllers
