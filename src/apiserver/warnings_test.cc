#include "apiserver/warnings.h"

#include <gtest/gtest.h>

namespace drachma::apiserver {
namespace {

TEST(WarningHeaders, AreQuotedAndSaidOnce) {
  EXPECT_EQ(WarningHeaders({"unknown field \"a\"", "unknown field \"a\"", ""}),
            std::vector<std::string>{R"(299 - "unknown field \"a\"")"});
}

TEST(WarningHeaders, TextsWithControlCharactersAreLeftOut) {
  EXPECT_TRUE(WarningHeaders({"two\nlines"}).empty());
}

TEST(WarningHeaders, LongTextsAreCutWhenThereIsTooMuchOfThem) {
  const std::string text(3000, 'x');
  EXPECT_EQ(WarningHeaders({text}).front().size(), 3000 + std::string("299 - \"\"").size());
  const auto headers = WarningHeaders({text + "a", text + "b"});
  ASSERT_EQ(headers.size(), 2U);
  EXPECT_EQ(headers[0].size(), 256 + std::string("299 - \"\"").size());
}

TEST(WarningHeaders, WhatGoesBeyondTheTotalIsLeftOut) {
  std::vector<std::string> texts;
  for (int i = 0; i < 1000; ++i) texts.push_back(std::string(90, 'x') + std::to_string(1000 + i));
  EXPECT_EQ(WarningHeaders(texts).size(), 44U);  // 44 * 94 is the first sum above 4096
}

}  // namespace
}  // namespace drachma::apiserver
