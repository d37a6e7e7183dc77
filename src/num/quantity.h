#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace drachma {

// The suffix family a quantity is printed with (apimachinery's resource.Format).
enum class QuantityFormat : std::uint8_t { kDecimalExponent, kBinarySI, kDecimalSI };

// Powers of ten that quantities are read and rounded at (resource.Nano … resource.Exa).
inline constexpr int kScaleNano = -9;
inline constexpr int kScaleMilli = -3;
inline constexpr int kScaleUnit = 0;

__extension__ using Int128 = __int128;
// The largest magnitude that Quantity::Nano tells apart, in 10^-9: a hundred thousand sums of it
// still fit into Int128.
inline constexpr Int128 kNanoMax = Int128{1'000'000'000'000'000'000} * 1'000'000'000'000'000;

// resource.Quantity: a decimal fixed-point number of any size with a preferred way to be written.
// Parsing, canonical form, rounding and arithmetic are upstream's
// (k8s.io/apimachinery/pkg/api/resource), without overflow at any size. A value type of 24 bytes;
// only numbers beyond int64 and texts that are kept as written own memory.
//
// One deliberate difference: where upstream has no suffix for an exponent (10^21 as DecimalSI
// prints "1" there) the number keeps its largest suffix ("1000E"), since the text must mean the
// same number.
class Quantity {
 public:
  // Zero, as DecimalSI.
  Quantity() = default;
  ~Quantity();
  Quantity(const Quantity&);
  Quantity(Quantity&&) noexcept;
  Quantity& operator=(const Quantity&);
  Quantity& operator=(Quantity&&) noexcept;

  // ERRORS: kBadRequest with upstream's text ("quantities must match the regular expression …").
  [[nodiscard]] static Result<Quantity> Parse(std::string_view text);
  // resource.NewQuantity, NewMilliQuantity and NewScaledQuantity.
  [[nodiscard]] static Quantity FromInt(std::int64_t value, QuantityFormat format);
  [[nodiscard]] static Quantity FromMilli(std::int64_t value, QuantityFormat format);
  [[nodiscard]] static Quantity FromScaled(std::int64_t value, int scale, QuantityFormat format);

  [[nodiscard]] QuantityFormat format() const { return format_; }
  // The canonical form ("1500m", "16Gi", "1e3"): upstream's String(). A text that Parse took for
  // canonical enough is kept as it was written ("1.500"), as upstream keeps it.
  [[nodiscard]] std::string ToString() const;

  // Rounded up to multiples of 10^scale. What does not fit into int64 comes out as upstream's
  // arithmetic leaves it (wrapped or zero): compare with CompareInt first where that matters.
  [[nodiscard]] std::int64_t ScaledValue(int scale) const;
  [[nodiscard]] std::int64_t Value() const { return ScaledValue(kScaleUnit); }
  [[nodiscard]] std::int64_t MilliValue() const { return ScaledValue(kScaleMilli); }
  // The whole number where the fast representation holds one (AsInt64); nothing otherwise, also
  // for some whole numbers ("1000m", "1Ei"), as upstream.
  [[nodiscard]] std::optional<std::int64_t> AsInt64() const;
  // The number in units of 10^-9, exact for all that Parse gives up to kNanoMax and saturating
  // there: for sums that must be fast.
  [[nodiscard]] Int128 Nano() const;
  // AsApproximateFloat64.
  [[nodiscard]] double AsApproximateDouble() const;

  [[nodiscard]] int Sign() const;  // -1, 0, 1
  [[nodiscard]] bool IsZero() const { return Sign() == 0; }
  // -1, 0 or 1; formats do not count.
  [[nodiscard]] int Compare(const Quantity& other) const;
  [[nodiscard]] int CompareInt(std::int64_t other) const;
  // Go's == of the two structs: the same number in the same representation and text, never true
  // for numbers beyond the fast path. Upstream's capacity policies compare with it.
  [[nodiscard]] bool SameRepresentation(const Quantity& other) const;
  // Whether both print the same way and are the same number: what a decoder would see.
  [[nodiscard]] bool SameText(const Quantity& other) const;

  // The receiver keeps its format, but takes the operand's while it is zero (as upstream).
  void Add(const Quantity& other);
  void Sub(const Quantity& other);
  void Negate();
  // Multiplies; false when upstream calls the product inexact (it is exact here all the same).
  bool Multiply(std::int64_t factor);
  // Rounds away from zero to a multiple of 10^scale; false when precision was lost.
  bool RoundUp(int scale);

  friend bool operator==(const Quantity& a, const Quantity& b) { return a.Compare(b) == 0; }
  friend bool operator<(const Quantity& a, const Quantity& b) { return a.Compare(b) < 0; }

 private:
  struct Big;   // a number beyond the fast path
  struct Rare;  // what few quantities need: a Big, or the text as written
  struct Access;

  [[nodiscard]] bool IsAstronomic() const;
  void ForgetText();
  void SetFast(std::int64_t value, int scale);
  [[nodiscard]] std::string Canonical() const;

  std::int64_t value_ = 0;  // value_ * 10^scale_, unless big_
  Rare* rare_ = nullptr;    // owned
  std::int32_t scale_ = 0;
  QuantityFormat format_ = QuantityFormat::kDecimalSI;
  bool big_ = false;       // the number is in rare_
  bool has_text_ = false;  // upstream would have the text cached; rare_ holds it if not canonical
};

}  // namespace drachma
