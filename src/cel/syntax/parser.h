#pragma once

#include <expected>
#include <memory>
#include <string_view>
#include <vector>

#include "cel/syntax/ast.h"
#include "cel/syntax/macros.h"

namespace drachma::cel {

// Limits of the parser, as cel-go's defaults.
inline constexpr std::size_t kCodePointsMax = 100'000;
inline constexpr int kDepthMax = 250;  // of each grammar rule, and of nested operators

struct ParseOptions {
  const MacroTable* macros = nullptr;  // null: no macros
  bool optional_syntax = true;         // a.?b, a[?b], {?k: v}, [?v]
};

// Why there is no tree. The source is kept to show the issues with their lines.
struct ParseFailure {
  std::unique_ptr<Ast> ast;  // without a root
  std::vector<Issue> issues;
};

// Parses an expression and expands its macros. Linear in the length of `text`; never recurses
// deeper than kDepthMax rules.
// ERRORS: all issues found, with cel-go's texts ("Syntax error: mismatched input …").
[[nodiscard]] std::expected<std::unique_ptr<Ast>, ParseFailure> Parse(std::string_view text,
                                                                      const ParseOptions& options);

}  // namespace drachma::cel
