#pragma once

#include "lint/rules.h"

namespace drachma::lint {

// Rules about names in pods that stand for other objects.
// resources.claims[].request that the claim or template of the same input does not have.
void UnknownClaimRequest(const json::Value& object, const RuleContext& context,
                         std::vector<Found>& found);
// The name of a DeviceClass or driver where a resource is asked for.
void ResourceNamesClass(const json::Value& object, const RuleContext& context,
                        std::vector<Found>& found);

}  // namespace drachma::lint
