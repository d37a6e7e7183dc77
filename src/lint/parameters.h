#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "json/value.h"
#include "lint/rules.h"

namespace drachma::lint {

// The parameters of classic DRA in `texts`: documents that a parametersRef names or whose group is
// that of a driver of then. Texts that are no YAML have none.
[[nodiscard]] std::vector<ParameterDocument> FindParameters(
    std::span<const std::string_view> texts);

// The document that `ref` (a parametersRef of an object in `ns`) means; null when the input does
// not hold it.
[[nodiscard]] const ParameterDocument* FindParameter(const RuleContext& context,
                                                     const json::Value& ref, std::string_view ns);
// The entry of a document itself; null when it holds no parameters of classic DRA.
[[nodiscard]] const ParameterDocument* FindParameter(const RuleContext& context,
                                                     const json::Value& object);

// A count that a claim's request can say as well: positive, and a number.
[[nodiscard]] bool HasCount(const json::Value& parameters);
// What parameters say beside such a count, as a line of JSON; empty when that is all.
[[nodiscard]] std::string BesideCount(const json::Value& parameters, bool with_count);

}  // namespace drachma::lint
