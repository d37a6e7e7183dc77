#pragma once

#include <string_view>
#include <vector>

#include "json/value.h"
#include "lint/rules.h"

namespace drachma::lint {

// Kinds of classic DRA (Kubernetes 1.26 to 1.31) that have no successor.
[[nodiscard]] bool IsClassicKind(std::string_view kind);
// Today's name of a driver of classic DRA ("gpu.resource.nvidia.com"); others stay.
[[nodiscard]] std::string_view DriverToday(std::string_view driver);

// Rules about classic DRA and about claims whose levels are wrong.
void ClassicKind(const json::Value& object, const RuleContext& context, std::vector<Found>& found);
void ClassicFields(const json::Value& object, const RuleContext& context,
                   std::vector<Found>& found);
// Fields of claims and of older taint rules in a DeviceTaintRule.
void TaintRuleFields(const json::Value& object, const RuleContext& context,
                     std::vector<Found>& found);
void TemplateWithoutInnerSpec(const json::Value& object, const RuleContext& context,
                              std::vector<Found>& found);
void ConstraintWithoutDomain(const json::Value& object, const RuleContext& context,
                             std::vector<Found>& found);
// A config or constraint that names no request of a claim with one request.
void UnknownRequestName(const json::Value& object, const RuleContext& context,
                        std::vector<Found>& found);
void ConfigWithoutOpaque(const json::Value& object, const RuleContext& context,
                         std::vector<Found>& found);

}  // namespace drachma::lint
