#include "cel/syntax/literals.h"

#include <charconv>
#include <cmath>

#include "cel/syntax/source.h"

namespace drachma::cel {
namespace {

// All line ends become '\n', as cel-go normalises them before unescaping.
std::string NormalizeLineEnds(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\r') {
      out += text[i];
      continue;
    }
    out += '\n';
    if (i + 1 < text.size() && text[i + 1] == '\n') ++i;
  }
  return out;
}

bool IsValidCodePoint(std::uint32_t value) {
  return value <= 0x10FFFF && (value < 0xD800 || value > 0xDFFF);
}

char SimpleEscape(char c) {
  constexpr std::string_view kNames = "abfnrtv\\'\"`?";
  constexpr std::string_view kValues = "\a\b\f\n\r\t\v\\'\"`?";
  const std::size_t index = kNames.find(c);
  return index == std::string_view::npos ? '\0' : kValues[index];
}

// A numeric escape: how many digits follow, in which base.
struct NumericEscape {
  std::size_t digits = 0;
  int base = 0;
  std::size_t skip = 0;  // characters between the backslash and the digits
};

NumericEscape NumericEscapeOf(char c) {
  switch (c) {
    case 'x':
    case 'X':
      return {.digits = 2, .base = 16, .skip = 1};
    case 'u':
      return {.digits = 4, .base = 16, .skip = 1};
    case 'U':
      return {.digits = 8, .base = 16, .skip = 1};
    default:
      return {.digits = 3, .base = 8, .skip = 0};
  }
}

}  // namespace

std::expected<std::string, std::string> Unescape(std::string_view token, StringKind kind) {
  std::string normal = NormalizeLineEnds(token);
  std::string_view value = normal;
  const bool raw = value.starts_with('r') || value.starts_with('R');
  if (raw) value.remove_prefix(1);
  const bool triple =
      value.size() >= 6 && (value.starts_with("'''") || value.starts_with("\"\"\""));
  const std::size_t quotes = triple ? 3 : 1;
  value = value.substr(quotes, value.size() - 2 * quotes);
  if (raw || !value.contains('\\')) return std::string(value);

  std::string out;
  out.reserve(value.size());
  while (!value.empty()) {
    if (value.front() != '\\') {
      out += value.front();
      value.remove_prefix(1);
      continue;
    }
    if (value.size() < 2)
      return std::unexpected("unable to unescape string, found '\\' as last character");
    const char c = value[1];
    if (const char simple = SimpleEscape(c); simple != '\0') {
      out += simple;
      value.remove_prefix(2);
      continue;
    }
    const NumericEscape escape = NumericEscapeOf(c);
    if (kind == StringKind::kBytes && (c == 'u' || c == 'U')) {
      return std::unexpected("unable to unescape string");
    }
    value.remove_prefix(1 + escape.skip);
    if (value.size() < escape.digits) return std::unexpected("unable to unescape string");
    std::uint32_t code = 0;
    const char* end = value.data() + escape.digits;
    if (const auto parsed = std::from_chars(value.data(), end, code, escape.base);
        parsed.ptr != end) {
      return std::unexpected("unable to unescape string");
    }
    value.remove_prefix(escape.digits);
    if (kind == StringKind::kBytes) {
      out += static_cast<char>(code);
    } else if (!IsValidCodePoint(code)) {
      return std::unexpected("invalid unicode code point");
    } else {
      AppendUtf8(code, out);
    }
  }
  return out;
}

std::optional<std::int64_t> ParseIntLiteral(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const int base = text.starts_with("0x") ? 16 : 10;
  if (base == 16) text.remove_prefix(2);
  std::uint64_t magnitude = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, magnitude, base);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  constexpr std::uint64_t kMinMagnitude = std::uint64_t{1} << 63;
  if (negative && magnitude <= kMinMagnitude) return static_cast<std::int64_t>(0 - magnitude);
  if (!negative && magnitude < kMinMagnitude) return static_cast<std::int64_t>(magnitude);
  return std::nullopt;
}

std::optional<std::uint64_t> ParseUintLiteral(std::string_view text) {
  text.remove_suffix(1);
  const int base = text.starts_with("0x") ? 16 : 10;
  if (base == 16) text.remove_prefix(2);
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value, base);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return value;
}

std::optional<double> ParseDoubleLiteral(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  if (parsed.ptr != end) return std::nullopt;
  // Too small rounds to zero in Go; too large is an error.
  if (parsed.ec == std::errc::result_out_of_range) {
    value = std::strtod(std::string(text).c_str(), nullptr);
    if (std::isinf(value)) return std::nullopt;
  }
  return value;
}

}  // namespace drachma::cel
