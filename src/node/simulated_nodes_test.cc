#include "node/simulated_nodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "client/fake_client.h"
#include "client/objects.h"
#include "node/slice_publisher.h"

namespace drachma::node {
namespace {

namespace resources = client::resources;
using json::Value;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// Publishes as many devices as it is told and notes what is prepared.
class FakePlugin final : public DraPlugin {
 public:
  explicit FakePlugin(std::vector<std::string>& log) : log_(log) {}
  [[nodiscard]] std::string_view driver() const override { return "d"; }
  void Prepare(std::span<const Value> claims, PrepareDone done) override {
    PrepareAnswer answer;
    for (const Value& claim : claims) {
      log_.push_back("prepare " + std::string(client::NameOf(claim)));
      answer.emplace(client::UidOf(claim), std::vector<PreparedDevice>());
    }
    done(std::move(answer));
  }
  void Unprepare(std::span<const ClaimRef> claims, UnprepareDone done) override {
    for (const ClaimRef& claim : claims) log_.push_back("unprepare " + claim.name);
    done({});
  }
  [[nodiscard]] std::vector<Pool> Pools() const override {
    return {Pool{.name = "n1",
                 .slices = {{{}, {Value::Object({{"name", "gpu-0"}})}},
                            {{}, {Value::Object({{"name", "gpu-1"}})}}}}};
  }
  void OnPoolsChanged(std::function<void()> /*changed*/) override {}

 private:
  std::vector<std::string>& log_;
};

constexpr std::string_view kClaim = R"(
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: c, namespace: default}
status:
  allocation: {devices: {results: [{request: r, driver: d, pool: n1, device: gpu-0}]}}
  reservedFor: [{resource: pods, name: p, uid: uid-p}]
)";

class SimulatedNodesTest : public testing::Test {
 protected:
  SimulatedNodesTest() : executor_(ParseTime("2026-11-30T10:00:00Z").value()) {
    Start({{.name = "n1", .capacity = {{"cpu", "8"}, {"pods", "110"}}}});
  }
  // Kubelets of these nodes, and of those that are there already; others end.
  void Start(std::vector<NodeSpec> specs) {
    nodes_.reset();
    SimulationOptions options{.nodes = std::move(specs),
                              .drivers =
                                  [this](const Value&) {
                                    std::vector<std::unique_ptr<DraPlugin>> drivers;
                                    drivers.push_back(std::make_unique<FakePlugin>(log_));
                                    return drivers;
                                  },
                              .seed = 1};
    nodes_ = std::make_unique<SimulatedNodes>(std::move(options), api_.factory(), executor_);
    nodes_->Start();
    Run();
  }
  void Run(Duration time = std::chrono::milliseconds(100)) {
    const Time end = executor_.clock().Now() + time;
    executor_.PostAfter(time, [] {});
    while (executor_.RunOne(end)) {
    }
  }
  void PutPod(std::string_view annotation = "", std::string_view value = "") {
    Value metadata = Value::Object({{"name", "p"}, {"namespace", "default"}, {"uid", "uid-p"}});
    if (!annotation.empty()) {
      metadata.Set("annotations", Value::Object({{annotation, value}}));
    }
    Value pod_claim = Value::Object({{"name", "x"}, {"resourceClaimName", "c"}});
    api_.Put(Value::Object(
        {{"apiVersion", "v1"},
         {"kind", "Pod"},
         {"metadata", std::move(metadata)},
         {"spec", Value::Object({{"nodeName", "n1"},
                                 {"containers", Value::Array({Value::Object({{"name", "c"}})})},
                                 {"resourceClaims", Value::Array({std::move(pod_claim)})}})},
         {"status", Value::Object({{"phase", "Pending"}})}}));
  }
  std::string AddressOf(const std::string& node) {
    return std::string(InternalAddressOf(api_.Get(resources::kNodes, "", node)));
  }
  Value Pod() { return api_.Get(resources::kPods, "default", "p"); }
  std::string Phase() { return std::string(Pod()["status"]["phase"].AsString()); }
  std::vector<std::string> Events() {
    std::vector<std::string> events;
    for (const Value& event : api_.List({"", "v1", "events"})) {
      events.emplace_back(event["message"].AsString());
    }
    return events;
  }

  client::FakeApi api_;
  VirtualExecutor executor_;
  std::vector<std::string> log_;
  std::unique_ptr<SimulatedNodes> nodes_;
};

TEST_F(SimulatedNodesTest, ANodeRegistersReadyWithItsSlicesAndALease) {
  EXPECT_TRUE(nodes_->registered());
  const Value node = api_.Get(resources::kNodes, "", "n1");
  EXPECT_TRUE(client::IsConditionTrue(node, "Ready"));
  EXPECT_EQ(node.At({"status", "allocatable", "cpu"}).AsString(), "8");
  EXPECT_THAT(api_.List(resources::kResourceSlices), SizeIs(2));
  EXPECT_THAT(api_.List(resources::kLeases), SizeIs(1));
}

TEST_F(SimulatedNodesTest, EachNodeHasAnAddressOfItsOwnThatItsPodsReport) {
  Start({{.name = "n2"}, {.name = "n1"}, {.name = "n3"}});
  EXPECT_EQ(AddressOf("n1"), "172.16.0.1");  // it was there before
  EXPECT_THAT((std::set{AddressOf("n1"), AddressOf("n2"), AddressOf("n3")}), SizeIs(3));
  api_.Apply(kClaim);
  PutPod();
  api_.Change(resources::kPods, "default", "p",
              [](Value& pod) { pod.Edit("spec").Set("nodeName", "n3"); });
  Run();
  EXPECT_EQ(Pod()["status"]["hostIP"].AsString(), AddressOf("n3"));
}

TEST_F(SimulatedNodesTest, NodesThatShareAnAddressArePartedAtTheStart) {
  const std::map<std::string, std::string> simulated = {{std::string(kSimulated), "fleet"}};
  nodes_.reset();
  api_.Remove(resources::kNodes, "", "n1");
  Start({{.name = "n1", .annotations = simulated}, {.name = "n2", .annotations = simulated}});
  const Value addresses = api_.Get(resources::kNodes, "", "n1")["status"]["addresses"];
  api_.Change(resources::kNodes, "", "n2",
              [&](Value& node) { node.Edit("status").Set("addresses", addresses); });
  Start({});
  EXPECT_NE(AddressOf("n1"), AddressOf("n2"));
}

TEST_F(SimulatedNodesTest, AnAddressThatWasGivenStays) {
  api_.Apply(R"(
apiVersion: v1
kind: Node
metadata: {name: given, annotations: {drachma.dev/simulated: manifest}}
status: {addresses: [{type: InternalIP, address: 192.0.2.7}]}
)");
  Run();
  EXPECT_TRUE(client::IsConditionTrue(api_.Get(resources::kNodes, "", "given"), "Ready"));
  EXPECT_EQ(AddressOf("given"), "192.0.2.7");
}

TEST_F(SimulatedNodesTest, NodesOfAnEarlierRunCount) {
  Start({{.name = "n2", .annotations = {{std::string(kSimulated), "fleet"}}}});
  EXPECT_EQ(nodes_->size(), 1U);  // n1 does not say that it is simulated
  Start({{.name = "n3"}});
  EXPECT_TRUE(nodes_->registered());
  EXPECT_EQ(nodes_->size(), 2U);
}

TEST_F(SimulatedNodesTest, TheLeaseIsRenewed) {
  const auto renewed = [&] { return api_.List(resources::kLeases)[0].At({"spec", "renewTime"}); };
  const Value before = renewed();
  Run(std::chrono::seconds(15));
  EXPECT_FALSE(renewed() == before);
}

TEST_F(SimulatedNodesTest, ASliceThatSomebodyDeletesIsPublishedAgain) {
  const std::string name(client::NameOf(api_.List(resources::kResourceSlices)[0]));
  api_.Remove(resources::kResourceSlices, "", name);
  Run();
  const std::vector<Value> slices = api_.List(resources::kResourceSlices);
  ASSERT_THAT(slices, SizeIs(2));
  EXPECT_EQ(slices[0]["spec"]["pool"]["generation"].AsInt(), 2);
  EXPECT_EQ(slices[1]["spec"]["pool"]["generation"].AsInt(), 2);
}

TEST_F(SimulatedNodesTest, APodRunsOnceItsClaimIsPrepared) {
  api_.Apply(kClaim);
  PutPod();
  Run();
  EXPECT_EQ(Phase(), "Running");
  EXPECT_TRUE(client::IsConditionTrue(Pod(), "Ready"));
  EXPECT_FALSE(Pod()["status"]["podIP"].AsString().empty());
  EXPECT_FALSE(Pod()["status"]["startTime"].AsString().empty());
  EXPECT_THAT(log_, ElementsAre("prepare c"));
}

TEST_F(SimulatedNodesTest, APodWhoseClaimIsNotReservedForItWaits) {
  api_.Apply(kClaim);
  api_.Change(resources::kResourceClaims, "default", "c",
              [](Value& claim) { claim.Edit("status").Erase("reservedFor"); });
  PutPod();
  Run();
  EXPECT_EQ(Phase(), "Pending");
  ASSERT_THAT(Events(), SizeIs(1));
  EXPECT_THAT(Events()[0],
              testing::StartsWith("Failed to prepare dynamic resources: prepare dynamic resources: "
                                  "pod p (uid-p) is not allowed to use ResourceClaim c ("));
  api_.Change(resources::kResourceClaims, "default", "c", [](Value& claim) {
    claim.Edit("status").Edit("reservedFor").Append(Value::Object({{"uid", "uid-p"}}));
  });
  Run(std::chrono::seconds(5));
  EXPECT_EQ(Phase(), "Running");
}

TEST_F(SimulatedNodesTest, APodWhoseClaimATemplateHasNotMadeYetWaits) {
  PutPod();
  api_.Change(resources::kPods, "default", "p", [](Value& pod) {
    pod.Edit("spec").Set(
        "resourceClaims",
        Value::Array({Value::Object({{"name", "x"}, {"resourceClaimTemplateName", "missing"}})}));
  });
  Run();
  EXPECT_EQ(Phase(), "Pending");
  EXPECT_THAT(Events(), ElementsAre("Failed to prepare dynamic resources: prepare dynamic "
                                    "resources: pod \"default/p\": ResourceClaim not created yet"));
  EXPECT_THAT(log_, IsEmpty());
}

TEST_F(SimulatedNodesTest, APodWaitsUntilTheClaimOfItsTemplateIsAllocatedAndReserved) {
  api_.Apply(kClaim);
  Value allocated;
  api_.Change(resources::kResourceClaims, "default", "c", [&](Value& claim) {
    allocated = claim["status"];
    claim.Erase("status");
  });
  PutPod();
  api_.Change(resources::kPods, "default", "p", [](Value& pod) {
    pod.Edit("spec").Set(
        "resourceClaims",
        Value::Array({Value::Object({{"name", "x"}, {"resourceClaimTemplateName", "t"}})}));
    pod.Edit("status").Set(
        "resourceClaimStatuses",
        Value::Array({Value::Object({{"name", "x"}, {"resourceClaimName", "c"}})}));
  });
  Run(std::chrono::seconds(10));
  EXPECT_EQ(Phase(), "Pending");
  EXPECT_THAT(log_, IsEmpty());
  api_.Change(resources::kResourceClaims, "default", "c",
              [&](Value& claim) { claim.Set("status", allocated); });
  Run(std::chrono::seconds(30));
  EXPECT_EQ(Phase(), "Running");
  EXPECT_THAT(log_, ElementsAre("prepare c"));
}

TEST_F(SimulatedNodesTest, APodEndsAfterItsRunTimeAndGivesItsClaimBackFirst) {
  api_.Apply(kClaim);
  PutPod(kRunSeconds, "5");
  Run(std::chrono::seconds(4));
  EXPECT_EQ(Phase(), "Running");
  Run(std::chrono::seconds(2));
  EXPECT_EQ(Phase(), "Succeeded");
  EXPECT_THAT(log_, ElementsAre("prepare c", "unprepare c"));
}

TEST_F(SimulatedNodesTest, APodOfAControllerRunsAgainEverMoreSlowly) {
  api_.Apply(kClaim);
  PutPod(kRunSeconds, "0");
  api_.Change(resources::kPods, "default", "p", [](Value& pod) {
    pod.Edit("metadata")
        .Set("ownerReferences",
             Value::Array({Value::Object({{"kind", "StatefulSet"}, {"controller", true}})}));
  });
  Run();
  const auto container = [&] { return Pod()["status"]["containerStatuses"].Items()[0]; };
  EXPECT_EQ(container()["restartCount"].AsInt(), 1) << "the first time at once";
  EXPECT_EQ(container().At({"state", "waiting", "reason"}).AsString(), "CrashLoopBackOff");
  EXPECT_EQ(container().At({"state", "waiting", "message"}).AsString(),
            "back-off 10s restarting failed container=c pod=p_default(uid-p)");
  EXPECT_EQ(container().At({"lastState", "terminated", "reason"}).AsString(), "Completed");
  EXPECT_FALSE(client::IsConditionTrue(Pod(), "Ready"));
  EXPECT_EQ(Phase(), "Running");
  EXPECT_THAT(Events(),
              ElementsAre("Back-off restarting failed container c in pod p_default(uid-p)"));
  // After 10, 20, 40, 80, 160 and then every 300 seconds.
  Run(std::chrono::seconds(31));
  EXPECT_EQ(container()["restartCount"].AsInt(), 3);
  Run(std::chrono::hours(1));
  EXPECT_EQ(container()["restartCount"].AsInt(), 3 + 3 + 11);
  EXPECT_THAT(log_, ElementsAre("prepare c"));
}

TEST_F(SimulatedNodesTest, AFailedPodRunsAgainUntilItsDeadlineWhereItsPolicySaysSo) {
  api_.Apply(kClaim);
  PutPod(kRunSeconds, "5");
  api_.Change(resources::kPods, "default", "p", [](Value& pod) {
    pod.Edit("metadata").Edit("annotations").Set(kExitCode, "3");
    pod.Edit("spec").Set("restartPolicy", "OnFailure");
    pod.Edit("spec").Set("activeDeadlineSeconds", 60);
  });
  Run(std::chrono::seconds(12));
  const Value container = Pod()["status"]["containerStatuses"].Items()[0];
  EXPECT_EQ(container["restartCount"].AsInt(), 1);
  EXPECT_EQ(container.At({"lastState", "terminated", "exitCode"}).AsInt(), 3);
  Run(std::chrono::minutes(1));
  EXPECT_EQ(Phase(), "Failed");
  EXPECT_EQ(Pod()["status"]["reason"].AsString(), "DeadlineExceeded");
  EXPECT_THAT(log_, ElementsAre("prepare c", "unprepare c"));
}

TEST_F(SimulatedNodesTest, APodIsRefusedThatAsksForDevicesAndHasNoClaimForThem) {
  const auto asks = [&](std::string_view resource) {
    PutPod();
    api_.Change(resources::kPods, "default", "p", [&](Value& pod) {
      pod.Edit("spec").Erase("resourceClaims");
      pod.Edit("spec")
          .Edit("containers")
          .EditItem(0)
          .Set("resources", Value::Object({{"requests", Value::Object({{resource, "2"}})}}));
    });
  };
  asks("nvidia.com/gpu");
  Run();
  EXPECT_EQ(Phase(), "Failed");
  EXPECT_EQ(Pod()["status"]["reason"].AsString(), "OutOfnvidia.com/gpu");
  EXPECT_EQ(Pod()["status"]["message"].AsString(),
            "Pod was rejected: Node didn't have enough resource: nvidia.com/gpu, requested: 2, "
            "used: 0, capacity: 0");
  EXPECT_THAT(Events(), ElementsAre("Node didn't have enough resource: nvidia.com/gpu, requested: "
                                    "2, used: 0, capacity: 0"));
  api_.Remove(resources::kPods, "default", "p");
  asks("deviceclass.resource.kubernetes.io/gpu.nvidia.com");
  Run();
  EXPECT_EQ(Phase(), "Failed");
}

TEST_F(SimulatedNodesTest, ADeletedPodStopsWithinItsGracePeriodAndGoes) {
  api_.Apply(kClaim);
  PutPod(kStopSeconds, "60");
  Run();
  api_.Change(resources::kPods, "default", "p", [](Value& pod) {
    pod.Edit("metadata").Set("deletionTimestamp", "2026-11-30T10:00:30Z");
    pod.Edit("metadata").Set("deletionGracePeriodSeconds", 30);
  });
  Run(std::chrono::seconds(20));
  EXPECT_EQ(Phase(), "Running");
  Run(std::chrono::seconds(15));
  EXPECT_TRUE(Pod().IsNull());
  EXPECT_THAT(log_, ElementsAre("prepare c", "unprepare c"));
}

TEST_F(SimulatedNodesTest, ASharedClaimIsUnpreparedWithItsLastPod) {
  api_.Apply(kClaim);
  api_.Change(resources::kResourceClaims, "default", "c", [](Value& claim) {
    claim.Edit("status").Edit("reservedFor").Append(Value::Object({{"uid", "uid-q"}}));
  });
  PutPod();
  Value other = Pod();
  other.Edit("metadata").Set("name", "q");
  other.Edit("metadata").Set("uid", "uid-q");
  api_.Put(other);
  Run();
  api_.Remove(resources::kPods, "default", "p");
  Run();
  EXPECT_THAT(log_, ElementsAre("prepare c", "prepare c"));
  api_.Remove(resources::kPods, "default", "q");
  Run();
  EXPECT_THAT(log_, ElementsAre("prepare c", "prepare c", "unprepare c"));
}

TEST(PublishRequests, OneChangedSliceIsUpdatedInPlaceInItsGeneration) {
  const Value node = Value::Object({{"metadata", Value::Object({{"name", "n1"}, {"uid", "u"}})}});
  const Pool pool{
      .name = "n1",
      .slices = {{{}, {Value::Object({{"name", "a"}})}}, {{}, {Value::Object({{"name", "b"}})}}}};
  std::vector<Value> stored;
  int index = 0;
  for (const client::Request& request : PublishRequests("d", node, {pool}, {})) {
    stored.push_back(request.body);
    stored.back().Edit("metadata").Set("name", std::to_string(index++) + "-d-n1-xxxxx");
  }
  ASSERT_THAT(stored, SizeIs(2));
  EXPECT_THAT(PublishRequests("d", node, {pool}, {&stored[0], &stored[1]}), IsEmpty());
  Pool changed = pool;
  changed.slices[1].devices[0].Set("taints", Value::Array({Value::Object({{"key", "k"}})}));
  const auto requests = PublishRequests("d", node, {changed}, {&stored[0], &stored[1]});
  ASSERT_THAT(requests, SizeIs(1));
  EXPECT_EQ(requests[0].verb, client::Verb::kUpdate);
  EXPECT_EQ(requests[0].body.At({"spec", "pool", "generation"}).AsInt(), 1);
}

}  // namespace
}  // namespace drachma::node
