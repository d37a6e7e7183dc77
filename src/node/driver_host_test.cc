#include "node/driver_host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "base/executor.h"
#include "client/fake_client.h"
#include "client/objects.h"
#include "node/fake_plugin.h"

namespace drachma::node {
namespace {

using json::Value;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
namespace resources = client::resources;

constexpr std::string_view kNode =
    "{apiVersion: v1, kind: Node, metadata: {name: host, uid: node-1}}";
constexpr std::string_view kClaim = R"({apiVersion: resource.k8s.io/v1, kind: ResourceClaim,
metadata: {name: c, namespace: x, uid: u1}, status: {allocation: {devices: {results: [
{driver: gpu.nvidia.com, pool: host, device: gpu-0, request: gpu}]}}}})";
const ClaimRef kRef{.ns = "x", .name = "c", .uid = "u1"};

Value Device(std::string_view name, Value taints = {}) {
  Value device = Value::Object(
      {{"name", name},
       {"attributes", Value::Object({{"type", Value::Object({{"string", "gpu"}})}})}});
  if (!taints.IsNull()) device.Set("taints", std::move(taints));
  return device;
}

Value Taint(std::string_view key, std::string_view value, std::string_view effect) {
  return Value::Object({{"key", key}, {"value", value}, {"effect", effect}});
}

std::vector<Pool> PoolOf(std::vector<Value> devices) {
  return {{.name = "host", .slices = {{.devices = std::move(devices)}}}};
}

class DriverHostTest : public ::testing::Test {
 protected:
  DriverHostTest() { plugin_.SetPools(PoolOf({Device("gpu-0"), Device("gpu-1")})); }

  void Start() {
    host_ = std::make_unique<DriverHost>("host", *client_, plugin_);
    host_->Start();
    RunFor(std::chrono::seconds(1));
  }
  void RunFor(Duration duration) {
    const Time deadline = executor_.clock().Now() + duration;
    while (executor_.RunOne(deadline)) {
    }
  }
  // Nothing while the driver has not answered.
  std::optional<PrepareAnswer> Prepare(const std::vector<ClaimRef>& claims) {
    const auto got = std::make_shared<std::optional<PrepareAnswer>>();
    host_->Prepare(claims, [got](PrepareAnswer answer) { *got = std::move(answer); });
    RunFor(std::chrono::milliseconds(1));
    return *got;
  }
  std::string PrepareError(const ClaimRef& claim) {
    const auto answer = Prepare({claim});
    return answer && !answer->at(claim.uid) ? answer->at(claim.uid).error().message : "";
  }
  std::vector<Value> Slices() const { return api_.List(resources::kResourceSlices); }
  std::int64_t Generation() const { return Slices().front()["spec"]["pool"]["generation"].AsInt(); }

  VirtualExecutor executor_{Time(std::chrono::hours(24 * 365 * 50))};
  client::FakeApi api_;
  std::unique_ptr<client::Client> client_ = api_.factory().NewClient(executor_, "test");
  FakePlugin plugin_;
  std::unique_ptr<DriverHost> host_;
};

TEST_F(DriverHostTest, DevicesArePublishedAsSoonAsTheNodeIsThere) {
  Start();
  EXPECT_THAT(Slices(), IsEmpty());
  api_.Apply(kNode);
  RunFor(std::chrono::milliseconds(1));
  ASSERT_THAT(Slices(), SizeIs(1));
  EXPECT_EQ(Slices().front()["spec"]["devices"].size(), 2U);
  EXPECT_EQ(Slices().front().At({"metadata", "ownerReferences"}).Items().front()["uid"].AsString(),
            "node-1");
}

TEST_F(DriverHostTest, SlicesThatAKubeletWipesAreBackAtOnceAndNewer) {
  api_.Apply(kNode);
  Start();
  const std::int64_t before = Generation();
  api_.Remove(resources::kResourceSlices, "", client::NameOf(Slices().front()));
  RunFor(std::chrono::milliseconds(1));
  ASSERT_THAT(Slices(), SizeIs(1));
  EXPECT_EQ(Generation(), before + 1);
}

TEST_F(DriverHostTest, ASliceThatSomebodyChangesIsPutRight) {
  api_.Apply(kNode);
  Start();
  const std::string name(client::NameOf(Slices().front()));
  api_.Change(resources::kResourceSlices, "", name,
              [](Value& slice) { slice.Edit("spec").Set("devices", Value::Array()); });
  RunFor(std::chrono::milliseconds(1));
  ASSERT_THAT(Slices(), SizeIs(1));
  EXPECT_EQ(client::NameOf(Slices().front()), name);
  EXPECT_EQ(Slices().front()["spec"]["devices"].size(), 2U);
}

TEST_F(DriverHostTest, SlicesOfOtherDriversAreLeftAlone) {
  api_.Apply(kNode);
  api_.Apply(R"({apiVersion: resource.k8s.io/v1, kind: ResourceSlice, metadata: {name: other},
    spec: {driver: nic.example.com, nodeName: host, pool: {name: host, generation: 1}}})");
  Start();
  EXPECT_THAT(Slices(), SizeIs(2));
}

TEST_F(DriverHostTest, AWriteThatFailsIsTriedAgainSoon) {
  api_.Apply(kNode);
  api_.FailNext(
      [](const client::Request& request) { return request.verb == client::Verb::kCreate; },
      {.code = Code::kUnavailable, .message = "not now"}, 2);
  Start();
  EXPECT_THAT(Slices(), SizeIs(1));
  EXPECT_THAT(host_->Metrics(),
              HasSubstr("nvidia_dra_node_prepare_errors_total{driver=\"gpu.nvidia.com\","
                        "error_type=\"publish_resources\"} 2\n"));
}

TEST_F(DriverHostTest, NothingIsWrittenTwiceWhileTheViewLags) {
  api_.Apply(kNode);
  // The driver changes its mind while its first slice is being written.
  bool changed = false;
  api_.OnRequest([&](const client::Request& request) {
    if (request.verb == client::Verb::kCreate && !std::exchange(changed, true)) {
      plugin_.SetPools(PoolOf({Device("gpu-0")}));
    }
  });
  Start();
  ASSERT_THAT(Slices(), SizeIs(1));
  EXPECT_EQ(Slices().front()["spec"]["devices"].size(), 1U);
}

TEST_F(DriverHostTest, AClaimIsReadAndPrepared) {
  api_.Apply(kClaim);
  Start();
  const auto answer = Prepare({kRef});
  ASSERT_TRUE(answer && answer->at("u1"));
  EXPECT_THAT(answer->at("u1")->front().cdi_device_ids,
              ElementsAre("k8s.gpu.nvidia.com/claim=u1-gpu-0"));
}

TEST_F(DriverHostTest, AClaimThatIsNotTheOneMeantIsRefused) {
  api_.Apply(kClaim);
  Start();
  EXPECT_EQ(PrepareError({.ns = "x", .name = "c", .uid = "u0"}), "claim x/c got replaced");
  EXPECT_THAT(PrepareError({.ns = "x", .name = "d", .uid = "u2"}), HasSubstr("retrieve claim x/d"));
  api_.Change(resources::kResourceClaims, "x", "c",
              [](Value& claim) { claim.Set("status", Value::Object({})); });
  EXPECT_EQ(PrepareError(kRef), "claim x/c not allocated");
  EXPECT_THAT(plugin_.calls(), IsEmpty());
}

TEST_F(DriverHostTest, OneClaimOfACallMayFailAlone) {
  api_.Apply(kClaim);
  Start();
  const auto answer = Prepare({kRef, {.ns = "x", .name = "d", .uid = "u2"}});
  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->at("u1"));
  EXPECT_FALSE(answer->at("u2"));
}

TEST_F(DriverHostTest, CallsForOneClaimFollowEachOther) {
  api_.Apply(kClaim);
  Start();
  plugin_.HoldAnswers();
  EXPECT_FALSE(Prepare({kRef}));
  bool unprepared = false;
  host_->Unprepare({kRef}, [&](const UnprepareAnswer&) { unprepared = true; });
  EXPECT_THAT(plugin_.calls(), ElementsAre("prepare u1"));
  EXPECT_THAT(host_->Metrics(), HasSubstr("nvidia_dra_requests_inflight{driver=\"gpu.nvidia.com\","
                                          "operation=\"unprepare\"} 1\n"));
  plugin_.Release();
  EXPECT_THAT(plugin_.calls(), ElementsAre("prepare u1", "unprepare u1"));
  EXPECT_TRUE(unprepared);
}

TEST_F(DriverHostTest, AClaimIsAskedForOnlySoOften) {
  Start();
  plugin_.HoldAnswers();
  int refused = 0;
  for (std::size_t i = 0; i <= ClaimCalls::kCallsPerClaimMax; ++i) {
    host_->Unprepare({kRef}, [&](const UnprepareAnswer& answer) {
      refused += !answer.at("u1") && answer.at("u1").error().code == Code::kTooManyRequests;
    });
  }
  EXPECT_EQ(refused, 1);
}

TEST_F(DriverHostTest, ClaimsThatAreGoneAreGivenBackAtTheStartAndLater) {
  api_.Apply(kClaim);
  plugin_.Hold(kRef);
  plugin_.Hold({.ns = "x", .name = "gone", .uid = "u3"});
  plugin_.Hold({.ns = "x", .name = "c", .uid = "u-before"});
  Start();
  EXPECT_THAT(plugin_.calls(), ElementsAre("unprepare u-before", "unprepare u3"));
  api_.Remove(resources::kResourceClaims, "x", "c");
  RunFor(DriverHost::kSweepInterval);
  EXPECT_THAT(plugin_.Held(), IsEmpty());
}

TEST_F(DriverHostTest, AClaimThatCannotBeReadIsKept) {
  plugin_.Hold(kRef);
  api_.FailNext(
      [](const client::Request& request) { return request.resource == resources::kResourceClaims; },
      {.code = Code::kForbidden, .message = "no"});
  Start();
  EXPECT_THAT(plugin_.Held(), SizeIs(1));
}

TEST_F(DriverHostTest, AClaimThatIsAllocatedToNobodyIsGivenBack) {
  api_.Apply(
      "{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: c, namespace: x,"
      " uid: u1}}");
  plugin_.Hold(kRef);
  Start();
  EXPECT_THAT(plugin_.calls(), ElementsAre("unprepare u1"));
}

TEST_F(DriverHostTest, TheEndLeavesClaimsPrepared) {
  api_.Apply(kClaim);
  Start();
  ASSERT_TRUE(Prepare({kRef}));
  host_.reset();
  EXPECT_THAT(plugin_.calls(), ElementsAre("prepare u1"));
}

TEST_F(DriverHostTest, HealthIsToldOnChangesAndFromTimeToTime) {
  host_ = std::make_unique<DriverHost>("host", *client_, plugin_);
  int told = 0;
  host_->OnHealth([&] { ++told; });
  host_->Start();
  EXPECT_EQ(told, 1);
  plugin_.SetPools(PoolOf({Device("gpu-0")}));
  EXPECT_EQ(told, 2);
  RunFor(DriverHost::kHealthInterval);
  EXPECT_EQ(told, 3);
}

TEST_F(DriverHostTest, MetricsCountByNvidiasNames) {
  api_.Apply(kClaim);
  Start();
  ASSERT_TRUE(Prepare({kRef}));
  plugin_.FailWith("no");
  ASSERT_TRUE(Prepare({kRef}));
  const std::string text = host_->Metrics();
  for (
      const char* line :
      {R"(nvidia_dra_requests_total{driver="gpu.nvidia.com",operation="prepare"} 2)",
       R"(nvidia_dra_requests_inflight{driver="gpu.nvidia.com",operation="prepare"} 0)",
       R"(nvidia_dra_request_duration_seconds_bucket{driver="gpu.nvidia.com",operation="prepare",le="0.05"} 2)",
       R"(nvidia_dra_request_duration_seconds_bucket{driver="gpu.nvidia.com",operation="prepare",le="12.8"} 2)",
       R"(nvidia_dra_prepared_devices{node="host",driver="gpu.nvidia.com",device_type="gpu"} 1)",
       R"(nvidia_dra_node_prepare_errors_total{driver="gpu.nvidia.com",error_type="prepare_devices"} 1)"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST(DeviceHealthTest, TaintsOfTheDriverTellTheHealth) {
  const auto health = [](Value taint) {
    return HealthOf("gpu.nvidia.com", PoolOf({Device("gpu-0", Value::Array({std::move(taint)}))}))
        .front();
  };
  EXPECT_EQ(health(Taint("gpu.nvidia.com/xid", "79", "NoSchedule")),
            (DeviceHealth{"host", "gpu-0", Health::kUnhealthy, "gpu.nvidia.com/xid=79"}));
  EXPECT_EQ(health(Taint("gpu.nvidia.com/xid", "13", "None")),
            (DeviceHealth{"host", "gpu-0", Health::kHealthy, "gpu.nvidia.com/xid=13"}));
  EXPECT_EQ(health(Taint("gpu.nvidia.com/unmonitored", "", "None")),
            (DeviceHealth{"host", "gpu-0", Health::kUnknown, "gpu.nvidia.com/unmonitored"}));
  EXPECT_EQ(health(Taint("example.com/mine", "", "NoExecute")),
            (DeviceHealth{"host", "gpu-0", Health::kHealthy, ""}));
}

}  // namespace
}  // namespace drachma::node
