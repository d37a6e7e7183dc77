#include "json/part.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "json/json.h"

namespace drachma::json {
namespace {

constexpr std::string_view kText =
    R"({"kind":"Pod","metadata":{"name":"a\"b\\","labels":{"x":"}{","y":""},"n":-1.5e3},)"
    R"("spec":{"list":[{"nodeName":"no"},["]"]],"nodeName":"n1","yes":true},"last":null})";

TEST(FindText, FollowsThePathAndNothingElse) {
  EXPECT_EQ(FindText(kText, "kind"), R"("Pod")");
  EXPECT_EQ(FindText(kText, "metadata.name"), R"("a\"b\\")");
  EXPECT_EQ(FindText(kText, "metadata.labels"), R"({"x":"}{","y":""})");
  EXPECT_EQ(FindText(kText, "metadata.n"), "-1.5e3");
  EXPECT_EQ(FindText(kText, "spec.nodeName"), R"("n1")");
  EXPECT_EQ(FindText(kText, "spec.list"), R"([{"nodeName":"no"},["]"]])");
  EXPECT_EQ(FindText(kText, "spec.yes"), "true");
  EXPECT_EQ(FindText(kText, "last"), "null");
}

TEST(FindText, FindsNothingWhereThereIsNothing) {
  for (const char* path :
       {"none", "metadata.none", "kind.none", "spec.list.nodeName", "nodeName"}) {
    EXPECT_EQ(FindText(kText, path), "") << path;
  }
  EXPECT_EQ(FindText("{}", "a"), "");
  EXPECT_EQ(FindText("", "a"), "");
  EXPECT_EQ(FindText("[1]", "a"), "");
}

TEST(SentText, KeepsDigitsAndSpacesOfAnyLayout) {
  constexpr char kText[] =
      R"( { "a" : [ 1 , {"b": 1e1 , "b" :9223372036854775808 } ], "c": {"d" : [ ] } } )";
  EXPECT_EQ(SentText(kText, "a[1].b"), "9223372036854775808");
  EXPECT_EQ(SentText(kText, "c"), R"({"d" : [ ] })");
  EXPECT_EQ(SentText(kText, "a[0]"), "1");
}

TEST(SentText, FindsNothingWhereThereIsNothing) {
  EXPECT_EQ(SentText(R"({"a": [1]})", "a[1]"), "");
  EXPECT_EQ(SentText(R"({"a": []})", "a[0]"), "");
  EXPECT_EQ(SentText(R"({"a": 1})", "a.b"), "");
  EXPECT_EQ(SentText(R"({"a": 1})", "b"), "");
  EXPECT_EQ(SentText("", "b"), "");
}

TEST(ReadPart, HasOnlyWhatWasAskedFor) {
  const std::vector<std::string> paths = {"metadata.labels", "spec.nodeName", "status.phase"};
  EXPECT_EQ(Write(ReadPart(kText, paths)),
            R"({"metadata":{"labels":{"x":"}{","y":""}},"spec":{"nodeName":"n1"}})");
}

Value RandomValue(std::mt19937& random, int depth) {
  static const std::vector<std::string> kStrings = {"", "a", "\"", "\\", "\\\"", "{\"a\":1}", "],"};
  switch (random() % (depth > 3 ? 4 : 6)) {
    case 0:
      return static_cast<int>(random() % 100) - 50;
    case 1:
      return kStrings[random() % kStrings.size()];
    case 2:
      return random() % 2 == 0;
    case 3:
      return nullptr;
    case 4: {
      Value array = Value::Array();
      for (auto left = random() % 4; left > 0; --left) array.Append(RandomValue(random, depth + 1));
      return array;
    }
    default: {
      Value object = Value::Object();
      for (auto left = random() % 5; left > 0; --left) {
        object.Set(std::string(1, static_cast<char>('a' + random() % 6)),
                   RandomValue(random, depth + 1));
      }
      return object;
    }
  }
}

TEST(FindText, FindsInRandomTextsWhatTheTreeHas) {
  std::mt19937 random(1);
  for (int round = 0; round < 5000; ++round) {
    Value object = Value::Object();
    object.Set("a", RandomValue(random, 0));
    object.Set("b", RandomValue(random, 0));
    const std::string text = Write(object);
    for (const char* path : {"a", "b", "a.a", "a.b.c", "b.f", "b.a.a", "c"}) {
      const Value* at = &object;
      for (const char* step = path; at != nullptr && *step != '\0';
           step += step[1] == '.' ? 2 : 1) {
        at = at->Find(std::string_view(step, 1));
      }
      EXPECT_EQ(FindText(text, path), at == nullptr ? "" : Write(*at)) << text << " " << path;
    }
    for (const char* outer : {"a", "b", "c"}) {
      const NestedText nested = FindNested(text, outer, "a");
      EXPECT_EQ(nested.outer, FindText(text, outer)) << text;
      EXPECT_EQ(nested.inner, FindText(text, std::string(outer) + ".a")) << text;
    }
  }
}

}  // namespace
}  // namespace drachma::json
