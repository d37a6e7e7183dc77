#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu/board.h"
#include "gpu/driver.h"
#include "json/json.h"

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
  EXPECT_EQ(slices[1].devices.back()["name"].AsString(), "gpu-0-mig-1g10gb-me-20-6");
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
  DriverTest() {
    SimBackend backend("node-1", *FindModel("H100-80GB"), 2, MigMode::kOff);
    driver_ = std::move(*GpuDriver::Create("node-1", backend));
  }
  node::PrepareResult Prepare(const Value& claim) {
    node::PrepareAnswer answer;
    driver_->Prepare({&claim, 1}, [&](node::PrepareAnswer a) { answer = std::move(a); });
    return answer.at(std::string(claim["metadata"]["uid"].AsString()));
  }
  void Unprepare(std::string uid) {
    const node::ClaimRef ref{.uid = std::move(uid)};
    driver_->Unprepare({&ref, 1}, [](const node::UnprepareAnswer&) {});
  }
  std::unique_ptr<GpuDriver> driver_;
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

}  // namespace
}  // namespace drachma::gpu
