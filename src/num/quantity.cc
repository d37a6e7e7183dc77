#include "num/quantity.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <utility>

#include "num/decimal.h"
#include "num/quantity_parse.h"

namespace drachma {

using num::Decimal;

struct Quantity::Rare {
  Decimal number;    // when big_
  std::string text;  // as written, when not canonical
};

// Builds quantities for the parser's result without showing representations in the header.
struct Quantity::Access {
  static Decimal AsDecimal(const Quantity& q) {
    if (q.big_) return q.rare_->number;
    return Decimal{.unscaled = q.value_, .scale = -q.scale_};
  }
  static void Set(Quantity& q, Decimal number) {
    q.ForgetText();
    if (q.rare_ == nullptr) q.rare_ = new Rare;
    q.rare_->number = std::move(number);
    q.big_ = true;
    q.value_ = 0;
    q.scale_ = 0;
  }
};

namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();

// value * 10^scale when it fits. REQUIRES: scale >= 0.
std::optional<std::int64_t> ScaleUp(std::int64_t value, std::int64_t scale) {
  if (value == 0) return 0;
  for (; scale > 0; --scale) {
    if (__builtin_mul_overflow(value, std::int64_t{10}, &value)) return std::nullopt;
  }
  return value;
}

// What upstream's positiveScaleInt64 leaves behind: the wrapped product for the scales it has fast
// paths for, zero for the others once they overflow.
std::int64_t ScaleUpWrapped(std::int64_t value, std::int64_t scale) {
  if (const auto exact = ScaleUp(value, scale)) return *exact;
  if (value == kMin || (scale > 3 && scale != 6 && scale != 9)) return 0;
  std::uint64_t wrapped = static_cast<std::uint64_t>(value);
  for (; scale > 0; --scale) wrapped *= 10;
  return static_cast<std::int64_t>(wrapped);
}

struct Rounded {
  std::int64_t value;
  bool exact;
};

// value / 10^scale, away from zero. REQUIRES: scale >= 0.
Rounded ScaleDown(std::int64_t value, std::int64_t scale) {
  bool exact = true;
  const int sign = value < 0 ? -1 : 1;
  for (; scale > 0 && value != 0; --scale) {
    exact = exact && value % 10 == 0;
    value /= 10;
  }
  return {exact ? value : value + sign, exact};
}

// Go's float64 to int64 conversion on amd64.
std::int64_t TruncatedPow10(std::int64_t exponent) {
  return exponent > 18 ? kMin : *ScaleUp(1, exponent);
}

std::int64_t ScaledValueOfBig(const Decimal& number, int new_scale) {
  const std::int64_t shift = std::int64_t{number.scale} + new_scale;
  if (shift == 0) return num::Int64Wrapped(number.unscaled);
  if (shift < 0) {
    return static_cast<std::int64_t>(
        static_cast<std::uint64_t>(num::Int64Wrapped(number.unscaled)) *
        static_cast<std::uint64_t>(TruncatedPow10(-shift)));
  }
  if (number.unscaled < kMax && shift < 19) {
    const std::int64_t divisor = *ScaleUp(1, shift);
    const std::int64_t value = num::Int64Wrapped(number.unscaled);
    return value / divisor + (value % divisor != 0 ? 1 : 0);
  }
  if (shift > Decimal::kDigitsMax) return number.Sign() > 0 ? 1 : 0;
  Decimal::Int quotient;
  Decimal::Int remainder;
  divide_qr(number.unscaled, num::Pow10(shift), quotient, remainder);
  // Euclidean division and one more: the ceiling, for either sign.
  if (remainder > 0) ++quotient;
  return num::Int64Wrapped(quotient);
}

// math.Pow10: zero and infinity outside of what doubles hold.
double DoublePow10(std::int64_t exponent) {
  if (exponent < -323) return 0;
  if (exponent > 308) return std::numeric_limits<double>::infinity();
  const auto power = [](std::int64_t n) {
    return std::strtod(("1e" + std::to_string(n)).c_str(), nullptr);
  };
  if (exponent >= 0) return power(exponent / 32 * 32) * power(exponent % 32);
  return power(-(-exponent / 32 * 32)) / power(-exponent % 32);
}

// Suffixes by multiples of the step: 10^3 from nano, 2^10 from none.
constexpr std::array<std::string_view, 10> kDecimalSuffixes = {"n", "u", "m", "",  "k",
                                                               "M", "G", "T", "P", "E"};
constexpr std::array<std::string_view, 7> kBinarySuffixes = {"",   "Ki", "Mi", "Gi",
                                                             "Ti", "Pi", "Ei"};

std::string WithDecimalSuffix(std::string digits, std::int64_t exponent, QuantityFormat format) {
  if (format == QuantityFormat::kDecimalExponent) {
    return exponent == 0 ? digits : digits + "e" + std::to_string(exponent);
  }
  // Beyond the last suffix zeros say the rest; below nano nothing can be said.
  for (; exponent > 18; --exponent) digits += '0';
  const std::int64_t index = exponent / 3 + 3;
  return index < 0 ? digits : digits.append(kDecimalSuffixes[static_cast<std::size_t>(index)]);
}

std::string CanonicalDecimal(const Decimal& number, QuantityFormat format) {
  Decimal::Int mantissa = number.unscaled;
  std::int64_t exponent = -std::int64_t{number.scale} + Decimal::RemoveFactors(mantissa, 10);
  for (; exponent % 3 != 0; --exponent) mantissa *= 10;
  return WithDecimalSuffix(mantissa.str(), exponent, format);
}

std::string CanonicalBinary(Decimal number) {
  number.RoundTo(0);
  for (; number.scale < 0; ++number.scale) number.unscaled *= 10;
  std::int32_t times = Decimal::RemoveFactors(number.unscaled, 1024);
  for (; times > 6; --times) number.unscaled *= 1024;
  return number.unscaled.str().append(kBinarySuffixes[static_cast<std::size_t>(times)]);
}

std::string CanonicalFastDecimal(std::int64_t value, std::int64_t exponent, QuantityFormat format) {
  const std::int64_t original = value;
  const std::int64_t original_exponent = exponent;
  for (; value % 10 == 0; value /= 10) ++exponent;
  const std::int64_t up = ((exponent % 3) + 3) % 3;
  const auto scaled = ScaleUp(value, up);
  if (!scaled) {
    return CanonicalDecimal(
        {.unscaled = original, .scale = static_cast<std::int32_t>(-original_exponent)}, format);
  }
  return WithDecimalSuffix(std::to_string(*scaled), exponent - up, format);
}

std::string CanonicalFastBinary(std::int64_t value) {
  std::size_t times = 0;
  for (; times < 6 && value % 1024 == 0; value /= 1024) ++times;
  return std::to_string(value).append(kBinarySuffixes[times]);
}

}  // namespace

Quantity::~Quantity() { delete rare_; }

Quantity::Quantity(const Quantity& other)
    : value_(other.value_),
      rare_(other.rare_ != nullptr ? new Rare(*other.rare_) : nullptr),
      scale_(other.scale_),
      format_(other.format_),
      big_(other.big_),
      has_text_(other.has_text_) {}

Quantity::Quantity(Quantity&& other) noexcept
    : value_(other.value_),
      rare_(std::exchange(other.rare_, nullptr)),
      scale_(other.scale_),
      format_(other.format_),
      big_(std::exchange(other.big_, false)),
      has_text_(std::exchange(other.has_text_, false)) {}

Quantity& Quantity::operator=(const Quantity& other) {
  if (this != &other) *this = Quantity(other);
  return *this;
}

Quantity& Quantity::operator=(Quantity&& other) noexcept {
  std::swap(value_, other.value_);
  std::swap(rare_, other.rare_);
  std::swap(scale_, other.scale_);
  std::swap(format_, other.format_);
  std::swap(big_, other.big_);
  std::swap(has_text_, other.has_text_);
  return *this;
}

Result<Quantity> Quantity::Parse(std::string_view text) {
  DRA_ASSIGN(num::ParsedQuantity parsed, num::ParseQuantity(text));
  Quantity result;
  result.format_ = parsed.format;
  if (parsed.big) {
    Access::Set(result, std::move(*parsed.big));
    return result;
  }
  result.SetFast(parsed.value, parsed.scale);
  result.has_text_ = parsed.keep_text;
  if (parsed.keep_text && result.Canonical() != text) {
    result.rare_ = new Rare{.number = {}, .text = std::string(text)};
  }
  return result;
}

Quantity Quantity::FromInt(std::int64_t value, QuantityFormat format) {
  return FromScaled(value, kScaleUnit, format);
}

Quantity Quantity::FromMilli(std::int64_t value, QuantityFormat format) {
  return FromScaled(value, kScaleMilli, format);
}

Quantity Quantity::FromScaled(std::int64_t value, int scale, QuantityFormat format) {
  Quantity result;
  result.SetFast(value, scale);
  result.format_ = format;
  return result;
}

void Quantity::SetFast(std::int64_t value, int scale) {
  delete std::exchange(rare_, nullptr);
  big_ = false;
  has_text_ = false;
  value_ = value;
  scale_ = scale;
}

void Quantity::ForgetText() {
  has_text_ = false;
  if (rare_ == nullptr) return;
  if (big_) {
    rare_->text.clear();
  } else {
    delete std::exchange(rare_, nullptr);
  }
}

std::string Quantity::ToString() const {
  if (rare_ != nullptr && !rare_->text.empty()) return rare_->text;
  return Canonical();
}

// Whether writing the digits out would be an attack rather than a number.
bool Quantity::IsAstronomic() const {
  return (big_ ? -std::int64_t{rare_->number.scale} : std::int64_t{scale_}) > Decimal::kDigitsMax;
}

std::string Quantity::Canonical() const {
  if (IsZero()) return "0";
  if (format_ == QuantityFormat::kBinarySI && !IsAstronomic() &&
      !(CompareInt(-1024) > 0 && CompareInt(1024) < 0)) {
    if (big_) {
      Decimal rounded = rare_->number;
      if (rounded.RoundTo(0)) return CanonicalBinary(rare_->number);
    } else if (scale_ >= 0 || ScaleDown(value_, -std::int64_t{scale_}).exact) {
      const auto whole =
          scale_ >= 0 ? ScaleUp(value_, scale_) : ScaleDown(value_, -std::int64_t{scale_}).value;
      return whole ? CanonicalFastBinary(*whole) : CanonicalBinary(Access::AsDecimal(*this));
    }
  }
  // Small and fractional binary numbers show as decimals, so that nothing is rounded.
  const QuantityFormat format = format_ == QuantityFormat::kDecimalExponent || IsAstronomic()
                                    ? QuantityFormat::kDecimalExponent
                                    : QuantityFormat::kDecimalSI;
  if (big_) return CanonicalDecimal(rare_->number, format);
  return CanonicalFastDecimal(value_, scale_, format);
}

std::int64_t Quantity::ScaledValue(int scale) const {
  if (big_) return ScaledValueOfBig(rare_->number, scale);
  const std::int64_t shift = std::int64_t{scale_} - scale;
  return shift < 0 ? ScaleDown(value_, -shift).value : ScaleUpWrapped(value_, shift);
}

std::optional<std::int64_t> Quantity::AsInt64() const {
  if (big_ || scale_ < 0) return std::nullopt;
  return ScaleUp(value_, scale_);
}

Int128 Quantity::Nano() const {
  if (!big_) {
    Int128 nano = value_;
    std::int64_t shift = std::int64_t{scale_} - kScaleNano;
    if (shift < 0) return ScaleDown(value_, -shift).value;
    for (; shift > 0 && nano != 0; --shift) {
      nano *= 10;
      if (nano > kNanoMax) return kNanoMax;
      if (nano < -kNanoMax) return -kNanoMax;
    }
    return nano;
  }
  const Decimal& number = rare_->number;
  const Decimal max{.unscaled = Decimal::Int(kNanoMax), .scale = -kScaleNano};
  Decimal magnitude = number;
  magnitude.unscaled = abs(magnitude.unscaled);
  if (magnitude.Compare(max) >= 0) return number.Sign() < 0 ? -kNanoMax : kNanoMax;
  magnitude.RoundTo(-kScaleNano);
  const auto nano = static_cast<Int128>(magnitude.unscaled);
  return number.Sign() < 0 ? -nano : nano;
}

double Quantity::AsApproximateDouble() const {
  const double base = big_ ? std::strtod(rare_->number.unscaled.str().c_str(), nullptr)
                           : static_cast<double>(value_);
  const std::int64_t exponent = big_ ? -std::int64_t{rare_->number.scale} : scale_;
  return exponent == 0 ? base : base * DoublePow10(exponent);
}

int Quantity::Sign() const {
  if (big_) return rare_->number.Sign();
  return value_ == 0 ? 0 : value_ > 0 ? 1 : -1;
}

int Quantity::Compare(const Quantity& other) const {
  if (!big_ && !other.big_) {
    if (scale_ == other.scale_) return value_ < other.value_ ? -1 : value_ > other.value_;
    if (Sign() != other.Sign()) return Sign() < other.Sign() ? -1 : 1;
    const bool raise_mine = scale_ > other.scale_;
    const Quantity& coarse = raise_mine ? *this : other;
    const Quantity& fine = raise_mine ? other : *this;
    if (const auto raised = ScaleUp(coarse.value_, std::int64_t{coarse.scale_} - fine.scale_)) {
      const std::int64_t left = raise_mine ? *raised : value_;
      const std::int64_t right = raise_mine ? other.value_ : *raised;
      return left < right ? -1 : left > right;
    }
    // The coarse one does not even fit at the fine one's scale, so its magnitude is larger.
    return raise_mine ? Sign() : -Sign();
  }
  return Access::AsDecimal(*this).Compare(Access::AsDecimal(other));
}

int Quantity::CompareInt(std::int64_t other) const {
  return Compare(FromInt(other, QuantityFormat::kDecimalSI));
}

bool Quantity::SameRepresentation(const Quantity& other) const {
  if (big_ || other.big_ || value_ != other.value_ || scale_ != other.scale_ ||
      format_ != other.format_ || has_text_ != other.has_text_) {
    return false;
  }
  return !has_text_ || ToString() == other.ToString();
}

bool Quantity::SameText(const Quantity& other) const {
  return Compare(other) == 0 && ToString() == other.ToString();
}

void Quantity::Add(const Quantity& other) {
  ForgetText();
  if (IsZero()) format_ = other.format_;
  if (!big_ && !other.big_) {
    if (other.value_ == 0) return;
    if (value_ == 0) return SetFast(other.value_, other.scale_);
    const std::int32_t scale = std::min(scale_, other.scale_);
    const auto mine = ScaleUp(value_, std::int64_t{scale_} - scale);
    const auto others = ScaleUp(other.value_, std::int64_t{other.scale_} - scale);
    std::int64_t sum = 0;
    if (mine && others && !__builtin_add_overflow(*mine, *others, &sum)) return SetFast(sum, scale);
  }
  Decimal sum = Access::AsDecimal(*this);
  sum.Add(Access::AsDecimal(other));
  Access::Set(*this, std::move(sum));
}

void Quantity::Sub(const Quantity& other) {
  Quantity negative = other;
  if (!big_ && !other.big_ && other.value_ == kMin && (value_ == 0 || scale_ >= other.scale_)) {
    // Upstream negates int64 amounts without a look at the smallest one, which has no opposite.
    if (value_ == 0) return Add(other);
    const auto mine = ScaleUp(value_, std::int64_t{scale_} - other.scale_);
    if (value_ >= 0 && mine) return Add(other);
  }
  negative.Negate();
  Add(negative);
}

void Quantity::Negate() {
  ForgetText();
  if (!big_ && value_ != kMin) {
    value_ = -value_;
    return;
  }
  Decimal number = Access::AsDecimal(*this);
  number.unscaled = -number.unscaled;
  Access::Set(*this, std::move(number));
}

bool Quantity::Multiply(std::int64_t factor) {
  ForgetText();
  if (!big_) {
    if (value_ == 0) return true;
    if (factor == 0) return SetFast(0, 0), true;
    std::int64_t product = 0;
    if (!__builtin_mul_overflow(value_, factor, &product) &&
        (scale_ > 0 ? ScaleUp(product, scale_).has_value()
                    : ScaleDown(product, -std::int64_t{scale_}).exact || scale_ == 0)) {
      value_ = product;
      return true;
    }
  }
  Decimal number = Access::AsDecimal(*this);
  number.unscaled *= factor;
  const bool fits = number.unscaled >= kMin && number.unscaled <= kMax;
  Access::Set(*this, std::move(number));
  return fits;
}

bool Quantity::RoundUp(int scale) {
  if (big_) {
    ForgetText();
    return rare_->number.RoundTo(-scale);
  }
  if (scale_ >= scale) return true;
  ForgetText();
  const Rounded rounded = ScaleDown(value_, std::int64_t{scale} - scale_);
  value_ = rounded.value;
  scale_ = scale;
  return rounded.exact;
}

}  // namespace drachma
