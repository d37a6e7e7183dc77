#include "allocator/amount.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/random.h"

namespace drachma::allocator {
namespace {

Amount A(const std::string& text) { return Amount::Of(Quantity::Parse(text).value()); }
std::string Text(const Amount& amount) {
  return amount.ToQuantity(QuantityFormat::kDecimalSI).ToString();
}

TEST(Amount, NumbersPastTheFastRangeAreToldApart) {
  const Amount large = A("1000000000000000000000000000000000001");
  EXPECT_GT(large, A("1000000000000000000000000000000000000"));
  EXPECT_EQ(large - A("1000000000000000000000000000000000000"), A("1"));
  EXPECT_EQ(Text(large - A("1e36")), "1");
}

TEST(Amount, ASumOfSmallNumbersMayBecomeLargeAndComeBack) {
  Amount sum = A("999999999999999999999999");
  sum += A("1.000000001");
  EXPECT_EQ(sum, A("1000000000000000000000000.000000001"));
  sum -= A("1000000000000000000000000");
  EXPECT_EQ(sum, A("1n"));
  EXPECT_EQ(Text(sum), "1n");
}

TEST(Amount, TimesOfIsTheGreatestNumberThatFits) {
  EXPECT_EQ(A("80").TimesOf(A("30")), 2);
  EXPECT_EQ(A("-1").TimesOf(A("30")), 0);
  EXPECT_EQ(A("1e31").TimesOf(A("3e30")), 3);
  EXPECT_EQ(A("9e30").TimesOf(A("3e30")), 3);
  EXPECT_EQ(A("1e60").TimesOf(A("1n")), Amount::kTimesMax);
  EXPECT_EQ(A("3e30").Times(3), A("9e30"));
  EXPECT_EQ(A("999999999999999999999999").Times(1'000'000'000),
            A("999999999999999999999999000000000"));
}

// Against Quantity's own arithmetic, over numbers of all sizes.
TEST(Amount, IsExactAsQuantities) {
  Random random(7);
  const auto number = [&] {
    std::string text = random.Below(2) == 0 ? "-" : "";
    const std::uint64_t digits = 1 + random.Below(45);
    text += static_cast<char>('1' + random.Below(9));
    for (std::uint64_t d = 1; d < digits; ++d) text += static_cast<char>('0' + random.Below(10));
    if (random.Below(3) == 0) text += "." + std::to_string(random.Below(1'000'000'000));
    return Quantity::Parse(text).value();
  };
  for (int round = 0; round < 3000; ++round) {
    std::vector<Quantity> numbers;
    for (int i = 0; i < 4; ++i) numbers.push_back(number());
    Quantity expected;
    Amount sum;
    for (const Quantity& quantity : numbers) {
      expected.Add(quantity);
      sum += Amount::Of(quantity);
      ASSERT_EQ(sum, Amount::Of(expected));
      ASSERT_EQ(sum <=> Amount::Of(numbers[0]), expected.Compare(numbers[0]) <=> 0);
    }
    for (const Quantity& quantity : numbers) sum -= Amount::Of(quantity);
    ASSERT_EQ(sum, Amount());
    ASSERT_EQ(sum.Hash(), Amount().Hash());
  }
}

}  // namespace
}  // namespace drachma::allocator
