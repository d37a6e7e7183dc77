#pragma once

#include <cstdint>
#include <string_view>

#include "json/value.h"
#include "validation/field_error.h"

namespace drachma::validation {

// core/v1 NodeSelector and its parts. Preferred terms may hold values that are no label values.
enum class LabelValues : std::uint8_t { kChecked, kAnything };

[[nodiscard]] ErrorList ValidateNodeSelector(const json::Value& selector, std::string_view path);
[[nodiscard]] ErrorList ValidateNodeSelectorTerm(const json::Value& term, LabelValues values,
                                                 std::string_view path);
// Node names are DNS subdomains.
[[nodiscard]] ErrorList ValidateNodeName(std::string_view name, std::string_view path);

}  // namespace drachma::validation
