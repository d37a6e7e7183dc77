#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/explain.h"
#include "scheduler/test_cluster.h"
#include "state/loader.h"

// Explanations of whole situations, as people meet them.
namespace drachma::scheduler {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Two nodes of GPUs, one with eight and one with four, and pods for a generated claim each.
std::string Fleet(std::string_view second_node = "n4") {
  std::string yaml =
      "{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu}, spec: "
      "{extendedResourceName: example.com/gpu, selectors: [{cel: {expression: "
      "\"device.driver == 'gpu.example.com'\"}}]}}\n";
  for (const auto& [name, devices] :
       {std::pair(std::string("n8"), 8), std::pair(std::string(second_node), 4)}) {
    yaml += fmt::format(
        "---\n{{apiVersion: v1, kind: Node, metadata: {{name: {0}}}, status: {{allocatable: {{cpu: "
        "'128', memory: 16Gi, pods: '110'}}}}}}\n---\n{{apiVersion: resource.k8s.io/v1, kind: "
        "ResourceSlice, metadata: {{name: {0}}}, spec: {{driver: gpu.example.com, nodeName: {0}, "
        "pool: {{name: {0}, generation: 1, resourceSliceCount: 1}}, devices: [",
        name);
    for (int i = 0; i < devices; ++i) {
      yaml += fmt::format(
          "{}{{name: gpu-{}, attributes: {{model: {{string: {}}}}}, capacity: "
          "{{memory: {{value: 80Gi}}}}}}",
          i == 0 ? "" : ", ", i, name);
    }
    yaml += "]}}\n";
  }
  return yaml;
}

// A pod with one claim of `count` GPUs; `more` are further fields of the request.
std::string PodOf(std::string_view name, int count, std::string_view more = "",
                  std::string_view spec = "") {
  return fmt::format(
      "{{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {{name: {0}-gpu-x, "
      "ownerReferences: [{{apiVersion: v1, kind: Pod, name: {0}, uid: u-{0}, controller: "
      "true}}]}}, "
      "spec: {{devices: {{requests: [{{name: gpu, exactly: {{deviceClassName: gpu, count: "
      "{1}{2}}}}}]}}}}}}\n---\n{{apiVersion: v1, kind: Pod, metadata: {{name: {0}, uid: u-{0}}}, "
      "spec: {{{3}resourceClaims: [{{name: gpu, resourceClaimName: {0}-gpu-x}}], containers: "
      "[{{name: c}}]}}}}\n",
      name, count, more, spec);
}

class ExplainWaitsTest : public ::testing::Test {
 protected:
  void Apply(const std::string& yaml) {
    cluster_.Apply(yaml);
    cluster_.Settle();
  }
  void Load() {
    state_ = std::make_unique<state::ClusterState>(AllocatorOptions(options_));
    client_ = cluster_.api_.factory().NewClient(cluster_.executor_, "test");
    bool loaded = false;
    state::LoadOnce(*client_, *state_, [&](const Result<std::string>&) { loaded = true; });
    cluster_.executor_.RunReady();
    EXPECT_TRUE(loaded);
  }
  explain::Explanation Why(std::string_view pod) {
    Load();
    auto why = ExplainPod(*state_, options_, cluster_.executor_.clock(), {}, "default", pod);
    EXPECT_TRUE(why);
    return why ? *why : explain::Explanation();
  }

  Options options_;
  TestCluster cluster_;
  std::unique_ptr<client::Client> client_;
  std::unique_ptr<state::ClusterState> state_;
};

TEST_F(ExplainWaitsTest, ASelectorThatFailsIsSkippedAsTheSchedulerDoesAndAdvised) {
  Apply(Fleet());
  Apply(PodOf("p", 1,
              ", selectors: [{cel: {expression: \"device.attributes['gpu.example.com'].memory == "
              "'80Gi'\"}}]"));
  const auto why = Why("p");
  EXPECT_EQ(cluster_.WhyNot("p").substr(0, why.cause.size()), why.cause);
  EXPECT_THAT(why.blockers, Contains(HasSubstr("it is a capacity")));
  EXPECT_THAT(why.blockers, Contains(HasSubstr(" and 11 more: ")));
  options_.selector_errors = SelectorErrors::kFail;
  EXPECT_THAT(Why("p").cause, StartsWith("an attempt to schedule it fails: "));
}

TEST_F(ExplainWaitsTest, TheHolderMustEndNotTheSelectorMatch) {
  Apply(Fleet());
  const std::string of_n4 =
      ", selectors: [{cel: {expression: \"device.attributes['gpu.example.com'].model == "
      "'n4'\"}}]";
  Apply(PodOf("lowpod", 4, of_n4));
  Apply(PodOf("p", 1, of_n4));
  const auto why = Why("p");
  EXPECT_EQ(why.change, "if pod default/lowpod ended");
  EXPECT_THAT(why.blockers, ElementsAre("pod default/lowpod (priority 0, on node n4)"));
}

TEST_F(ExplainWaitsTest, APodThatLeavesIsWaitedFor) {
  Apply(Fleet());
  Apply(PodOf("a", 8));
  Apply(PodOf("lowpod", 4));
  Apply(PodOf("p", 4, "", "priority: 100, preemptionPolicy: Never, "));
  json::Value low = cluster_.Pod("lowpod");
  low.Edit("metadata").Set("deletionTimestamp", "2026-01-01T00:00:00Z");
  cluster_.api_.Put(low);
  json::Value pod = cluster_.Pod("p");
  pod.Edit("status").Set("nominatedNodeName", "n4");
  cluster_.api_.Put(pod);
  const auto why = Why("p");
  EXPECT_EQ(why.preemption, "waits for default/lowpod, which is being deleted; nominated node n4");
  EXPECT_EQ(why.change, "once pod default/lowpod has ended");
}

TEST_F(ExplainWaitsTest, TheLeastReductionOverAllNodesIsAdvised) {
  Apply(Fleet());
  Apply(PodOf("p", 9));
  EXPECT_EQ(Why("p").change, "if request gpu asked for 1 device less");
}

TEST_F(ExplainWaitsTest, WhoseEndWouldNotHelpIsNoBlocker) {
  Apply(Fleet());
  Apply(PodOf("a", 1) + "---\n" + PodOf("b", 4));
  Apply(PodOf("p", 9));
  EXPECT_THAT(Why("p").blockers, Not(Contains(HasSubstr("pod default/"))));
  Apply(PodOf("q", 8));
  EXPECT_THAT(Why("q").blockers, Contains(HasSubstr("pod default/")));
}

TEST_F(ExplainWaitsTest, WhatReallyFitsNowIsSuggested) {
  Apply(Fleet());
  const auto with_cpu = [](std::string_view name, int cpu) {
    return fmt::format(
        "{{apiVersion: v1, kind: Pod, metadata: {{name: {}}}, spec: {{containers: [{{name: c, "
        "resources: {{requests: {{cpu: {}}}}}}}]}}}}\n",
        name, cpu);
  };
  Apply(with_cpu("a", 4) + "---\n" + with_cpu("b", 6));
  Apply(with_cpu("p", 500));
  EXPECT_EQ(Why("p").change, "if the pod asked for at most 124 cpu");
}

TEST_F(ExplainWaitsTest, AnExtendedResourceWithoutAClassIsToldSo) {
  Apply(Fleet());
  Apply(
      "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, resources: "
      "{requests: {example.com/other: 1}}}]}}");
  EXPECT_EQ(Why("p").change, "if a DeviceClass had extendedResourceName example.com/other");
  options_.feature_gates["DRAExtendedResource"] = false;
  const auto why = Why("p");
  EXPECT_THAT(why.blockers, Contains(HasSubstr("DRAExtendedResource, which that needs, is off")));
  EXPECT_EQ(why.change, "if node n4 had example.com/other");
}

TEST_F(ExplainWaitsTest, ARunningPodNamesItsDevices) {
  Apply(Fleet("n9"));
  Apply(PodOf("p", 1));
  const auto why = Why("p");
  EXPECT_THAT(why.devices, ElementsAre(StartsWith("gpu.example.com/n")));
  EXPECT_TRUE(why.blockers.empty());
}

TEST_F(ExplainWaitsTest, ASchedulerThatNobodyRunsIsNamed) {
  Apply(Fleet());
  Apply(PodOf("a", 1));
  Apply(PodOf("p", 1, "", "schedulerName: nobody, "));
  const auto why = Why("p");
  EXPECT_THAT(why.cause, StartsWith("no scheduler named nobody has been seen"));
  EXPECT_EQ(why.change, "if a scheduler named nobody ran, or the pod named default-scheduler");
}

TEST_F(ExplainWaitsTest, AFreeDeviceWhoseCountersAreUsedIsBlocked) {
  Apply(
      "{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: '8', memory: "
      "16Gi, pods: '110'}}}\n---\n"
      "{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: gpu}, spec: {}}\n---\n"
      "{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: c}, spec: {driver: "
      "gpu.example.com, nodeName: n1, pool: {name: n1, generation: 1, resourceSliceCount: 2}, "
      "sharedCounters: [{name: gpu-0, counters: {memory: {value: 80Gi}}}]}}\n---\n"
      "{apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: d}, spec: {driver: "
      "gpu.example.com, nodeName: n1, pool: {name: n1, generation: 1, resourceSliceCount: 2}, "
      "devices: [{name: whole, consumesCounters: [{counterSet: gpu-0, counters: {memory: {value: "
      "80Gi}}}]}, {name: part, consumesCounters: [{counterSet: gpu-0, counters: {memory: {value: "
      "10Gi}}}]}]}}\n");
  // The claim takes either device; the other one is what is asked about.
  Apply(PodOf("p", 1));
  Load();
  const auto claim = state_->claims.Find("default/p-gpu-x");
  ASSERT_TRUE(claim && claim->allocated());
  const bool part = claim->claim.allocation->results.front().device == "part";
  const auto why =
      ExplainDevice(*state_, part ? "gpu.example.com/n1/whole" : "gpu.example.com/n1/part");
  ASSERT_TRUE(why);
  EXPECT_THAT(why->cause, StartsWith("blocked: "));
  EXPECT_THAT(why->blockers,
              ElementsAre(part ? "counters of gpu-0: memory (80Gi needed, 70Gi free)"
                               : "counters of gpu-0: memory (10Gi needed, 0 free)",
                          fmt::format("device {}, which draws on gpu-0, is held by pod default/p",
                                      part ? "part" : "whole")));
}

}  // namespace
}  // namespace drachma::scheduler
