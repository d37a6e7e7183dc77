#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

namespace drachma::cel {

// Conversions and comparisons between the kinds of numbers, at the bounds as cel-go has them.

inline constexpr double kTwoTo63 = 9223372036854775808.0;
inline constexpr double kTwoTo64 = 18446744073709551616.0;

// Truncated; nothing outside of (-2^63, 2^63).
inline std::optional<std::int64_t> DoubleToInt(double value) {
  if (!(value > -kTwoTo63 && value < kTwoTo63)) return std::nullopt;
  return static_cast<std::int64_t>(value);
}
inline std::optional<std::uint64_t> DoubleToUint(double value) {
  if (!(value >= 0 && value < kTwoTo64)) return std::nullopt;
  return static_cast<std::uint64_t>(value);
}
inline std::optional<std::int64_t> LosslessInt(double value) {
  const auto integer = DoubleToInt(value);
  if (integer && static_cast<double>(*integer) == value) return integer;
  return std::nullopt;
}
inline std::optional<std::uint64_t> LosslessUint(double value) {
  const auto integer = DoubleToUint(value);
  if (integer && static_cast<double>(*integer) == value) return integer;
  return std::nullopt;
}

inline int CompareDoubles(double a, double b) { return a < b ? -1 : a > b ? 1 : 0; }
inline int CompareDoubleInt(double a, std::int64_t b) {
  if (a < -kTwoTo63) return -1;
  if (a > kTwoTo63) return 1;
  return CompareDoubles(a, static_cast<double>(b));
}
inline int CompareDoubleUint(double a, std::uint64_t b) {
  if (a < 0) return -1;
  if (a > kTwoTo64) return 1;
  return CompareDoubles(a, static_cast<double>(b));
}
inline int CompareIntUint(std::int64_t a, std::uint64_t b) {
  constexpr std::uint64_t kIntMax = std::numeric_limits<std::int64_t>::max();
  if (a < 0 || b > kIntMax) return -1;
  const auto signed_b = static_cast<std::int64_t>(b);
  return a < signed_b ? -1 : a > signed_b ? 1 : 0;
}

}  // namespace drachma::cel
