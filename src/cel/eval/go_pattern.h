#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace drachma::cel {

// A pattern of Go's regexp (1.26) in the words of RE2, where these differ: groups named with
// (?<name> and the long names of Unicode's categories. Nothing for what only RE2 takes: \C. Go's
// \p{Cn} and \p{Assigned} are left as they are; RE2 refuses them.
[[nodiscard]] std::optional<std::string> FromGoPattern(std::string_view pattern);

}  // namespace drachma::cel
