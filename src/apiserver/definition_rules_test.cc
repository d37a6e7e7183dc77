#include "apiserver/definition_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/json.h"

namespace drachma::apiserver {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

json::Value Definition(std::string_view schema = R"({"type":"object"})") {
  return json::Read(R"({"metadata":{"name":"domains.gpu.example"},"spec":{"group":"gpu.example",
      "scope":"Namespaced","names":{"plural":"domains","singular":"domain","kind":"Domain",
      "listKind":"DomainList"},"versions":[{"name":"v1","served":true,"storage":true,
      "schema":{"openAPIV3Schema":)" +
                    std::string(schema) + R"(}}]},"status":{"storedVersions":["v1"]}})")
      .value();
}

std::vector<std::string> Texts(const validation::ErrorList& errors) {
  std::vector<std::string> texts;
  for (const auto& error : errors) texts.push_back(error.Text());
  return texts;
}
std::vector<std::string> Faults(const json::Value& definition, const json::Value& old = nullptr) {
  return Texts(DefinitionFaults(definition, old));
}
std::vector<std::string> OfSchema(std::string_view schema) {
  return Texts(SchemaFaults(json::Read(schema).value(), "s"));
}

TEST(DefinitionRulesTest, AGoodDefinitionHasNoFaults) {
  EXPECT_THAT(Faults(Definition()), IsEmpty());
}

TEST(DefinitionRulesTest, TheNameIsMadeOfPluralAndGroup) {
  json::Value definition = Definition();
  definition.Edit("metadata").Set("name", "domains.gpu");
  EXPECT_THAT(Faults(definition),
              ElementsAre("metadata.name: Invalid value: \"domains.gpu\": must be "
                          "spec.names.plural+\".\"+spec.group"));
}

TEST(DefinitionRulesTest, ExactlyOneVersionIsStored) {
  json::Value definition = Definition();
  definition.Edit("spec").Edit("versions").EditItem(0).Set("storage", false);
  EXPECT_THAT(Faults(definition),
              ElementsAre("spec.versions: Invalid value: [{\"Name\":\"v1\",\"Served\":true,"
                          "\"Storage\":false,\"Deprecated\":false,\"DeprecationWarning\":null,"
                          "\"Schema\":null,\"Subresources\":null,"
                          "\"AdditionalPrinterColumns\":null,\"SelectableFields\":null}]: must "
                          "have exactly one version marked as storage version"));
}

TEST(DefinitionRulesTest, EveryVersionNeedsASchema) {
  json::Value definition = Definition();
  definition.Edit("spec").Edit("versions").EditItem(0).Erase("schema");
  EXPECT_THAT(Faults(definition),
              ElementsAre("spec.versions[0].schema.openAPIV3Schema: Required value"));
}

TEST(DefinitionRulesTest, SchemasThatAllVersionsShareStandAboveThem) {
  EXPECT_THAT(Faults(Definition(R"({"type":"object","properties":{"spec":{}}})")),
              ElementsAre("spec.validation.openAPIV3Schema.properties[spec].type: Required value: "
                          "must not be empty for specified object fields"));
}

TEST(DefinitionRulesTest, GroupsHaveADotAndColumnsAType) {
  json::Value definition = Definition();
  definition.Edit("spec").Set("group", "gpu");
  definition.Edit("metadata").Set("name", "domains.gpu");
  definition.Edit("spec")
      .Edit("versions")
      .EditItem(0)
      .Set("additionalPrinterColumns",
           json::Read(R"([{"name":"A","type":"text","jsonPath":"x"}])").value());
  EXPECT_THAT(
      Faults(definition),
      ElementsAre("spec.group: Invalid value: \"gpu\": should be a domain with at least one dot",
                  "spec.additionalPrinterColumns[0].type: Invalid value: \"text\": must be one of "
                  "boolean,date,integer,number,string",
                  "spec.additionalPrinterColumns[0].JSONPath: Invalid value: \"x\": must be a "
                  "simple json path starting with ."));
}

TEST(DefinitionRulesTest, ScalePathsLeadIntoSpecAndStatus) {
  json::Value definition = Definition();
  definition.Edit("spec")
      .Edit("versions")
      .EditItem(0)
      .Set("subresources",
           json::Read(R"({"scale":{"specReplicasPath":".status.n","statusReplicasPath":""}})")
               .value());
  EXPECT_THAT(Faults(definition),
              ElementsAre("spec.subresources.scale.specReplicasPath: Invalid value: "
                          "\".status.n\": should be a json path under .spec",
                          "spec.subresources.scale.statusReplicasPath: Required value"));
}

TEST(DefinitionRulesTest, StoredVersionsStay) {
  json::Value old = Definition();
  json::Value definition = Definition();
  definition.Edit("status").Set("storedVersions", json::Value::Array({"v1alpha1", "v1"}));
  EXPECT_THAT(Faults(definition, old),
              ElementsAre("status.storedVersions[0]: Invalid value: \"v1alpha1\": missing from "
                          "spec.versions; v1alpha1 was previously a storage version, and must "
                          "remain in spec.versions until a storage migration ensures no data "
                          "remains persisted in v1alpha1 and removes v1alpha1 from "
                          "status.storedVersions"));
}

TEST(DefinitionRulesTest, TheStorageVersionIsAmongTheStoredOnes) {
  json::Value definition = Definition();
  definition.Edit("status").Set("storedVersions", json::Value::Array());
  EXPECT_THAT(Faults(definition), ElementsAre("status.storedVersions: Invalid value: null: must "
                                              "have at least one stored version"));
}

TEST(DefinitionRulesTest, SelectableFieldsAreScalarsThatAreThere) {
  json::Value definition = Definition(
      R"({"type":"object","properties":{"spec":{"type":"object","properties":{
          "name":{"type":"string"},"list":{"type":"array","items":{"type":"string"}}}}}})");
  definition.Edit("spec")
      .Edit("versions")
      .EditItem(0)
      .Set("selectableFields",
           *json::Read(
               R"([{"jsonPath":".spec.name"},{"jsonPath":".spec.name"},{"jsonPath":".spec.list"},
                      {"jsonPath":".spec.x"},{"jsonPath":"spec"},{}])"));
  EXPECT_THAT(
      Faults(definition),
      ElementsAre("spec.selectableFields[1].jsonPath: Duplicate value: \".spec.name\"",
                  "spec.selectableFields[2].jsonPath: Invalid value: \".spec.list\": must point to "
                  "a field of type string, boolean or integer. Enum string fields and strings with "
                  "formats are allowed.",
                  "spec.selectableFields[3].jsonPath: Invalid value: \".spec.x\": is an invalid "
                  "path: does not refer to a valid field",
                  "spec.selectableFields[4].jsonPath: Invalid value: \"spec\": is an invalid path: "
                  "expected [ or . but got: spec",
                  "spec.selectableFields[5].jsonPath: Required value"));
}

TEST(SchemaFaultsTest, RulesSeeThePastOnlyWhereThereIsOne) {
  EXPECT_THAT(
      OfSchema(R"({"type":"object","properties":{"l":{"type":"array","maxItems":3,"items":{
                   "type":"integer","x-kubernetes-validations":[{"rule":"self >= oldSelf"}]}}}})"),
      ElementsAre("s.properties[l].items.x-kubernetes-validations[0].rule: Invalid value: "
                  "\"self >= oldSelf\": oldSelf cannot be used on the uncorrelatable portion of "
                  "the schema within s.properties[l]"));
}

TEST(SchemaFaultsTest, TheFieldOfARuleIsThere) {
  EXPECT_THAT(OfSchema(R"({"type":"object","properties":{"a":{"type":"string"}},
                           "x-kubernetes-validations":[{"rule":"true","fieldPath":".b"}]})"),
              ElementsAre("s.x-kubernetes-validations[0].fieldPath: Invalid value: \".b\": must be "
                          "a valid path"));
}

TEST(SchemaFaultsTest, TextsOfRulesAreCheckedWhateverElseIsWrong) {
  EXPECT_THAT(OfSchema(R"({"type":"object","properties":{"a":{}},
                           "x-kubernetes-validations":[{"rule":" "},{"rule":"self.none"}]})"),
              ElementsAre("s.properties[a].type: Required value: must not be empty for specified "
                          "object fields",
                          "s.x-kubernetes-validations[0].rule: Required value: rule is not "
                          "specified"));
}

constexpr std::string_view kCostly = R"json({"type":"object","properties":{"spec":{
    "type":"array","maxItems":160,"items":{"type":"integer"},"x-kubernetes-validations":[
    {"rule":"self.all(x, self.all(y, self.all(z, x + y > z)))"}]}}})json";

TEST(SchemaFaultsTest, RulesMayNotCostTooMuch) {
  EXPECT_THAT(OfSchema(kCostly),
              ElementsAre("s.properties[spec].x-kubernetes-validations[0].rule: Forbidden: "
                          "estimated rule cost exceeds budget by factor of 3.3x (try simplifying "
                          "the rule, or adding maxItems, maxProperties, and maxLength where "
                          "arrays, maps, and strings are declared)"));
}

TEST(DefinitionRulesTest, RulesOfASchemaThatStaysMayCostWhatTheyCost) {
  EXPECT_THAT(Faults(Definition(kCostly), Definition(kCostly)), IsEmpty());
  EXPECT_EQ(Faults(Definition(kCostly), Definition()).size(), 1U);
}

TEST(SchemaFaultsTest, ShapeIsToldOutsideOfJunctors) {
  EXPECT_THAT(OfSchema(R"({"type":"object","properties":{"a":{"type":"string"}},
                           "anyOf":[{"properties":{"b":{"type":"string"}}}]})"),
              ElementsAre("s.anyOf[0].properties[b].type: Forbidden: must be empty to be "
                          "structural",
                          "s.properties[b]: Required value: because it is defined in "
                          "s.anyOf[0].properties[b]"));
}

TEST(SchemaFaultsTest, IntOrStringMaySaySoInAnyOf) {
  EXPECT_THAT(OfSchema(R"({"type":"object","properties":{"a":{"x-kubernetes-int-or-string":true,
                           "anyOf":[{"type":"integer"},{"type":"string"}]}}})"),
              IsEmpty());
}

TEST(SchemaFaultsTest, MapsNeedKeysThatAreThere) {
  EXPECT_THAT(OfSchema(R"({"type":"object","properties":{"l":{"type":"array",
                           "x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k","m"],
                           "items":{"type":"object","properties":{"k":{"type":"string"}}}}}})"),
              ElementsAre("s.properties[l].items.properties[k].default: Required value: this "
                          "property is in x-kubernetes-list-map-keys, so it must have a default or "
                          "be a required property",
                          "s.properties[l].x-kubernetes-list-map-keys: Invalid value: "
                          "[\"k\",\"m\"]: entries must all be names of item properties"));
}

TEST(SchemaFaultsTest, KeysOfMapsAreNamedOnce) {
  EXPECT_THAT(OfSchema(R"({"type":"object","properties":{"l":{"type":"array",
                           "x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k","k"],
                           "items":{"type":"object","required":["k"],
                             "properties":{"k":{"type":"string"}}}}}})"),
              ElementsAre("s.properties[l].x-kubernetes-list-map-keys: Invalid value: "
                          "[\"k\",\"k\"]: must not contain duplicate entries"));
}

TEST(SchemaFaultsTest, UnsupportedPartsAreForbidden) {
  EXPECT_THAT(OfSchema(R"({"type":"object","properties":{"a":{"type":"array","uniqueItems":true,
                           "items":{"$ref":"#/x","type":"string"}}}})"),
              ElementsAre("s.properties[a].uniqueItems: Forbidden: uniqueItems cannot be set to "
                          "true since the runtime complexity becomes quadratic",
                          "s.properties[a].items.$ref: Forbidden: $ref is not supported"));
}

// Upstream's texts for a field `a` of spec with this schema.
std::vector<std::string> OfField(const std::string& schema) {
  std::vector<std::string> texts = Faults(
      Definition(R"({"type":"object","properties":{"spec":{"type":"object","properties":{"a":)" +
                 schema + "}}}}"));
  constexpr std::string_view kField =
      "spec.validation.openAPIV3Schema.properties[spec].properties[a].";
  for (std::string& text : texts) {
    EXPECT_TRUE(text.starts_with(kField)) << text;
    text.erase(0, kField.size());
  }
  return texts;
}

TEST(DefaultFaultsTest, DefaultsFitTheirSchema) {
  EXPECT_THAT(OfField(R"({"type":"string","default":3})"),
              ElementsAre("default: Invalid value: \"integer\":  in body must be of type string: "
                          "\"integer\""));
  EXPECT_THAT(OfField(R"({"type":"integer","minimum":1,"default":0})"),
              ElementsAre("default: Invalid value: 0:  in body should be greater than or equal to "
                          "1"));
  EXPECT_THAT(OfField(R"({"type":"string","enum":["x","y"],"default":"z"})"),
              ElementsAre("default: Unsupported value: \"z\": supported values: \"x\", \"y\""));
  EXPECT_THAT(OfField(R"({"type":"string","pattern":"^b","default":"a"})"),
              ElementsAre("default: Invalid value: \"a\":  in body should match '^b'"));
  EXPECT_THAT(OfField(R"({"type":"string","default":"x"})"), IsEmpty());
}

TEST(DefaultFaultsTest, PartsOfDefaultsAreNamed) {
  EXPECT_THAT(OfField(R"({"type":"object","required":["n"],"properties":{"n":{"type":"integer"}},
                          "default":{}})"),
              ElementsAre("default.n: Required value"));
  EXPECT_THAT(OfField(R"({"type":"object","properties":{"z":{"type":"string"}},
                          "default":{"z":null}})"),
              ElementsAre("default.z: Invalid value: \"null\": z in body must be of type string: "
                          "\"null\""));
  EXPECT_THAT(OfField(R"({"type":"array","items":{"type":"string"},"default":["a",1]})"),
              ElementsAre("default.[1]: Invalid value: \"integer\": [1] in body must be of type "
                          "string: \"integer\""));
  EXPECT_THAT(OfField(R"({"type":"array","items":{"type":"object","properties":{
                          "q":{"type":"string","default":1}}}})"),
              ElementsAre("items.properties[q].default: Invalid value: \"integer\":  in body must "
                          "be of type string: \"integer\""));
}

TEST(DefaultFaultsTest, DefaultsHaveNoUnknownFieldsAndKeepTheRules) {
  EXPECT_THAT(OfField(R"({"type":"object","properties":{"s":{"type":"string"}},
                          "default":{"s":"a","t":1}})"),
              ElementsAre("default: Invalid value: {\"s\":\"a\",\"t\":1}: must not have unknown "
                          "fields"));
  EXPECT_THAT(OfField(R"({"type":"integer","default":3,
                          "x-kubernetes-validations":[{"rule":"self > 5","message":"big"}]})"),
              ElementsAre("default: Invalid value: 3: big"));
}

TEST(DefaultFaultsTest, WhatUpstreamDoesNotLookAt) {
  EXPECT_THAT(OfField(R"({"type":"object","additionalProperties":{"type":"string","default":1}})"),
              IsEmpty());
  EXPECT_THAT(OfField(R"({"type":"array","x-kubernetes-list-type":"set",
                          "items":{"type":"string"},"default":["a","a"]})"),
              IsEmpty());
  EXPECT_THAT(OfField(R"({"type":"object","x-kubernetes-embedded-resource":true,
                          "x-kubernetes-preserve-unknown-fields":true,
                          "default":{"apiVersion":"v1","kind":"X","metadata":{"name":"n"}}})"),
              IsEmpty());
}

}  // namespace
}  // namespace drachma::apiserver
