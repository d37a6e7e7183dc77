#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>

namespace drachma::cel {

[[nodiscard]] std::string Base64Encode(std::string_view bytes);  // with padding
// Decodes with padding, or without any; line ends do not count. The error is the place of the
// first character that fits neither way.
[[nodiscard]] std::expected<std::string, std::size_t> Base64Decode(std::string_view text);

}  // namespace drachma::cel
