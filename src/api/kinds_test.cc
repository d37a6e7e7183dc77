#include "api/kinds.h"

#include <gtest/gtest.h>

#include <set>

#include "api/conversion.h"
#include "json/json.h"

namespace drachma::api {
namespace {

TEST(Kinds, EveryEntryHasItsTypes) {
  for (const KindInfo& kind : AllKinds()) {
    EXPECT_NE(kind.storage_type, nullptr) << kind.plural;
    for (const VersionInfo& version : kind.versions) EXPECT_NE(version.type, nullptr);
    EXPECT_EQ(kind.list_kind.empty(), (kind.verbs & kVerbList) == 0) << kind.plural;
    for (const SubresourceInfo& sub : kind.subresources) {
      const std::string group_version = sub.group_version.empty()
                                            ? GroupVersion(kind.group, kind.storage_version)
                                            : std::string(sub.group_version);
      EXPECT_NE(FindTypeOfKind(group_version, sub.kind.empty() ? kind.kind : sub.kind), nullptr)
          << kind.plural << "/" << sub.name;
    }
  }
}

TEST(Kinds, NamesAreUnique) {
  std::set<std::string> seen;
  for (const KindInfo& kind : AllKinds()) {
    EXPECT_TRUE(seen.insert(std::string(kind.group) + "/" + std::string(kind.plural)).second);
    EXPECT_TRUE(seen.insert(std::string(kind.group) + "/" + std::string(kind.kind)).second);
  }
}

TEST(Kinds, ListableKindsHaveColumnsThatBeginWithTheName) {
  for (const KindInfo& kind : AllKinds()) {
    if (kind.columns.empty()) continue;
    const bool events = kind.kind == "Event";
    EXPECT_EQ(kind.columns[events ? kind.columns.size() - 1 : 0].name, "Name") << kind.plural;
  }
}

TEST(Kinds, AreFoundByVersion) {
  const KindInfo* claims = FindResource("resource.k8s.io", "v1beta1", "resourceclaims");
  ASSERT_NE(claims, nullptr);
  EXPECT_EQ(claims->kind, "ResourceClaim");
  EXPECT_TRUE(claims->Has(kHasStatus));
  EXPECT_FALSE(claims->Has(kHasGeneration));
  EXPECT_EQ(FindResource("resource.k8s.io", "v1alpha3", "resourceclaims"), nullptr);
  EXPECT_EQ(FindKind("scheduling.k8s.io", "v1beta1", "PodGroup")->gate, Gate::kGenericWorkload);
}

TEST(Kinds, NewEventsAreKeptAsCoreEvents) {
  const KindInfo* events = FindResource("events.k8s.io", "v1", "events");
  EXPECT_EQ(events->storage_group, "");
  EXPECT_EQ(events->storage_type->go_name, "k8s.io/api/core/v1.Event");
}

TEST(Kinds, GroupVersionsAreSplitAndJoined) {
  EXPECT_EQ(GroupVersion("", "v1"), "v1");
  EXPECT_EQ(GroupVersion("apps", "v1"), "apps/v1");
  EXPECT_EQ(SplitGroupVersion("v1").group, "");
  EXPECT_EQ(SplitGroupVersion("apps/v1").version, "v1");
}

TEST(Scale, TellsReplicasAndTheSelector) {
  const json::Value deployment = *json::Read(
      R"({"kind":"Deployment","metadata":{"name":"d","namespace":"n","labels":{"x":"y"}},)"
      R"("spec":{"replicas":3,"selector":{"matchLabels":{"a":"b"}}},"status":{"replicas":2}})");
  EXPECT_EQ(json::Write(ScaleOf(deployment)),
            R"({"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{"name":"d",)"
            R"("namespace":"n"},"spec":{"replicas":3},"status":{"replicas":2,"selector":"a=b"}})");
}

}  // namespace
}  // namespace drachma::api
