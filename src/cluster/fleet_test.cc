#include "cluster/fleet.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/simulated_gpus.h"
#include "gpu/board.h"
#include "json/yaml.h"

namespace drachma::cluster {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

constexpr std::string_view kExample = R"(apiVersion: drachma.dev/v1alpha1
kind: Fleet
groups:
- {name: h100, count: 4, cpu: "128", memory: 1Ti, labels: {zone: a}, gpu: {model: H100-80GB, count: 8, mig: dynamic}, nvlinkDomain: rack-1}
)";

TEST(Fleet, TheDocumentedExampleIsRead) {
  const Fleet fleet = ReadFleet(kExample, "f.yaml").value();
  ASSERT_THAT(fleet.groups, SizeIs(1));
  EXPECT_EQ(fleet.groups[0].gpu->mig, gpu::MigMode::kDynamic);
  const std::vector<node::NodeSpec> nodes = NodesOf(fleet);
  ASSERT_THAT(nodes, SizeIs(4));
  EXPECT_EQ(nodes[3].name, "h100-3");
  EXPECT_EQ(nodes[0].annotations.at("drachma.dev/simulated-gpu"), "H100-80GB x8 mig=dynamic");
  EXPECT_EQ(nodes[0].labels.at("zone"), "a");
}

TEST(Fleet, EveryFaultIsReportedWithItsPlace) {
  const auto fleet = ReadFleet(R"(apiVersion: drachma.dev/v1alpha1
kind: Fleet
groups:
- name: Big
  gpu: {model: H100, count: 8}
  colour: red
)",
                               "f.yaml");
  ASSERT_FALSE(fleet);
  EXPECT_THAT(fleet.error().message, HasSubstr("f.yaml:4:9: groups[0].name: "));
  EXPECT_THAT(
      fleet.error().message,
      HasSubstr("f.yaml:5:16: groups[0].gpu.model: unknown model \"H100\"; known are A100"));
  EXPECT_THAT(fleet.error().message, HasSubstr("f.yaml:6:11: groups[0].colour: unknown field"));
}

TEST(Fleet, EveryBuiltInFleetIsReadBackAsItIsWritten) {
  for (const Fleet& fleet : BuiltInFleets()) {
    const auto again = ReadFleet(WriteFleet(fleet), fleet.name);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(WriteFleet(*again), WriteFleet(fleet));
  }
}

TEST(Fleet, NodesOfAnNvlinkDomainHaveTheComputeDomainDriver) {
  const auto drivers_of = [](std::string_view annotation, std::string_view clique) {
    json::Value metadata = json::Value::Object({{"name", "n"}});
    metadata.Edit("annotations").Set(node::kSimulatedGpu, annotation);
    if (!clique.empty()) metadata.Edit("labels").Set("nvidia.com/gpu.clique", clique);
    return DriversOf(json::Value::Object({{"metadata", std::move(metadata)}})).value().size();
  };
  EXPECT_EQ(drivers_of("H100-80GB x8", ""), 1U);
  EXPECT_EQ(drivers_of("H100-80GB x8", "rack-1.0"), 2U);
  EXPECT_EQ(drivers_of("GB300-278GB x4", ""), 2U);
}

constexpr std::string_view kStatic = R"(apiVersion: drachma.dev/v1alpha1
kind: Fleet
groups:
- name: cut
  gpu: {model: H100-80GB, count: 2, mig: static, migDevices: {1g.10gb: 4, 3g.40gb: 1}}
)";

TEST(Fleet, GpusThatAnAdministratorCutAreReadAndWritten) {
  const Fleet fleet = ReadFleet(kStatic, "f.yaml").value();
  const std::vector<node::NodeSpec> nodes = NodesOf(fleet);
  EXPECT_EQ(nodes[0].annotations.at(std::string(node::kSimulatedGpu)),
            "H100-80GB x2 mig=static parts=1g.10gb:4,3g.40gb:1");
  EXPECT_EQ(WriteFleet(ReadFleet(WriteFleet(fleet), "f.yaml").value()), WriteFleet(fleet));
}

TEST(Fleet, PartsThatAGpuCannotHaveAreReported) {
  const auto fault_of = [](std::string_view wanted) {
    std::string text(kStatic);
    text.replace(text.find("{1g.10gb"), text.find("}}") + 1 - text.find("{1g.10gb"), wanted);
    const auto fleet = ReadFleet(text, "f.yaml");
    return fleet ? "" : fleet.error().message;
  };
  EXPECT_EQ(fault_of("{3g.40gb: 1, 4g.40gb: 1}"), "");
  EXPECT_EQ(fault_of("{3g.40gb: 2, 1g.10gb: 1}"),
            "f.yaml:5:62: groups[0].gpu.migDevices: these parts do not fit on H100-80GB together");
  EXPECT_THAT(fault_of("{1g.5gb: 1}"), HasSubstr("has no MIG profile \"1g.5gb\"; it has 1g.10gb"));
  EXPECT_THAT(fault_of("{1g.10gb: 8}"), HasSubstr("1g.10gb: must be a number from 0 to 7"));
  EXPECT_THAT(fault_of("{}"), HasSubstr("mig: static needs migDevices"));
}

TEST(Fleet, SharesAndGatesAreReadAndWritten) {
  std::string text(kStatic);
  text.replace(text.find("mig: static"), text.find("}}") + 1 - text.find("mig: static"),
               "consumableShares: 4, gates: [DRAListTypeAttributes]");
  const Fleet fleet = ReadFleet(text, "f.yaml").value();
  EXPECT_EQ(NodesOf(fleet)[0].annotations.at(std::string(node::kSimulatedGpu)),
            "H100-80GB x2 shares=4 gates=DRAListTypeAttributes");
  EXPECT_EQ(WriteFleet(ReadFleet(WriteFleet(fleet), "f.yaml").value()), WriteFleet(fleet));
  text.replace(text.find("Shares: 4"), 9, "Shares: 0");
  text.replace(text.find("DRAList"), 21, "DynamicMIG, MPSSupport");
  const auto refused = ReadFleet(text, "f.yaml");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message,
              HasSubstr("groups[0].gpu.consumableShares: \"0\" is none of disabled, memory"));
  EXPECT_THAT(refused.error().message,
              HasSubstr("groups[0].gpu.gates: DynamicMIG excludes MPSSupport"));
}

json::Value NodeWith(std::string_view gpus, std::string_view health) {
  json::Value metadata = json::Value::Object({{"name", "n"}});
  if (!gpus.empty()) metadata.Edit("annotations").Set(node::kSimulatedGpu, gpus);
  if (!health.empty()) metadata.Edit("annotations").Set(node::kSimulatedHealth, health);
  return json::Value::Object({{"metadata", std::move(metadata)}});
}

// The devices that a node publishes: "gpu-0", with taints "gpu-0!NoSchedule".
std::vector<std::string> Published(const std::vector<std::unique_ptr<node::DraPlugin>>& drivers) {
  std::vector<std::string> names;
  for (const auto& driver : drivers) {
    for (const node::Pool& pool : driver->Pools()) {
      for (const node::SliceContent& slice : pool.slices) {
        for (const json::Value& device : slice.devices) {
          names.emplace_back(device["name"].AsString());
          for (const json::Value& taint : device["taints"].Items()) {
            names.back() += fmt::format("!{}", taint["effect"].AsString());
          }
        }
      }
    }
  }
  return names;
}

using testing::ElementsAre;
using testing::IsEmpty;

TEST(SimulatedGpus, FollowTheAnnotationsOfTheirNode) {
  auto drivers = DriversOf(NodeWith("", "")).value();
  EXPECT_THAT(drivers, IsEmpty());
  ASSERT_TRUE(UpdateSimulatedGpus(NodeWith("L4-24GB x2", "gpu-1=xid:79"), drivers));
  EXPECT_THAT(Published(drivers), ElementsAre("gpu-0", "gpu-1!NoSchedule"));
  int changes = 0;
  drivers[0]->OnPoolsChanged([&] { ++changes; });
  ASSERT_TRUE(UpdateSimulatedGpus(NodeWith("L4-24GB x2", "gpu-1=xid:79"), drivers));
  EXPECT_EQ(changes, 0);
  ASSERT_TRUE(UpdateSimulatedGpus(NodeWith("L4-24GB x2", ""), drivers));
  EXPECT_THAT(Published(drivers), ElementsAre("gpu-0", "gpu-1"));
  ASSERT_TRUE(UpdateSimulatedGpus(
      NodeWith("H100-80GB x1 mig=static parts=3g.40gb:1,1g.10gb:2", "gpu-0=lost:NoExecute"),
      drivers));
  EXPECT_THAT(Published(drivers),
              ElementsAre("gpu-0-mig-3g40gb-9-4!NoExecute", "gpu-0-mig-1g10gb-19-0!NoExecute",
                          "gpu-0-mig-1g10gb-19-1!NoExecute"));
  ASSERT_TRUE(UpdateSimulatedGpus(NodeWith("", ""), drivers));
  EXPECT_THAT(Published(drivers), IsEmpty());
}

TEST(SimulatedGpus, AnAnnotationThatCannotBeReadChangesNothing) {
  auto drivers = DriversOf(NodeWith("L4-24GB x2", "")).value();
  const Status refused = UpdateSimulatedGpus(NodeWith("L4-24GB x1", "gpu-1=fire"), drivers);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("drachma.dev/simulated-health: \"gpu-1=fire\""));
  EXPECT_THAT(Published(drivers), ElementsAre("gpu-0", "gpu-1"));
}

TEST(SimulatedGpus, ADeviceInUseStaysWithATaintUntilItIsFree) {
  auto drivers = DriversOf(NodeWith("H100-80GB x2", "")).value();
  const json::Value claim = json::ReadYamlValue(R"(
metadata: {uid: a, name: a, namespace: default}
status: {allocation: {devices: {results: [{request: r, driver: gpu.nvidia.com, pool: "n", device: gpu-1}]}}}
)")
                                .value();
  drivers[0]->Prepare({&claim, 1},
                      [](const node::PrepareAnswer& answer) { ASSERT_TRUE(answer.at("a")); });
  ASSERT_TRUE(UpdateSimulatedGpus(NodeWith("H100-80GB x1", ""), drivers));
  EXPECT_THAT(Published(drivers), ElementsAre("gpu-0", "gpu-1!NoSchedule"));
  const node::ClaimRef ref{.uid = "a"};
  drivers[0]->Unprepare({&ref, 1},
                        [](const node::UnprepareAnswer& answer) { ASSERT_TRUE(answer.at("a")); });
  EXPECT_THAT(Published(drivers), ElementsAre("gpu-0"));
}

TEST(Fleet, AnUnknownNameNamesTheKnownOnes) {
  EXPECT_THAT(FindFleet("dgx").error().message, HasSubstr("gb200-nvl72"));
}

}  // namespace
}  // namespace drachma::cluster
