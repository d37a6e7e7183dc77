#include "scheduler/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/json.h"
#include "scheduler/test_cluster.h"
#include "state/loader.h"

namespace drachma::scheduler {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::string_view kCluster = R"(---
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "8", memory: 16Gi, pods: "110"}}
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu}
spec: {selectors: [{cel: {expression: "device.driver == 'gpu.example.com'"}}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: n1}
spec:
  driver: gpu.example.com
  nodeName: n1
  pool: {name: n1, generation: 1, resourceSliceCount: 1}
  devices:
  - {name: gpu-0}
  - {name: gpu-1, taints: [{key: broken, effect: NoSchedule}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: first}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu}}]}}
---
apiVersion: v1
kind: Pod
metadata: {name: first}
spec:
  resourceClaims: [{name: gpu, resourceClaimName: first}]
  containers: [{name: c, image: i}]
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: second}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu}}]}}
---
apiVersion: v1
kind: Pod
metadata: {name: second}
spec:
  resourceClaims: [{name: gpu, resourceClaimName: second}]
  containers: [{name: c, image: i}]
)";

class ExplainTest : public ::testing::Test {
 protected:
  ExplainTest() {
    cluster_.Apply(kCluster);
    cluster_.Settle();
    client_ = cluster_.api_.factory().NewClient(cluster_.executor_, "test");
    bool loaded = false;
    state::LoadOnce(*client_, state_,
                    [&](const Result<std::string>& version) { loaded = version.has_value(); });
    cluster_.executor_.RunReady();
    EXPECT_TRUE(loaded);
  }

  TestCluster cluster_;
  std::unique_ptr<client::Client> client_;
  state::ClusterState state_{allocator::Options{}};
};

TEST_F(ExplainTest, AWaitingPodHasAFunnelThatAddsUp) {
  const auto why = ExplainPod(state_, {}, cluster_.executor_.clock(), "default", "second");
  ASSERT_TRUE(why) << why.error().message;
  EXPECT_THAT(why->cause, StartsWith("0/1 nodes are available: 1 cannot allocate all claims."));
  std::size_t considered = 0;
  std::size_t accounted = 0;
  for (const explain::Step& step : why->steps) {
    if (!step.step.starts_with("request gpu: ")) continue;
    (step.step.ends_with("considered") ? considered : accounted) += step.count;
  }
  EXPECT_EQ(considered, 2U);
  EXPECT_EQ(accounted, 2U) << why->ToText();
  EXPECT_THAT(why->blockers, Contains("claim default/first"));
  EXPECT_THAT(why->preemption, HasSubstr("No preemption victims found"));
}

TEST_F(ExplainTest, AnExplanationSaysWhatTheEventSaid) {
  const auto why = ExplainPod(state_, {}, cluster_.executor_.clock(), "default", "second");
  EXPECT_THAT(cluster_.WhyNot("second"), StartsWith(why->cause));
}

TEST_F(ExplainTest, AWaitingClaimIsExplainedByItsPod) {
  const auto why = ExplainClaim(state_, {}, cluster_.executor_.clock(), "default", "second");
  ASSERT_TRUE(why);
  EXPECT_THAT(why->cause, StartsWith("claim default/second waits for pod second: 0/1 nodes"));
}

TEST_F(ExplainTest, AnAllocatedClaimNamesItsPods) {
  const auto why = ExplainClaim(state_, {}, cluster_.executor_.clock(), "default", "first");
  ASSERT_TRUE(why);
  EXPECT_EQ(why->cause, "claim default/first holds 1 device(s)");
  EXPECT_THAT(why->blockers, ElementsAre("pods first"));
}

TEST_F(ExplainTest, ADeviceNamesItsHolderOrItsTaints) {
  const auto held = ExplainDevice(state_, "gpu.example.com/n1/gpu-0");
  ASSERT_TRUE(held);
  EXPECT_EQ(held->cause, "held by 1 claim(s), on node n1");
  EXPECT_THAT(held->blockers, ElementsAre("claim default/first"));
  const auto tainted = ExplainDevice(state_, "gpu.example.com/n1/gpu-1");
  ASSERT_TRUE(tainted);
  EXPECT_THAT(tainted->blockers, ElementsAre("taint broken=:NoSchedule"));
  EXPECT_EQ(ExplainDevice(state_, "gpu-1").error().code, Code::kBadRequest);
  EXPECT_EQ(ExplainDevice(state_, "a/b/c").error().code, Code::kNotFound);
}

TEST_F(ExplainTest, WhatDoesNotExistIsNotFound) {
  EXPECT_EQ(ExplainPod(state_, {}, cluster_.executor_.clock(), "default", "x").error().code,
            Code::kNotFound);
}

TEST(ExplanationTest, TheJsonIsTheContractsForm) {
  const explain::Explanation why{.cause = "c",
                                 .steps = {{"nodes", 3}},
                                 .blockers = {"claim a/b"},
                                 .preemption = "",
                                 .change = "if a/b ended",
                                 .as_of = "7"};
  EXPECT_EQ(json::Write(why.ToJson()),
            R"({"cause":"c","steps":[{"step":"nodes","count":3}],"blockers":["claim a/b"],)"
            R"("preemption":"","change":"if a/b ended","asOf":"7"})");
}

}  // namespace
}  // namespace drachma::scheduler
