#include "cel/syntax/diagnose.h"

#include "cel/syntax/lexer.h"
#include "cel/syntax/parser.h"

namespace drachma::cel {

std::vector<Issue> DiagnoseSyntax(const Source& source) {
  std::vector<Issue> issues;
  for (const LexicalError& error : Tokenize(source.text()).errors) {
    issues.push_back(
        {.location = source.LocationOf(error.begin),
         .message = "Syntax error: token recognition error at: '" +
                    std::string(source.text().substr(error.begin, error.end - error.begin)) + "'"});
  }
  if (issues.empty()) issues.push_back({.location = {1, 0}, .message = "Syntax error"});
  return issues;
}

std::string SizeMessage(std::size_t code_points) {
  return "expression code point size exceeds limit: size: " + std::to_string(code_points) +
         ", limit " + std::to_string(kCodePointsMax);
}

}  // namespace drachma::cel
