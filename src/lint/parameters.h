#pragma once

#include <span>
#include <string>
#include <string_view>

#include "json/value.h"
#include "lint/rules.h"

namespace drachma::lint {

// What rules may know of `texts`: the parameters of classic DRA (documents that a parametersRef
// names or whose group is that of a driver of then) and the objects of resource.k8s.io, those of
// lists, too. Texts that are no YAML have none.
[[nodiscard]] RuleContext ContextOf(std::string driver, std::span<const std::string_view> texts);

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
