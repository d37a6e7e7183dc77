// Claims that share GPUs, and gates.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu/driver.h"
#include "gpu/gates.h"
#include "gpu/sim_backend.h"
#include "gpu/testing.h"
#include "json/json.h"

namespace drachma::gpu {
namespace {

using json::Value;
using testing::HasSubstr;

std::unique_ptr<GpuDriver> Start(std::string_view gpus) {
  return GpuDriver::Create({.pool = "node-1"},
                           SimBackend::Create("node-1", ParseSimSpec(gpus).value()).value())
      .value();
}

Value FirstDevice(const GpuDriver& driver) { return driver.Pools()[0].slices[0].devices[0]; }

TEST(Shares, MemoryIsTakenAsMuchAsAClaimSays) {
  const Value device = FirstDevice(*Start("A100-40GB x1 shares=memory"));
  EXPECT_TRUE(device["allowMultipleAllocations"].AsBool());
  EXPECT_EQ(device["capacity"], json::Read(R"({"memory": {"value": "40Gi", "requestPolicy":
      {"default": "40Gi", "validRange": {"min": "1Mi", "max": "40Gi", "step": "1Mi"}}}})")
                                    .value());
}

TEST(Shares, ANumberOfSharesIsACapacity) {
  const Value device = FirstDevice(*Start("A100-40GB x1 shares=3"));
  EXPECT_EQ(device["capacity"]["shares"], json::Read(R"({"value": "3", "requestPolicy":
      {"default": "1", "validRange": {"min": "1", "max": "3", "step": "1"}}})")
                                              .value());
  EXPECT_EQ(device["capacity"]["memory"]["requestPolicy"]["default"].AsString(), "0");
}

TEST(Shares, PartsThatExistAreSharedAndThoseToBeMadeAreNot) {
  EXPECT_TRUE(FirstDevice(*Start("H100-80GB x1 mig=static parts=1g.10gb:1 shares=unlimited"))
                  .Has("allowMultipleAllocations"));
  const auto dynamic = Start("H100-80GB x1 mig=dynamic shares=unlimited");
  EXPECT_FALSE(dynamic->Pools()[0].slices[1].devices[0].Has("allowMultipleAllocations"));
}

TEST(Shares, TheLastClaimTakesTheSettingsBack) {
  const auto driver = Start("L4-24GB x2 shares=unlimited");
  const auto& hardware = static_cast<SimBackend&>(driver->backend());
  ASSERT_TRUE(PrepareClaim(*driver, ConfiguredClaim("a", {"gpu-0"}, kLongTurns)));
  ASSERT_TRUE(PrepareClaim(*driver, ConfiguredClaim("b", {"gpu-0"}, kLongTurns)));
  ASSERT_TRUE(UnprepareClaim(*driver, "a"));
  EXPECT_EQ(hardware.settings(0).time_slice, TimeSlice::kLong);
  ASSERT_TRUE(UnprepareClaim(*driver, "b"));
  EXPECT_EQ(hardware.settings(0).time_slice, TimeSlice::kDefault);
}

TEST(Shares, ClaimsWithOtherConfigsDoNotShare) {
  const auto driver = Start("L4-24GB x2 shares=unlimited");
  ASSERT_TRUE(PrepareClaim(*driver, ConfiguredClaim("a", {"gpu-0"}, kLongTurns)));
  const auto refused = PrepareClaim(*driver, ConfiguredClaim("b", {"gpu-0"}));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("is shared with claim a"));
}

TEST(Shares, NoMpsOnThem) {
  const auto driver = Start("L4-24GB x2 shares=unlimited");
  const auto refused = PrepareClaim(*driver, ConfiguredClaim("a", {"gpu-0", "gpu-1"}, kMps));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("MPS cannot be used with ConsumableShares"));
}

TEST(Gates, ListsOfNumaNodesNeedTheirs) {
  const auto numa = [](std::string_view gpus) {
    return FirstDevice(*Start(gpus)).At({"attributes", "resource.kubernetes.io/numaNode"});
  };
  EXPECT_EQ(numa("L4-24GB x1"), json::Read(R"({"int": 0})").value());
  EXPECT_EQ(numa("L4-24GB x1 gates=DRAListTypeAttributes"), json::Read(R"({"ints": [0]})").value());
}

TEST(Gates, ThoseThatDoNotGoTogetherAreRefused) {
  const auto fault = [](std::vector<std::string> on) {
    const Status checked = CheckGates(on);
    return checked ? "" : checked.error().message;
  };
  EXPECT_EQ(fault({}), "");
  EXPECT_EQ(fault({"MPSSupport", "NVMLDeviceHealthCheck", "ComputeDomainCliques"}), "");
  EXPECT_EQ(fault({"DynamicMIG", "MPSSupport"}), "DynamicMIG excludes MPSSupport");
  EXPECT_EQ(fault({"NVMLDeviceHealthCheck", "DynamicMIG"}),
            "DynamicMIG excludes NVMLDeviceHealthCheck");
  EXPECT_EQ(fault({"DeviceMetadata"}), "DeviceMetadata needs PassthroughSupport");
  EXPECT_EQ(fault({"PassthroughSupport", "NVMLDeviceHealthCheck"}),
            "PassthroughSupport excludes NVMLDeviceHealthCheck");
  EXPECT_EQ(fault({"PassthroughSupport"}), "PassthroughSupport is not simulated");
  EXPECT_THAT(fault({"Passthrough"}), HasSubstr("unknown gate \"Passthrough\"; known are Time"));
}

}  // namespace
}  // namespace drachma::gpu
