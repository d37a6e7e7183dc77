#include "base/random_names.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace drachma {
namespace {

TEST(WithoutRandomEndings, NamesOfTriesBecomeEqual) {
  EXPECT_EQ(WithoutRandomEndings(R"(pods "web-6d4cf-x7k2p" is forbidden)"),
            R"(pods "web-6d4cf-…" is forbidden)");
  Random random(1);
  EXPECT_EQ(WithoutRandomEndings("Pod/default/a-" + random.NameSuffix()), "Pod/default/a-…");
}

TEST(WithoutRandomEndings, OtherTextStays) {
  // Vowels, other lengths, and no name before the dash.
  for (const char* text : {"", "web-alpha", "web-x7k2", "x7k2p", "-x7k2p", "a-x7k2p-0", "ä-1, b"}) {
    EXPECT_EQ(WithoutRandomEndings(text), text);
  }
}

}  // namespace
}  // namespace drachma
