#include "cel/eval/go_pattern.h"

#include <gtest/gtest.h>

namespace drachma::cel {
namespace {

TEST(GoPatternTest, LeavesMostPatternsAlone) {
  for (const char* pattern : {"a(b|c)*", R"(\pL[\d\]]\p{Greek})", R"([]\pN]\Q(\p{Letter}\E)"}) {
    EXPECT_EQ(FromGoPattern(pattern), pattern);
  }
}

TEST(GoPatternTest, NamesGroupsAndCategories) {
  EXPECT_EQ(FromGoPattern("(?<n>a)[(?<n>]"), "(?P<n>a)[(?<n>]");
  EXPECT_EQ(FromGoPattern(R"(\p{Letter}\P{uppercase_letter}\p{^digit})"), R"(\p{L}\P{Lu}\P{Nd})");
  EXPECT_EQ(FromGoPattern(R"(\p{old_italic})"), R"(\p{Old_Italic})");
  EXPECT_EQ(FromGoPattern(R"(\p{ASCII}[[:alpha:]\P{ASCII}])"),
            R"([\x{0}-\x{7F}][[:alpha:]\x{80}-\x{10FFFF}])");
}

TEST(GoPatternTest, RefusesSingleBytes) {
  EXPECT_FALSE(FromGoPattern(R"(a\C)"));
  EXPECT_EQ(FromGoPattern(R"(\\C)"), R"(\\C)");
}

}  // namespace
}  // namespace drachma::cel
