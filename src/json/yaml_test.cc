#include "json/yaml.h"

#include <gtest/gtest.h>

namespace drachma::json {
namespace {

std::string AsJson(std::string_view yaml) {
  const auto read = ReadYamlValue(yaml);
  return read ? Write(*read) : read.error().message;
}

// The results were taken from sigs.k8s.io/yaml 1.6.
TEST(ReadYaml, ScalarsMeanWhatTheyMeanToKubernetes) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"yes", "true"},
      {"off", "false"},
      {"y", "true"},
      {"~", "null"},
      {"Null", "null"},
      {"0x1F", "31"},
      {"010", "8"},
      {"0o10", "8"},
      {"0b11", "3"},
      {"1_000", "1000"},
      {"1e3", "1000"},
      {"1.0", "1"},
      {"1.5", "1.5"},
      {".5", "0.5"},
      {"08", "8"},
      {"+7", "7"},
      {"1:30", "\"1:30\""},
      {"2024-01-02", "\"2024-01-02\""},
      {"'1'", "\"1\""},
      {"\"yes\"", "\"yes\""},
      {"16Gi", "\"16Gi\""},
      {"1.2.3", "\"1.2.3\""},
      {"-", "[null]"},
      {"!!str 1", "\"1\""},
      {"!!int \"3\"", "3"},
      {"!!float 3", "3"},
      {"18446744073709551615", "18446744073709552000"},
      {"!!int x", "yaml: cannot decode !!str `x` as a !!int"},
  };
  for (const auto& [yaml, json] : cases) EXPECT_EQ(AsJson(yaml), json) << yaml;
}

TEST(ReadYaml, KeysBecomeStrings) {
  EXPECT_EQ(AsJson("1: a\nyes: b\n1.5: c\n"), R"({"1":"a","1.5":"c","true":"b"})");
}

TEST(ReadYaml, AliasesAndMergesAreFollowed) {
  EXPECT_EQ(AsJson("a: &x {k: 1, l: 2}\nb: *x\nc:\n  <<: *x\n  l: 3\n"),
            R"({"a":{"k":1,"l":2},"b":{"k":1,"l":2},"c":{"k":1,"l":3}})");
  EXPECT_EQ(AsJson("a: *x"), "yaml: unknown anchor 'x' referenced");
  EXPECT_EQ(AsJson("a: &x [*x]"), "yaml: anchor 'x' value contains itself");
}

TEST(ReadYaml, AliasesCannotExplode) {
  std::string bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 10; ++i) {
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int j = 0; j < 9; ++j) bomb += (j == 0 ? "*a" : ",*a") + std::to_string(i - 1);
    bomb += "]\n";
  }
  EXPECT_EQ(AsJson(bomb), "yaml: document contains excessive aliasing");
}

TEST(ReadYaml, DepthIsLimited) {
  EXPECT_EQ(AsJson(std::string(kYamlDepthMax + 2, '[') + std::string(kYamlDepthMax + 2, ']')),
            "yaml: exceeded max depth");
}

TEST(ReadYaml, ErrorsNameTheLine) {
  EXPECT_EQ(AsJson("a: 1\nb: [\nc: 2\n"), "yaml: line 3: did not find expected ',' or ']'");
  EXPECT_EQ(AsJson("a: b: c\n"), "yaml: mapping values are not allowed in this context");
}

TEST(ReadYaml, EveryValueHasItsPlace) {
  const auto documents =
      ReadYaml("# c\n---\nspec:\n  requests:\n  - name: gpu\n    count: 2\n---\n---\na: 1\na: 2\n");
  ASSERT_TRUE(documents) << documents.error().message;
  ASSERT_EQ(documents->size(), 2U);
  const auto& place = (*documents)[0].PlaceOf("spec.requests[0].count");
  EXPECT_EQ(place.key.line, 6);
  EXPECT_EQ(place.key.column, 5);
  EXPECT_EQ(place.value.column, 12);
  EXPECT_EQ(place.value_end.column, 13);
  EXPECT_EQ((*documents)[0].PlaceOf("spec.requests[0].exactly.count").value.line, 5);
  ASSERT_EQ((*documents)[1].duplicates.size(), 1U);
  EXPECT_EQ((*documents)[1].duplicates[0].path, "a");
  EXPECT_EQ((*documents)[1].duplicates[0].line, 10);
}

TEST(WriteYaml, WritesWhatKubectlWrites) {
  const Value value = *Read(
      R"({"b":["x",{"k":1,"j":[]}],"a":{"q":"yes","n":null,"e":"","t":"2024-01-02T00:00:00Z",)"
      R"("m":"1:30","d":1.5,"o":{},"multi":"l1\nl2\n","colon":"a: b"},"k10":1,"k9":2})");
  EXPECT_EQ(WriteYaml(value),
            "a:\n  colon: 'a: b'\n  d: 1.5\n  e: \"\"\n  m: \"1:30\"\n  multi: |\n    l1\n    l2\n"
            "  \"n\": null\n  o: {}\n  q: \"yes\"\n  t: \"2024-01-02T00:00:00Z\"\n"
            "b:\n- x\n- j: []\n  k: 1\nk9: 2\nk10: 1\n");
}

TEST(WriteYaml, WhatIsWrittenIsReadBack) {
  const std::string_view texts[] = {"",    " a",   "a ",  "a\nb", "\n",         "- x",
                                    "#c",  "a #b", "'q'", "\"",   "{x",         "[",
                                    "1e3", "0x1",  "~",   "null", "a\tb",       "\x01",
                                    "é",   "|",    "%a",  "@b",   "a\n\n b \n", "\xEF\xBB\xBF"};
  for (const std::string_view text : texts) {
    const Value value = Value::Object({{"k", Value(text)}, {std::string(text) + "k", 1}});
    const auto read = ReadYamlValue(WriteYaml(value));
    ASSERT_TRUE(read) << WriteYaml(value);
    EXPECT_EQ(*read, value) << WriteYaml(value);
  }
}

}  // namespace
}  // namespace drachma::json
