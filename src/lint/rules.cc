#include "lint/rules.h"

#include <array>

#include "lint/claim_rules.h"
#include "lint/pod_rules.h"

namespace drachma::lint {

std::span<const Rule> Rules() {
  static constexpr auto kRules = std::to_array<Rule>({
      {"resource-class", ResourceClassIsDeviceClass},
      {"api-version", OldApiVersion},
      {"claim-without-requests", ClaimWithoutDevices},
      {"request-without-exactly", FlatRequest},
      {"device-basic", BasicDevice},
      {"selector-form", SelectorForms},
      {"selector-just-misses", SelectorJustMisses},
      {"workload-without-selector", WorkloadWithoutSelector},
      {"claim-source", ClaimSource},
      {"claim-not-listed", ClaimNotListed},
      {"node-name-skips-scheduler", NodeNameSkipsScheduler},
  });
  return kRules;
}

}  // namespace drachma::lint
