#include "controllers/claim_controller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controllers/test_cluster.h"

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
spec:
  metadata: {labels: {team: a}}
  spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu}}]}}
)";
constexpr std::string_view kPod = R"(
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: default}
spec:
  containers: [{name: c}]
  resourceClaims: [{name: t0, resourceClaimTemplateName: one-gpu}]
)";
constexpr std::string_view kShared = R"(
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata:
  name: shared
  namespace: default
  finalizers: [resource.kubernetes.io/delete-protection]
spec: {}
status:
  allocation: {devices: {results: [{request: r, driver: d, pool: p, device: x}]}}
  reservedFor: [{resource: pods, name: a, uid: uid-a}, {resource: pods, name: b, uid: uid-b}]
)";

class ClaimControllerTest : public testing::Test {
 protected:
  TestCluster cluster_{{"resourceclaim-controller"}};

  Value OnlyClaim() {
    const std::vector<Value> claims = cluster_.api().List(resources::kResourceClaims);
    return claims.size() == 1 ? claims.front() : Value();
  }
  void PutPod(std::string_view name, std::string_view phase) {
    cluster_.api().Put(Value::Object(
        {{"apiVersion", "v1"},
         {"kind", "Pod"},
         {"metadata",
          Value::Object(
              {{"name", name}, {"namespace", "default"}, {"uid", "uid-" + std::string(name)}})},
         {"spec", Value::Object({{"nodeName", "n1"},
                                 {"resourceClaims",
                                  Value::Array({Value::Object(
                                      {{"name", "c"}, {"resourceClaimName", "shared"}})})}})},
         {"status", Value::Object({{"phase", phase}})}}));
  }
};

TEST(ClaimGenerateName, LongNamesAreCutInProportion) {
  EXPECT_EQ(ClaimGenerateName("pod", "gpu"), "pod-gpu-");
  const std::string pod(60, 'p');
  const std::string claim(20, 'c');
  // 82 characters in all; 60*57/82 = 41 and 20*57/82 = 13.
  EXPECT_EQ(ClaimGenerateName(pod, claim), std::string(41, 'p') + "-" + std::string(13, 'c'));
}

TEST_F(ClaimControllerTest, APodGetsAClaimFromItsTemplate) {
  cluster_.api().Apply(kTemplate);
  cluster_.api().Apply(kPod);
  cluster_.Run();
  const Value claim = OnlyClaim();
  EXPECT_THAT(std::string(client::NameOf(claim)), StartsWith("p-t0-"));
  EXPECT_EQ(client::AnnotationOf(claim, kPodClaimAnnotation), "t0");
  EXPECT_EQ(client::LabelOf(claim, "team"), "a");
  EXPECT_EQ((*client::ControllerOf(claim))["name"].AsString(), "p");
  EXPECT_FALSE(client::ControllerOf(claim)->Has("blockOwnerDeletion"));
}

TEST_F(ClaimControllerTest, ThePodsStatusNamesItsClaim) {
  cluster_.api().Apply(kTemplate);
  cluster_.api().Apply(kPod);
  cluster_.Run();
  const Value pod = cluster_.Get(resources::kPods, "p");
  const Value& entry = pod["spec"]["resourceClaims"].Items()[0];
  EXPECT_EQ(client::ClaimNameOf(pod, entry), client::NameOf(OnlyClaim()));
}

TEST_F(ClaimControllerTest, APodWithoutItsTemplateIsToldAndServedOnceTheTemplateIsThere) {
  cluster_.api().Apply(kPod);
  cluster_.Run();
  EXPECT_THAT(
      cluster_.Events(),
      ElementsAre("FailedResourceClaimCreation PodResourceClaim t0: resource claim template "
                  "\"one-gpu\": resourceclaimtemplate.resource.k8s.io \"one-gpu\" not "
                  "found"));
  cluster_.api().Apply(kTemplate);
  cluster_.Run();
  EXPECT_THAT(cluster_.NamesOf(resources::kResourceClaims), SizeIs(1));
}

TEST_F(ClaimControllerTest, AClaimThatTheApiRefusesIsAnEventOnThePod) {
  cluster_.api().FailNext(
      [](const client::Request& r) {
        return r.resource.plural == "resourceclaims" && r.verb == client::Verb::kCreate;
      },
      Error{.code = Code::kForbidden, .message = "no"});
  cluster_.api().Apply(kTemplate);
  cluster_.api().Apply(kPod);
  cluster_.Run();
  EXPECT_THAT(cluster_.Events(),
              ElementsAre("FailedResourceClaimCreation PodResourceClaim t0: no"));
}

TEST_F(ClaimControllerTest, AFinishedPodLeavesTheSharedClaimAndTheOtherKeepsIt) {
  PutPod("a", "Succeeded");
  PutPod("b", "Running");
  cluster_.api().Apply(kShared);
  cluster_.Run();
  const Value claim = cluster_.Get(resources::kResourceClaims, "shared");
  EXPECT_THAT(claim["status"]["reservedFor"].Items(), SizeIs(1));
  EXPECT_EQ(claim["status"]["reservedFor"].Items()[0]["name"].AsString(), "b");
  EXPECT_TRUE(claim["status"].Has("allocation"));
}

TEST_F(ClaimControllerTest, TheLastPodsEndFreesTheDevices) {
  PutPod("a", "Succeeded");
  PutPod("b", "Failed");
  cluster_.api().Apply(kShared);
  cluster_.Run();
  const Value claim = cluster_.Get(resources::kResourceClaims, "shared");
  EXPECT_FALSE(claim["status"].Has("allocation"));
  EXPECT_FALSE(client::HasFinalizer(claim, kClaimFinalizer));
}

TEST_F(ClaimControllerTest, APodThatOnlyTheCacheMissesKeepsItsReservation) {
  PutPod("b", "Running");
  cluster_.api().Apply(kShared);
  // Pod a is not in the list, but the API answers when asked for it.
  cluster_.api().OnRequest([this](const client::Request& request) {
    if (request.verb == client::Verb::kGet && request.name == "a") PutPod("a", "Running");
  });
  cluster_.Run();
  const Value claim = cluster_.Get(resources::kResourceClaims, "shared");
  EXPECT_THAT(claim["status"]["reservedFor"].Items(), SizeIs(2));
}

TEST_F(ClaimControllerTest, ADeletedClaimIsLetGoWhenNobodyUsesIt) {
  cluster_.api().Apply(kShared);  // neither pod exists
  cluster_.Run();
  client::Request request = client::DeleteRequest(
      resources::kResourceClaims, cluster_.Get(resources::kResourceClaims, "shared"));
  cluster_.api().Change(resources::kResourceClaims, "default", "shared", [](Value& claim) {
    claim.Edit("metadata").Set("deletionTimestamp", "2026-11-30T10:00:00Z");
    claim.Edit("metadata").Set("finalizers", Value::Array({kClaimFinalizer}));
    claim.Edit("status").Set("allocation", Value::Object());
  });
  cluster_.Run();
  EXPECT_THAT(cluster_.NamesOf(resources::kResourceClaims), IsEmpty());
}

TEST_F(ClaimControllerTest, TheGeneratedClaimOfAFinishedPodIsDeleted) {
  cluster_.api().Apply(kTemplate);
  cluster_.api().Apply(kPod);
  cluster_.Run();
  cluster_.api().Change(resources::kPods, "default", "p",
                        [](Value& pod) { pod.Edit("status").Set("phase", "Succeeded"); });
  cluster_.Run();
  EXPECT_THAT(cluster_.NamesOf(resources::kResourceClaims), IsEmpty());
}

TEST_F(ClaimControllerTest, APodBoundWithoutTheSchedulerReservesItsAllocatedClaim) {
  PutPod("c", "Running");
  cluster_.api().Apply(kShared);
  PutPod("a", "Running");
  PutPod("b", "Running");
  cluster_.Run();
  const Value claim = cluster_.Get(resources::kResourceClaims, "shared");
  EXPECT_THAT(claim["status"]["reservedFor"].Items(), SizeIs(3));
}

}  // namespace
}  // namespace drachma::controllers
