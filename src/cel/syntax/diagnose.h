#pragma once

#include <string>
#include <vector>

#include "cel/syntax/ast.h"
#include "cel/syntax/lexer.h"
#include "cel/syntax/parser.h"

namespace drachma::cel {

// All that is wrong with a text that is known not to parse, with cel-go's texts: the syntax errors
// ("Syntax error: mismatched input 'x' expecting …"), and what its second pass finds in the pieces
// that could be read. Uses the memory of `ast`, whose root stays empty.
[[nodiscard]] std::vector<Issue> DiagnoseSyntax(Ast& ast, const Tokens& tokens,
                                                const ParseOptions& options);

// The message for a text of more than kCodePointsMax code points.
[[nodiscard]] std::string SizeMessage(std::size_t code_points);

[[nodiscard]] bool IsReservedWord(std::string_view word);

}  // namespace drachma::cel
