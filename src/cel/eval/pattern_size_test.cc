#include "cel/eval/pattern_size.h"

#include <gtest/gtest.h>

#include <string>

namespace drachma::cel {
namespace {

TEST(PatternSizeTest, RepetitionsMultiply) {
  EXPECT_EQ(MeasurePattern("abc").weight, 3u);
  EXPECT_EQ(MeasurePattern("ab{10}").weight, 11u);
  EXPECT_EQ(MeasurePattern("(ab){2,10}c").weight, 21u);
  EXPECT_EQ(MeasurePattern(R"(\pL{3}\p{Greek})").weight, 4 * 1200u);
  EXPECT_GT(MeasurePattern(R"(((\pL{30}){30}){30})").weight, kPatternWeightMax);
}

// As Go counts, whose limit decides which patterns compile.
TEST(PatternSizeTest, GroupsAndRepetitionsNest) {
  EXPECT_EQ(MeasurePattern("a").height, 1u);
  EXPECT_EQ(MeasurePattern("(a)").height, 2u);
  EXPECT_EQ(MeasurePattern("(?:a)").height, 1u);
  EXPECT_EQ(MeasurePattern("(b(a))*").height, 5u);
  EXPECT_EQ(MeasurePattern("b|(c)").height, 3u);
  EXPECT_EQ(MeasurePattern(std::string(1000, '(') + std::string(1000, ')')).height, 1001u);
}

TEST(PatternSizeTest, ReadsBrokenPatterns) {
  for (const char* pattern : {"(", ")", "[", "\\", "a{", "\\p", "\\p{", "(?", "(?P<", "|", "*"}) {
    EXPECT_LE(MeasurePattern(pattern).height, 3u) << pattern;
  }
}

}  // namespace
}  // namespace drachma::cel
