#include "gpu/mig_plan.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu/sim_spec.h"

namespace drachma::gpu {
namespace {

using testing::HasSubstr;

// The placed parts as "3g.40gb@4 1g.10gb@0 …"; or the fault.
std::string Placed(std::string_view model, std::string_view parts) {
  const auto spec = ParseSimSpec(fmt::format("{} x1 mig=static parts={}", model, parts));
  if (!spec) return spec.error().message;
  std::string text;
  const std::vector<Part> placed = PlaceParts(*spec->model, spec->parts).value();
  for (const Part& part : placed) {
    text += fmt::format("{}{}@{}", text.empty() ? "" : " ",
                        FindProfile(*spec->model, part.profile)->name, part.start);
  }
  return text;
}

TEST(PlaceParts, ASmallPartLeavesRoomForLargeOnes) {
  EXPECT_EQ(Placed("H100-80GB", "1g.10gb:1"), "1g.10gb@6");
  EXPECT_EQ(Placed("H100-80GB", "3g.40gb:1"), "3g.40gb@4");
  EXPECT_EQ(Placed("A30-24GB", "2g.12gb:1"), "2g.12gb@0");
}

TEST(PlaceParts, AllThatFitsTogetherIsPlaced) {
  EXPECT_EQ(Placed("H100-80GB", "1g.10gb:7"),
            "1g.10gb@0 1g.10gb@1 1g.10gb@2 1g.10gb@3 1g.10gb@4 1g.10gb@5 1g.10gb@6");
  EXPECT_EQ(Placed("H100-80GB", "1g.10gb:1,2g.20gb:1,4g.40gb:1"), "4g.40gb@0 2g.20gb@4 1g.10gb@6");
  EXPECT_EQ(Placed("A100-40GB", "1g.5gb:2,1g.5gb+me:1,3g.20gb:1"),
            "1g.5gb@0 1g.5gb@1 1g.5gb+me@2 3g.20gb@4");
}

TEST(PlaceParts, WhatDoesNotFitIsRefused) {
  EXPECT_THAT(Placed("H100-80GB", "4g.40gb:1,1g.10gb:4"), HasSubstr("do not fit"));
  EXPECT_THAT(Placed("H100-80GB", "7g.80gb:1,1g.10gb:1"), HasSubstr("do not fit"));
  EXPECT_THAT(Placed("H100-80GB", "1g.10gb+me:2"), HasSubstr("takes at most 1 of 1g.10gb+me"));
  EXPECT_THAT(Placed("L4-24GB", "1g.6gb:1"), HasSubstr("has no MIG profile"));
}

TEST(SimSpec, IsReadAsItIsWritten) {
  for (const std::string text : {"H100-80GB x8", "H100-80GB x0 mig=dynamic",
                                 "A30-24GB x2 mig=static parts=1g.6gb+me:1,2g.12gb:1"}) {
    EXPECT_EQ(WriteSimSpec(ParseSimSpec(text).value()), text);
  }
}

TEST(SimSpec, WhatCannotBeReadIsRefused) {
  for (const std::string text :
       {"", "H100 x8", "H100-80GB", "H100-80GB 8", "H100-80GB x", "H100-80GB x257", "H100-80GB x8a",
        "H100-80GB x8 mig=on", "H100-80GB x8 parts=1g.10gb:1",
        "H100-80GB x8 mig=static parts=1g.10gb:x"}) {
    EXPECT_FALSE(ParseSimSpec(text)) << text;
  }
}

}  // namespace
}  // namespace drachma::gpu
