#include "json/json.h"

#include <gtest/gtest.h>

#include <random>

namespace drachma::json {
namespace {

std::string ErrorOf(std::string_view text) {
  const auto read = Read(text);
  return read ? "" : read.error().message;
}

TEST(Read, KeepsIntegersAndTheOrderOfMembers) {
  const auto read = Read(R"( {"b": 9007199254740993, "a": [1.5, true, null, "x"]} )");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(Write(*read), R"({"b":9007199254740993,"a":[1.5,true,null,"x"]})");
}

TEST(Read, TakesNumbersBeyondInt64AsDoubles) {
  EXPECT_EQ(Read("9223372036854775807")->AsInt(), INT64_MAX);
  EXPECT_EQ(Read("9223372036854775808")->AsDouble(), 9223372036854775808.0);
  EXPECT_EQ(Read("-0")->AsInt(1), 0);
  EXPECT_EQ(Read("1e-400")->AsDouble(1), 0);
}

struct ErrorCase {
  std::string_view text;
  std::string_view error;
};

// The messages were taken from encoding/json of Go 1.25.
TEST(Read, SaysWhatGoSays) {
  const ErrorCase cases[] = {
      {"", "unexpected end of JSON input"},
      {"{", "unexpected end of JSON input"},
      {"[1,", "unexpected end of JSON input"},
      {"\"ab", "unexpected end of JSON input"},
      {"{\"a\"", "unexpected end of JSON input"},
      {"nul", "unexpected end of JSON input"},
      {"x", "invalid character 'x' looking for beginning of value"},
      {"{a", "invalid character 'a' looking for beginning of object key string"},
      {"{\"a\" 1}", "invalid character '1' after object key"},
      {"{\"a\":1 \"b\"}", "invalid character '\"' after object key:value pair"},
      {"{\"a\":1,}", "invalid character '}' looking for beginning of object key string"},
      {"[1 2]", "invalid character '2' after array element"},
      {"[1,]", "invalid character ']' looking for beginning of value"},
      {"1 2", "invalid character '2' after top-level value"},
      {"01", "invalid character '1' after top-level value"},
      {"-x", "invalid character 'x' in numeric literal"},
      {"1.x", "invalid character 'x' after decimal point in numeric literal"},
      {"1ex", "invalid character 'x' in exponent of numeric literal"},
      {"trux", "invalid character 'x' in literal true (expecting 'e')"},
      {"\"\n\"", "invalid character '\\n' in string literal"},
      {"\"\\x\"", "invalid character 'x' in string escape code"},
      {"\"\\u00g0\"", "invalid character 'g' in \\u hexadecimal character escape"},
      {"'", "invalid character '\\'' looking for beginning of value"},
      {"\xC3\xA9", "invalid character '\xC3\x83' looking for beginning of value"},
      {"1e400", "json: cannot unmarshal number 1e400 into Go value of type float64"},
  };
  for (const ErrorCase& c : cases) EXPECT_EQ(ErrorOf(c.text), c.error) << c.text;
}

TEST(Read, ReplacesWhatIsNoUtf8) {
  EXPECT_EQ(Read("\"a\xFF\"")->AsString(), "a\xEF\xBF\xBD");
  EXPECT_EQ(Read(R"("\ud83d\ude00")")->AsString(), "\xF0\x9F\x98\x80");
  EXPECT_EQ(Read(R"("\ud83dx")")->AsString(), "\xEF\xBF\xBDx");
  EXPECT_EQ(Read(R"("\ud83dA")")->AsString(),
            "\xEF\xBF\xBD"
            "A");
}

TEST(Read, RefusesDepthBeyondTheLimit) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(Read(nested(kDepthMax)));
  EXPECT_EQ(ErrorOf(nested(kDepthMax + 1)), "exceeded max depth");
}

TEST(Read, NotesDuplicateKeysInTheirOrder) {
  std::vector<DuplicateKey> duplicates;
  const auto read =
      Read(R"({"a":{"x":1,"x":2},"l":[0,{"k":{"z":1,"z":1}}],"a":3})", {.duplicates = &duplicates});
  ASSERT_TRUE(read);
  ASSERT_EQ(duplicates.size(), 3U);
  EXPECT_EQ(duplicates[0].path, "a.x");
  EXPECT_EQ(duplicates[1].path, "l[1].k.z");
  EXPECT_EQ(duplicates[2].path, "a");
  EXPECT_EQ(duplicates[2].members_before, 2U);
  EXPECT_EQ((*read)["a"].AsInt(), 3);
}

TEST(Write, EscapesAsGoDoes) {
  EXPECT_EQ(Write(Value("\"\\\b\f\n\r\t\x01\x7F<>&\xFF\xE2\x80\xA8")),
            "\"\\\"\\\\\\b\\f\\n\\r\\t\\u0001\x7F<>&\\ufffd\\u2028\"");
}

TEST(Write, FormatsDoublesAsGoDoes) {
  const std::pair<double, std::string_view> cases[] = {
      {1.0, "1"},      {0.1, "0.1"},          {1e20, "100000000000000000000"},
      {1e21, "1e+21"}, {1e-6, "0.000001"},    {1e-7, "1e-7"},
      {-2.5, "-2.5"},  {1.5e300, "1.5e+300"},
  };
  for (const auto& [number, text] : cases) EXPECT_EQ(FormatDouble(number), text);
}

TEST(Write, IndentsAsGoDoes) {
  EXPECT_EQ(
      WritePretty(*Read(R"({"a":[],"b":{},"c":[1,{"d":2}]})"), 2),
      "{\n  \"a\": [],\n  \"b\": {},\n  \"c\": [\n    1,\n    {\n      \"d\": 2\n    }\n  ]\n}");
}

Value RandomValue(std::mt19937& random, int depth) {
  switch (random() % (depth > 4 ? 5 : 7)) {
    case 0:
      return nullptr;
    case 1:
      return random() % 2 == 0;
    case 2:
      return static_cast<std::int64_t>(random()) << (random() % 32);
    case 3:
      return static_cast<double>(random()) / 7;
    case 4: {
      std::string text;
      for (std::size_t i = random() % 30; i > 0; --i)
        text.push_back(static_cast<char>(random() % 128));
      return Value(text);
    }
    case 5: {
      Value array = Value::Array();
      for (std::size_t i = random() % 6; i > 0; --i) array.Append(RandomValue(random, depth + 1));
      return array;
    }
    default: {
      Value object = Value::Object();
      for (std::size_t i = random() % 40; i > 0; --i) {
        object.Set("key" + std::to_string(random() % 1000), RandomValue(random, depth + 1));
      }
      return object;
    }
  }
}

TEST(Write, WhatIsWrittenIsReadBack) {
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    const Value value = RandomValue(random, 0);
    const auto compact = Read(Write(value));
    ASSERT_TRUE(compact);
    EXPECT_EQ(*compact, value);
    EXPECT_EQ(*Read(WritePretty(value)), value);
  }
}

TEST(Read, NeverCrashesOnBrokenText) {
  std::mt19937 random(5);
  const std::string good = Write(RandomValue(random, 0)) + R"([{"a":"A\n","b":[1e5,-2]}])";
  for (int round = 0; round < 3000; ++round) {
    std::string text = good.substr(0, random() % good.size());
    if (!text.empty()) text[random() % text.size()] = static_cast<char>(random());
    const auto read = Read(text);
    if (read) {
      EXPECT_EQ(*Read(Write(*read)), *read);
    }
  }
}

TEST(MergePatch, FollowsTheExamplesOfRfc7386) {
  struct Case {
    std::string_view target, patch, result;
  };
  const Case cases[] = {
      {R"({"a":"b"})", R"({"a":"c"})", R"({"a":"c"})"},
      {R"({"a":"b"})", R"({"b":"c"})", R"({"a":"b","b":"c"})"},
      {R"({"a":"b"})", R"({"a":null})", R"({})"},
      {R"({"a":"b","b":"c"})", R"({"a":null})", R"({"b":"c"})"},
      {R"({"a":["b"]})", R"({"a":"c"})", R"({"a":"c"})"},
      {R"({"a":{"b":"c"}})", R"({"a":{"b":"d","c":null}})", R"({"a":{"b":"d"}})"},
      {R"({"a":"foo"})", "\"bar\"", "\"bar\""},
      {R"({"e":null})", R"({"a":1})", R"({"e":null,"a":1})"},
      {R"([1,2])", R"({"a":"b","c":null})", R"({"a":"b"})"},
      {R"({})", R"({"a":{"bb":{"ccc":null}}})", R"({"a":{"bb":{}}})"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(Write(MergePatch(*Read(c.target), *Read(c.patch))), c.result) << c.patch;
  }
}

TEST(MergePatch, DeepPatchesNeedNoMoreThanAUsualStack) {
#ifdef __SANITIZE_ADDRESS__
  constexpr std::size_t kLevels = kDepthMax / 10;  // its frames are much larger
#else
  constexpr std::size_t kLevels = kDepthMax - 1;
#endif
  const auto nested = [](std::string_view leaf) {
    std::string text;
    for (std::size_t i = 0; i < kLevels; ++i) text += R"({"a":)";
    text += leaf;
    return text + std::string(kLevels, '}');
  };
  const Value target = *Read(nested(R"({"x":1})"));
  const Value patch = *Read(nested(R"({"x":null,"y":2})"));
  EXPECT_EQ(Write(MergePatch(target, patch)), nested(R"({"y":2})"));
  EXPECT_TRUE(target == *Read(Write(target)));
}

TEST(JsonPatch, AppliesOperationsInTheirOrder) {
  struct Case {
    std::string_view target, patch, result;
  };
  const Case cases[] = {
      {R"({"a":1})", R"([{"op":"add","path":"/b","value":2}])", R"({"a":1,"b":2})"},
      {R"({"a":[1,3]})", R"([{"op":"add","path":"/a/1","value":2}])", R"({"a":[1,2,3]})"},
      {R"({"a":[1]})", R"([{"op":"add","path":"/a/-","value":2}])", R"({"a":[1,2]})"},
      {R"({"a":[1,2]})", R"([{"op":"remove","path":"/a/-1"}])", R"({"a":[1]})"},
      {R"({"a/b":{"~":1}})", R"([{"op":"replace","path":"/a~1b/~0","value":2}])",
       R"({"a/b":{"~":2}})"},
      {R"({"a":{"b":1}})", R"([{"op":"move","from":"/a/b","path":"/c"}])", R"({"a":{},"c":1})"},
      {R"({"a":{"b":1}})", R"([{"op":"copy","from":"/a","path":"/c"}])",
       R"({"a":{"b":1},"c":{"b":1}})"},
      {R"({"a":1})", R"([{"op":"test","path":"/a","value":1},{"op":"remove","path":"/a"}])", "{}"},
      {R"({})", R"([{"op":"test","path":"/a","value":null}])", "{}"},
      {R"({})", R"([{"op":"replace","path":"/a","value":1}])", R"({"a":1})"},
  };
  for (const Case& c : cases) {
    const auto result = JsonPatch(*Read(c.target), *Read(c.patch));
    ASSERT_TRUE(result) << c.patch << result.error().message;
    EXPECT_EQ(Write(*result), c.result) << c.patch;
  }
}

TEST(JsonPatch, SaysWhyAnOperationDoesNotApply) {
  struct Case {
    std::string_view target, patch, error;
  };
  const Case cases[] = {
      {R"({"a":1})", R"([{"op":"test","path":"/a","value":2}])",
       "testing value /a failed: test failed"},
      {R"({})", R"([{"op":"add","path":"/a/b","value":2}])",
       R"(add operation does not apply: doc is missing path: "/a/b": missing value)"},
      {R"({})", R"([{"op":"remove","path":"/a"}])",
       "error in remove for path: '/a': Unable to remove nonexistent key: a: missing value"},
      {R"({"a":[]})", R"([{"op":"remove","path":"/a/0"}])",
       "error in remove for path: '/a/0': Unable to access invalid index: 0: invalid index "
       "referenced"},
      {R"({})", R"([{"op":"frobnicate"}])", "Unexpected kind: frobnicate"},
  };
  for (const Case& c : cases) {
    const auto result = JsonPatch(*Read(c.target), *Read(c.patch));
    ASSERT_FALSE(result) << c.patch;
    EXPECT_EQ(result.error().message, c.error);
  }
}

TEST(JsonPatch, OperationsMayNotNestWithoutLimit) {
  std::string copies = R"([{"op":"add","path":"/a","value":{}})";
  std::string path = "/a";
  for (int i = 0; i < 14; ++i) {
    copies += R"(,{"op":"copy","from":"/a","path":")" + path + "/a\"}";
    std::string twice = path;
    for (int j = 0; j < (1 << i); ++j) twice += "/a";
    path = twice;
  }
  const auto patched = JsonPatch(Read("{}").value(), Read(copies + "]").value());
  ASSERT_FALSE(patched.has_value());
  EXPECT_EQ(patched.error().message, "exceeded max depth");
}

TEST(JsonPatch, CopiesMayNotGrowWithoutLimit) {
  Value patch = Value::Array();
  for (int i = 0; i < 40; ++i) {
    patch.Append(Value::Object({{"op", "copy"}, {"from", "/a"}, {"path", "/a/-"}}));
  }
  const auto result = JsonPatch(*Read(R"({"a":["0123456789"]})"), patch);
  ASSERT_FALSE(result);
  EXPECT_TRUE(result.error().message.starts_with("Unable to complete the copy"));
}

}  // namespace
}  // namespace drachma::json
