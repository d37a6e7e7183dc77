#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "allocator/testing.h"

namespace drachma::allocator {
namespace {

using testing::ClaimOf;
using testing::ClassOf;
using testing::Request;
using testing::SliceOf;

constexpr int kNodes = 3;
constexpr int kPartitionsPerGpu = 4;

// Two GPUs with counters of 4 each, a partition of size i+1 per device name, and one shared device.
std::string Devices(Random& random, bool with_last) {
  std::string out = "\"devices\":[";
  for (int gpu = 0; gpu < 2; ++gpu) {
    for (int i = 0; i < (with_last ? kPartitionsPerGpu : kPartitionsPerGpu - 1); ++i) {
      const std::string size = std::to_string(1 + i % 3);
      out += R"({"name":"part-)" + std::to_string(gpu) + "-" + std::to_string(i) +
             R"(","consumesCounters":[{"counterSet":"gpu-)" + std::to_string(gpu) +
             R"(","counters":{"slices":{"value":")" + size + R"("}}}]},)";
    }
  }
  out +=
      R"({"name":"shared","allowMultipleAllocations":true,"capacity":{"memory":{"value":"10","requestPolicy":{"default":")" +
      std::to_string(1 + random.Below(1)) + R"("}}}}])";
  return out;
}

std::string Counters() {
  return R"("sharedCounters":[{"name":"gpu-0","counters":{"slices":{"value":"4"}}},{"name":"gpu-1","counters":{"slices":{"value":"4"}}}])";
}

// What the claims that were granted take of each node, checked against what there is.
class Ledger {
 public:
  void Grant(const std::string& claim, const api::AllocationResult& result) {
    held_[claim] = result;
  }
  void Revoke(const std::string& claim) { held_.erase(claim); }

  void ExpectNothingGivenTwice() const {
    std::set<std::string> exclusive;
    std::map<std::string, std::int64_t> slices;
    std::map<std::string, std::int64_t> memory;
    for (const auto& [claim, result] : held_) {
      for (const api::DeviceResult& device : result.results) {
        if (device.admin_access) continue;  // holds nothing
        if (device.share_id) {
          memory[device.pool] += device.consumed_capacity.at("memory").Value();
          continue;
        }
        EXPECT_TRUE(exclusive.insert(device.pool + "/" + device.device).second) << device.device;
        const int index = device.device.back() - '0';
        slices[device.pool + "/" + device.device.substr(5, 1)] += 1 + index % 3;
      }
    }
    for (const auto& [gpu, taken] : slices) EXPECT_LE(taken, 4) << gpu;
    for (const auto& [pool, taken] : memory) EXPECT_LE(taken, 10) << pool;
  }

  [[nodiscard]] const std::map<std::string, api::AllocationResult>& held() const { return held_; }

 private:
  std::map<std::string, api::AllocationResult> held_;
};

void SetSlices(Inventory& inventory, int node, Random& random, bool with_last) {
  const std::string name = "node-" + std::to_string(node);
  ASSERT_TRUE(inventory.SetSlice(SliceOf(name + "-counters", name, name, Counters(), 2)));
  ASSERT_TRUE(inventory.SetSlice(SliceOf(name, name, name, Devices(random, with_last), 2)));
}

class Interleaving : public ::testing::TestWithParam<int> {};

TEST_P(Interleaving, NeverGivesMoreThanThereIs) {
  Random random(static_cast<std::uint64_t>(GetParam()));
  const auto order = GetParam() % 2 == 0 ? DeviceOrder::kFirstFit : DeviceOrder::kBestFit;
  Inventory inventory({.order = order});
  ASSERT_TRUE(inventory.SetClass(ClassOf()));
  std::vector<NodeIndex> nodes;
  for (int n = 0; n < kNodes; ++n) {
    SetSlices(inventory, n, random, true);
    nodes.push_back(inventory.SetNode({.name = "node-" + std::to_string(n)}));
  }
  Ledger ledger;
  for (int step = 0; step < 120; ++step) {
    const auto action = random.Below(10);
    if (action < 6) {
      const std::string name = "claim-" + std::to_string(step);
      // Some look at devices with admin access, some ask for much of a shared device.
      std::string more;
      if (random.Below(8) == 0) more = R"(,"adminAccess":true)";
      if (random.Below(4) == 0) {
        more +=
            R"(,"capacity":{"requests":{"memory":")" + std::to_string(1 + random.Below(5)) + "\"}}";
      }
      const int count = more.empty() ? 1 + static_cast<int>(random.Below(3)) : 1;
      const Problem problem(inventory,
                            {ClaimOf(name, "{\"requests\":[" + Request("r", count, more) + "]}")});
      const Outcome outcome = Allocate(problem, nodes[random.Below(kNodes)], {}, random);
      ASSERT_FALSE(std::holds_alternative<Failure>(outcome.value));
      if (outcome.fits()) {
        const auto& result = std::get<Fit>(outcome.value).results[0];
        inventory.SetClaim(name, name, result);
        ledger.Grant(name, result);
      }
    } else if (action < 8 && !ledger.held().empty()) {
      const auto victim =
          std::next(ledger.held().begin(), static_cast<long>(random.Below(ledger.held().size())));
      const std::string name = victim->first;
      inventory.RemoveClaim(name);
      ledger.Revoke(name);
    } else {
      // A partition disappears from its slice, or comes back; who holds it keeps it.
      SetSlices(inventory, static_cast<int>(random.Below(kNodes)), random, random.Below(2) == 0);
    }
    ledger.ExpectNothingGivenTwice();
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Interleaving, ::testing::Range(1, 21));

TEST(Inventory, TheOrderOfInsertionDoesNotMatter) {
  Random random(1);
  std::vector<json::Value> slices;
  for (int n = 0; n < 4; ++n) {
    const std::string pool = "pool-" + std::to_string(n);
    for (int s = 0; s < 3; ++s) {
      slices.push_back(SliceOf(pool + "-" + std::to_string(s), n % 2 == 0 ? "n" : "", pool,
                               R"("devices":[{"name":"d)" + std::to_string(s) + R"("}])", 3));
    }
  }
  const auto run = [&] {
    Inventory inventory({});
    EXPECT_TRUE(inventory.SetClass(ClassOf()));
    for (const json::Value& slice : slices) EXPECT_TRUE(inventory.SetSlice(slice));
    const NodeIndex node = inventory.SetNode({.name = "n"});
    const Problem problem(inventory, {ClaimOf("c", "{\"requests\":[" + Request("r", 7) + "]}")});
    Random unused(1);
    const Outcome outcome = Allocate(problem, node, {}, unused);
    std::string text;
    for (const auto& result : std::get<Fit>(outcome.value).results[0].results) {
      text += result.pool + "/" + result.device + " ";
    }
    return text;
  };
  const std::string first = run();
  for (int round = 0; round < 20; ++round) {
    for (std::size_t i = slices.size() - 1; i > 0; --i) {
      std::swap(slices[i], slices[random.Below(i + 1)]);
    }
    EXPECT_EQ(run(), first);
  }
}

}  // namespace
}  // namespace drachma::allocator
