#pragma once

#include <re2/re2.h>

#include <memory>
#include <string>
#include <string_view>

#include "cel/eval/nodes.h"
#include "cel/eval/pattern_size.h"

namespace drachma::cel {

// Compiles a pattern and takes its weight from `*weight_left`; null with Go's text in `*error`
// ("error parsing regexp: missing closing ]: `[`").
[[nodiscard]] std::unique_ptr<RE2> CompileRegex(std::string_view pattern, std::size_t* weight_left,
                                                std::string* error);

// A function whose second argument is a pattern, with its body for a compiled one.
struct RegexFunction {
  std::string_view function;
  PatternNode::Body body;
};
[[nodiscard]] const RegexFunction* FindRegexFunction(std::string_view function);

// Bodies for patterns that are not constant. Errors: Go's text, after "Illegal regex: " for find.
[[nodiscard]] Value RegexMatches(Arena& arena, std::span<const Value> args);
[[nodiscard]] Value RegexFind(Arena& arena, std::span<const Value> args);
[[nodiscard]] Value RegexFindAll(Arena& arena, std::span<const Value> args);

}  // namespace drachma::cel
