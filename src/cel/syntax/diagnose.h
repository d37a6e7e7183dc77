#pragma once

#include <string>
#include <vector>

#include "cel/syntax/source.h"

namespace drachma::cel {

// The syntax errors of a text that is known not to parse, with the texts of cel-go's generated
// parser ("Syntax error: mismatched input 'x' expecting …"), one per place where it lost track.
[[nodiscard]] std::vector<Issue> DiagnoseSyntax(const Source& source);

// The message for a text of more than kCodePointsMax code points.
[[nodiscard]] std::string SizeMessage(std::size_t code_points);

}  // namespace drachma::cel
