#include "lint/rules.h"

#include <array>
#include <utility>

#include "lint/claim_rules.h"
#include "lint/classic_rules.h"
#include "lint/config_rules.h"
#include "lint/container_rules.h"
#include "lint/pod_rules.h"
#include "lint/reference_rules.h"
#include "lint/shape_rules.h"

namespace drachma::lint {

Found MakeFound(std::string path, std::string rule, std::string message, std::string fix) {
  return {.finding = {.rule = std::move(rule),
                      .message = std::move(message),
                      .fix = std::move(fix),
                      .path = std::move(path)}};
}

std::span<const Rule> Rules() {
  static constexpr auto kRules = std::to_array<Rule>({
      {"resource-class", ResourceClassIsDeviceClass},
      {"api-version", OldApiVersion},
      {"old-workload-version", OldWorkloadVersion},
      {"classic-kind", ClassicKind},
      {"classic-field", ClassicFields},
      {"field-of-taint-rule", TaintRuleFields},
      {"template-without-spec", TemplateWithoutInnerSpec},
      {"claim-without-requests", ClaimWithoutDevices},
      {"request-without-exactly", FlatRequest},
      {"device-basic", BasicDevice},
      {"constraint-without-domain", ConstraintWithoutDomain},
      {"config-without-opaque", ConfigWithoutOpaque},
      {"config-driver", OldConfigDriver},
      {"config-api-version", OldConfigVersion},
      {"config-spelling", ConfigSpelling},
      {"config-kind", ConfigOfWrongKind},
      {"unknown-request", UnknownRequestName},
      {"selector-form", SelectorForms},
      {"selector-just-misses", SelectorJustMisses},
      {"workload-without-selector", WorkloadWithoutSelector},
      {"claim-source", ClaimSource},
      {"claims-as-names", ClaimsAsNames},
      {"claim-not-listed", ClaimNotListed},
      {"unknown-claim-request", UnknownClaimRequest},
      {"resource-names-class", ResourceNamesClass},
      {"node-name-skips-scheduler", NodeNameSkipsScheduler},
      {"node-name-with-extended-resource", NodeNameWithExtendedResource},
      {"extended-resources", ExtendedResources},
      {"job-restart-policy", JobWithoutRestartPolicy},
      {"shapes", ShapesOfFields},
  });
  return kRules;
}

}  // namespace drachma::lint
