#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>

namespace drachma::cel {

enum class StringKind : unsigned char { kText, kBytes };

// The value of a quoted string token (with its quotes and a possible `r`), escapes resolved.
// ERRORS: cel-go's text ("unable to unescape string", "invalid unicode code point").
[[nodiscard]] std::expected<std::string, std::string> Unescape(std::string_view token,
                                                               StringKind kind);

// Numbers as Go's strconv reads the texts that the lexer lets through; nothing when out of range.
[[nodiscard]] std::optional<std::int64_t> ParseIntLiteral(std::string_view text);    // "-0x1f"
[[nodiscard]] std::optional<std::uint64_t> ParseUintLiteral(std::string_view text);  // "12u"
[[nodiscard]] std::optional<double> ParseDoubleLiteral(std::string_view text);

}  // namespace drachma::cel
