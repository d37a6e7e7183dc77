#include "api/selectors.h"

#include <gtest/gtest.h>

#include "json/json.h"

namespace drachma::api {
namespace {

using json::Value;

// Texts and errors were taken from apimachinery 0.37.2.
TEST(LabelSelector, IsReadAndWrittenAsInApimachinery) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"", ""},
      {"a=b", "a=b"},
      {"b==c,a", "a,b==c"},
      {"!a", "!a"},
      {" a  in ( y , x ) ", "a in (x,y)"},
      {"a notin (x)", "a notin (x)"},
      {"a in ()", "a in ()"},
      {"a in (x,)", "a in (,x)"},
      {"a>1,b<2", "a>1,b<2"},
      {"a=", "a="},
      {"a!=b", "a!=b"},
      {"in=notin", "in=notin"},
      {"example.com/a=b", "example.com/a=b"},
  };
  for (const auto& [text, expected] : cases) {
    const auto selector = LabelSelector::Parse(text);
    ASSERT_TRUE(selector) << text << selector.error().message;
    EXPECT_EQ(selector->ToString(), expected) << text;
  }
}

TEST(LabelSelector, ErrorsAreApimachinerys) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"a=b,", "found '', expected: identifier after ','"},
      {"a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"},
      {"a in x", "unable to parse requirement: found 'x' expected: '('"},
      {"a in (x", "unable to parse requirement: found '', expected: ',' or ')'"},
      {"=", "found '=', expected: !, identifier, or 'end of string'"},
      {"a=b=c", "found '=', expected: ',' or 'end of string'"},
      {"a>x",
       "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, "
       "the value must be an integer"},
      {"-a",
       "unable to parse requirement: <nil>: Invalid value: \"-a\": name part must consist of "
       "alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
       "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
       "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"},
  };
  for (const auto& [text, expected] : cases) {
    const auto selector = LabelSelector::Parse(text);
    ASSERT_FALSE(selector) << text;
    EXPECT_EQ(selector.error().message, expected) << text;
  }
}

TEST(LabelSelector, MatchesLabels) {
  const Value labels = *json::Read(R"({"a":"1","b":"x"})");
  const std::pair<std::string_view, bool> cases[] = {
      {"", true},
      {"a", true},
      {"!a", false},
      {"c", false},
      {"!c", true},
      {"a=1", true},
      {"a!=1", false},
      {"c!=1", true},
      {"b in (x,y)", true},
      {"b notin (x)", false},
      {"c notin (x)", true},
      {"a>0", true},
      {"a<1", false},
      {"b>0", false},
      {"a=1,b=y", false},
  };
  for (const auto& [text, expected] : cases) {
    EXPECT_EQ(LabelSelector::Parse(text)->Matches(labels), expected) << text;
  }
}

TEST(LabelSelector, OfAnObjectNothingMatchesNothing) {
  const Value labels = *json::Read(R"({"a":"1"})");
  EXPECT_FALSE(LabelSelector::FromObject(Value())->Matches(labels));
  EXPECT_TRUE(LabelSelector::FromObject(Value::Object())->Matches(labels));
  const auto selector = LabelSelector::FromObject(*json::Read(
      R"({"matchLabels":{"a":"1"},"matchExpressions":[{"key":"b","operator":"DoesNotExist"}]})"));
  ASSERT_TRUE(selector);
  EXPECT_TRUE(selector->Matches(labels));
  EXPECT_EQ(selector->ToString(), "a=1,!b");
  EXPECT_EQ(LabelSelector::FromObject(
                *json::Read(R"({"matchExpressions":[{"key":"b","operator":"Is"}]})"))
                .error()
                .message,
            "\"Is\" is not a valid label selector operator");
}

TEST(FieldSelector, KnowsTheLabelsOfEachKind) {
  const KindInfo& pods = *FindResource("", "v1", "pods");
  auto selector = FieldSelector::Parse("spec.nodeName=n,status.phase!=Failed,metadata.name==p");
  ASSERT_TRUE(selector);
  ASSERT_TRUE(selector->Resolve(pods, "v1"));
  EXPECT_TRUE(selector->Matches(*json::Read(
      R"({"metadata":{"name":"p"},"spec":{"nodeName":"n"},"status":{"phase":"Running"}})")));
  EXPECT_FALSE(selector->Matches(*json::Read(
      R"({"metadata":{"name":"p"},"spec":{"nodeName":"n"},"status":{"phase":"Failed"}})")));
  EXPECT_EQ(*selector->RequiredValue("spec.nodeName"), "n");
  EXPECT_EQ(selector->RequiredValue("status.phase"), nullptr);
}

TEST(FieldSelector, RefusesUnknownLabelsInTheKindsWords) {
  struct Case {
    std::string_view group, version, plural, message;
  };
  const Case cases[] = {
      {"", "v1", "pods", "field label not supported: x"},
      {"batch", "v1", "jobs", "field label \"x\" not supported for Job"},
      {"resource.k8s.io", "v1", "resourceslices",
       "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: x"},
      {"resource.k8s.io", "v1", "resourceclaims",
       "\"x\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\""},
  };
  for (const Case& c : cases) {
    auto selector = FieldSelector::Parse("x=y");
    const auto status = selector->Resolve(*FindResource(c.group, c.version, c.plural), c.version);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().message, c.message);
  }
}

TEST(FieldSelector, EscapesAreTakenOut) {
  const auto selector = FieldSelector::Parse(R"(metadata.name=a\,b\=c\\)");
  ASSERT_TRUE(selector);
  EXPECT_EQ(selector->terms().front().value, "a,b=c\\");
  EXPECT_EQ(FieldSelector::Parse("abc").error().message,
            "invalid selector: 'abc'; can't understand 'abc'");
}

TEST(FieldSelector, MissingNumbersAndBoolsHaveTheirZero) {
  auto nodes = FieldSelector::Parse("spec.unschedulable=false");
  ASSERT_TRUE(nodes->Resolve(*FindResource("", "v1", "nodes"), "v1"));
  EXPECT_TRUE(nodes->Matches(*json::Read(R"({"spec":{}})")));
  auto jobs = FieldSelector::Parse("status.successful=0");
  ASSERT_TRUE(jobs->Resolve(*FindResource("batch", "v1", "jobs"), "v1"));
  EXPECT_TRUE(jobs->Matches(*json::Read(R"({"status":{}})")));
}

}  // namespace
}  // namespace drachma::api
