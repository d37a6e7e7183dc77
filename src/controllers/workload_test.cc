#include "controllers/workload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controllers/rollout.h"
#include "controllers/test_cluster.h"

namespace drachma::controllers {
namespace {

namespace resources = client::resources;
using json::Value;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::string_view kDeployment = R"(
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default, generation: 1}
spec:
  replicas: 3
  progressDeadlineSeconds: 600
  selector: {matchLabels: {app: web}}
  strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: one}]}
)";

class DeploymentTest : public testing::Test {
 protected:
  TestCluster cluster_{{"deployment-controller", "replicaset-controller"}};

  void SetUp() override {
    cluster_.api().Apply(kDeployment);
    cluster_.Run();
    cluster_.MakeAllReady();
    cluster_.Run();
  }
  Value Deployment() { return cluster_.Get(resources::kDeployments, "web"); }
  void Change(const std::function<void(Value&)>& change) {
    cluster_.api().Change(resources::kDeployments, "default", "web", [&](Value& deployment) {
      change(deployment);
      deployment.Edit("metadata")
          .Set("generation", deployment["metadata"]["generation"].AsInt() + 1);
    });
  }
  void SetImage(std::string_view image) {
    cluster_.SetImage(resources::kDeployments, "web", image);
  }
  // Every pod that is made becomes ready; pods that are deleted go.
  void RollOut() {
    for (int round = 0; round < 20; ++round) {
      cluster_.Run(std::chrono::milliseconds(200));
      cluster_.MakeAllReady();
    }
  }
  std::vector<std::string> Images() {
    std::vector<std::string> images;
    for (const Value& pod : cluster_.api().List(resources::kPods)) {
      images.emplace_back(pod["spec"]["containers"].Items()[0]["image"].AsString());
    }
    return images;
  }
};

TEST_F(DeploymentTest, ItGetsItsPodsThroughAReplicaSetOfTheFirstRevision) {
  EXPECT_THAT(cluster_.NamesOf(resources::kPods), SizeIs(3));
  const std::vector<Value> sets = cluster_.api().List(resources::kReplicaSets);
  ASSERT_THAT(sets, SizeIs(1));
  EXPECT_EQ(client::AnnotationOf(sets[0], kRevision), "1");
  EXPECT_EQ(client::AnnotationOf(sets[0], kMaxReplicas), "4");
  EXPECT_EQ(client::AnnotationOf(Deployment(), kRevision), "1");
  EXPECT_EQ(client::LabelOf(sets[0], kTemplateHashLabel),
            client::LabelOf(cluster_.api().List(resources::kPods)[0], kTemplateHashLabel));
}

TEST_F(DeploymentTest, TheStatusSaysWhenTheRolloutIsComplete) {
  const Value status = Deployment()["status"];
  EXPECT_EQ(status["updatedReplicas"].AsInt(), 3);
  EXPECT_EQ(status["availableReplicas"].AsInt(), 3);
  EXPECT_EQ(status["observedGeneration"].AsInt(), 1);
  EXPECT_EQ((*client::ConditionOf(Deployment(), "Progressing"))["reason"].AsString(),
            "NewReplicaSetAvailable");
  EXPECT_TRUE(client::IsConditionTrue(Deployment(), "Available"));
}

TEST_F(DeploymentTest, ANewTemplateIsRolledOutWithoutMissingAPod) {
  SetImage("two");
  cluster_.Run(std::chrono::milliseconds(500));
  // One more than wanted, none less: three old ones are ready, the new one is not yet.
  EXPECT_THAT(Images(), SizeIs(4));
  RollOut();
  EXPECT_THAT(Images(), ElementsAre("two", "two", "two"));
  EXPECT_EQ(client::AnnotationOf(Deployment(), kRevision), "2");
  EXPECT_THAT(cluster_.NamesOf(resources::kReplicaSets), SizeIs(2));
}

TEST_F(DeploymentTest, GoingBackToAnOldTemplateTakesItsReplicaSetAndANewRevision) {
  SetImage("two");
  RollOut();
  SetImage("one");
  RollOut();
  EXPECT_THAT(Images(), ElementsAre("one", "one", "one"));
  EXPECT_THAT(cluster_.NamesOf(resources::kReplicaSets), SizeIs(2));
  EXPECT_EQ(client::AnnotationOf(Deployment(), kRevision), "3");
}

TEST_F(DeploymentTest, ItScalesDownToTheWantedNumber) {
  Change([](Value& deployment) { deployment.Edit("spec").Set("replicas", 1); });
  RollOut();
  EXPECT_THAT(Images(), SizeIs(1));
  EXPECT_EQ(Deployment()["status"]["replicas"].AsInt(), 1);
}

TEST_F(DeploymentTest, APausedOneDoesNotRollOut) {
  Change([](Value& deployment) { deployment.Edit("spec").Set("paused", true); });
  SetImage("two");
  RollOut();
  EXPECT_THAT(Images(), ElementsAre("one", "one", "one"));
  EXPECT_EQ((*client::ConditionOf(Deployment(), "Progressing"))["reason"].AsString(),
            "DeploymentPaused");
}

TEST_F(DeploymentTest, RecreateNeverRunsOldAndNewPodsTogether) {
  Change([](Value& deployment) {
    deployment.Edit("spec").Set("strategy", Value::Object({{"type", "Recreate"}}));
  });
  SetImage("two");
  bool mixed = false;
  for (int round = 0; round < 20; ++round) {
    cluster_.Run(std::chrono::milliseconds(200));
    cluster_.MakeAllReady();
    const std::vector<std::string> images = Images();
    mixed |= std::ranges::count(images, "one") > 0 && std::ranges::count(images, "two") > 0;
  }
  EXPECT_FALSE(mixed);
  EXPECT_THAT(Images(), ElementsAre("two", "two", "two"));
}

TEST_F(DeploymentTest, ARolloutWithoutProgressRunsIntoItsDeadline) {
  SetImage("two");
  cluster_.Run(std::chrono::seconds(700));
  EXPECT_EQ((*client::ConditionOf(Deployment(), "Progressing"))["reason"].AsString(),
            "ProgressDeadlineExceeded");
}

TEST_F(DeploymentTest, PodsThatTheApiRefusesShowAsACondition) {
  cluster_.api().FailNext(
      [](const client::Request& r) {
        return r.verb == client::Verb::kCreate && r.resource == resources::kPods;
      },
      Error{.code = Code::kForbidden, .message = "exceeded quota"}, 1000);
  testing::internal::CaptureStderr();
  Change([](Value& deployment) { deployment.Edit("spec").Set("replicas", 5); });
  cluster_.Run(std::chrono::seconds(2));
  // It is tried again and again, and said once.
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find(": exceeded quota"), std::string::npos) << log;
  EXPECT_EQ(log.find(": exceeded quota"), log.rfind(": exceeded quota")) << log;
  const Value* failure = client::ConditionOf(Deployment(), "ReplicaFailure");
  ASSERT_NE(failure, nullptr);
  EXPECT_EQ((*failure)["message"].AsString(), "exceeded quota");
  EXPECT_THAT(cluster_.Events(), Contains("FailedCreate Error creating: exceeded quota"));
}

TEST(ReplicaSet, AnOrphanThatMatchesIsAdopted) {
  TestCluster cluster({"replicaset-controller"});
  cluster.api().Apply(R"(
apiVersion: v1
kind: Pod
metadata: {name: orphan, namespace: default, labels: {app: web}}
spec: {containers: [{name: c}]}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: set, namespace: default}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c}]}}
)");
  cluster.Run();
  EXPECT_THAT(cluster.NamesOf(resources::kPods), ElementsAre("orphan"));
  const Value orphan = cluster.Get(resources::kPods, "orphan");
  EXPECT_EQ((*client::ControllerOf(orphan))["name"].AsString(), "set");
}

TEST(VictimsOf, PodsThatWaitGoBeforePodsThatRun) {
  const auto pod = [](std::string_view name, std::string_view node, std::string_view phase) {
    return Value::Object({{"metadata", Value::Object({{"name", name}, {"uid", name}})},
                          {"spec", Value::Object({{"nodeName", node}})},
                          {"status", Value::Object({{"phase", phase}})}});
  };
  const Value running = pod("running", "n1", "Running");
  const Value pending = pod("pending", "n1", "Pending");
  const Value unbound = pod("unbound", "", "Pending");
  const auto victims = VictimsOf({&running, &pending, &unbound}, {}, 2, Time());
  ASSERT_THAT(victims, SizeIs(2));
  EXPECT_EQ(victims[0], &unbound);
  EXPECT_EQ(victims[1], &pending);
}

TEST(Scaled, PercentagesAreRoundedAsAsked) {
  EXPECT_EQ(Scaled(Value("25%"), 3, Rounding::kUp), 1);
  EXPECT_EQ(Scaled(Value("25%"), 3, Rounding::kDown), 0);
  EXPECT_EQ(Scaled(Value(2), 3, Rounding::kDown), 2);
}

}  // namespace
}  // namespace drachma::controllers
