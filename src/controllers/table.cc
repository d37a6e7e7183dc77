#include "controllers/claim_controller.h"
#include "controllers/controller.h"

namespace drachma::controllers {

const std::vector<ControllerEntry>& ControllerTable() {
  static const std::vector<ControllerEntry> table = {
      {.name = "resourceclaim-controller",
       .component = "resource_claim",
       .concurrency = 50,
       .make = &ClaimController::Make},
  };
  return table;
}

}  // namespace drachma::controllers
