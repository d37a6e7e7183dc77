#include "explain/device_account.h"

#include <gtest/gtest.h>

namespace drachma::explain {
namespace {

using allocator::Cause;
using allocator::Change;
using allocator::Misfit;
using allocator::Shortage;

TEST(DeviceAccount, SmallerAmountsAreKeptOnceAndOtherChangesNot) {
  DeviceAccount account;
  const auto add = [&account](Change change) {
    Misfit misfit;
    misfit.change = std::move(change);
    account.Add(misfit);
  };
  const Change smaller{.kind = Change::Kind::kSmallerRequest,
                       .request = "d gpu/small",
                       .what = "memory",
                       .value = "10Gi"};
  add(smaller);
  add({.kind = Change::Kind::kMoreDevices, .request = "d gpu"});
  add(smaller);
  EXPECT_EQ(account.smaller(),
            (std::vector<DeviceAccount::SmallerAmount>{{"gpu/small", "memory", "10Gi"}}));
}

TEST(DeviceAccount, FewerDevicesThanAreWantedAreNotSaidToBePartOfThem) {
  DeviceAccount account;
  Misfit misfit;
  misfit.requests = {
      {.claim = "ns/c", .request = "gpu", .needed = 3, .considered = 2, .usable = 2, .losses = {}}};
  account.Add(misfit);
  EXPECT_EQ(account.Sentence(), "request gpu needs 3 devices, there are 2: 2 usable");
}

TEST(DeviceAccount, RequestsHaveTheNamesThatPeopleGave) {
  DeviceAccount account;
  Misfit misfit;
  misfit.requests = {{.claim = "",
                      .request = "container-0-request-0",
                      .needed = 3,
                      .considered = 2,
                      .usable = 2,
                      .losses = {}}};
  misfit.shortages = {{.kind = Shortage::Kind::kDevices,
                       .requests = {"pod container-0-request-0"},
                       .what = {},
                       .needed = 3,
                       .available = 2}};
  account.SetTitles({{"container-0-request-0", "nvidia.com/gpu of container main"}});
  account.Add(misfit);
  EXPECT_EQ(account.Sentence(),
            "nvidia.com/gpu of container main needs 3 devices, there are 2: 2 usable; "
            "nvidia.com/gpu of container main needs 3 devices, 2 are there");
}

TEST(DeviceAccount, AShortageNamesWhatThereIsRoomFor) {
  EXPECT_EQ(Describe(Shortage{.kind = Shortage::Kind::kCounter,
                              .requests = {"d gpu"},
                              .what = "gpu-0",
                              .needed = 3,
                              .available = 2}),
            "d gpu needs 3 devices, counter gpu-0 is enough for 2");
  EXPECT_EQ(Describe(Shortage{.kind = Shortage::Kind::kCapacity,
                              .requests = {"d a", "d b"},
                              .what = {},
                              .needed = 3,
                              .available = 2}),
            "d a, d b together need 3 shares, the devices' capacity is enough for 2");
}

TEST(DeviceAccount, TheCountersOfOneSetAreOneRow) {
  DeviceAccount account;
  Misfit misfit;
  misfit.requests = {{.claim = "ns/c", .request = "gpu", .needed = 1, .considered = 3}};
  for (const char* counter : {"gpu-0/memory", "gpu-0/slices", "gpu-1/memory"}) {
    misfit.requests[0].losses.push_back(
        {.cause = Cause::kCounter, .what = counter, .free = "1", .needed = "2", .devices = 1});
  }
  account.Add(misfit);
  std::vector<std::string> steps;
  for (const Step& step : account.Steps()) steps.push_back(step.step);
  EXPECT_EQ(steps, (std::vector<std::string>{
                       "request gpu: devices considered",
                       "request gpu: without enough of gpu-0's counters (memory, slices)",
                       "request gpu: without enough of counter gpu-1/memory (2 needed, 1 free)",
                       "request gpu: usable"}));
}

TEST(DeviceAccount, TaintsAreToldWithTheRequestsTheyKeepDevicesFrom) {
  DeviceAccount account;
  Misfit misfit;
  misfit.requests = {{.claim = "ns/c", .request = "gpu", .needed = 2, .considered = 2}};
  misfit.requests[0].losses = {{.cause = Cause::kTaint, .what = "broken:NoSchedule", .devices = 2}};
  account.Add(misfit);
  ASSERT_EQ(account.Taints().size(), 1U);
  EXPECT_EQ(account.Taints()[0].request, "request gpu");
  EXPECT_EQ(account.Taints()[0].what, "tainted broken:NoSchedule");
  EXPECT_EQ(account.Taints()[0].devices, 2U);

  DeviceAccount of_more;
  misfit.requests[0].needed = 3;
  of_more.Add(misfit);
  EXPECT_TRUE(of_more.Taints().empty());
}

}  // namespace
}  // namespace drachma::explain
