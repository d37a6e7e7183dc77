// What Kubernetes itself makes of objects (tests/upstream/kubernetes/apigolden), case by case.
#include <gtest/gtest.h>

#include <fstream>

#include "api/conversion.h"
#include "api/decode.h"
#include "api/defaults.h"
#include "api/kinds.h"
#include "json/json.h"
#include "json/yaml.h"

namespace drachma::api {
namespace {

using json::Value;

class Objects : public testing::Test {
 protected:
  static std::vector<Value> Cases() {
    std::vector<Value> cases;
    std::ifstream file(DRACHMA_SOURCE_DIR "/tests/api/objects.jsonl");
    for (std::string line; std::getline(file, line);) cases.push_back(*json::Read(line));
    return cases;
  }

  static Result<Decoded> DecodeCase(const Value& c) {
    std::vector<json::DuplicateKey> duplicates;
    DRA_ASSIGN(const Value object, json::Read(c["text"].AsString(), {.duplicates = &duplicates}));
    const TypeInfo* type = FindTypeOfKind(c["apiVersion"].AsString(), c["kind"].AsString());
    return Decode(object, *type, StrictFields::kReport, duplicates);
  }

  static Value Defaulted(const Value& c, Value object) {
    const auto [group, version] = SplitGroupVersion(c["apiVersion"].AsString());
    SetDefaults(group, version, c["kind"].AsString(), Time(), object);
    return object;
  }
};

TEST_F(Objects, DecodeAsInGo) {
  for (const Value& c : Cases()) {
    const auto decoded = DecodeCase(c);
    EXPECT_EQ(decoded ? "" : decoded.error().message, c["error"].AsString())
        << c["name"].AsString();
    if (!decoded) continue;
    EXPECT_EQ(json::Write(decoded->value), json::Write(c["value"])) << c["name"].AsString();
    std::vector<std::string> strict;
    for (const Value& error : c["strict"].Items()) strict.emplace_back(error.AsString());
    EXPECT_EQ(decoded->strict_errors, strict) << c["name"].AsString();
  }
}

TEST_F(Objects, DuplicateKeysOfYamlAreToldAsByItsReader) {
  std::vector<json::DuplicateKey> duplicates;
  const auto object =
      json::ReadYamlValue("data:\n  a: u\n  b: v\n  a: w\nzz: 1\n", {.duplicates = &duplicates});
  ASSERT_TRUE(object);
  const auto decoded =
      Decode(*object, *FindTypeOfKind("v1", "ConfigMap"), StrictFields::kReport, duplicates);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(StrictErrorText(decoded->strict_errors),
            "strict decoding error: yaml: unmarshal errors:\n  line 4: key \"a\" already set in "
            "map, unknown field \"zz\"");
}

TEST_F(Objects, GetUpstreamsDefaults) {
  for (const Value& c : Cases()) {
    const auto decoded = DecodeCase(c);
    if (!decoded) continue;
    EXPECT_EQ(json::Write(Defaulted(c, decoded->value)), json::Write(c["defaulted"]))
        << c["name"].AsString();
  }
}

TEST_F(Objects, DefaultsAreSetOnce) {
  for (const Value& c : Cases()) {
    if (c["defaulted"].IsNull()) continue;
    EXPECT_EQ(json::Write(Defaulted(c, c["defaulted"])), json::Write(c["defaulted"]))
        << c["name"].AsString();
  }
}

TEST_F(Objects, ConvertAsUpstreamDoes) {
  int conversions = 0;
  for (const Value& c : Cases()) {
    for (const json::Member& converted : c["converted"].Members()) {
      // Upstream leaves apiVersion and kind to its encoder.
      Value object = c["defaulted"];
      object.Set("kind", c["kind"]);
      object.Set("apiVersion", c["apiVersion"]);
      const auto result = Convert(object, converted.key());
      ASSERT_TRUE(result) << result.error().message;
      Value expected = converted.value;
      expected.Set("kind", c["kind"]);
      expected.Set("apiVersion", Value(converted.key()));
      EXPECT_EQ(json::Write(*result), json::Write(expected))
          << c["name"].AsString() << " to " << converted.key();
      ++conversions;
    }
  }
  EXPECT_GT(conversions, 30);
}

TEST_F(Objects, ConvertThereAndBackLosesNothing) {
  for (const Value& c : Cases()) {
    for (const json::Member& converted : c["converted"].Members()) {
      Value object = c["defaulted"];
      object.Set("kind", c["kind"]);
      object.Set("apiVersion", c["apiVersion"]);
      const auto there = Convert(object, converted.key());
      ASSERT_TRUE(there);
      const auto back = Convert(*there, c["apiVersion"].AsString());
      ASSERT_TRUE(back);
      // Two ways to say "no node" are one in v1beta1, and "basic" is one way to say a device.
      const std::string_view name = c["name"].AsString();
      if (name.find("zero pointers") != name.npos || name.find("without basic") != name.npos) {
        continue;
      }
      EXPECT_EQ(*back, object) << c["name"].AsString() << " by " << converted.key();
    }
  }
}

}  // namespace
}  // namespace drachma::api
