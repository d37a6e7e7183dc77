#pragma once

#include <string>
#include <string_view>

#include "json/value.h"

namespace drachma::validation {

inline constexpr std::string_view kSelectorTerm = "k8s.io/api/core/v1.NodeSelectorTerm";

// A struct of an API type, a list of them or null, as errors show upstream's internal type: with
// all fields by their Go names in the order of the struct, null for what is not there. Types of
// apimachinery look there as everywhere, and embedded metadata has no name. Right for types whose
// internal form has the fields of the API's newest version. Pure; any thread.
// REQUIRES: `go_type` is one of api::AllTypes().
[[nodiscard]] json::Value InternalForm(const json::Value& value, std::string_view go_type);
[[nodiscard]] std::string ShownInternal(const json::Value& value, std::string_view go_type);

}  // namespace drachma::validation
