#include "allocator/search.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "allocator/testing.h"

// Inputs made to be hard: more is asked for than there is, and devices and requests differ in ways
// that keep them from being interchangeable. Upstream's search needs longer than anybody waits for
// most of them. What counts is the number of steps, which does not depend on the machine.
namespace drachma::allocator {
namespace {

using testing::ClaimOf;
using testing::ClassOf;
using testing::SliceOf;

constexpr std::uint64_t kStepsMax = 5000;

class Hard {
 public:
  explicit Hard(std::uint64_t seed) : random_(seed) {}

  // A node with one or two pools of plain, partitioned and shared devices.
  void Fill(Inventory& inventory) {
    const int pools = 1 + Below(2);
    for (int p = 0; p < pools; ++p) {
      const std::string pool = fmt::format("pool-{}", p);
      const int blocks = Below(3);
      const int slices = 1 + Below(2);
      const int total = slices + (blocks > 0 ? 1 : 0);
      if (blocks > 0) {
        std::string sets;
        for (int b = 0; b < blocks; ++b) {
          sets += fmt::format(
              R"({}{{"name":"set-{}","counters":{{"memory":{{"value":"{}"}},"cores":{{"value":"{}"}}}}}})",
              b > 0 ? "," : "", b, 4 + Below(6), 3 + Below(5));
        }
        EXPECT_TRUE(inventory.SetSlice(
            SliceOf(pool + "-a", "n", pool, "\"sharedCounters\":[" + sets + "]", total)));
      }
      for (int s = 0; s < slices; ++s) {
        std::string devices;
        const int count = 3 + Below(5);
        for (int d = 0; d < count; ++d) {
          devices += (d > 0 ? "," : "") + Device(fmt::format("d-{}-{}", s, d), blocks);
        }
        EXPECT_TRUE(inventory.SetSlice(SliceOf(fmt::format("{}-b{}", pool, s), "n", pool,
                                               "\"devices\":[" + devices + "]", total)));
      }
    }
  }

  std::vector<api::ResourceClaim> Claims() {
    std::vector<api::ResourceClaim> claims;
    const int count = 1 + Below(2);
    for (int c = 0; c < count; ++c) {
      std::string requests;
      const int wanted = 2 + Below(6 / count);
      for (int r = 0; r < wanted; ++r) {
        requests += (r > 0 ? "," : "") + Request(fmt::format("r{}", r));
      }
      std::string constraints;
      for (int i = Below(3); i > 0; --i) {
        const char* kind = Below(2) == 0 ? "matchAttribute" : "distinctAttribute";
        const char* attribute = Below(2) == 0 ? "group" : "numa";
        constraints += fmt::format(R"({}{{"{}":"gpu.example.com/{}"{}}})",
                                   constraints.empty() ? "" : ",", kind, attribute,
                                   Below(2) == 0 ? "" : R"(,"requests":["r0","r1","r2","r3"])");
      }
      claims.push_back(
          ClaimOf(fmt::format("claim-{}", c),
                  fmt::format(R"({{"requests":[{}],"constraints":[{}]}})", requests, constraints)));
    }
    return claims;
  }

 private:
  int Below(int bound) {
    return static_cast<int>(random_.Below(static_cast<std::uint64_t>(bound)));
  }

  std::string Device(const std::string& name, int blocks) {
    std::string attributes =
        fmt::format(R"("kind":{{"string":"k{}"}},"group":{{"string":"g{}"}},"index":{{"int":{}}})",
                    Below(3), Below(4), Below(6));
    if (Below(10) > 0) attributes += fmt::format(R"(,"numa":{{"int":{}}})", Below(2));
    std::string text = fmt::format(R"({{"name":"{}","attributes":{{{}}})", name, attributes);
    if (Below(4) == 0) {
      text += fmt::format(
          R"(,"allowMultipleAllocations":true,"capacity":{{"memory":{{"value":"{}","requestPolicy":{{"default":"1"}}}}}})",
          2 + Below(6));
    }
    if (blocks > 0 && Below(5) > 0) {
      text += fmt::format(
          R"(,"consumesCounters":[{{"counterSet":"set-{}","counters":{{"memory":{{"value":"{}"}},"cores":{{"value":"{}"}}}}}}])",
          Below(blocks), 1 + Below(3), Below(3));
    }
    if (Below(12) == 0) text += R"(,"taints":[{"key":"k","effect":"NoSchedule"}])";
    return text + "}";
  }

  std::string Needs() {
    std::string expression = "true";
    switch (Below(7)) {
      case 0:
      case 1:
        expression = fmt::format("device.attributes['gpu.example.com'].kind != 'k{}'", Below(3));
        break;
      case 2:
        expression = fmt::format("device.attributes['gpu.example.com'].group == 'g{}'", Below(4));
        break;
      case 3:
        expression = fmt::format("device.attributes['gpu.example.com'].index < {}", 1 + Below(5));
        break;
      case 4:  // fails where there is none
        if (Below(3) == 0) expression = "device.attributes['gpu.example.com'].numa == 1";
        break;
      default:
        break;
    }
    const std::string capacity =
        Below(5) == 0 ? fmt::format(R"(,"capacity":{{"requests":{{"memory":"{}"}}}})", 1 + Below(3))
                      : "";
    return fmt::format(
        R"("deviceClassName":"gpu","allocationMode":"{}","count":{},"selectors":[{{"cel":{{"expression":"{}"}}}}]{})",
        Below(40) == 0 ? "All" : "ExactCount", 1 + Below(3), expression, capacity);
  }

  std::string Request(const std::string& name) {
    if (Below(5) == 0) {
      return fmt::format(
          R"({{"name":"{}","firstAvailable":[{{"name":"a",{}}},{{"name":"b",{}}}]}})", name,
          Needs(), Needs());
    }
    return fmt::format(R"({{"name":"{}","exactly":{{{}{}}}}})", name, Needs(),
                       Below(15) == 0 ? R"(,"adminAccess":true)" : "");
  }

  Random random_;
};

class HardInputs : public ::testing::TestWithParam<int> {};

TEST_P(HardInputs, AreDecidedInFewSteps) {
  constexpr int kCases = 200;
  for (int i = 0; i < kCases; ++i) {
    const auto seed =
        static_cast<std::uint64_t>(GetParam()) * kCases + static_cast<std::uint64_t>(i);
    Hard hard(seed);
    Inventory inventory({});
    ASSERT_TRUE(inventory.SetClass(ClassOf()));
    hard.Fill(inventory);
    const NodeIndex node = inventory.SetNode({.name = "n", .labels = {}, .declared_features = {}});
    const Problem problem(inventory, hard.Claims());
    Random random(1);
    const Outcome outcome = Allocate(problem, node, {}, random);
    EXPECT_LT(outcome.work, kStepsMax) << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, HardInputs, ::testing::Range(0, 3));

}  // namespace
}  // namespace drachma::allocator
