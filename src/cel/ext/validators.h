#pragma once

#include <vector>

#include "cel/check/checker.h"
#include "cel/ext/library.h"

namespace drachma::cel {

// Checks of a type-checked expression that look at literals: durations, timestamps and patterns
// that cannot be read, lists and maps of mixed types, format strings that do not fit their
// arguments.
[[nodiscard]] std::vector<Issue> ValidateLiterals(const CheckedAst& checked,
                                                  const Environment& env);

// All of it: parse, check, validate. Issues carry cel-go's texts; see FormatIssues.
struct CompileIssues {
  std::unique_ptr<Ast> ast;  // for its source
  std::vector<Issue> issues;
  enum class Phase : std::uint8_t { kParse, kCheck } phase = Phase::kParse;

  [[nodiscard]] std::string ToString() const { return FormatIssues(ast->source, issues); }
};
[[nodiscard]] std::expected<CheckedAst, CompileIssues> CompileExpression(std::string_view text,
                                                                         const Environment& env);

}  // namespace drachma::cel
