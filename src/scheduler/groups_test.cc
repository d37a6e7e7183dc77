#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/explain.h"
#include "scheduler/test_cluster.h"
#include "state/loader.h"

namespace drachma::scheduler {
namespace {

using client::Request;
using client::Verb;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int kGpus = 2;

Options WithGroups() {
  Options options;
  options.feature_gates = {{"GenericWorkload", true}, {"DRAWorkloadResourceClaims", true}};
  return options;
}

std::string Member(std::string_view name) {
  return fmt::format(R"(---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {{name: {0}, namespace: default}}
spec: {{devices: {{requests: [{{name: gpu, exactly: {{deviceClassName: gpu}}}}]}}}}
---
apiVersion: v1
kind: Pod
metadata: {{name: {0}, namespace: default}}
spec:
  schedulingGroup: {{podGroupName: train}}
  resourceClaims: [{{name: gpu, resourceClaimName: {0}}}]
  containers: [{{name: c, image: i}}]
)",
                     name);
}

std::string Gang(int min_count) {
  return fmt::format(R"(---
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {{name: train, namespace: default, uid: uid-train}}
spec: {{schedulingPolicy: {{gang: {{minCount: {}}}}}}}
)",
                     min_count);
}

std::string Gpus(int devices) {
  std::string yaml = R"(---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: n1-gpu}
spec:
  driver: gpu.example.com
  nodeName: n1
  pool: {name: n1, generation: 1, resourceSliceCount: 1}
  devices:
)";
  for (int i = 0; i < devices; ++i) yaml += fmt::format("  - {{name: gpu-{}}}\n", i);
  return yaml;
}

// One node with two GPUs.
class GroupsTest : public ::testing::Test {
 protected:
  GroupsTest() : cluster_(WithGroups()) {
    cluster_.Apply(R"(
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "8", memory: 16Gi, pods: "110"}}
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu}
spec: {selectors: [{cel: {expression: "device.driver == 'gpu.example.com'"}}]}
)");
    cluster_.Apply(Gpus(kGpus));
  }

  // Writes to claims and bindings.
  std::vector<std::string> Writes() const {
    std::vector<std::string> writes;
    for (const Request& request : cluster_.api_.requests()) {
      const bool writes_claim = request.resource.plural == "resourceclaims" &&
                                (request.verb == Verb::kUpdate || request.verb == Verb::kPatch);
      if (writes_claim || request.subresource == "binding") writes.push_back(request.name);
    }
    return writes;
  }

  TestCluster cluster_;
};

TEST_F(GroupsTest, NothingIsWrittenForAGangThatDoesNotFit) {
  cluster_.Apply(Gang(3) + Member("a") + Member("b") + Member("c"));
  cluster_.Settle();
  EXPECT_THAT(Writes(), IsEmpty());
}

TEST_F(GroupsTest, AGangRunsOnceTheLastDeviceIsThere) {
  cluster_.Apply(Gang(3) + Member("a") + Member("b") + Member("c"));
  cluster_.Settle();
  EXPECT_THAT(cluster_.WhyNot("a"), HasSubstr("request gpu needs 1"));
  cluster_.Apply(Gpus(kGpus + 1));
  cluster_.Settle();
  EXPECT_EQ(cluster_.NodeOf("a") + cluster_.NodeOf("b") + cluster_.NodeOf("c"), "n1n1n1");
}

TEST_F(GroupsTest, TheLastMemberBringsTheOthersAlong) {
  cluster_.Apply(Gang(2) + Member("a"));
  cluster_.Settle();
  EXPECT_THAT(cluster_.WhyNot("a"), HasSubstr("1 of 2 pods of pod group default/train are there"));
  cluster_.Apply(Member("b"));
  cluster_.Settle();
  EXPECT_EQ(cluster_.NodeOf("a") + cluster_.NodeOf("b"), "n1n1");
}

TEST_F(GroupsTest, TheLateClaimOfOneMemberBringsAllAlong) {
  cluster_.Apply(Gang(2) + Member("a") + Member("b"));
  const json::Value claim = cluster_.Claim("b");
  cluster_.api_.Remove(client::resources::kResourceClaims, "default", "b");
  cluster_.Settle();
  EXPECT_EQ(cluster_.NodeOf("a"), "");
  cluster_.Put(claim);
  cluster_.Settle();
  EXPECT_EQ(cluster_.NodeOf("a") + cluster_.NodeOf("b"), "n1n1");
}

TEST_F(GroupsTest, TheLastMemberToGetReadyMakesOneAttemptOfAll) {
  cluster_.Apply(Gang(3) + Member("a") + Member("b") + Member("c"));
  cluster_.api_.Change(client::resources::kPods, "default", "c", [](json::Value& pod) {
    pod.Edit("spec").Set("schedulingGates",
                         json::Value::Array({json::Value::Object({{"name", "wait"}})}));
  });
  cluster_.Settle();
  cluster_.api_.Change(client::resources::kPods, "default", "c",
                       [](json::Value& pod) { pod.Edit("spec").Erase("schedulingGates"); });
  cluster_.Settle();
  EXPECT_EQ(cluster_.scheduler_->statistics().attempts, 1U);
  EXPECT_THAT(cluster_.WhyNot("a"), HasSubstr("2 scheduled, 0 remaining"));
}

TEST_F(GroupsTest, ASmallerMinCountLetsThoseRunThatFit) {
  cluster_.Apply(Gang(3) + Member("a") + Member("b") + Member("c"));
  cluster_.Settle();
  cluster_.Apply(Gang(2));
  cluster_.Settle();
  EXPECT_EQ(cluster_.NodeOf("a") + cluster_.NodeOf("b") + cluster_.NodeOf("c"), "n1n1");
}

TEST_F(GroupsTest, AGroupThatComesLateLetsItsPodsGo) {
  cluster_.Apply(Member("a") + Member("b"));
  cluster_.Settle();
  EXPECT_THAT(cluster_.WhyNot("a"), HasSubstr("waiting for pods's pod group \"train\""));
  cluster_.Apply(Gang(2));
  cluster_.Settle();
  EXPECT_EQ(cluster_.NodeOf("a") + cluster_.NodeOf("b"), "n1n1");
}

TEST_F(GroupsTest, WhenOneWriteFailsNobodyIsBoundAndAllIsGivenBack) {
  cluster_.Apply(Gang(2) + Member("a") + Member("b"));
  cluster_.api_.FailNext(
      [](const Request& request) {
        return request.resource.plural == "resourceclaims" && request.name == "b" &&
               request.verb == Verb::kUpdate;
      },
      Error{.code = Code::kForbidden, .message = "no"}, 1000);
  cluster_.RunFor(std::chrono::milliseconds(900));
  EXPECT_EQ(cluster_.NodeOf("a") + cluster_.NodeOf("b"), "");
  EXPECT_THAT(cluster_.WhyNot("a"), HasSubstr("pod group default/train cannot be bound: pod "
                                              "default/b: no"));
  EXPECT_FALSE(cluster_.Claim("a")["status"].Has("allocation"));
  EXPECT_THAT(cluster_.Claim("a")["status"]["reservedFor"].Items(), IsEmpty());
}

TEST_F(GroupsTest, AGangComesThroughOnceTheFailureIsOver) {
  cluster_.Apply(Gang(2) + Member("a") + Member("b"));
  cluster_.api_.FailNext(
      [](const Request& request) {
        return request.resource.plural == "resourceclaims" && request.name == "b" &&
               request.verb == Verb::kUpdate;
      },
      Error{.code = Code::kForbidden, .message = "no"});
  cluster_.Settle();
  EXPECT_EQ(cluster_.NodeOf("a") + cluster_.NodeOf("b"), "n1n1");
}

TEST_F(GroupsTest, DevicesThatDoNotGetReadyInTimeAreGivenBackByAll) {
  cluster_.options_.binding_timeout = std::chrono::seconds(20);
  cluster_.options_.backoff_initial = cluster_.options_.backoff_max = std::chrono::minutes(1);
  cluster_.Apply(R"(
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: n1-gpu}
spec:
  driver: gpu.example.com
  nodeName: n1
  pool: {name: n1, generation: 2, resourceSliceCount: 1}
  devices:
  - {name: gpu-0}
  - {name: gpu-1, bindingConditions: [attached], bindingFailureConditions: [failed]}
)");
  cluster_.Apply(Gang(2) + Member("a") + Member("b"));
  cluster_.RunFor(std::chrono::seconds(10));
  EXPECT_EQ(cluster_.NodeOf("a") + cluster_.NodeOf("b"), "");
  EXPECT_TRUE(cluster_.Claim("a")["status"].Has("allocation"));
  cluster_.RunFor(std::chrono::seconds(20));
  EXPECT_EQ(cluster_.NodeOf("a") + cluster_.NodeOf("b"), "");
  EXPECT_FALSE(cluster_.Claim("a")["status"].Has("allocation"));
  EXPECT_FALSE(cluster_.Claim("b")["status"].Has("allocation"));
}

// Also for a member that would have a place by itself, by a command that was told of no gates.
TEST_F(GroupsTest, AnExplanationTellsWhatTheGangLacks) {
  cluster_.Apply(Gang(3) + Member("a") + Member("b") + Member("c"));
  cluster_.Settle();
  state::ClusterState state(AllocatorOptions({}));
  const auto client = cluster_.api_.factory().NewClient(cluster_.executor_, "test");
  state::LoadOnce(*client, state, [](const Result<std::string>& loaded) { EXPECT_TRUE(loaded); });
  cluster_.executor_.RunReady();
  const auto why = ExplainPod(state, {}, cluster_.executor_.clock(), {}, "default", "a");
  ASSERT_TRUE(why);
  EXPECT_THAT(why->cause, HasSubstr("pod group default/train waits: minCount (3) cannot be "
                                    "satisfied: 2 scheduled, 0 remaining; pod default/c has no "
                                    "place: 0/1 nodes are available"));
  EXPECT_THAT(why->steps, ::testing::Contains(explain::Step{"pods of it with a place", 2}));
}

TEST_F(GroupsTest, TheConditionOfAGroupThatRanStaysTrue) {
  cluster_.Apply(Gang(2) + Member("a") + Member("b"));
  cluster_.Settle();
  cluster_.Apply(Member("c"));
  cluster_.Settle();
  EXPECT_THAT(cluster_.WhyNot("c"), HasSubstr("cannot allocate all claims"));
  const json::Value group = cluster_.api_.Get(state::kPodGroups, "default", "train");
  EXPECT_TRUE(client::IsConditionTrue(group, "PodGroupInitiallyScheduled"));
}

}  // namespace
}  // namespace drachma::scheduler
