// Objects of every served kind with every field set (upstream's compatibility test data), as JSON
// and as Protobuf.
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "api/decode.h"
#include "api/kinds.h"
#include "api/protobuf.h"
#include "api/scalar_codec.h"
#include "json/json.h"

namespace drachma::api {
namespace {

std::vector<json::Value> Samples() {
  std::vector<json::Value> samples;
  std::ifstream file(DRACHMA_SOURCE_DIR "/tests/api/samples.jsonl");
  for (std::string line; std::getline(file, line);) samples.push_back(*json::Read(line));
  return samples;
}

TEST(Samples, EveryServedVersionOfEveryKindHasOne) {
  std::set<std::string> sampled;
  for (const json::Value& sample : Samples()) {
    const json::Value& object = sample["json"];
    sampled.insert(std::string(object["apiVersion"].AsString()) + " " +
                   std::string(object["kind"].AsString()));
  }
  std::string missing;
  for (const KindInfo& kind : AllKinds()) {
    for (const VersionInfo& version : kind.versions) {
      const std::string name =
          GroupVersion(kind.group, version.version) + " " + std::string(kind.kind);
      if (!sampled.contains(name)) missing += name + "\n";
    }
  }
  // Upstream's test data leave out the aggregator's kind.
  EXPECT_EQ(missing, "apiregistration.k8s.io/v1 APIService\n");
}

TEST(Samples, JsonIsCanonicalAlready) {
  for (const json::Value& sample : Samples()) {
    const json::Value& object = sample["json"];
    const TypeInfo* type =
        FindTypeOfKind(object["apiVersion"].AsString(), object["kind"].AsString());
    ASSERT_NE(type, nullptr) << sample["name"].AsString();
    const auto decoded = Decode(object, *type);
    ASSERT_TRUE(decoded) << sample["name"].AsString() << decoded.error().message;
    EXPECT_TRUE(decoded->strict_errors.empty()) << decoded->strict_errors.front();
    EXPECT_EQ(json::Write(decoded->value), json::Write(object)) << sample["name"].AsString();
  }
}

TEST(Samples, ProtobufMeansTheSameAsJson) {
  for (const json::Value& sample : Samples()) {
    const auto bytes = DecodeBase64(sample["protobuf"].AsString());
    ASSERT_TRUE(bytes);
    const auto object = DecodeProtobuf(*bytes);
    ASSERT_TRUE(object) << sample["name"].AsString() << object.error().message;
    EXPECT_EQ(json::Write(*object), json::Write(sample["json"])) << sample["name"].AsString();
  }
}

TEST(Protobuf, AnEmptyValueOfAMapIsLeftOutAndStillThere) {
  // A Secret with data {"k": ""} as Go writes it: the entry has a key and nothing else.
  const std::string entry = "\x0a\x01k";
  const std::string secret = std::string("\x12\x03", 2) + entry;
  const std::string type = "\x0a\x0c\x0a\x02v1\x12\x06Secret";
  const std::string body =
      std::string("k8s\0", 4) + type + "\x12" + static_cast<char>(secret.size()) + secret;

  const auto object = DecodeProtobuf(body);

  ASSERT_TRUE(object) << object.error().message;
  EXPECT_EQ(json::Write((*object)["data"]), R"({"k":""})");
}

TEST(Protobuf, BrokenBytesAreAnErrorAndNothingElse) {
  for (const json::Value& sample : Samples()) {
    std::string bytes = *DecodeBase64(sample["protobuf"].AsString());
    for (std::size_t i = 0; i < bytes.size(); i += 997) {
      const char kept = bytes[i];
      bytes[i] = static_cast<char>(kept ^ 0x2A);
      const auto object = DecodeProtobuf(bytes);
      if (!object) {
        EXPECT_FALSE(object.error().message.empty());
      }
      bytes[i] = kept;
    }
    EXPECT_FALSE(DecodeProtobuf(std::string_view(bytes).substr(0, bytes.size() - 1)));
  }
}

}  // namespace
}  // namespace drachma::api
