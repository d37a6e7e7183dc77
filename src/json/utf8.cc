#include "json/utf8.h"

namespace drachma::json {

Rune DecodeRune(std::string_view text) {
  const auto byte = [&text](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const auto continues = [&](std::size_t i, std::uint8_t low = 0x80, std::uint8_t high = 0xBF) {
    return i < text.size() && byte(i) >= low && byte(i) <= high;
  };
  const std::uint8_t first = byte(0);
  if (first < 0x80) return {first, 1, true};
  if (first >= 0xC2 && first <= 0xDF && continues(1)) {
    return {static_cast<char32_t>((first & 0x1F) << 6 | (byte(1) & 0x3F)), 2, true};
  }
  if (first >= 0xE0 && first <= 0xEF) {
    // No overlong forms (E0) and no surrogates (ED).
    const std::uint8_t low = first == 0xE0 ? 0xA0 : 0x80;
    const std::uint8_t high = first == 0xED ? 0x9F : 0xBF;
    if (continues(1, low, high) && continues(2)) {
      return {
          static_cast<char32_t>((first & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F)), 3,
          true};
    }
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const std::uint8_t low = first == 0xF0 ? 0x90 : 0x80;
    const std::uint8_t high = first == 0xF4 ? 0x8F : 0xBF;
    if (continues(1, low, high) && continues(2) && continues(3)) {
      return {static_cast<char32_t>((first & 0x07) << 18 | (byte(1) & 0x3F) << 12 |
                                    (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F)),
              4, true};
    }
  }
  return {};
}

bool IsValidUtf8(std::string_view text) {
  while (!text.empty()) {
    const Rune rune = DecodeRune(text);
    if (!rune.valid) return false;
    text.remove_prefix(rune.size);
  }
  return true;
}

void AppendRune(char32_t code, std::string& out) {
  if (code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) code = 0xFFFD;
  const auto put = [&out](char32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | code >> 6);
    put(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    put(0xE0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3F));
    put(0x80 | (code & 0x3F));
  } else {
    put(0xF0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3F));
    put(0x80 | (code >> 6 & 0x3F));
    put(0x80 | (code & 0x3F));
  }
}

}  // namespace drachma::json
