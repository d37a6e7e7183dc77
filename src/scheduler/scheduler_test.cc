#include "scheduler/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/test_cluster.h"

namespace drachma::scheduler {
namespace {

using client::Request;
using client::Verb;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string Node(std::string_view name, std::string_view cpu = "4") {
  return fmt::format(R"(---
apiVersion: v1
kind: Node
metadata: {{name: {0}, labels: {{kubernetes.io/hostname: {0}}}}}
status: {{allocatable: {{cpu: "{1}", memory: 8Gi, pods: "110"}}}}
)",
                     name, cpu);
}

std::string Pod(std::string_view name, std::string_view cpu = "1", int priority = 0,
                std::string_view claim = "") {
  std::string claims;
  if (!claim.empty()) {
    claims = fmt::format("  resourceClaims: [{{name: gpu, resourceClaimName: {}}}]\n", claim);
  }
  return fmt::format(R"(---
apiVersion: v1
kind: Pod
metadata: {{name: {}, namespace: default}}
spec:
  priority: {}
{}  containers: [{{name: c, image: i, resources: {{requests: {{cpu: "{}"}}}}}}]
)",
                     name, priority, claims, cpu);
}

std::string Claim(std::string_view name, int count = 1) {
  return fmt::format(R"(---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {{name: {}, namespace: default}}
spec: {{devices: {{requests: [{{name: gpu, exactly: {{deviceClassName: gpu, count: {}}}}}]}}}}
)",
                     name, count);
}

// A class and, on each of `nodes`, a slice with `devices` GPUs.
std::string Gpus(std::initializer_list<std::string_view> nodes, int devices) {
  std::string yaml = R"(---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu}
spec: {selectors: [{cel: {expression: "device.driver == 'gpu.example.com'"}}]}
)";
  for (const std::string_view node : nodes) {
    yaml += fmt::format(R"(---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {{name: {0}-gpu}}
spec:
  driver: gpu.example.com
  nodeName: {0}
  pool: {{name: {0}, generation: 1, resourceSliceCount: 1}}
  devices:
)",
                        node);
    for (int i = 0; i < devices; ++i) yaml += fmt::format("  - {{name: gpu-{}}}\n", i);
  }
  return yaml;
}

void Deallocate(json::Value& claim) {
  claim.Edit("status").Erase("allocation");
  claim.Edit("status").Erase("reservedFor");
}

std::string DeviceOf(const json::Value& claim) {
  const auto results = claim.At({"status", "allocation", "devices", "results"}).Items();
  return results.empty() ? "" : std::string(results[0]["device"].AsString());
}

TEST(SchedulerTest, APodIsBoundAndToldSo) {
  TestCluster cluster;
  cluster.Apply(Node("n1") + Pod("p"));
  cluster.Settle();
  EXPECT_EQ(cluster.NodeOf("p"), "n1");
  EXPECT_EQ(cluster.scheduler_->statistics().bound, 1U);
  const auto events = cluster.api_.List({"", "v1", "events"});
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0]["message"].AsString(), "Successfully assigned default/p to n1");
}

TEST(SchedulerTest, HigherPriorityGoesFirstThenTheOlder) {
  TestCluster cluster;
  cluster.Apply(Pod("a", "3") + Pod("b", "3") + Pod("c", "3", 10));
  cluster.Settle();  // no node yet
  cluster.Apply(Node("n1"));
  cluster.Settle();
  EXPECT_EQ(cluster.NodeOf("c"), "n1");
  EXPECT_EQ(cluster.NodeOf("a"), "");
}

TEST(SchedulerTest, AClaimIsWrittenInThreeWrites) {
  TestCluster cluster;
  cluster.Apply(Node("n1") + Gpus({"n1"}, 1) + Claim("c") + Pod("p", "1", 0, "c"));
  cluster.Settle();
  std::vector<std::string> writes;
  for (const Request& request : cluster.api_.requests()) {
    if (request.verb == Verb::kGet || request.verb == Verb::kList || request.verb == Verb::kWatch ||
        request.resource.plural == "events") {
      continue;
    }
    writes.push_back(request.resource.plural + "/" + request.subresource);
  }
  EXPECT_THAT(writes, ElementsAre("resourceclaims/", "resourceclaims/status", "pods/binding"));
  const json::Value claim = cluster.Claim("c");
  EXPECT_EQ(DeviceOf(claim), "gpu-0");
  EXPECT_TRUE(client::HasFinalizer(claim, "resource.kubernetes.io/delete-protection"));
  EXPECT_EQ(claim["status"]["reservedFor"].Items()[0]["name"].AsString(), "p");
}

TEST(SchedulerTest, ADeviceInFlightIsTaken) {
  TestCluster cluster;
  std::string yaml = Node("n1", "64") + Gpus({"n1"}, 4);
  for (int i = 0; i < 6; ++i) {
    yaml +=
        Claim(fmt::format("c{}", i)) + Pod(fmt::format("p{}", i), "1", 0, fmt::format("c{}", i));
  }
  cluster.Apply(yaml);
  cluster.Settle();
  std::vector<std::string> devices;
  for (int i = 0; i < 6; ++i) {
    const std::string device = DeviceOf(cluster.Claim(fmt::format("c{}", i)));
    if (!device.empty()) devices.push_back(device);
  }
  std::ranges::sort(devices);
  EXPECT_THAT(devices, ElementsAre("gpu-0", "gpu-1", "gpu-2", "gpu-3"));
  EXPECT_EQ(cluster.scheduler_->statistics().waiting, 2U);
}

TEST(SchedulerTest, AFreedDeviceWakesAWaitingPod) {
  TestCluster cluster;
  cluster.Apply(Node("n1") + Gpus({"n1"}, 1) + Claim("c1") + Claim("c2") + Pod("p1", "1", 0, "c1"));
  cluster.Settle();
  cluster.Apply(Pod("p2", "1", 0, "c2"));
  cluster.Settle();
  EXPECT_THAT(cluster.WhyNot("p2"), StartsWith("0/1 nodes are available: 1 cannot allocate all "
                                               "claims. request gpu needs 1 of 1 devices: 1 in "
                                               "use. preemption: 0/1 nodes are available: 1 "));
  cluster.api_.Remove(client::resources::kPods, "default", "p1");
  cluster.api_.Change(client::resources::kResourceClaims, "default", "c1", Deallocate);
  cluster.Settle();
  EXPECT_EQ(cluster.NodeOf("p2"), "n1");
}

TEST(SchedulerTest, TwoPodsShareAClaimOnItsNode) {
  TestCluster cluster;
  cluster.Apply(Node("n1") + Node("n2") + Gpus({"n1", "n2"}, 1) + Claim("c") +
                Pod("p1", "1", 0, "c") + Pod("p2", "1", 0, "c"));
  cluster.Settle();
  EXPECT_NE(cluster.NodeOf("p1"), "");
  EXPECT_EQ(cluster.NodeOf("p1"), cluster.NodeOf("p2"));
  EXPECT_EQ(cluster.Claim("c")["status"]["reservedFor"].size(), 2U);
  EXPECT_EQ(cluster.api_.List({"", "v1", "events"}).size(), 2U) << "nobody was told to wait";
}

TEST(SchedulerTest, ManyPodsShareAClaimWithoutConflicts) {
  TestCluster cluster;
  std::string objects = Node("n1") + Gpus({"n1"}, 1) + Claim("c");
  for (int i = 0; i < 50; ++i) objects += Pod("p" + std::to_string(i), "10m", 0, "c");
  cluster.Apply(objects);
  cluster.Settle();
  EXPECT_EQ(cluster.Claim("c")["status"]["reservedFor"].size(), 50U);
  EXPECT_EQ(cluster.scheduler_->statistics().conflicts, 0U);
}

TEST(SchedulerTest, AConflictIsReadAgainAndRepeated) {
  TestCluster cluster;
  cluster.Apply(Node("n1") + Gpus({"n1"}, 1) + Claim("c") + Pod("p", "1", 0, "c"));
  cluster.api_.FailNext([](const Request& request) { return request.subresource == "status"; },
                        {.code = Code::kConflict, .message = "the object has been modified"});
  cluster.Settle();
  EXPECT_EQ(cluster.NodeOf("p"), "n1");
  EXPECT_EQ(cluster.scheduler_->statistics().conflicts, 1U);
}

TEST(SchedulerTest, AFailedBindingGivesTheReservationBackAndIsTriedAgain) {
  TestCluster cluster;
  cluster.Apply(Node("n1") + Gpus({"n1"}, 1) + Claim("c") + Pod("p", "1", 0, "c"));
  cluster.api_.FailNext([](const Request& request) { return request.subresource == "binding"; },
                        {.code = Code::kInternal, .message = "disk full"});
  cluster.RunFor(std::chrono::milliseconds(500));
  EXPECT_EQ(cluster.WhyNot("p"), "disk full");
  EXPECT_EQ(cluster.Claim("c")["status"]["reservedFor"].size(), 0U);
  EXPECT_EQ(DeviceOf(cluster.Claim("c")), "gpu-0") << "the allocation stays";
  cluster.Settle();
  EXPECT_EQ(cluster.NodeOf("p"), "n1");
}

TEST(SchedulerTest, AClaimThatGoesDuringTheBindingEndsIt) {
  TestCluster cluster;
  cluster.Apply(Node("n1") + Gpus({"n1"}, 1) + Claim("c") + Pod("p", "1", 0, "c"));
  cluster.api_.OnRequest([&](const Request& request) {
    if (request.subresource == "status" && request.resource.plural == "resourceclaims") {
      cluster.api_.Remove(client::resources::kResourceClaims, "default", "c");
    }
  });
  cluster.RunFor(std::chrono::seconds(30));
  EXPECT_EQ(cluster.NodeOf("p"), "");
  EXPECT_EQ(cluster.scheduler_->statistics().gated, 1U);
  cluster.api_.OnRequest([](const Request&) {});
  cluster.Apply(Claim("c"));
  cluster.Settle();
  EXPECT_EQ(cluster.NodeOf("p"), "n1") << "the device was free again";
}

TEST(SchedulerTest, AMissingClaimHoldsThePodAndTheConditionSaysSo) {
  TestCluster cluster;
  cluster.Apply(Node("n1") + Gpus({"n1"}, 1) + Pod("p", "1", 0, "c"));
  cluster.Settle();
  EXPECT_EQ(cluster.WhyNot("p"), "could not find ResourceClaim \"default/c\"");
  EXPECT_EQ(cluster.scheduler_->statistics().attempts, 0U);
  cluster.Apply(Claim("c"));
  cluster.Settle();
  EXPECT_EQ(cluster.NodeOf("p"), "n1");
}

TEST(SchedulerTest, EqualPodsThatWaitCostOneSearch) {
  TestCluster cluster;
  std::string yaml = Node("n1");
  for (int i = 0; i < 100; ++i) yaml += Pod(fmt::format("p{}", i), "8");
  cluster.Apply(yaml);
  cluster.Settle();
  EXPECT_EQ(cluster.scheduler_->statistics().unschedulable, 100U);
  EXPECT_EQ(cluster.WhyNot("p99"), cluster.WhyNot("p0"));
}

TEST(SchedulerTest, PodsOfAnotherSchedulerAreLeftAlone) {
  TestCluster cluster;
  cluster.Apply(Node("n1") +
                "---\n{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: default}, spec: "
                "{schedulerName: other, containers: [{name: c, image: i}]}}\n");
  cluster.Settle();
  EXPECT_EQ(cluster.NodeOf("p"), "");
}

TEST(SchedulerTest, LowerPriorityMakesRoom) {
  TestCluster cluster;
  cluster.Apply(Node("n1") + Pod("low", "3") + Pod("lower", "1", -5));
  cluster.Settle();
  cluster.Apply(Pod("high", "1", 10));
  cluster.Settle();
  EXPECT_TRUE(cluster.Pod("lower").IsNull()) << "the cheapest victim went";
  EXPECT_FALSE(cluster.Pod("low").IsNull());
  EXPECT_EQ(cluster.NodeOf("high"), "n1");
}

TEST(SchedulerTest, LowerPriorityMakesDevicesFree) {
  TestCluster cluster;
  cluster.Apply(Node("n1") + Gpus({"n1"}, 1) + Claim("c1") + Claim("c2") +
                Pod("low", "1", 0, "c1"));
  cluster.Settle();
  cluster.Apply(Pod("high", "1", 10, "c2") + Claim("c3") + Pod("thief", "1", 0, "c3"));
  cluster.Settle();
  EXPECT_TRUE(cluster.Pod("low").IsNull());
  EXPECT_EQ(cluster.Pod("high")["status"]["nominatedNodeName"].AsString(), "n1");
  cluster.api_.Change(client::resources::kResourceClaims, "default", "c1", Deallocate);
  cluster.Settle();
  EXPECT_EQ(cluster.NodeOf("high"), "n1");
  EXPECT_EQ(cluster.NodeOf("thief"), "") << "a nominated pod's devices are not stolen";
}

TEST(SchedulerTest, WhatAVictimHoldsBesideTheNominatedDevicesIsNotFreeYet) {
  TestCluster cluster;
  cluster.Apply(Node("n1") + Gpus({"n1"}, 2) + Claim("c1", 2) + Claim("c2") +
                Pod("low", "1", 0, "c1"));
  cluster.Settle();
  cluster.Apply(Pod("high", "1", 10, "c2") + Claim("c3") + Pod("other", "1", 0, "c3"));
  cluster.Settle();
  EXPECT_EQ(cluster.Pod("high")["status"]["nominatedNodeName"].AsString(), "n1");
  EXPECT_EQ(cluster.NodeOf("other"), "") << "c1 still holds both devices";
  cluster.api_.Change(client::resources::kResourceClaims, "default", "c1", Deallocate);
  cluster.Settle();
  EXPECT_EQ(cluster.NodeOf("high"), "n1");
  EXPECT_EQ(cluster.NodeOf("other"), "n1");
}

TEST(SchedulerTest, SuccessorsOfVictimsDoNotJoinTheClaimThatIsToBeFreed) {
  TestCluster cluster;
  cluster.Apply(Node("n1") + Gpus({"n1"}, 2) + Claim("c1", 2) + Claim("c2") +
                Pod("low", "1", 0, "c1"));
  cluster.Settle();
  cluster.Apply(Pod("high", "1", 10, "c2"));
  cluster.Settle();
  cluster.Apply(Pod("successor", "1", 0, "c1"));
  cluster.Settle();
  EXPECT_EQ(cluster.NodeOf("successor"), "");
  EXPECT_THAT(cluster.WhyNot("successor"),
              testing::HasSubstr("resourceclaim is to be freed for a pod of higher priority"));
  cluster.api_.Change(client::resources::kResourceClaims, "default", "c1", Deallocate);
  cluster.Settle();
  EXPECT_EQ(cluster.NodeOf("high"), "n1");
  cluster.api_.Remove(client::resources::kPods, "default", "high");
  cluster.api_.Change(client::resources::kResourceClaims, "default", "c2", Deallocate);
  cluster.Settle();
  EXPECT_EQ(cluster.NodeOf("successor"), "n1");
}

TEST(SchedulerTest, ANominatedPodDoesNotWaitForAClaimThatAMoreImportantPodUses) {
  TestCluster cluster;
  cluster.Apply(Node("n1") + Node("n2") + Gpus({"n1", "n2"}, 1) + Claim("c1") + Claim("c2") +
                Claim("c3") + Pod("low", "1", 0, "c1") + Pod("middle", "1", 5, "c2"));
  cluster.Settle();
  const std::string first = cluster.NodeOf("low");
  const std::string other = cluster.NodeOf("middle");
  cluster.Apply(Pod("high", "1", 10, "c3"));
  cluster.Settle();
  ASSERT_EQ(cluster.Pod("high")["status"]["nominatedNodeName"].AsString(), first);
  cluster.Apply(Pod("highest", "1", 20, "c1"));
  cluster.Settle();
  ASSERT_EQ(cluster.NodeOf("highest"), first);
  cluster.Apply(Node("n3"));  // something to try again for
  cluster.Settle();
  EXPECT_EQ(cluster.Pod("high")["status"]["nominatedNodeName"].AsString(), other);
}

TEST(SchedulerTest, WhatAnEarlierSchedulerMadeForExtendedResourcesHoldsNoDevices) {
  TestCluster cluster;
  cluster.Apply(Node("n1") + Gpus({"n1"}, 1) + R"(---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: extended}
spec:
  extendedResourceName: example.com/gpu
  selectors: [{cel: {expression: "device.driver == 'gpu.example.com'"}}]
---
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: default, uid: uid-p}
spec: {containers: [{name: c, image: i, resources: {requests: {example.com/gpu: "1"}}}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata:
  name: p-extended-resources-xxxxx
  namespace: default
  annotations: {resource.kubernetes.io/extended-resource-claim: "true"}
  ownerReferences: [{apiVersion: v1, kind: Pod, name: p, uid: uid-p, controller: true}]
spec: {devices: {requests: [{name: r, exactly: {deviceClassName: extended}}]}}
status:
  allocation: {devices: {results: [{request: r, driver: gpu.example.com, pool: n1, device: gpu-0}]}}
  reservedFor: [{resource: pods, name: p, uid: uid-p}]
)");
  cluster.Settle();
  EXPECT_EQ(cluster.NodeOf("p"), "n1");
  EXPECT_TRUE(cluster.Claim("p-extended-resources-xxxxx").IsNull());
}

TEST(SchedulerTest, APodThatMayNotPreemptWaits) {
  TestCluster cluster;
  cluster.Apply(Node("n1") + Pod("low", "4"));
  cluster.Settle();
  cluster.Apply(
      "{apiVersion: v1, kind: Pod, metadata: {name: high, namespace: default}, spec: {priority: 9, "
      "preemptionPolicy: Never, containers: [{name: c, image: i, resources: {requests: {cpu: "
      "'1'}}}]}}");
  cluster.Settle();
  EXPECT_EQ(cluster.WhyNot("high"),
            "0/1 nodes are available: 1 Insufficient cpu. preemption: not eligible due to "
            "preemptionPolicy=Never.");
}

TEST(SchedulerTest, AClaimWhoseNodeIsGoneIsAllocatedAnew) {
  TestCluster cluster;
  cluster.Apply(Node("n1") + Gpus({"n1"}, 1) + Claim("c") + Pod("p", "1", 0, "c"));
  cluster.Settle();
  cluster.api_.Remove(client::resources::kPods, "default", "p");
  cluster.api_.Change(client::resources::kResourceClaims, "default", "c",
                      [](json::Value& claim) { claim.Edit("status").Erase("reservedFor"); });
  cluster.api_.Remove({"", "v1", "nodes"}, "", "n1");
  cluster.api_.Remove({"resource.k8s.io", "v1", "resourceslices"}, "", "n1-gpu");
  cluster.Apply(Node("n2") + Gpus({"n2"}, 1) + Pod("q", "1", 0, "c"));
  cluster.Settle();
  EXPECT_EQ(cluster.NodeOf("q"), "n2");
}

TEST(SchedulerTest, BindingWaitsForTheDevicesConditions) {
  TestCluster cluster;
  cluster.Apply(Node("n1") + Gpus({}, 0) + Claim("c") + Pod("p", "1", 0, "c") + R"(---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: fabric}
spec:
  driver: gpu.example.com
  nodeName: n1
  pool: {name: fabric, generation: 1, resourceSliceCount: 1}
  devices: [{name: gpu-0, bindingConditions: [attached], bindingFailureConditions: [broken]}]
)");
  cluster.RunFor(std::chrono::seconds(30));
  EXPECT_EQ(cluster.NodeOf("p"), "");
  EXPECT_FALSE(cluster.Claim("c")["status"]["allocation"]["allocationTimestamp"].IsNull());
  cluster.api_.Change(client::resources::kResourceClaims, "default", "c", [](json::Value& claim) {
    auto devices = json::ReadYamlValue(
        "[{driver: gpu.example.com, pool: fabric, device: gpu-0, conditions: [{type: attached, "
        "status: 'True'}]}]");
    claim.Edit("status").Set("devices", *devices);
  });
  cluster.Settle();
  EXPECT_EQ(cluster.NodeOf("p"), "n1");
}

// The server does it, but its answer is lost.
void LoseAnswerOf(TestCluster& cluster, const std::function<bool(const Request&)>& matches,
                  const std::function<void(const Request&)>& carry_out) {
  cluster.api_.FailNext(matches, {.code = Code::kTimeout, .message = "no answer in time"});
  cluster.api_.OnRequest([matches, carry_out, done = false](const Request& request) mutable {
    if (matches(request) && !std::exchange(done, true)) carry_out(request);
  });
}

TEST(SchedulerTest, AnAllocationWhoseAnswerIsLostCounts) {
  TestCluster cluster;
  cluster.Apply(Node("n1") + Gpus({"n1"}, 1) + Claim("c") + Pod("p", "1", 0, "c"));
  LoseAnswerOf(
      cluster, [](const Request& request) { return request.subresource == "status"; },
      [&](const Request& request) {
        cluster.api_.Change(
            client::resources::kResourceClaims, "default", "c",
            [&](json::Value& claim) { claim.Set("status", request.body["status"]); });
      });
  cluster.Settle();
  EXPECT_EQ(cluster.NodeOf("p"), "n1");
  EXPECT_EQ(cluster.WhyNot("p"), "");
}

TEST(SchedulerTest, APodWhoseBindingIsNotAnsweredKeepsItsClaim) {
  TestCluster cluster;
  cluster.Apply(Node("n1") + Gpus({"n1"}, 1) + Claim("c") + Pod("p", "1", 0, "c"));
  LoseAnswerOf(
      cluster, [](const Request& request) { return request.subresource == "binding"; },
      [&](const Request&) {
        cluster.api_.Change(client::resources::kPods, "default", "p",
                            [](json::Value& pod) { pod.Edit("spec").Set("nodeName", "n1"); });
      });
  cluster.Settle();
  EXPECT_EQ(cluster.Claim("c")["status"]["reservedFor"].size(), 1U);
}

TEST(SchedulerTest, NewsFromBeforeTheBindingDoNotQueueThePodAgain) {
  TestCluster cluster;
  cluster.Apply(Node("n1") + Pod("p"));
  cluster.Settle();
  ASSERT_EQ(cluster.NodeOf("p"), "n1");
  int bindings = 0;
  cluster.api_.OnRequest(
      [&](const Request& request) { bindings += request.subresource == "binding" ? 1 : 0; });
  cluster.api_.Change(client::resources::kPods, "default", "p", [](json::Value& pod) {
    pod.Edit("spec").Erase("nodeName");
    pod.Edit("metadata").Set("labels", json::Value::Object({{"older", "yes"}}));
  });
  cluster.Settle();
  EXPECT_EQ(bindings, 0);
}

TEST(SchedulerTest, ASecondStartGoesOnWhereTheFirstEnded) {
  TestCluster cluster;
  cluster.Apply(Node("n1") + Gpus({"n1"}, 2) + Claim("c1") + Claim("c2") + Pod("p1", "1", 0, "c1") +
                Pod("p2", "1", 0, "c2"));
  cluster.api_.FailNext([](const Request& request) { return request.subresource == "binding"; },
                        {.code = Code::kUnavailable, .message = "connection refused"}, 2);
  cluster.RunFor(std::chrono::milliseconds(100));
  cluster.scheduler_.reset();
  cluster.Start();
  cluster.Settle();
  EXPECT_EQ(cluster.NodeOf("p1"), "n1");
  EXPECT_EQ(cluster.NodeOf("p2"), "n1");
  EXPECT_NE(DeviceOf(cluster.Claim("c1")), DeviceOf(cluster.Claim("c2")));
}

}  // namespace
}  // namespace drachma::scheduler
