#pragma once

#include <string>
#include <string_view>

namespace drachma::json {

// A token of a JSON pointer (RFC 6901) as the key it stands for: "~1" is '/', "~0" is '~'.
[[nodiscard]] std::string UnescapePointerToken(std::string_view token);

}  // namespace drachma::json
