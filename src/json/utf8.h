#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace drachma::json {

// One code point of UTF-8 text as Go's utf8.DecodeRune reads it.
struct Rune {
  char32_t code = 0xFFFD;
  std::size_t size = 1;
  bool valid = false;  // false: one byte that is no UTF-8
};

// REQUIRES: text is not empty.
[[nodiscard]] Rune DecodeRune(std::string_view text);
[[nodiscard]] bool IsValidUtf8(std::string_view text);
// Writes U+FFFD for what is no scalar value.
void AppendRune(char32_t code, std::string& out);

}  // namespace drachma::json
