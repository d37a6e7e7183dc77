#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu/board.h"
#include "gpu/driver.h"
#include "gpu/sim_backend.h"
#include "gpu/testing.h"

namespace drachma::gpu {
namespace {

using json::Value;
using testing::SizeIs;

std::vector<node::SliceContent> SlicesOfNode(std::string_view model, int count, MigMode mig) {
  SimBackend backend("node-1", *FindModel(model), count, mig);
  return SlicesOf(backend.Enumerate().value());
}

Value Claim(std::string_view uid, std::string_view device, bool admin = false) {
  Value result = Value::Object(
      {{"request", "r/any"}, {"driver", kDriverName}, {"pool", "node-1"}, {"device", device}});
  if (admin) result.Set("adminAccess", true);
  return Value::Object(
      {{"metadata", Value::Object({{"uid", uid}})},
       {"status",
        Value::Object(
            {{"allocation",
              Value::Object(
                  {{"devices", Value::Object({{"results", Value::Array({result})}})}})}})}});
}

TEST(Boards, AWholeGpuIsPublishedAsTheRealDriverDoes) {
  const auto slices = SlicesOfNode("H100-80GB", 8, MigMode::kOff);
  ASSERT_THAT(slices, SizeIs(1));
  ASSERT_THAT(slices[0].devices, SizeIs(8));
  const Value& device = slices[0].devices[0];
  EXPECT_EQ(device["name"].AsString(), "gpu-0");
  EXPECT_EQ(device.At({"capacity", "memory", "value"}).AsString(), "81559Mi");
  EXPECT_EQ(device.At({"attributes", "cudaComputeCapability", "version"}).AsString(), "9.0.0");
  EXPECT_EQ(device.At({"attributes", "productName", "string"}).AsString(), "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(device.At({"attributes", "resource.kubernetes.io/pcieRoot", "string"}).AsString(),
            "pci0000:10");
  EXPECT_FALSE(device.Has("consumesCounters"));
}

TEST(Boards, AGpuThatCanBeCutOffersItsPartsAgainstCounters) {
  // A full GPU and 7 + 7 + 4 + 3 + 2 + 1 + 1 parts.
  const auto slices = SlicesOfNode("H100-80GB", 2, MigMode::kDynamic);
  ASSERT_THAT(slices, SizeIs(3));
  EXPECT_THAT(slices[0].shared_counters, SizeIs(2));
  EXPECT_THAT(slices[1].devices, SizeIs(26));
  const Value& counters = slices[0].shared_counters[0]["counters"];
  EXPECT_THAT(counters.Members(), SizeIs(15));
  // An allocator that takes the first of each profile keeps the large ones possible.
  const auto first_of = [&](std::string_view profile) {
    return std::ranges::find_if(
               slices[1].devices,
               [&](const Value& device) {
                 return device.At({"attributes", "profile", "string"}).AsString() == profile;
               })
        ->At({"name"})
        .AsString();
  };
  EXPECT_EQ(first_of("1g.10gb"), "gpu-0-mig-1g10gb-19-6");
  EXPECT_EQ(first_of("2g.20gb"), "gpu-0-mig-2g20gb-14-4");
  EXPECT_EQ(first_of("3g.40gb"), "gpu-0-mig-3g40gb-9-4");
}

TEST(Boards, AmpereOffersPartsWithoutTheWhole) {
  const auto slices = SlicesOfNode("A100-40GB", 1, MigMode::kDynamic);
  EXPECT_THAT(slices[1].devices, SizeIs(25));
}

TEST(Boards, TheSameNodeHasTheSameGpusAgain) {
  EXPECT_EQ(SlicesOfNode("L4-24GB", 2, MigMode::kOff)[0].devices,
            SlicesOfNode("L4-24GB", 2, MigMode::kOff)[0].devices);
}

class DriverTest : public testing::Test {
 protected:
  explicit DriverTest(MigMode mig = MigMode::kOff) {
    auto backend = std::make_unique<SimBackend>("node-1", *FindModel("H100-80GB"), 2, mig);
    hardware_ = backend.get();
    driver_ = std::move(*GpuDriver::Create({.pool = "node-1"}, std::move(backend)));
  }
  node::PrepareResult Prepare(const Value& claim) { return PrepareClaim(*driver_, claim); }
  void Unprepare(std::string uid) { ASSERT_TRUE(UnprepareClaim(*driver_, std::move(uid))); }
  std::unique_ptr<GpuDriver> driver_;
  SimBackend* hardware_ = nullptr;  // the driver's
};

TEST_F(DriverTest, ADeviceIsPreparedUnderTheNameOfItsRequest) {
  const auto devices = Prepare(Claim("a", "gpu-0"));
  ASSERT_TRUE(devices);
  EXPECT_EQ((*devices)[0].requests, std::vector<std::string>{"r"});
  EXPECT_THAT((*devices)[0].cdi_device_ids, SizeIs(1));
}

TEST_F(DriverTest, ADeviceIsNeverHandedToTwoClaims) {
  ASSERT_TRUE(Prepare(Claim("a", "gpu-0")));
  EXPECT_FALSE(Prepare(Claim("b", "gpu-0")));
  Unprepare("a");
  EXPECT_TRUE(Prepare(Claim("b", "gpu-0")));
}

TEST_F(DriverTest, PreparingAgainIsNoConflict) {
  ASSERT_TRUE(Prepare(Claim("a", "gpu-0")));
  EXPECT_TRUE(Prepare(Claim("a", "gpu-0")));
  EXPECT_EQ(driver_->prepared(), 1U);
}

TEST_F(DriverTest, AdminAccessNeitherTakesNorNeedsTheDevice) {
  ASSERT_TRUE(Prepare(Claim("admin", "gpu-0", true)));
  ASSERT_TRUE(Prepare(Claim("a", "gpu-0")));
  EXPECT_TRUE(Prepare(Claim("admin-2", "gpu-0", true)));
}

TEST_F(DriverTest, AnUnknownDeviceIsRefused) { EXPECT_FALSE(Prepare(Claim("a", "gpu-9"))); }

TEST_F(DriverTest, TheClaimsTimeSliceOverridesTheClasss) {
  const auto devices = Prepare(ConfiguredClaim("a", {"gpu-0", "gpu-1"}, kLongTurns));
  ASSERT_TRUE(devices) << devices.error().message;
  EXPECT_EQ(hardware_->settings(0).time_slice, TimeSlice::kLong);
  EXPECT_EQ(hardware_->settings(1).time_slice, TimeSlice::kShort);
  EXPECT_EQ((*devices)[0].report.At({"sharing", "interval"}).AsString(), "Long");
  Unprepare("a");
  EXPECT_EQ(hardware_->settings(0).time_slice, TimeSlice::kDefault);
}

TEST_F(DriverTest, OneDaemonServesTheGpusOfOneConfig) {
  const auto devices = Prepare(ConfiguredClaim("a", {"gpu-0", "gpu-1"}, kMps));
  ASSERT_TRUE(devices) << devices.error().message;
  ASSERT_THAT(hardware_->daemons(), SizeIs(1));
  const MpsDaemon& daemon = hardware_->daemons().begin()->second;
  EXPECT_EQ(daemon.active_thread_percentage, 50);
  EXPECT_EQ(daemon.pinned_memory_limits.at(daemon.uuids[0]), "10240M");
  EXPECT_EQ(daemon.pinned_memory_limits.at(daemon.uuids[1]), "5120M");
  EXPECT_EQ(hardware_->settings(1).compute_mode, ComputeMode::kExclusiveProcess);
  Unprepare("a");
  EXPECT_THAT(hardware_->daemons(), SizeIs(0));
  EXPECT_EQ(hardware_->settings(1).compute_mode, ComputeMode::kDefault);
}

TEST_F(DriverTest, WhatWasDoneBeforeAFailureIsUndone) {
  // gpu-0 gets its time slice, then the memory limit of a second GPU finds only one in the daemon.
  const auto refused =
      Prepare(ConfiguredClaim("a", {"gpu-0", "gpu-1"}, fmt::format("{}{}", kMps, kLongTurns)));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "invalid device: invalid device index: 1");
  EXPECT_EQ(hardware_->settings(0).time_slice, TimeSlice::kDefault);
  EXPECT_TRUE(Prepare(Claim("b", "gpu-0")));
}

class MigDriverTest : public DriverTest {
 protected:
  MigDriverTest() : DriverTest(MigMode::kDynamic) {}
};

TEST_F(MigDriverTest, PartsAreMadeForAClaimAndGoWithIt) {
  const auto devices =
      Prepare(ConfiguredClaim("a", {"gpu-0-mig-1g10gb-19-0", "gpu-0-mig-3g40gb-9-4"}, "[]"));
  ASSERT_TRUE(devices) << devices.error().message;
  ASSERT_THAT(hardware_->settings(0).parts, SizeIs(2));
  EXPECT_TRUE(hardware_->settings(0).mig_enabled);
  EXPECT_EQ((*devices)[1].report["uuid"].AsString(), hardware_->settings(0).parts[1].uuid);
  // A part that would lie over them is refused by the hardware, whatever was allocated.
  EXPECT_FALSE(Prepare(ConfiguredClaim("b", {"gpu-0-mig-4g40gb-5-0"}, "[]")));
  Unprepare("a");
  EXPECT_THAT(hardware_->settings(0).parts, SizeIs(0));
  EXPECT_FALSE(hardware_->settings(0).mig_enabled);
  EXPECT_TRUE(Prepare(ConfiguredClaim("b", {"gpu-0-mig-4g40gb-5-0"}, "[]")));
}

TEST_F(MigDriverTest, AWholeGpuAndItsPartsExcludeEachOther) {
  ASSERT_TRUE(Prepare(Claim("whole", "gpu-0")));
  EXPECT_FALSE(Prepare(Claim("part", "gpu-0-mig-1g10gb-19-0")));
  EXPECT_TRUE(Prepare(Claim("other", "gpu-1-mig-1g10gb-19-0")));
  EXPECT_FALSE(Prepare(Claim("whole-2", "gpu-1")));
  Unprepare("whole");
  EXPECT_TRUE(Prepare(Claim("part", "gpu-0-mig-1g10gb-19-0")));
}

TEST(Driver, MpsRunsOnGpusThatCannotBeCutWhateverTheirMigMode) {
  const auto driver = GpuDriver::Create(
      {.pool = "node-1"},
      std::make_unique<SimBackend>("node-1", *FindModel("L4-24GB"), 2, MigMode::kDynamic));
  const Value claim = ConfiguredClaim("a", {"gpu-0", "gpu-1"}, kMps);
  const node::PrepareResult devices = PrepareClaim(**driver, claim);
  ASSERT_TRUE(devices) << devices.error().message;
  EXPECT_EQ((*devices)[0].report.At({"sharing", "strategy"}).AsString(), "MPS");
}

TEST_F(MigDriverTest, NoMpsWhereGpusAreCut) {
  const auto refused = Prepare(ConfiguredClaim("a", {"gpu-0"}, kMps));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, testing::HasSubstr("needs feature gate MPSSupport"));
}

TEST_F(MigDriverTest, AConfigForItsRequestMustBeOfTheDevicesKind) {
  std::string named(kLongTurns);
  const auto refused = Prepare(ConfiguredClaim("a", {"gpu-0-mig-1g10gb-19-0"}, named));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "cannot apply GpuConfig to device gpu-0-mig-1g10gb-19-0 of type mig (request r0)");
  EXPECT_THAT(hardware_->settings(0).parts, SizeIs(0));
  // One for all devices is for those of its kind.
  named.replace(named.find("requests: [r0]"), 14, "requests: []");
  EXPECT_TRUE(Prepare(ConfiguredClaim("a", {"gpu-0-mig-1g10gb-19-0"}, named)));
}

}  // namespace
}  // namespace drachma::gpu
