#include "controllers/group_claims.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controllers/claim_controller.h"
#include "controllers/test_cluster.h"
#include "json/yaml.h"

namespace drachma::controllers {
namespace {

namespace resources = client::resources;
using json::Value;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

constexpr std::string_view kTemplate = R"(
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one-gpu, namespace: default}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu}}]}}}
)";
constexpr std::string_view kGroup = R"(
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: train, namespace: default, uid: uid-train}
spec:
  schedulingPolicy: {gang: {minCount: 2}}
  resourceClaims: [{name: t0, resourceClaimTemplateName: one-gpu}]
)";

std::string Member(std::string_view name, std::string_view entry = "t0") {
  return fmt::format(R"(
apiVersion: v1
kind: Pod
metadata: {{name: {}, namespace: default}}
spec:
  schedulingGroup: {{podGroupName: train}}
  containers: [{{name: c}}]
  resourceClaims: [{{name: {}, resourceClaimTemplateName: one-gpu}}]
)",
                     name, entry);
}

class GroupClaimsTest : public testing::Test {
 protected:
  TestCluster cluster_{{"resourceclaim-controller", "podgroup-protection-controller"},
                       false,
                       {{"GenericWorkload", true}, {"DRAWorkloadResourceClaims", true}}};

  // The claim that the object's status names for the entry t0.
  std::string ClaimIn(const client::Resource& resource, std::string_view name) {
    const Value object = cluster_.Get(resource, name);
    const auto statuses = object["status"]["resourceClaimStatuses"].Items();
    return statuses.empty() ? "" : std::string(statuses[0]["resourceClaimName"].AsString());
  }
};

TEST_F(GroupClaimsTest, OneClaimOfTheGroupServesAllItsPods) {
  for (const std::string& yaml :
       {std::string(kTemplate), std::string(kGroup), Member("a"), Member("b")}) {
    cluster_.api().Apply(yaml);
  }
  cluster_.Run();
  const std::vector<Value> claims = cluster_.api().List(resources::kResourceClaims);
  ASSERT_THAT(claims, SizeIs(1));
  const std::string name(client::NameOf(claims[0]));
  EXPECT_THAT(name, StartsWith("train-t0-"));
  EXPECT_EQ((*client::ControllerOf(claims[0]))["kind"].AsString(), "PodGroup");
  EXPECT_EQ((*client::ControllerOf(claims[0]))["uid"].AsString(), "uid-train");
  EXPECT_EQ(ClaimIn(kPodGroups, "train"), name);
  EXPECT_EQ(ClaimIn(resources::kPods, "a"), name);
  EXPECT_EQ(ClaimIn(resources::kPods, "b"), name);
}

TEST_F(GroupClaimsTest, AnEntryOfAnotherNameGetsAClaimOfItsOwn) {
  for (const std::string& yaml :
       {std::string(kTemplate), std::string(kGroup), Member("a", "other")}) {
    cluster_.api().Apply(yaml);
  }
  cluster_.Run();
  EXPECT_THAT(ClaimIn(resources::kPods, "a"), StartsWith("a-other-"));
}

TEST_F(GroupClaimsTest, PodsWaitForTheirGroup) {
  cluster_.api().Apply(kTemplate);
  cluster_.api().Apply(Member("a"));
  cluster_.Run();
  EXPECT_THAT(cluster_.NamesOf(resources::kResourceClaims), IsEmpty());
  cluster_.api().Apply(kGroup);
  cluster_.Run();
  EXPECT_THAT(ClaimIn(resources::kPods, "a"), StartsWith("train-t0-"));
}

TEST_F(GroupClaimsTest, AMissingTemplateIsToldOfTheGroup) {
  cluster_.api().Apply(kGroup);
  cluster_.Run();
  EXPECT_THAT(cluster_.Events(),
              ElementsAre("FailedResourceClaimCreation PodGroupResourceClaim t0: resource claim "
                          "template \"one-gpu\": resourceclaimtemplate.resource.k8s.io "
                          "\"one-gpu\" not found"));
}

constexpr std::string_view kReserved = R"(
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata:
  name: shared
  namespace: default
  finalizers: [resource.kubernetes.io/delete-protection]
spec: {}
status:
  allocation: {devices: {results: [{request: r, driver: d, pool: p, device: x}]}}
  reservedFor: [{apiGroup: scheduling.k8s.io, resource: podgroups, name: train, uid: uid-train}]
)";

TEST_F(GroupClaimsTest, AClaimStaysReservedAsLongAsTheGroupExists) {
  cluster_.api().Apply(kGroup);
  cluster_.api().Apply(kReserved);
  cluster_.Run();
  EXPECT_TRUE(cluster_.Get(resources::kResourceClaims, "shared")["status"].Has("allocation"));
  cluster_.api().Remove(kPodGroups, "default", "train");
  cluster_.Run();
  EXPECT_FALSE(cluster_.Get(resources::kResourceClaims, "shared")["status"].Has("allocation"));
}

TEST_F(GroupClaimsTest, AClaimOfAGroupThatWasReplacedIsFreed) {
  cluster_.api().Apply(kReserved);
  Value group = json::ReadYaml(kGroup).value().front().value;
  group.Edit("metadata").Set("uid", "uid-of-the-next");
  cluster_.api().Put(std::move(group));
  cluster_.Run();
  EXPECT_FALSE(cluster_.Get(resources::kResourceClaims, "shared")["status"].Has("allocation"));
}

TEST_F(GroupClaimsTest, APodWithANodeReservesTheClaimForItsGroup) {
  cluster_.api().Apply(kGroup);
  cluster_.api().Apply(kReserved);
  cluster_.api().Change(resources::kResourceClaims, "default", "shared",
                        [](Value& claim) { claim.Edit("status").Erase("reservedFor"); });
  cluster_.api().Change(kPodGroups, "default", "train", [](Value& group) {
    group.Edit("spec").Set(
        "resourceClaims",
        Value::Array({Value::Object({{"name", "t0"}, {"resourceClaimName", "shared"}})}));
  });
  cluster_.api().Apply(R"(
apiVersion: v1
kind: Pod
metadata: {name: a, namespace: default}
spec:
  nodeName: n1
  schedulingGroup: {podGroupName: train}
  containers: [{name: c}]
  resourceClaims: [{name: t0, resourceClaimName: shared}]
)");
  cluster_.Run();
  const Value claim = cluster_.Get(resources::kResourceClaims, "shared");
  ASSERT_THAT(claim["status"]["reservedFor"].Items(), SizeIs(1));
  EXPECT_EQ(claim["status"]["reservedFor"].Items()[0]["uid"].AsString(), "uid-train");
}

TEST_F(GroupClaimsTest, AGroupGoesWithItsLastPod) {
  cluster_.api().Apply(kGroup);
  cluster_.api().Apply(Member("a"));
  cluster_.api().Change(kPodGroups, "default", "train", [](Value& group) {
    Value& metadata = group.Edit("metadata");
    metadata.Set("finalizers", Value::Array({"scheduling.k8s.io/podgroup-protection", "x/y"}));
    metadata.Set("deletionTimestamp", "2026-11-30T09:00:00Z");
  });
  cluster_.Run();
  const auto finalizers = [this] {
    return cluster_.Get(kPodGroups, "train")["metadata"]["finalizers"].size();
  };
  EXPECT_EQ(finalizers(), 2U);
  cluster_.api().Remove(resources::kPods, "default", "a");
  cluster_.Run();
  EXPECT_EQ(finalizers(), 1U);
}

}  // namespace
}  // namespace drachma::controllers
