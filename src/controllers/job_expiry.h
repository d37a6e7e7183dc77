#pragma once

#include <memory>
#include <string>

#include "controllers/controller.h"

namespace drachma::controllers {

// Removes Jobs their ttlSecondsAfterFinished after their end, with all that is theirs
// (k8s.io/kubernetes/pkg/controller/ttlafterfinished). Keys are "NAMESPACE/NAME".
class JobExpiry final : public Controller {
 public:
  static std::unique_ptr<Controller> Make(Host& host) { return std::make_unique<JobExpiry>(host); }
  explicit JobExpiry(Host& host);

  [[nodiscard]] Work Sync(const std::string& key) override;

 private:
  Cache& jobs_;
};

}  // namespace drachma::controllers
