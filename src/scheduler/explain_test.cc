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
  const auto why = ExplainPod(state_, {}, cluster_.executor_.clock(), {}, "default", "second");
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
  EXPECT_THAT(why->blockers, Contains("pod default/first (priority 0, on node n1)"));
  EXPECT_THAT(why->preemption, HasSubstr("No preemption victims found"));
}

TEST_F(ExplainTest, AnExplanationSaysWhatTheEventSaid) {
  const auto why = ExplainPod(state_, {}, cluster_.executor_.clock(), {}, "default", "second");
  EXPECT_THAT(cluster_.WhyNot("second"), StartsWith(why->cause));
}

TEST_F(ExplainTest, AWaitingClaimIsExplainedByItsPod) {
  const auto why = ExplainClaim(state_, {}, cluster_.executor_.clock(), {}, "default", "second");
  ASSERT_TRUE(why);
  EXPECT_THAT(why->cause, StartsWith("claim default/second waits for pod second: 0/1 nodes"));
}

TEST_F(ExplainTest, AnAllocatedClaimNamesItsPods) {
  const auto why = ExplainClaim(state_, {}, cluster_.executor_.clock(), {}, "default", "first");
  ASSERT_TRUE(why);
  EXPECT_EQ(why->cause, "claim default/first holds 1 device");
  EXPECT_THAT(why->users, ElementsAre("pod default/first"));
  EXPECT_THAT(why->devices, ElementsAre("gpu.example.com/n1/gpu-0 (request gpu)"));
  EXPECT_TRUE(why->blockers.empty());
}

TEST_F(ExplainTest, ADeviceNamesItsHolderOrItsTaints) {
  const auto held = ExplainDevice(state_, "gpu.example.com/n1/gpu-0");
  ASSERT_TRUE(held);
  EXPECT_EQ(held->cause, "in use, on node n1");
  EXPECT_THAT(held->users, ElementsAre("claim default/first (pod first)"));
  const auto tainted = ExplainDevice(state_, "gpu.example.com/n1/gpu-1");
  ASSERT_TRUE(tainted);
  EXPECT_THAT(tainted->blockers, ElementsAre("taint broken:NoSchedule"));
  EXPECT_EQ(ExplainDevice(state_, "gpu-1").error().code, Code::kBadRequest);
  EXPECT_EQ(ExplainDevice(state_, "a/b/c").error().code, Code::kNotFound);
}

TEST_F(ExplainTest, WhatIsNotFoundIsLikeWhatIsThere) {
  EXPECT_EQ(ExplainDevice(state_, "gpu.example.com/n2/gpu-1").error().message,
            "device \"gpu.example.com/n2/gpu-1\" not found; did you mean "
            "gpu.example.com/n1/gpu-1?");
  const auto pod = ExplainPod(state_, {}, cluster_.executor_.clock(), {}, "default", "secnd");
  EXPECT_EQ(pod.error().message, "pods \"secnd\" not found; did you mean default/second?");
  EXPECT_EQ(ExplainDevice(state_, "a/b/c").error().message, "device \"a/b/c\" not found");
}

TEST_F(ExplainTest, WhatDoesNotExistIsNotFound) {
  EXPECT_EQ(ExplainPod(state_, {}, cluster_.executor_.clock(), {}, "default", "x").error().code,
            Code::kNotFound);
}

// One cause of waiting: the objects that make it, and what must be said of pod "p".
struct WaitCase {
  std::string_view name;
  std::string_view objects;
  std::string_view cause;    // a part of it
  std::string_view blocker;  // one of them
  std::string_view change;
};

class WaitTest : public ::testing::TestWithParam<WaitCase> {};

TEST_P(WaitTest, TheCauseAndWhatWouldHelpAreNamed) {
  TestCluster cluster;
  cluster.Apply(kCluster);
  cluster.Settle();
  cluster.Apply(GetParam().objects);
  cluster.Settle();
  const auto client = cluster.api_.factory().NewClient(cluster.executor_, "test");
  state::ClusterState state{allocator::Options{}};
  bool loaded = false;
  state::LoadOnce(*client, state, [&](const Result<std::string>&) { loaded = true; });
  cluster.executor_.RunReady();
  ASSERT_TRUE(loaded);
  const auto why = ExplainPod(state, {}, cluster.executor_.clock(), {}, "default", "p");
  ASSERT_TRUE(why) << why.error().message;
  EXPECT_THAT(why->cause, HasSubstr(std::string(GetParam().cause)));
  EXPECT_THAT(why->blockers, Contains(HasSubstr(std::string(GetParam().blocker)))) << why->ToText();
  EXPECT_EQ(why->change, GetParam().change);
}

INSTANTIATE_TEST_SUITE_P(
    Causes, WaitTest,
    ::testing::Values(
        WaitCase{"Gate",
                 "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {schedulingGates: "
                 "[{name: a/b}], containers: [{name: c}]}}",
                 "held before any attempt", "scheduling gates: a/b",
                 "once the scheduling gates a/b are removed"},
        WaitCase{"ClaimMissing",
                 "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {resourceClaims: [{name: "
                 "g, resourceClaimName: x}], containers: [{name: c}]}}",
                 "could not find ResourceClaim", "claim default/x does not exist",
                 "if claim default/x existed"},
        WaitCase{"ClassMissing",
                 "{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: x}, spec: "
                 "{devices: {requests: [{name: r, exactly: {deviceClassName: none}}]}}}\n---\n"
                 "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {resourceClaims: [{name: "
                 "g, resourceClaimName: x}], containers: [{name: c}]}}",
                 "device class none does not exist", "DeviceClass none, which claim default/x", ""},
        WaitCase{"Selector",
                 "{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: x}, spec: "
                 "{devices: {requests: [{name: r, exactly: {deviceClassName: gpu, selectors: "
                 "[{cel: {expression: 'false'}}]}}]}}}\n---\n"
                 "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {resourceClaims: [{name: "
                 "g, resourceClaimName: x}], containers: [{name: c}]}}",
                 "not matched by selector 0 of the request", "request r, selector 0: false",
                 "if node n1 had 1 device more for request r"},
        WaitCase{"InUse",
                 "{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: x}, spec: "
                 "{devices: {requests: [{name: r, exactly: {deviceClassName: gpu}}]}}}\n---\n"
                 "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {resourceClaims: [{name: "
                 "g, resourceClaimName: x}], containers: [{name: c}]}}",
                 "1 in use", "pod default/first (priority 0, on node n1)",
                 "if pod default/first ended"},
        WaitCase{"Cpu",
                 "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, "
                 "resources: {requests: {cpu: 9}}}]}}",
                 "1 Insufficient cpu", "asks for 9 cpu; node n1 has most free, 8 of 8",
                 "if the pod asked for at most 8 cpu"},
        WaitCase{"NodeSelector",
                 "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {nodeSelector: {zone: c}, "
                 "containers: [{name: c}]}}",
                 "didn't match Pod's node affinity/selector", "zone=c: 0 of 1 nodes",
                 "if node n1 had the label zone=c"},
        WaitCase{"NodeTaint",
                 "{apiVersion: v1, kind: Node, metadata: {name: n1}, spec: {taints: [{key: own, "
                 "effect: NoSchedule}]}, status: {allocatable: {cpu: 8, memory: 16Gi, pods: 110}}}"
                 "\n---\n{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: "
                 "[{name: c}]}}",
                 "untolerated taint", "taint own:NoSchedule of nodes n1 is not tolerated",
                 "if the pod tolerated the taint own:NoSchedule"},
        WaitCase{"Cordoned",
                 "{apiVersion: v1, kind: Node, metadata: {name: n1}, spec: {unschedulable: true}, "
                 "status: {allocatable: {cpu: 8, memory: 16Gi, pods: 110}}}"
                 "\n---\n{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: "
                 "[{name: c}]}}",
                 "were unschedulable", "cordoned: n1", "if node n1 were uncordoned"},
        WaitCase{"VolumeClaimMissing",
                 "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {volumes: [{name: v, "
                 "persistentVolumeClaim: {claimName: data}}], containers: [{name: c}]}}",
                 "persistentvolumeclaim \"data\" not found", "default/data does not exist",
                 "if persistentvolumeclaim default/data existed and were bound"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(ExplanationTest, OfLongListsAFewEntriesAreShown) {
  explain::Explanation why{.cause = "c"};
  for (int i = 0; i < 12; ++i) why.blockers.push_back(fmt::format("claim a/{}", i));
  EXPECT_THAT(why.ToText(), HasSubstr("  claim a/7\n  … and 4 more\n"));
  EXPECT_EQ(why.ToJson()["blockers"].size(), 12U);
}

TEST(ExplanationTest, TheJsonIsTheContractsForm) {
  const explain::Explanation why{.cause = "c",
                                 .steps = {{"nodes", 3}},
                                 .blockers = {"claim a/b"},
                                 .devices = {},
                                 .users = {},
                                 .preemption = "",
                                 .change = "if a/b ended",
                                 .as_of = "7"};
  EXPECT_EQ(json::Write(why.ToJson()),
            R"({"cause":"c","steps":[{"step":"nodes","count":3}],"blockers":["claim a/b"],)"
            R"("devices":[],"users":[],"preemption":"","change":"if a/b ended","asOf":"7"})");
}

}  // namespace
}  // namespace drachma::scheduler
