#include "allocator/amount.h"

#include <functional>

namespace drachma::allocator {
namespace {

constexpr Int128 kBillion = 1'000'000'000;
constexpr Int128 kHigh = kBillion * kBillion;
constexpr int kScaleHigh = 9;  // of kHigh, where the unit is 10^-9

}  // namespace

Amount Amount::Of(const Quantity& quantity) {
  const Int128 nano = quantity.Nano();
  if (IsSmall(nano)) return Amount(nano);
  return Amount(kLargeMark | static_cast<Int128>(reinterpret_cast<std::uintptr_t>(
                                 new Quantity(quantity))));  // owned; see Drop
}

const Quantity& Amount::large() const {
  return *reinterpret_cast<const Quantity*>(static_cast<std::uintptr_t>(bits_));
}

void Amount::Drop() { delete &large(); }

void Amount::Clone() {
  bits_ = kLargeMark | static_cast<Int128>(reinterpret_cast<std::uintptr_t>(new Quantity(large())));
}

Quantity Amount::ToQuantity(QuantityFormat format) const {
  if (IsLarge()) return large();
  if (bits_ % kBillion == 0) {
    const Int128 whole = bits_ / kBillion;
    if (whole == static_cast<std::int64_t>(whole)) {
      return Quantity::FromInt(static_cast<std::int64_t>(whole), format);
    }
  }
  Quantity sum = Quantity::FromScaled(static_cast<std::int64_t>(bits_ / kHigh), kScaleHigh, format);
  sum.Add(Quantity::FromScaled(static_cast<std::int64_t>(bits_ % kHigh), kScaleNano, format));
  return sum;
}

Amount& Amount::AddLarge(const Amount& other, Sense sense) {
  Quantity sum = ToQuantity(QuantityFormat::kDecimalSI);
  const Quantity operand = other.ToQuantity(QuantityFormat::kDecimalSI);
  sense == Sense::kPlus ? sum.Add(operand) : sum.Sub(operand);
  return *this = Of(sum);
}

std::strong_ordering Amount::CompareLarge(const Amount& a, const Amount& b) {
  return a.ToQuantity(QuantityFormat::kDecimalSI)
             .Compare(b.ToQuantity(QuantityFormat::kDecimalSI)) <=> 0;
}

Amount Amount::Times(std::int64_t factor) const {
  Int128 product = 0;
  if (!IsLarge() && !__builtin_mul_overflow(bits_, Int128{factor}, &product) && IsSmall(product)) {
    return Amount(product);
  }
  Quantity large = ToQuantity(QuantityFormat::kDecimalSI);
  large.Multiply(factor);  // exact, whatever upstream would call it
  return Of(large);
}

std::int64_t Amount::TimesOf(const Amount& part) const {
  if (!IsPositive()) return 0;
  if (!IsLarge() && !part.IsLarge()) {
    const Int128 times = bits_ / part.bits_;
    return times < kTimesMax ? static_cast<std::int64_t>(times) : kTimesMax;
  }
  std::int64_t fits = 0;
  for (std::int64_t step = kTimesMax; step > 0; step /= 2) {
    if (fits + step <= kTimesMax && part.Times(fits + step) <= *this) fits += step;
  }
  return fits;
}

double Amount::ToDouble() const {
  return IsLarge() ? large().AsApproximateDouble() * static_cast<double>(kBillion)
                   : static_cast<double>(bits_);
}

void Amount::AppendTo(std::string& out) const {
  if (IsLarge()) {
    out += 'q' + large().ToString() + ';';
    return;
  }
  out.append(reinterpret_cast<const char*>(&bits_), sizeof bits_);
}

std::pair<std::uint64_t, std::uint64_t> Amount::Hash() const {
  if (IsLarge()) return {std::hash<std::string>()(large().ToString()), 1};
  return {static_cast<std::uint64_t>(bits_), static_cast<std::uint64_t>(bits_ >> 64)};
}

}  // namespace drachma::allocator
