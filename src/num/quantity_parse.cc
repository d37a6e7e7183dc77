#include "num/quantity_parse.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <string>
#include <utility>

namespace drachma::num {
namespace {

constexpr int kFastDigitsMax = 18;        // decimal digits that always fit into int64
constexpr int kFastBinaryDigitsMax = 15;  // the same with room for the suffix

std::unexpected<Error> WrongFormat() {
  return BadInput(
      "quantities must match the regular expression "
      "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
}
std::unexpected<Error> WrongNumber() {
  return BadInput("unable to parse numeric part of quantity");
}
std::unexpected<Error> WrongSuffix() { return BadInput("unable to parse quantity's suffix"); }

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// The parts of a text, cut as upstream's scanner cuts them.
struct Parts {
  bool negative = false;
  std::string_view value;     // sign and number as written
  std::string_view whole;     // digits before the point without leading zeros, at least "0"
  std::string_view fraction;  // digits after the point
  std::string_view suffix;
};

Result<Parts> Split(std::string_view text) {
  Parts parts;
  std::size_t at = 0;
  const auto digits = [&] {
    const std::size_t from = at;
    while (at < text.size() && IsDigit(text[at])) ++at;
    return text.substr(from, at - from);
  };
  if (text[0] == '-' || text[0] == '+') {
    parts.negative = text[0] == '-';
    ++at;
  }
  while (at < text.size() && text[at] == '0') ++at;
  parts.whole = digits();
  if (parts.whole.empty()) parts.whole = "0";
  if (at < text.size() && text[at] == '.') {
    ++at;
    parts.fraction = digits();
  }
  parts.value = text.substr(0, at);
  const std::size_t suffix = at;
  constexpr std::string_view kSuffixCharacters = "eEinumkKMGTP";
  while (at < text.size() && kSuffixCharacters.contains(text[at])) ++at;
  if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
  digits();
  if (at < text.size()) return WrongFormat();
  parts.suffix = text.substr(suffix);
  return parts;
}

struct Suffix {
  std::string_view text;
  int base;
  std::int32_t exponent;
};
constexpr auto kSuffixes = std::to_array<Suffix>({
    {"", 10, 0},
    {"n", 10, -9},
    {"u", 10, -6},
    {"m", 10, -3},
    {"k", 10, 3},
    {"M", 10, 6},
    {"G", 10, 9},
    {"T", 10, 12},
    {"P", 10, 15},
    {"E", 10, 18},
    {"Ki", 2, 10},
    {"Mi", 2, 20},
    {"Gi", 2, 30},
    {"Ti", 2, 40},
    {"Pi", 2, 50},
    {"Ei", 2, 60},
});

struct Scale {
  QuantityFormat format;
  std::int32_t exponent;  // of ten, or of two for kBinarySI
};

Result<Scale> ReadSuffix(std::string_view suffix) {
  const auto known = std::ranges::find(kSuffixes, suffix, &Suffix::text);
  if (known != kSuffixes.end()) {
    return Scale{known->base == 2 ? QuantityFormat::kBinarySI : QuantityFormat::kDecimalSI,
                 known->exponent};
  }
  if (suffix.size() < 2 || (suffix[0] != 'e' && suffix[0] != 'E')) return WrongSuffix();
  suffix.remove_prefix(1);
  if (suffix[0] == '+') suffix.remove_prefix(1);
  std::int64_t exponent = 0;
  const auto [end, error] = std::from_chars(suffix.data(), suffix.data() + suffix.size(), exponent);
  if (error != std::errc() || end != suffix.data() + suffix.size()) return WrongSuffix();
  return Scale{QuantityFormat::kDecimalExponent, static_cast<std::int32_t>(exponent)};
}

// The int64 representation, when upstream takes its fast path.
std::optional<ParsedQuantity> ReadFast(const Parts& parts, const Scale& suffix) {
  const bool binary = suffix.format == QuantityFormat::kBinarySI;
  const int whole_digits = static_cast<int>(parts.whole.size());
  const int fraction_digits = static_cast<int>(parts.fraction.size());
  ParsedQuantity parsed{.format = suffix.format};
  std::int64_t scale = 0;
  int precision = -1;
  if (!binary) {
    scale = suffix.exponent;
    precision = kFastDigitsMax - whole_digits - fraction_digits;
  } else if (parts.fraction.empty()) {
    precision = kFastBinaryDigitsMax - whole_digits -
                static_cast<int>(static_cast<float>(suffix.exponent) * 3 / 10) - 1;
  }
  scale -= fraction_digits;
  if (precision < 0 || scale < kScaleNano) return std::nullopt;
  parsed.scale = static_cast<std::int32_t>(scale);
  std::string digits(parts.whole);
  digits += parts.fraction;
  std::int64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const std::int64_t factor = binary ? std::int64_t{1} << suffix.exponent : 1;
  if (__builtin_mul_overflow(value, factor, &parsed.value)) return std::nullopt;
  if (parts.negative) parsed.value = -parsed.value;
  parsed.keep_text =
      binary ? (value & 7) != 0 : scale % 3 == 0 && !digits.ends_with("000") && digits[0] != '0';
  return parsed;
}

}  // namespace

Result<ParsedQuantity> ParseQuantity(std::string_view text) {
  if (text.empty()) return WrongFormat();
  if (text == "0") return ParsedQuantity{.keep_text = true};
  DRA_ASSIGN(const Parts parts, Split(text));
  DRA_ASSIGN(const Scale suffix, ReadSuffix(parts.suffix));
  if (parts.value.size() > static_cast<std::size_t>(Decimal::kDigitsMax)) return WrongNumber();
  if (auto fast = ReadFast(parts, suffix)) return std::move(*fast);

  auto number = Decimal::Parse(parts.value);
  if (!number) return WrongNumber();
  ParsedQuantity parsed{.format = suffix.format};
  if (suffix.format == QuantityFormat::kBinarySI) {
    number->unscaled <<= static_cast<unsigned>(suffix.exponent);
  } else {
    // Wraps at the ends of int32, as upstream.
    number->scale = static_cast<std::int32_t>(static_cast<std::uint32_t>(number->scale) -
                                              static_cast<std::uint32_t>(suffix.exponent));
  }
  // Whoever wants a little gets a little: nothing is rounded to zero.
  if (number->unscaled != 0) number->RoundTo(-kScaleNano);
  if (suffix.format == QuantityFormat::kBinarySI) {
    const Decimal max{.unscaled = std::numeric_limits<std::int64_t>::max()};
    const Decimal one{.unscaled = 1};
    Decimal magnitude = *number;
    magnitude.unscaled = abs(magnitude.unscaled);
    if (magnitude.Compare(max) > 0) {
      const bool negative = number->Sign() < 0;
      *number = max;
      if (negative) number->unscaled = -number->unscaled;
    }
    if (magnitude.Sign() > 0 && magnitude.Compare(one) < 0) {
      parsed.format = QuantityFormat::kDecimalSI;
    }
  }
  parsed.big = std::move(*number);
  return parsed;
}

}  // namespace drachma::num
