#pragma once

#include <string>
#include <string_view>

#include "json/value.h"

namespace drachma::validation {

// The unified diff of two texts with three lines of context and without file names, as Python's
// difflib and its port to Go make it: their heuristics decide which lines count as moved, so they
// are followed. Quadratic at worst in the number of lines; meant for objects.
[[nodiscard]] std::string UnifiedDiff(std::string_view before, std::string_view after);

// What changes between two structs, as upstream shows it: the diff of both in the form of
// ShownInternal(), indented by one space.
[[nodiscard]] std::string InternalDiff(const json::Value& before, const json::Value& after,
                                       std::string_view go_type);

}  // namespace drachma::validation
