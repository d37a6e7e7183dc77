#include "gpu/health.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu/catalogue.h"

namespace drachma::gpu {
namespace {

using testing::HasSubstr;

// The taints of gpu-0, or of its part, as "xid=79:NoSchedule gpu-lost:NoSchedule".
std::string Taints(std::string_view faults, std::string_view device = "gpu-0") {
  const Board board{.minor = 0, .model = FindModel("H100-80GB")};
  std::string text;
  for (const json::Value& taint :
       TaintsOf(board, {.name = std::string(device)}, ParseFaults(faults).value())) {
    const std::string_view key = taint["key"].AsString();
    const std::string_view value = taint["value"].AsString();
    text += fmt::format("{}{}{}{}:{}", text.empty() ? "" : " ", key.substr(key.find('/') + 1),
                        value.empty() ? "" : "=", value, taint["effect"].AsString());
  }
  return text;
}

TEST(Health, TheWorstEffectWinsInEitherOrder) {
  EXPECT_EQ(Taints("gpu-0=xid:79,gpu-0=xid:31"), "xid=79:NoSchedule");
  EXPECT_EQ(Taints("gpu-0=xid:31,gpu-0=xid:79"), "xid=79:NoSchedule");
  EXPECT_EQ(Taints("gpu-0=xid:31,gpu-0=xid:79,gpu-0=xid:48:NoExecute"), "xid=48:NoExecute");
}

TEST(Health, ErrorsOfProgramsOnlyInform) { EXPECT_EQ(Taints("gpu-0=xid:43"), "xid=43:None"); }

TEST(Health, EachKindHasItsTaint) {
  EXPECT_EQ(Taints("*=unmonitored, gpu-0=lost, gpu-0=xid:74"),
            "xid=74:NoSchedule gpu-lost:NoSchedule unmonitored:None");
}

TEST(Health, AGpusFaultIsThatOfItsPartsButNotTheOtherWayRound) {
  EXPECT_EQ(Taints("gpu-0=xid:79", "gpu-0-mig-1g10gb-19-0"), "xid=79:NoSchedule");
  EXPECT_EQ(Taints("gpu-0-mig-1g10gb-19-0=xid:79", "gpu-0-mig-1g10gb-19-0"), "xid=79:NoSchedule");
  EXPECT_EQ(Taints("gpu-0-mig-1g10gb-19-0=xid:79", "gpu-0"), "");
  EXPECT_EQ(Taints("gpu-1=xid:79"), "");
}

TEST(Health, WhatCannotBeReadIsRefused) {
  for (const std::string text : {"gpu-0", "=lost", "gpu-0=xid", "gpu-0=xid:", "gpu-0=xid:0",
                                 "gpu-0=xid:7x", "gpu-0=lost:Never", "gpu-0=hot"}) {
    const auto faults = ParseFaults(text);
    ASSERT_FALSE(faults) << text;
    EXPECT_THAT(faults.error().message, HasSubstr(text));
  }
  EXPECT_TRUE(ParseFaults(""));
}

}  // namespace
}  // namespace drachma::gpu
