#include "cel/ext/base64.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace drachma::cel {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string Base64Encode(std::string_view bytes) {
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    const std::size_t size = std::min<std::size_t>(3, bytes.size() - i);
    for (std::size_t j = 0; j < 3; ++j) {
      group = group << 8 | (j < size ? static_cast<unsigned char>(bytes[i + j]) : 0u);
    }
    for (std::size_t j = 0; j < 4; ++j) {
      out += j <= size ? kAlphabet[group >> (18 - 6 * j) & 63] : '=';
    }
  }
  return out;
}

std::expected<std::string, std::size_t> Base64Decode(std::string_view text) {
  std::string digits;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n' || text[i] == '\r') continue;
    digits += text[i];
    places.push_back(i);
  }
  std::size_t size = digits.size();
  if (size % 4 == 0) {
    if (digits.ends_with("==")) {
      size -= 2;
    } else if (digits.ends_with('=')) {
      size -= 1;
    }
  }
  std::string out;
  std::uint32_t group = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t value = kAlphabet.find(digits[i]);
    if (value == std::string_view::npos) return std::unexpected(places[i]);
    group = group << 6 | static_cast<std::uint32_t>(value);
    if (i % 4 == 3) {
      for (const int shift : {16, 8, 0}) out += static_cast<char>(group >> shift);
      group = 0;
    }
  }
  switch (size % 4) {
    case 1:
      return std::unexpected(text.size());
    case 2:
      out += static_cast<char>(group >> 4);
      break;
    case 3:
      out += static_cast<char>(group >> 10);
      out += static_cast<char>(group >> 2);
      break;
    default:
      break;
  }
  return out;
}

}  // namespace drachma::cel
