#include "cluster/fleet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu/board.h"

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

TEST(Fleet, AnUnknownNameNamesTheKnownOnes) {
  EXPECT_THAT(FindFleet("dgx").error().message, HasSubstr("gb200-nvl72"));
}

}  // namespace
}  // namespace drachma::cluster
