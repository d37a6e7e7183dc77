#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controllers/test_cluster.h"

namespace drachma::controllers {
namespace {

namespace resources = client::resources;
using json::Value;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::string_view kWorld = R"(
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: s}
spec:
  driver: d
  pool: {name: n1, generation: 1, resourceSliceCount: 1}
  nodeName: n1
  devices: [{name: gpu-0}, {name: gpu-1}]
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: c, namespace: default}
status:
  allocation: {devices: {results: [{request: r, driver: d, pool: n1, device: gpu-0}]}}
  reservedFor: [{resource: pods, name: p, uid: uid-p}]
---
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: default, uid: uid-p}
spec: {nodeName: n1, containers: [{name: c}], resourceClaims: [{name: x, resourceClaimName: c}]}
status: {phase: Running}
)";
constexpr std::string_view kRule = R"(
apiVersion: resource.k8s.io/v1
kind: DeviceTaintRule
metadata: {name: rule, generation: 1}
spec:
  deviceSelector: {driver: d, device: gpu-0}
  taint: {key: example.com/bad, effect: NoExecute, timeAdded: "2026-11-30T09:59:00Z"}
)";

class DeviceTaintEvictionTest : public testing::Test {
 protected:
  TestCluster cluster_{{"device-taint-eviction-controller"}};

  void SetUp() override { cluster_.api().Apply(kWorld); }
  void SetTolerations(std::string_view effect, Value seconds) {
    cluster_.api().Change(resources::kResourceClaims, "default", "c", [&](Value& claim) {
      Value toleration = Value::Object({{"operator", "Exists"}});
      if (!effect.empty()) toleration.Set("effect", effect);
      if (!seconds.IsNull()) toleration.Set("tolerationSeconds", std::move(seconds));
      claim.Edit("status")
          .Edit("allocation")
          .Edit("devices")
          .Edit("results")
          .EditItem(0)
          .Set("tolerations", Value::Array({std::move(toleration)}));
    });
  }
  void TaintInSlice(std::string_view device, std::string_view effect) {
    cluster_.api().Change(resources::kResourceSlices, "", "s", [&](Value& slice) {
      const std::size_t index = device == "gpu-0" ? 0 : 1;
      slice.Edit("spec").Edit("devices").EditItem(index).Set(
          "taints",
          Value::Array({Value::Object(
              {{"key", "k"}, {"effect", effect}, {"timeAdded", "2026-11-30T10:00:00Z"}})}));
    });
  }
  std::vector<std::string> Pods() { return cluster_.NamesOf(resources::kPods); }
  Value RuleCondition() {
    const Value rule = cluster_.api().Get(resources::kDeviceTaintRules, "", "rule");
    const Value* condition = client::ConditionOf(rule, "EvictionInProgress");
    return condition == nullptr ? Value() : *condition;
  }
};

TEST_F(DeviceTaintEvictionTest, APodOnATaintedDeviceIsEvicted) {
  TaintInSlice("gpu-0", "NoExecute");
  cluster_.Run();
  EXPECT_THAT(Pods(), IsEmpty());
  EXPECT_THAT(cluster_.Events(), ElementsAre("DeviceTaintManagerEviction Marking for deletion"));
}

TEST_F(DeviceTaintEvictionTest, OtherDevicesAndOtherEffectsLeaveThePodAlone) {
  TaintInSlice("gpu-1", "NoExecute");
  TaintInSlice("gpu-0", "NoSchedule");
  cluster_.Run();
  EXPECT_THAT(Pods(), ElementsAre("p"));
}

TEST_F(DeviceTaintEvictionTest, ATolerationForAWhileDelaysTheEviction) {
  SetTolerations("NoExecute", Value(60));
  TaintInSlice("gpu-0", "NoExecute");
  cluster_.Run(std::chrono::seconds(50));
  EXPECT_THAT(Pods(), ElementsAre("p"));
  cluster_.Run(std::chrono::seconds(20));
  EXPECT_THAT(Pods(), IsEmpty());
}

TEST_F(DeviceTaintEvictionTest, ATolerationWithoutEffectDoesNotCountForEviction) {
  SetTolerations("", Value());
  TaintInSlice("gpu-0", "NoExecute");
  cluster_.Run();
  EXPECT_THAT(Pods(), IsEmpty());
}

TEST_F(DeviceTaintEvictionTest, ARuleEvictsAndReports) {
  cluster_.Run();
  cluster_.api().Apply(kRule);
  cluster_.Run(std::chrono::seconds(30));
  EXPECT_THAT(Pods(), IsEmpty());
  EXPECT_EQ(RuleCondition()["reason"].AsString(), "Completed");
  EXPECT_EQ(RuleCondition()["message"].AsString(), "1 pod evicted since starting the controller.");
}

TEST_F(DeviceTaintEvictionTest, ARuleWithoutSelectorMatchesNothing) {
  cluster_.api().Apply(kRule);
  cluster_.api().Change(resources::kDeviceTaintRules, "", "rule",
                        [](Value& rule) { rule.Edit("spec").Erase("deviceSelector"); });
  cluster_.Run(std::chrono::seconds(30));
  EXPECT_THAT(Pods(), ElementsAre("p"));
  EXPECT_EQ(RuleCondition()["reason"].AsString(), "NotStarted");
}

TEST_F(DeviceTaintEvictionTest, EffectNoneSaysWhatWouldHappen) {
  cluster_.api().Apply(kRule);
  cluster_.api().Change(resources::kDeviceTaintRules, "", "rule", [](Value& rule) {
    rule.Edit("spec").Edit("taint").Set("effect", "None");
    rule.Edit("spec").Set("deviceSelector", Value::Object());
  });
  cluster_.Run(std::chrono::seconds(30));
  EXPECT_EQ(
      RuleCondition()["message"].AsString(),
      "2 published devices selected. 1 allocated device selected. 1 pod would be evicted in 1 "
      "namespace if the effect was NoExecute. This information will not be updated again. "
      "Recreate the DeviceTaintRule to trigger an update.");
}

}  // namespace
}  // namespace drachma::controllers
