#pragma once

#include <boost/multiprecision/cpp_int.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace drachma::num {

// unscaled * 10^-scale, of any size: gopkg.in/inf.v0's Dec as far as quantities need it. Private to
// this folder, since the integer's header is a heavy one.
//
// Numbers whose exponents differ by more than kDigitsMax are never written out to a common scale:
// comparing and rounding decide by magnitude, adding keeps the larger one. A manifest with
// "1e1000000000" is then no way to take all memory.
struct Decimal {
  using Int = boost::multiprecision::cpp_int;
  static constexpr std::int64_t kDigitsMax = 20'000;

  Int unscaled;
  std::int32_t scale = 0;

  // Sign, digits, at most one point; nothing without any digit.
  [[nodiscard]] static std::optional<Decimal> Parse(std::string_view text);

  [[nodiscard]] int Sign() const { return unscaled.sign(); }
  [[nodiscard]] int Compare(const Decimal& other) const;
  void Add(const Decimal& other);
  // Rounds away from zero to `new_scale` decimal places; false when that lost something.
  bool RoundTo(std::int32_t new_scale);
  // Divides by `factor` as often as it goes; returns how often (0 for zero).
  static std::int32_t RemoveFactors(Int& number, unsigned factor);
};

// 10^exponent. REQUIRES: 0 <= exponent <= Decimal::kDigitsMax.
Decimal::Int Pow10(std::int64_t exponent);
// The low 64 bits with the sign, as Go's big.Int.Int64.
std::int64_t Int64Wrapped(const Decimal::Int& number);

}  // namespace drachma::num
