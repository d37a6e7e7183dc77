#pragma once

#include "lint/rules.h"

namespace drachma::lint {

// Rules of rules.h about pods and what makes pods.
void WorkloadWithoutSelector(const json::Value& object, const RuleContext& context,
                             std::vector<Found>& found);
void ClaimSource(const json::Value& object, const RuleContext& context, std::vector<Found>& found);
void ClaimNotListed(const json::Value& object, const RuleContext& context,
                    std::vector<Found>& found);
void NodeNameSkipsScheduler(const json::Value& object, const RuleContext& context,
                            std::vector<Found>& found);

}  // namespace drachma::lint
