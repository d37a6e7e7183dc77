#include <gtest/gtest.h>

#include <bit>
#include <charconv>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "num/quantity.h"
#include "num/semver.h"

namespace drachma {
namespace {

using Fields = std::vector<std::string>;

// The lines of a golden file of tests/num (its README explains the fields).
std::vector<Fields> Golden(const std::string& name) {
  std::ifstream file(std::string(DRACHMA_SOURCE_DIR) + "/tests/num/" + name);
  std::vector<Fields> lines;
  for (std::string line; std::getline(file, line);) {
    Fields fields(1);
    for (const char c : line) {
      if (c == '\t') {
        fields.emplace_back();
      } else {
        fields.back() += c;
      }
    }
    lines.push_back(std::move(fields));
  }
  EXPECT_GT(lines.size(), 100U) << name;
  return lines;
}

std::string FormatName(QuantityFormat format) {
  return format == QuantityFormat::kBinarySI    ? "BinarySI"
         : format == QuantityFormat::kDecimalSI ? "DecimalSI"
                                                : "DecimalExponent";
}

// A golden text of "-" is one that upstream gets wrong.
std::string TextLike(const std::string& golden, const Quantity& quantity) {
  return golden == "-" ? golden : quantity.ToString();
}

std::string Hex(double number) {
  char buffer[17];
  const auto end = std::to_chars(buffer, buffer + 17, std::bit_cast<std::uint64_t>(number), 16);
  return {buffer, end.ptr};
}

TEST(QuantityGolden, ParsesAndPrintsAsUpstream) {
  for (const Fields& line : Golden("quantity_parse.tsv")) {
    SCOPED_TRACE(line[0]);
    const auto quantity = Quantity::Parse(line[0]);
    if (line[1] == "error") {
      ASSERT_FALSE(quantity.has_value());
      EXPECT_EQ(quantity.error().message, line[2]);
      continue;
    }
    ASSERT_TRUE(quantity.has_value()) << quantity.error().message;
    EXPECT_EQ(TextLike(line[1], *quantity), line[1]);
    Quantity canonical = Quantity::FromInt(0, quantity->format());
    canonical.Add(*quantity);
    EXPECT_EQ(TextLike(line[2], canonical), line[2]);
    EXPECT_EQ(FormatName(quantity->format()), line[3]);
    EXPECT_EQ(std::to_string(quantity->Value()), line[4]);
    EXPECT_EQ(std::to_string(quantity->MilliValue()), line[5]);
    const auto whole = quantity->AsInt64();
    EXPECT_EQ(whole ? std::to_string(*whole) : "-", line[6]);
    EXPECT_EQ(Hex(quantity->AsApproximateDouble()), line[7]);
    EXPECT_EQ(std::to_string(quantity->Sign()), line[8]);
    Quantity rounded = *quantity;
    const bool exact = rounded.RoundUp(kScaleMilli);
    EXPECT_EQ(TextLike(line[9], rounded), line[9]);
    EXPECT_EQ(exact ? "true" : "false", line[10]);
  }
}

TEST(QuantityGolden, CountsAsUpstream) {
  for (const Fields& line : Golden("quantity_pairs.tsv")) {
    SCOPED_TRACE(line[0] + " and " + line[1]);
    const Quantity a = Quantity::Parse(line[0]).value();
    const Quantity b = Quantity::Parse(line[1]).value();
    EXPECT_EQ(std::to_string(a.Compare(b)), line[2]);
    Quantity sum = a;
    sum.Add(b);
    EXPECT_EQ(TextLike(line[3], sum), line[3]);
    Quantity difference = a;
    difference.Sub(b);
    EXPECT_EQ(TextLike(line[4], difference), line[4]);
    Quantity product = a;
    const bool fits = product.Multiply(std::stoll(line[5]));
    EXPECT_EQ(TextLike(line[6], product), line[6]) << line[5];
    EXPECT_EQ(fits ? "true" : "false", line[7]) << line[5];
    EXPECT_EQ(a.SameRepresentation(b) ? "true" : "false", line[8]);
  }
}

TEST(Quantity, AHugeExponentTakesNoMemory) {
  Quantity huge = Quantity::Parse("1e1000000000").value();
  const Quantity one = Quantity::Parse("12345678901234567890123").value();
  EXPECT_EQ(huge.Compare(one), 1);
  huge.Add(one);
  EXPECT_EQ(huge.ToString(), "10e999999999");
  Quantity binary = Quantity::Parse("1Ki").value();
  binary.Add(huge);
  EXPECT_EQ(binary.ToString(), "10e999999999");
}

TEST(Quantity, WhatHasNoSuffixKeepsItsValue) {
  Quantity sum = Quantity::Parse("1000E").value();
  EXPECT_EQ(sum.ToString(), "1000E");
  Quantity binary = Quantity::Parse("7Ei").value();
  for (int i = 0; i < 10; ++i) binary.Add(binary);
  EXPECT_EQ(binary.ToString(), "7168Ei");
}

TEST(Quantity, NanoIsExactAndSaturates) {
  EXPECT_TRUE(Quantity::Parse("1n").value().Nano() == 1);
  EXPECT_TRUE(Quantity::Parse("-1500m").value().Nano() == -1'500'000'000);
  EXPECT_TRUE(Quantity::Parse("1000000000000000000002").value().Nano() ==
              (Int128{1'000'000'000'000} * 1'000'000'000 + 2) * 1'000'000'000);
  EXPECT_TRUE(Quantity::Parse("1e30").value().Nano() == kNanoMax);
  EXPECT_TRUE(Quantity::Parse("-1000000000000000000000000000000").value().Nano() == -kNanoMax);
}

TEST(SemverGolden, ParsesAsUpstream) {
  for (const Fields& line : Golden("semver_parse.tsv")) {
    SCOPED_TRACE(line[0]);
    const auto version = Semver::Parse(line[0]);
    ASSERT_EQ(version.has_value(), line[1] != "error");
    EXPECT_EQ(version ? version->ToString() : version.error().message, version ? line[1] : line[2]);
  }
}

TEST(SemverGolden, OrdersAsUpstream) {
  for (const Fields& line : Golden("semver_pairs.tsv")) {
    EXPECT_EQ(
        std::to_string(Semver::Parse(line[0]).value().Compare(Semver::Parse(line[1]).value())),
        line[2])
        << line[0] << " " << line[1];
  }
}

}  // namespace
}  // namespace drachma
