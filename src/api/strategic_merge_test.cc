// Strategic merge patches and what upstream's strategicpatch makes of them
// (tests/upstream/kubernetes/apigolden).
#include "api/strategic_merge.h"

#include <gtest/gtest.h>

#include <fstream>

#include "json/json.h"

namespace drachma::api {
namespace {

using json::Value;

TEST(StrategicMerge, DoesWhatUpstreamDoes) {
  std::ifstream file(DRACHMA_SOURCE_DIR "/tests/api/strategic_merge.jsonl");
  int cases = 0;
  for (std::string line; std::getline(file, line); ++cases) {
    const Value c = *json::Read(line);
    const TypeInfo* type = FindTypeOfKind(c["apiVersion"].AsString(), c["kind"].AsString());
    const auto patched = StrategicMergePatch(*json::Read(c["text"].AsString()),
                                             *json::Read(c["patch"].AsString()), *type);
    EXPECT_EQ(patched ? "" : patched.error().message, c["patchError"].AsString())
        << c["name"].AsString();
    if (patched) {
      EXPECT_EQ(*patched, c["patched"])
          << c["name"].AsString() << "\n  got  " << json::Write(*patched) << "\n  want "
          << json::Write(c["patched"]);
    }
  }
  EXPECT_GT(cases, 40);
}

TEST(StrategicMerge, LeavesTheOriginalAlone) {
  const TypeInfo* pod = FindTypeOfKind("v1", "Pod");
  const Value original = *json::Read(R"({"spec":{"containers":[{"name":"a"}]}})");
  const Value kept = *json::Read(json::Write(original));
  const auto patched = StrategicMergePatch(
      original, *json::Read(R"({"spec":{"containers":[{"name":"a","image":"x"}]}})"), *pod);
  ASSERT_TRUE(patched);
  EXPECT_EQ(original, kept);
}

}  // namespace
}  // namespace drachma::api
