#pragma once

#include <string>
#include <string_view>

#include "json/value.h"
#include "validation/field_error.h"
#include "validation/strategy.h"

namespace drachma::validation {

// The rules that upstream generates from tags of its versioned types (k8s.io/apimachinery's
// pkg/api/validate): which fields are required, how long lists are, what is unique, what a name
// looks like, what never changes. They are a table (declarative_rules.inc) that one walker
// interprets.

// Whether the version of a kind has such rules.
[[nodiscard]] bool HasDeclarativeRules(std::string_view group, std::string_view version,
                                       std::string_view kind);

// The enforced errors of an object in the shape of `version`; `old` is null for a create.
[[nodiscard]] ErrorList ValidateDeclaratively(const Context& context, std::string_view group,
                                              std::string_view version, std::string_view kind,
                                              const json::Value& object, const json::Value* old);

// Puts both together as upstream does: covered hand-written errors give way to beta ones of the
// same type, field (v1beta1's flat paths count as v1's) and origin; the declarative ones follow.
[[nodiscard]] ErrorList MergeDeclarative(ErrorList hand_written, ErrorList declarative);

}  // namespace drachma::validation
