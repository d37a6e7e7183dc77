#include "apiserver/schema_rules.h"

#include <gtest/gtest.h>

#include "json/json.h"

namespace drachma::apiserver {
namespace {

json::Value Read(std::string_view text) { return *json::Read(text); }

// The faults of an object whose `spec` has this schema, one per line.
std::string Faults(std::string_view spec_schema, std::string_view object,
                   std::string_view old = "null") {
  json::Value schema = Read(R"({"type":"object","properties":{}})");
  schema.Edit("properties").Set("spec", Read(spec_schema));
  std::string text;
  for (const auto& error : SchemaRules::Parse(schema)->Validate(Read(object), Read(old))) {
    text += (text.empty() ? "" : "\n") + error.Text();
  }
  return text;
}

constexpr std::string_view kSizes = R"json({"type":"object",
  "properties":{"size":{"type":"integer"},"max":{"type":"integer"}},
  "x-kubernetes-validations":[{"rule":"self.size <= self.max","fieldPath":".size",
    "reason":"FieldValueForbidden","messageExpression":"'at most ' + string(self.max)"
}]
})json";

TEST(SchemaRules, MessagesAndPlacesAreTheRules) {
  EXPECT_EQ(Faults(kSizes, R"({"spec":{"size":1,"max":2}})"), "");
  EXPECT_EQ(Faults(kSizes, R"({"spec":{"size":3,"max":2}})"), "spec.size: Forbidden: at most 2");
}

TEST(SchemaRules, EvaluationThatFailsIsAFault) {
  EXPECT_EQ(Faults(kSizes, R"({"spec":{"size":3}})"),
            "spec: Invalid value: \"object\": no such key: max evaluating rule: self.size <= "
            "self.max");
}

TEST(SchemaRules, FormatsHaveTypes) {
  constexpr std::string_view kFormats = R"json({"type":"object","properties":{
    "long":{"type":"string","format":"duration",
      "x-kubernetes-validations":[{"rule":"self > duration('1h')"}]},
    "day":{"type":"string","format":"date",
      "x-kubernetes-validations":[{"rule":"self.getFullYear() == 2020"}]},
    "data":{"type":"string","format":"byte",
      "x-kubernetes-validations":[{"rule":"self == b'abc'"}]}}})json";
  EXPECT_EQ(Faults(kFormats, R"({"spec":{"long":"2 days","day":"2020-02-29","data":"YWJj"}})"), "");
  EXPECT_EQ(Faults(kFormats, R"({"spec":{"long":"30m"}})"),
            "spec.long: Invalid value: \"30m\": failed rule: self > duration('1h')");
}

constexpr std::string_view kFixed = R"({"type":"object","properties":{"a":{"type":"string",
  "x-kubernetes-validations":[{"rule":"self == oldSelf","message":"is fixed"}]}}})";

TEST(SchemaRules, TransitionsNeedSomethingToComeFrom) {
  EXPECT_EQ(Faults(kFixed, R"({"spec":{"a":"x"}})"), "");
  EXPECT_EQ(Faults(kFixed, R"({"spec":{"a":"x"}})", R"({"spec":{"a":"y"}})"),
            "spec.a: Invalid value: \"x\": is fixed");
}

TEST(SchemaRules, ItemsOfMapsAreFollowedByTheirKeys) {
  EXPECT_EQ(
      Faults(R"({"type":"array","x-kubernetes-list-type":"map",
                       "x-kubernetes-list-map-keys":["k"],"items":{"type":"object",
                       "properties":{"k":{"type":"string"},"n":{"type":"integer"}},
                       "x-kubernetes-validations":[{"rule":"self.n >= oldSelf.n"}]}})",
             R"({"spec":[{"k":"b","n":1},{"k":"a","n":1}]})", R"({"spec":[{"k":"a","n":2}]})"),
      "spec[1]: Invalid value: failed rule: self.n >= oldSelf.n");
}

TEST(SchemaRules, NamesAreEscaped) {
  EXPECT_EQ(Faults(R"({"type":"object","properties":{"a-b":{"type":"integer"},
                       "namespace":{"type":"string"}},"x-kubernetes-validations":[
                       {"rule":"self.a__dash__b > 1 && self.__namespace__ == 'x'"}]})",
                   R"({"spec":{"a-b":2,"namespace":"x"}})"),
            "");
}

TEST(SchemaRules, OptionalOldSelvesAreThereFromTheBeginning) {
  constexpr std::string_view kRule = R"({"type":"integer","x-kubernetes-validations":[
    {"rule":"oldSelf.hasValue() || self == 1","optionalOldSelf":true}]})";
  EXPECT_EQ(Faults(kRule, R"({"spec":2})"),
            "spec: Invalid value: 2: failed rule: oldSelf.hasValue() || self == 1");
  EXPECT_EQ(Faults(kRule, R"({"spec":2})", R"({"spec":5})"), "");
}

TEST(RuleFaults, NameWhatDoesNotCompile) {
  RuleCosts costs(CostLimits::kEach);
  const auto faults = RuleFaults(Read(R"({"type":"object","properties":{"a":{"type":"string"}},
      "x-kubernetes-validations":[{"rule":"self.b == 1"}]})"),
                                 false, "s", 1, costs);
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults[0].path, "s.x-kubernetes-validations[0].rule");
  EXPECT_NE(faults[0].detail.find("undefined field 'b'"), std::string::npos) << faults[0].detail;
}

TEST(RuleFaults, ASchemaWithoutRulesHasNone) {
  EXPECT_EQ(SchemaRules::Parse(Read(R"({"type":"object","properties":{"a":{"type":"string"}}})")),
            nullptr);
}

}  // namespace
}  // namespace drachma::apiserver
