#include "base/nearest.h"

#include <gtest/gtest.h>

#include <vector>

namespace drachma {
namespace {

const std::vector<std::string> kCommands = {"up", "plan", "explain", "fleet", "--ephemeral"};

TEST(NearestTest, SwappedLettersAreTwo) { EXPECT_EQ(Nearest("explian", kCommands), "explain"); }
TEST(NearestTest, OneLetterTooMany) { EXPECT_EQ(Nearest("upp", kCommands), "up"); }
TEST(NearestTest, ABeginningIsEnough) { EXPECT_EQ(Nearest("--ephem", kCommands), "--ephemeral"); }
TEST(NearestTest, OtherWordsAreNotMeant) { EXPECT_EQ(Nearest("schedule", kCommands), ""); }
TEST(NearestTest, CaseIsNoDifference) { EXPECT_EQ(EditDistance("Plan", "plan"), 0U); }

}  // namespace
}  // namespace drachma
