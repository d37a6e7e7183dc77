#include "num/decimal.h"

#include <utility>

namespace drachma::num {
namespace {

// Decimal digits of |number|, off by one at most.
std::int64_t ApproximateDigits(const Decimal::Int& number) {
  if (number == 0) return 0;
  const Decimal::Int magnitude = abs(number);
  return static_cast<std::int64_t>(static_cast<double>(msb(magnitude)) * 0.30103) + 1;
}

}  // namespace

Decimal::Int Pow10(std::int64_t exponent) {
  return boost::multiprecision::pow(Decimal::Int(10), static_cast<unsigned>(exponent));
}

std::int64_t Int64Wrapped(const Decimal::Int& number) {
  const Decimal::Int magnitude = abs(number);
  const auto low = static_cast<std::uint64_t>(magnitude & ~std::uint64_t{0});
  return static_cast<std::int64_t>(number.sign() < 0 ? ~low + 1 : low);
}

std::optional<Decimal> Decimal::Parse(std::string_view text) {
  Decimal result;
  std::string digits;
  bool point = false;
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  for (const char c : text) {
    if (c == '.' && !point) {
      point = true;
    } else if (c >= '0' && c <= '9') {
      digits.push_back(c);
      if (point) ++result.scale;
    } else {
      return std::nullopt;
    }
  }
  if (digits.empty()) return std::nullopt;
  // The integer's own parser takes a leading zero for an octal number.
  const std::size_t first = digits.find_first_not_of('0');
  result.unscaled = first == std::string::npos ? Int(0) : Int(digits.substr(first));
  if (negative) result.unscaled = -result.unscaled;
  return result;
}

int Decimal::Compare(const Decimal& other) const {
  if (Sign() != other.Sign() || Sign() == 0)
    return Sign() - other.Sign() < 0 ? -1 : Sign() != other.Sign();
  if (scale == other.scale)
    return unscaled.compare(other.unscaled) < 0 ? -1 : unscaled != other.unscaled;
  const std::int64_t shift = std::int64_t{scale} - other.scale;
  if (shift > kDigitsMax || shift < -kDigitsMax) {
    const std::int64_t mine = ApproximateDigits(unscaled) - scale;
    const std::int64_t others = ApproximateDigits(other.unscaled) - other.scale;
    if (mine - others > 2) return Sign();
    if (others - mine > 2) return -Sign();
  }
  if (shift > 0)
    return unscaled.compare(other.unscaled * Pow10(shift)) < 0
               ? -1
               : unscaled != other.unscaled * Pow10(shift);
  const Int raised = unscaled * Pow10(-shift);
  return raised < other.unscaled ? -1 : raised != other.unscaled;
}

void Decimal::Add(const Decimal& other) {
  const std::int64_t shift = std::int64_t{scale} - other.scale;
  if (shift > kDigitsMax || shift < -kDigitsMax) {
    if (other.Sign() == 0) return;
    const std::int64_t mine = ApproximateDigits(unscaled) - scale;
    const std::int64_t others = ApproximateDigits(other.unscaled) - other.scale;
    if (Sign() == 0 || others > mine) *this = other;
    return;
  }
  if (shift >= 0) {
    unscaled += shift == 0 ? other.unscaled : other.unscaled * Pow10(shift);
    return;
  }
  unscaled = unscaled * Pow10(-shift) + other.unscaled;
  scale = other.scale;
}

bool Decimal::RoundTo(std::int32_t new_scale) {
  const std::int64_t shift = std::int64_t{new_scale} - scale;
  if (shift >= 0) {
    // Raising is exact; a huge one would only write zeros.
    if (shift > kDigitsMax) return true;
    unscaled *= Pow10(shift);
    scale = new_scale;
    return true;
  }
  scale = new_scale;
  if (unscaled == 0) return true;
  if (-shift > ApproximateDigits(unscaled) + 1) {
    unscaled = unscaled.sign();
    return false;
  }
  Int quotient;
  Int remainder;
  divide_qr(unscaled, Pow10(-shift), quotient, remainder);
  unscaled = std::move(quotient);
  if (remainder == 0) return true;
  unscaled += remainder.sign();
  return false;
}

std::int32_t Decimal::RemoveFactors(Int& number, unsigned factor) {
  std::int32_t times = 0;
  Int quotient;
  Int remainder;
  const Int divisor(factor);
  while (number != 0) {
    divide_qr(number, divisor, quotient, remainder);
    if (remainder != 0) break;
    ++times;
    std::swap(number, quotient);
  }
  return times;
}

}  // namespace drachma::num
