#include "apiserver/structural_schema.h"

#include <gtest/gtest.h>

#include "json/json.h"

namespace drachma::apiserver {
namespace {

using json::Read;
using json::Value;

std::shared_ptr<const StructuralSchema> Schema(std::string_view text) {
  return StructuralSchema::Parse(Read(text).value()).value();
}

std::vector<std::string> Faults(std::string_view schema, std::string_view object) {
  std::vector<std::string> texts;
  for (const auto& error : Schema(schema)->Validate(Read(object).value())) {
    texts.push_back(error.Text());
  }
  return texts;
}

using Texts = std::vector<std::string>;

TEST(StructuralSchema, UnknownFieldsGoAndAreNamed) {
  const auto schema = Schema(R"({"type":"object","properties":{"spec":{"type":"object",
      "properties":{"a":{"type":"string"},"free":{"type":"object",
        "x-kubernetes-preserve-unknown-fields":true},
      "list":{"type":"array","items":{"type":"object","properties":{"k":{"type":"string"}}}},
      "map":{"type":"object","additionalProperties":{"type":"string"}}}}}})");
  Value object = Read(R"({"apiVersion":"g/v1","kind":"K","metadata":{"name":"n"},"extra":1,
      "spec":{"a":"x","b":1,"free":{"any":1},"list":[{"k":"1","l":2}],"map":{"x":"y"}}})")
                     .value();
  Texts unknown;
  schema->Prune(object, &unknown);
  EXPECT_EQ(unknown, (Texts{"extra", "spec.b", "spec.list[0].l"}));
  EXPECT_EQ(json::Write(object),
            R"({"apiVersion":"g/v1","kind":"K","metadata":{"name":"n"},"spec":{"a":"x",)"
            R"("free":{"any":1},"list":[{"k":"1"}],"map":{"x":"y"}}})");
}

TEST(StructuralSchema, KeptFieldsStayInListsToo) {
  const auto schema = Schema(R"({"type":"object","properties":{
      "any":{"x-kubernetes-preserve-unknown-fields":true},
      "typed":{"type":"array","x-kubernetes-preserve-unknown-fields":true,
        "items":{"type":"object","properties":{
          "known":{"type":"object","properties":{"a":{"type":"string"}}}}}}}})");
  Value object = Read(R"({"any":[1,{"a":null},null,[{"b":2}]],
      "typed":[{"known":{"a":"x","c":1},"more":{"d":1}}]})")
                     .value();
  Texts unknown;
  schema->Prune(object, &unknown);
  schema->PruneNulls(object);
  schema->SetDefaults(object);
  EXPECT_EQ(unknown, Texts{"typed[0].known.c"});
  EXPECT_EQ(json::Write(object), R"({"any":[1,{"a":null},null,[{"b":2}]],)"
                                 R"("typed":[{"known":{"a":"x"},"more":{"d":1}}]})");
}

TEST(StructuralSchema, DefaultsReachIntoWhatIsThere) {
  const auto schema = Schema(R"({"properties":{"spec":{"properties":{"n":{"default":1},
      "m":{"default":2,"nullable":true}},"default":{}},
      "items":{"items":{"properties":{"p":{"default":"TCP"}}}}}})");
  Value object = Read(R"({"items":[{},{"p":"UDP"}],"spec":{"n":null,"m":null}})").value();
  schema->SetDefaults(object);
  EXPECT_EQ(json::Write(object), R"({"items":[{"p":"TCP"},{"p":"UDP"}],"spec":{"n":1,"m":null}})");
  object = Read("{}").value();
  schema->SetDefaults(object);
  EXPECT_EQ(json::Write(object), R"({"spec":{"n":1,"m":2}})");
}

TEST(StructuralSchema, NullsWithoutMeaningGo) {
  const auto schema =
      Schema(R"({"type":"object","properties":{"spec":{"type":"object","properties":{
      "num":{"type":"integer"},"m":{"type":"object","additionalProperties":{"type":"string"}},
      "l":{"type":"array","items":{"type":"object","properties":{"k":{"type":"string"},
        "v":{"type":"string"}}}},
      "ios":{"x-kubernetes-int-or-string":true},
      "names":{"type":"array","items":{"type":"string"}},
      "set":{"type":"string","default":"d"},"maybe":{"type":"string","nullable":true},
      "free":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}}})");
  Value object = Read(R"({"spec":{"num":1,"m":{"x":null},"l":[{"k":"a","v":null}],"ios":null,
      "names":["a",null],"set":null,"maybe":null,"free":{"a":null}}})")
                     .value();
  schema->PruneNulls(object);
  EXPECT_EQ(json::Write(object),
            R"({"spec":{"num":1,"m":{},"l":[{"k":"a"}],"names":["a",null],"set":null,)"
            R"("maybe":null,"free":{"a":null}}})");
  schema->SetDefaults(object);
  EXPECT_EQ(object["spec"]["set"].AsString(), "d");
  // A list does not lose items: such a null stays and is a fault.
  const auto errors = schema->Validate(object);
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(errors[0].path, "spec.names[1]");
}

TEST(StructuralSchema, NullItemsGetTheDefaultOfItems) {
  const auto schema = Schema(R"({"properties":{"l":{"items":{"default":"x"}},
      "m":{"additionalProperties":{"default":{},"properties":{"n":{"default":1}}}}}})");
  Value object = Read(R"({"l":[null,"y"],"m":{"k":null}})").value();
  schema->PruneNulls(object);
  schema->SetDefaults(object);
  EXPECT_EQ(json::Write(object), R"({"l":["x","y"],"m":{"k":{"n":1}}})");
}

TEST(StructuralSchema, FaultsReadAsUpstreams) {
  const char* schema = R"({"type":"object","properties":{"spec":{"type":"object","required":["n"],
      "properties":{"n":{"type":"integer","minimum":0},"s":{"type":"string","maxLength":2,
      "pattern":"^a"},"e":{"enum":["x","y"]},"l":{"type":"array","maxItems":1,
      "x-kubernetes-list-type":"set","items":{"type":"string"}}}}}})";
  EXPECT_EQ(
      Faults(schema, R"({"spec":{"n":-1}})"),
      (Texts{"spec.n: Invalid value: -1: spec.n in body should be greater than or equal to 0"}));
  EXPECT_EQ(Faults(schema, R"({"spec":{}})"), (Texts{"spec.n: Required value"}));
  EXPECT_EQ(Faults(schema, R"({"spec":{"n":"1"}})"),
            (Texts{"spec.n: Invalid value: \"string\": spec.n in body must be of type integer: "
                   "\"string\""}));
  EXPECT_EQ(Faults(schema, R"({"spec":{"n":1,"e":"z"}})"),
            (Texts{"spec.e: Unsupported value: \"z\": supported values: \"x\", \"y\""}));
  // Of a length and a pattern the first fault is told.
  EXPECT_EQ(Faults(schema, R"({"spec":{"n":1,"s":"bcd"}})"),
            (Texts{"spec.s: Too long: may not be more than 2 bytes"}));
  EXPECT_EQ(Faults(schema, R"({"spec":{"n":1,"l":["a","a"]}})"),
            (Texts{"spec.l: Too many: 2: must have at most 1 item",
                   "spec.l[1]: Duplicate value: \"a\""}));
}

TEST(StructuralSchema, CombinationsCount) {
  const char* schema = R"({"oneOf":[{"required":["a"]},{"required":["b"]}]})";
  EXPECT_TRUE(Faults(schema, R"({"a":1})").empty());
  EXPECT_EQ(Faults(schema, R"({"a":1,"b":1})").size(), 1U);
  // What the first alternative lacks is told, too.
  EXPECT_EQ(Faults(schema, "{}").size(), 2U);
  EXPECT_TRUE(Faults(R"({"anyOf":[],"oneOf":[]})", "{}").empty());
  EXPECT_TRUE(Faults(R"({"anyOf":{"type":"string"},"oneOf":{"type":"string"}})", "{}").empty());
  EXPECT_TRUE(Faults(R"({"x-kubernetes-int-or-string":true})", "\"50%\"").empty());
  EXPECT_EQ(Faults(R"({"x-kubernetes-int-or-string":true})", "true").size(), 1U);
}

TEST(StructuralSchema, DepthEndsInAnError) {
  std::string deep;
  for (int i = 0; i < 200; ++i) deep += "{\"a\":";
  deep += "1" + std::string(200, '}');
  EXPECT_FALSE(StructuralSchema::Parse(Read(deep).value()).has_value());
  EXPECT_FALSE(StructuralSchema::Parse(Read(R"({"pattern":"("})").value()).has_value());
}

TEST(StructuralSchema, WhatHasNotChangedIsTolerated) {
  const auto schema = Schema(R"({"type":"object","properties":{
      "small":{"type":"integer","maximum":10},
      "plain":{"type":"array","items":{"type":"integer","maximum":10}},
      "map":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],
        "items":{"type":"object","properties":{"k":{"type":"string"},"n":{"type":"integer",
          "maximum":10}}}}}})");
  const Value old = Read(R"({"small":20,"plain":[20],"map":[{"k":"a","n":20}]})").value();
  const auto faults = [&](std::string_view object) {
    Texts paths;
    for (const auto& error : schema->Validate(Read(object).value(), old)) {
      paths.push_back(error.path);
    }
    return paths;
  };
  EXPECT_EQ(faults(R"({"small":20,"plain":[20],"map":[{"k":"b","n":1},{"k":"a","n":20}]})"),
            Texts{});
  EXPECT_EQ(faults(R"({"small":21,"plain":[20,1],"map":[{"k":"b","n":20}]})"),
            (Texts{"small", "plain[0]", "map[0].n"}));
}

TEST(StructuralSchema, OnlyTheSecondOfSeveralEqualItemsIsTold) {
  const std::string_view map = R"({"type":"object","properties":{"l":{"type":"array",
      "x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],
      "items":{"type":"object","properties":{"k":{"type":"string"}}}}}})";
  EXPECT_EQ(Faults(map, R"({"l":[{"k":"a"},{"k":"a"},{"k":"a"}]})"),
            Texts{R"(l[1]: Duplicate value: {"k":"a"})"});
  EXPECT_EQ(Faults(map, R"({"l":[{"k":"a"},7]})"),
            (Texts{"l[1]: Invalid value: 7: must be an object for an array of list-type map",
                   R"(l[1]: Invalid value: "integer": l[1] in body must be of type object: )"
                   R"("integer")"}));
}

TEST(StructuralSchema, NumbersThatAreNoIntegersAreOutOfRangeToo) {
  const std::string_view schema = R"({"type":"object","properties":{
      "a":{"type":"integer"},"b":{"type":"integer","format":"int32"}}})";
  EXPECT_EQ(Faults(schema, R"({"a":9223372036854775808})"),
            (Texts{R"(a: Invalid value: "number": a in body must be of type integer: "number")",
                   R"(<nil>: Invalid value: "": Checked value must be of type integer (default )"
                   R"(format) in a)"}));
  EXPECT_EQ(Faults(schema, R"({"b":2147483648})"),
            Texts{R"(<nil>: Invalid value: "": Checked value must be of type integer with format )"
                  R"(int32 in b)"});
}

TEST(StructuralSchema, FactorsArePositive) {
  const std::string_view schema =
      R"({"type":"object","properties":{"a":{"type":"number","multipleOf":0.5}}})";
  EXPECT_EQ(Faults(schema, R"({"a":1.5})"), Texts{});
  EXPECT_EQ(Faults(schema, R"({"a":0.7})"),
            Texts{"a: Invalid value: 0.7: a in body should be a multiple of 0.5"});
  // A whole number is divided by the whole part of the factor.
  EXPECT_EQ(Faults(schema, R"({"a":3})"),
            Texts{"a: Invalid value: 0: factor MultipleOf declared for a must be positive: 0"});
}

TEST(StructuralSchema, TheStatusAloneIsToldFromItsOwnRoot) {
  const auto schema = Schema(R"({"type":"object","required":["spec"],"properties":{
      "status":{"type":"object","properties":{"n":{"type":"integer"}}}}})");
  Texts texts;
  for (const auto& error :
       schema->ValidateStatus(Read(R"({"status":{"n":"x"}})").value(), Read("{}").value())) {
    texts.push_back(error.Text());
  }
  EXPECT_EQ(texts, Texts{R"(status.n: Invalid value: "string": n in body must be of type integer: )"
                         R"("string")"});
}

}  // namespace
}  // namespace drachma::apiserver
