#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <utility>

#include "num/quantity.h"

namespace drachma::allocator {

// What a counter or a capacity has, or what a device takes of it: an exact number of any size, in
// the sense of resource.Quantity. Below 10^24 units, which is all that hardware has, it is one
// 128-bit integer in 10^-9 units; what is larger owns a Quantity. A value type of 16 bytes.
// Private to this folder.
class Amount {
 public:
  constexpr Amount() = default;
  [[nodiscard]] static Amount Of(const Quantity& quantity);
  ~Amount() {
    if (IsLarge()) [[unlikely]]
      Drop();
  }
  Amount(const Amount& other) : bits_(other.bits_) {
    if (IsLarge()) [[unlikely]]
      Clone();
  }
  Amount(Amount&& other) noexcept : bits_(std::exchange(other.bits_, 0)) {}
  Amount& operator=(const Amount& other) { return *this = Amount(other); }
  Amount& operator=(Amount&& other) noexcept {
    std::swap(bits_, other.bits_);
    return *this;
  }

  Amount& operator+=(const Amount& other) {
    if (!IsLarge() && !other.IsLarge()) [[likely]] {
      const Int128 sum = bits_ + other.bits_;
      if (IsSmall(sum)) [[likely]] {
        bits_ = sum;
        return *this;
      }
    }
    return AddLarge(other, Sense::kPlus);
  }
  Amount& operator-=(const Amount& other) {
    if (!IsLarge() && !other.IsLarge()) [[likely]] {
      const Int128 difference = bits_ - other.bits_;
      if (IsSmall(difference)) [[likely]] {
        bits_ = difference;
        return *this;
      }
    }
    return AddLarge(other, Sense::kMinus);
  }
  friend Amount operator+(Amount a, const Amount& b) { return std::move(a += b); }
  friend Amount operator-(Amount a, const Amount& b) { return std::move(a -= b); }
  [[nodiscard]] Amount Times(std::int64_t factor) const;
  // How often `part` fits into this; at most kTimesMax. REQUIRES: part is positive.
  [[nodiscard]] std::int64_t TimesOf(const Amount& part) const;
  static constexpr std::int64_t kTimesMax = std::int64_t{1} << 40;

  friend std::strong_ordering operator<=>(const Amount& a, const Amount& b) {
    if (!a.IsLarge() && !b.IsLarge()) [[likely]]
      return a.bits_ <=> b.bits_;
    return CompareLarge(a, b);
  }
  friend bool operator==(const Amount& a, const Amount& b) { return (a <=> b) == 0; }
  [[nodiscard]] bool IsNegative() const { return *this < Amount(); }
  [[nodiscard]] bool IsPositive() const { return *this > Amount(); }

  [[nodiscard]] double ToDouble() const;  // in 10^-9; for costs
  [[nodiscard]] Quantity ToQuantity(QuantityFormat format) const;
  // Adds bytes that are the same for equal amounts only.
  void AppendTo(std::string& out) const;
  // A number that is the same for equal amounts and hardly ever for others.
  [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> Hash() const;

 private:
  enum class Sense : std::uint8_t { kPlus, kMinus };
  explicit constexpr Amount(Int128 nano) : bits_(nano) {}
  // Small numbers are smaller than kNanoMax in magnitude; the rest of the range marks a pointer.
  static constexpr Int128 kLargeMark = Int128{1} << 126;
  static constexpr bool IsSmall(Int128 nano) { return nano < kNanoMax && nano > -kNanoMax; }
  [[nodiscard]] constexpr bool IsLarge() const { return bits_ >= kLargeMark; }
  [[nodiscard]] const Quantity& large() const;
  [[nodiscard]] static std::strong_ordering CompareLarge(const Amount& a, const Amount& b);
  Amount& AddLarge(const Amount& other, Sense sense);
  void Drop();
  void Clone();

  Int128 bits_ = 0;
};

}  // namespace drachma::allocator
