#include "cel/syntax/parser.h"

#include <gtest/gtest.h>

namespace drachma::cel {
namespace {

std::string IssuesOf(std::string_view text) {
  MacroTable macros;
  macros.Add(StandardMacros());
  const auto parsed = Parse(text, {.macros = &macros});
  return parsed ? "" : FormatIssues(parsed.error().ast->source, parsed.error().issues);
}

TEST(ParserTest, PlacesIssues) {
  EXPECT_EQ(IssuesOf("a +\n  'ü' + ]"),
            "ERROR: <input>:2:9: Syntax error: mismatched input ']' expecting {'[', '{', '(', '.', "
            "'-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, "
            "IDENTIFIER}\n |   'ü' + ]\n | ...．....^");
}

TEST(ParserTest, GoesOnAfterErrors) {
  EXPECT_EQ(IssuesOf("[1 2] + f(3"),
            "ERROR: <input>:1:4: Syntax error: extraneous input '2' expecting {']', ','}\n"
            " | [1 2] + f(3\n | ...^\n"
            "ERROR: <input>:1:12: Syntax error: missing ')' at '<EOF>'\n"
            " | [1 2] + f(3\n | ...........^");
  EXPECT_EQ(IssuesOf("a.true"),
            "ERROR: <input>:1:3: Syntax error: mismatched input 'true' expecting IDENTIFIER\n"
            " | a.true\n | ..^");
}

TEST(ParserTest, ReportsBadLiteralsAndNames) {
  EXPECT_EQ(IssuesOf("9223372036854775808"),
            "ERROR: <input>:1:1: invalid int literal\n | 9223372036854775808\n | ^");
  EXPECT_EQ(IssuesOf("while"), "ERROR: <input>:1:1: reserved identifier: while\n | while\n | ^");
  EXPECT_EQ(IssuesOf("has(a)"),
            "ERROR: <input>:1:5: invalid argument to has() macro\n | has(a)\n | ....^");
}

TEST(ParserTest, AcceptsOneCommaAtTheEnd) {
  EXPECT_EQ(IssuesOf("[1,]"), "");
  EXPECT_EQ(IssuesOf("{1: 2,}"), "");
  EXPECT_NE(IssuesOf("[1,,]"), "");
}

// Nothing may take long (bench/cel measures it) or deep recursion, whatever the text.
TEST(ParserTest, BoundsItsWork) {
  constexpr std::size_t kHuge = 1 << 20;
  for (const std::size_t size : {kCodePointsMax, kHuge}) {
    for (const std::string_view piece :
         {"(",   "!",   "[", "-", "{", "a.", "a.a.", "f(", "1+",  "a?b:", "a?",   ".",
          "[a,", "{1:", ")", "'", "@", "a[", "!(",   "-1", "a&&", "in ",  "\"\\", "a b "}) {
      std::string text;
      while (text.size() + piece.size() <= size) text += piece;
      EXPECT_NE(IssuesOf(text), "") << piece;
    }
  }
}

TEST(ParserTest, KeepsTextOfNodes) {
  const auto parsed = Parse("a.b(1) || !c", {});
  ASSERT_TRUE(parsed);
  const Expr* root = (*parsed)->root;
  EXPECT_EQ((*parsed)->TextOf(root->id), "a.b(1) || !c");
  EXPECT_EQ((*parsed)->TextOf(root->args[0]->id), "a.b(1)");
  EXPECT_EQ((*parsed)->TextOf(root->args[1]->id), "!c");
}

}  // namespace
}  // namespace drachma::cel
