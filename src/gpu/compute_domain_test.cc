#include "gpu/compute_domain.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/yaml.h"

namespace drachma::gpu {
namespace {

using json::Value;
using testing::SizeIs;

// A claim `uid` for `device`, with the config of `kind` and `fields`, if any.
Value Claim(std::string_view uid, std::string_view device, std::string_view kind = "",
            std::string_view fields = "") {
  std::string config;
  if (!kind.empty()) {
    config = fmt::format(
        "{{source: FromClaim, opaque: {{driver: compute-domain.nvidia.com, parameters: "
        "{{apiVersion: resource.nvidia.com/v1beta1, kind: {}, {}}}}}}}",
        kind, fields);
  }
  return json::ReadYamlValue(
             fmt::format("metadata: {{uid: {}}}\n"
                         "status: {{allocation: {{devices: {{config: [{}], results: [{{request: r, "
                         "driver: compute-domain.nvidia.com, pool: node-1, device: {}}}]}}}}}}\n",
                         uid, config, device))
      .value();
}

node::PrepareResult Prepare(ComputeDomainDriver& driver, const Value& claim) {
  node::PrepareResult result;
  driver.Prepare({&claim, 1},
                 [&](node::PrepareAnswer answer) { result = std::move(answer.begin()->second); });
  return result;
}

TEST(ComputeDomainDriver, ANodeHasOneChannelAndOneDaemon) {
  const std::vector<node::Pool> pools = ComputeDomainDriver("node-1", "rack-1.0").Pools();
  ASSERT_THAT(pools, SizeIs(1));
  ASSERT_THAT(pools[0].slices, SizeIs(1));
  const std::vector<Value>& devices = pools[0].slices[0].devices;
  ASSERT_THAT(devices, SizeIs(2));
  EXPECT_EQ(devices[0]["name"].AsString(), "channel-0");
  EXPECT_EQ(devices[0].At({"attributes", "type", "string"}).AsString(), "channel");
  EXPECT_EQ(devices[1].At({"attributes", "type", "string"}).AsString(), "daemon");
  EXPECT_EQ(devices[1].At({"attributes", "id", "int"}).AsInt(-1), 0);
}

TEST(ComputeDomainDriver, AChannelSaysItsDomainAndHowManyChannelsItBrings) {
  ComputeDomainDriver driver("node-1", "rack-1.0");
  const auto devices = Prepare(driver, Claim("a", "channel-0", "ComputeDomainChannelConfig",
                                             "domainID: d, allocationMode: All"));
  ASSERT_TRUE(devices) << devices.error().message;
  const node::PreparedDevice& device = (*devices)[0];
  EXPECT_EQ(device.cdi_device_ids[0], "k8s.compute-domain.nvidia.com/claim=a-channel-0");
  EXPECT_EQ(device.report["domainID"].AsString(), "d");
  EXPECT_EQ(device.report["cliqueID"].AsString(), "rack-1.0");
  EXPECT_EQ(device.report["channels"].AsInt(), 2048);
}

TEST(ComputeDomainDriver, WithoutNvlinkNothingIsInjected) {
  ComputeDomainDriver driver("node-1", "");
  const auto devices = Prepare(driver, Claim("a", "channel-0"));
  ASSERT_TRUE(devices) << devices.error().message;
  EXPECT_EQ((*devices)[0].report, Value::Object());
}

TEST(ComputeDomainDriver, AChannelHasOneHolder) {
  ComputeDomainDriver driver("node-1", "rack-1.0");
  ASSERT_TRUE(Prepare(driver, Claim("a", "channel-0")));
  ASSERT_TRUE(Prepare(driver, Claim("a", "channel-0"))) << "again is no conflict";
  EXPECT_EQ(Prepare(driver, Claim("b", "channel-0")).error().message,
            "device channel-0 is in use by claim a");
  const node::ClaimRef ref{.uid = "a"};
  driver.Unprepare({&ref, 1}, [](const node::UnprepareAnswer&) {});
  EXPECT_TRUE(Prepare(driver, Claim("b", "channel-0")));
}

TEST(ComputeDomainDriver, ABadConfigKeepsTheDeviceFree) {
  ComputeDomainDriver driver("node-1", "rack-1.0");
  EXPECT_FALSE(
      Prepare(driver, Claim("a", "daemon-0", "ComputeDomainDaemonConfig", "domainID: ''")));
  EXPECT_FALSE(Prepare(driver, Claim("a", "channel-1")));
  EXPECT_TRUE(Prepare(driver, Claim("b", "daemon-0")));
}

}  // namespace
}  // namespace drachma::gpu
