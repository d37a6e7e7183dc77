#pragma once

#include "lint/rules.h"

namespace drachma::lint {

// Rules of rules.h about resource.k8s.io objects.
void OldApiVersion(const json::Value& object, const RuleContext& context,
                   std::vector<Found>& found);
void ResourceClassIsDeviceClass(const json::Value& object, const RuleContext& context,
                                std::vector<Found>& found);
void ClaimWithoutDevices(const json::Value& object, const RuleContext& context,
                         std::vector<Found>& found);
void FlatRequest(const json::Value& object, const RuleContext& context, std::vector<Found>& found);
void BasicDevice(const json::Value& object, const RuleContext& context, std::vector<Found>& found);
void SelectorForms(const json::Value& object, const RuleContext& context,
                   std::vector<Found>& found);
void SelectorJustMisses(const json::Value& object, const RuleContext& context,
                        std::vector<Found>& found);

// Paths of all CEL selectors of an object ("spec.selectors[0].cel.expression").
[[nodiscard]] std::vector<std::string> SelectorPaths(const json::Value& object);

}  // namespace drachma::lint
