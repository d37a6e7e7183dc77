#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace drachma {

// The suffix family a quantity is printed with (apimachinery's resource.Format).
enum class QuantityFormat : std::uint8_t { kDecimalExponent, kBinarySI, kDecimalSI };

// resource.Quantity: a decimal fixed-point number of any size with a preferred way to be written.
// Parsing, canonical form, rounding and arithmetic are upstream's
// (k8s.io/apimachinery/pkg/api/resource), without overflow at any size. A value type.
class Quantity {
 public:
  // Zero, as DecimalSI.
  Quantity();
  ~Quantity();
  Quantity(const Quantity&);
  Quantity(Quantity&&) noexcept;
  Quantity& operator=(const Quantity&);
  Quantity& operator=(Quantity&&) noexcept;

  // ERRORS: kBadRequest with upstream's text ("quantities must match the regular expression …").
  [[nodiscard]] static Result<Quantity> Parse(std::string_view text);
  // resource.NewQuantity and NewMilliQuantity.
  [[nodiscard]] static Quantity FromInt(std::int64_t value, QuantityFormat format);
  [[nodiscard]] static Quantity FromMilli(std::int64_t value, QuantityFormat format);

  [[nodiscard]] QuantityFormat format() const;
  // The canonical form ("1500m", "16Gi", "1e3"): upstream's String().
  [[nodiscard]] std::string ToString() const;

  // Rounded up to whole units or thousandths; saturates as upstream's Value and MilliValue do.
  [[nodiscard]] std::int64_t Value() const;
  [[nodiscard]] std::int64_t MilliValue() const;
  // The exact whole number, or nothing when there is a fraction or it does not fit (AsInt64).
  [[nodiscard]] std::optional<std::int64_t> AsInt64() const;
  // AsApproximateFloat64 and AsFloat64Slow.
  [[nodiscard]] double AsApproximateDouble() const;

  [[nodiscard]] int Sign() const;  // -1, 0, 1
  [[nodiscard]] bool IsZero() const { return Sign() == 0; }
  // -1, 0 or 1; formats do not count.
  [[nodiscard]] int Compare(const Quantity& other) const;
  // The receiver keeps its format, but takes the operand's while it is zero (as upstream).
  void Add(const Quantity& other);
  void Sub(const Quantity& other);
  void Negate();

  friend bool operator==(const Quantity& a, const Quantity& b) { return a.Compare(b) == 0; }
  friend bool operator<(const Quantity& a, const Quantity& b) { return a.Compare(b) < 0; }

 private:
  struct Big;  // for what does not fit into the fast path
  std::int64_t value_ = 0;
  std::int32_t scale_ = 0;  // value_ * 10^scale_
  QuantityFormat format_ = QuantityFormat::kDecimalSI;
  Big* big_ = nullptr;  // owned; when set, value_ and scale_ mean nothing
};

}  // namespace drachma
