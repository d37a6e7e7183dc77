// Times the allocator on the cases of a file (one JSON object {"name","request"} a line, as
// tests/upstream/allocator/cmd/bench writes them), then on whole clusters. Prints name,
// nanoseconds of CPU time, nanoseconds of the best batch, outcome and nanoseconds of building the
// table, separated by tabs.

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <string>

#include "allocator/allocator.h"
#include "allocator/testing.h"

namespace drachma::allocator {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kMinimum = std::chrono::milliseconds(300);

// Nanoseconds per run. CPU time of the whole process is what a run costs, whatever else the machine
// does; the best batch of many is what it takes when nothing comes between.
struct Times {
  double cpu = 0;
  double best = 1e18;
};

template <typename Work>
Times Time(Work work) {
  work();
  constexpr int kBatch = 16;
  Times times;
  std::int64_t runs = 0;
  const std::clock_t cpu = std::clock();
  const auto begin = Clock::now();
  while (Clock::now() - begin < kMinimum) {
    const auto batch = Clock::now();
    for (int i = 0; i < kBatch; ++i, ++runs) work();
    const std::chrono::duration<double, std::nano> spent = Clock::now() - batch;
    times.best = std::min(times.best, spent.count() / kBatch);
  }
  times.cpu =
      1e9 * static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC / static_cast<double>(runs);
  return times;
}

const char* Name(const Outcome& outcome) {
  if (outcome.fits()) return "fits";
  return std::holds_alternative<Misfit>(outcome.value) ? "none" : "error";
}

void RunCase(const json::Value& entry) {
  const json::Value& request = entry["request"];
  std::vector<std::string> names;
  for (const json::Value& name : request["features"].Items()) names.emplace_back(name.AsString());
  const auto built = Clock::now();
  Inventory inventory({.features = Features::Named(names)});
  for (const json::Value& item : request["classes"].Items()) {
    static_cast<void>(inventory.SetClass(item));
  }
  for (const json::Value& item : request["slices"].Items()) {
    static_cast<void>(inventory.SetSlice(item));
  }
  RawUsage usage;
  for (const json::Value& item : request["allocated"]["devices"].Items()) {
    usage.devices.push_back({std::string(item["driver"].AsString()),
                             std::string(item["pool"].AsString()),
                             std::string(item["device"].AsString())});
  }
  inventory.SetUsage("used", "ns/used", usage);
  const NodeIndex node = inventory.SetNode(Node::FromJson(request["node"]));
  std::vector<api::ResourceClaim> claims;
  for (const json::Value& item : request["claims"].Items()) {
    claims.push_back(api::ResourceClaim::FromJson(item).value());
  }
  const Problem problem(inventory, claims);
  Random random(1);
  const Outcome outcome = Allocate(problem, node, {}, random);
  const std::chrono::duration<double, std::nano> building = Clock::now() - built;
  const Times times = Time([&] { static_cast<void>(Allocate(problem, node, {}, random)); });
  std::printf("%s\t%.0f\t%.0f\t%s\t%.0f\n", std::string(entry["name"].AsString()).c_str(),
              times.cpu, times.best, Name(outcome), building.count());
}

double ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  double total = 0;
  double resident = 0;
  statm >> total >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

// One pod over a cluster of nodes with eight GPUs; all but the last node are full.
void RunCluster(int nodes) {
  const std::string label = "cluster-" + std::to_string(nodes) + "x8";
  const double before = ResidentBytes();
  const auto built = Clock::now();
  Inventory inventory({});
  static_cast<void>(inventory.SetClass(testing::ClassOf()));
  std::vector<NodeIndex> all;
  for (int n = 0; n < nodes; ++n) {
    const std::string name = "node-" + std::to_string(n);
    static_cast<void>(inventory.SetSlice(testing::SliceOf(name, name, name, testing::Gpus(8))));
    all.push_back(inventory.SetNode({.name = name, .labels = {}, .declared_features = {}}));
  }
  const std::chrono::duration<double, std::nano> building = Clock::now() - built;
  const double bytes = ResidentBytes() - before;
  std::printf("%s-build-per-slice\t%.0f\n", label.c_str(), building.count() / nodes);
  std::printf("%s-bytes-per-device\t%.0f\n", label.c_str(), bytes / (8.0 * nodes));

  Random random(1);
  const auto problem_of = [&](int count) {
    return Problem(inventory, {testing::ClaimOf("claim", "{\"requests\":[" +
                                                             testing::Request("r", count) + "]}")});
  };
  const Problem one = problem_of(1);
  const auto cold = Clock::now();
  std::vector<NodeIndex> passed;
  FilterNodes(one, all, passed);
  for (const NodeIndex node : passed) static_cast<void>(Allocate(one, node, {}, random));
  const std::chrono::duration<double, std::nano> first = Clock::now() - cold;
  std::printf("%s-every-node-first-time\t%.0f\n", label.c_str(), first.count());
  const Times every = Time([&] {
    for (const NodeIndex node : all) static_cast<void>(Allocate(one, node, {}, random));
  });
  std::printf("%s-every-node\t%.0f\n", label.c_str(), every.cpu);

  for (int n = 0; n + 1 < nodes; ++n) {
    const std::string name = "node-" + std::to_string(n);
    RawUsage usage;
    for (int g = 0; g < 8; ++g) {
      usage.devices.push_back({"gpu.example.com", name, "gpu-" + std::to_string(g)});
    }
    inventory.SetUsage(name, "ns/" + name, usage);
  }
  const Times full = Time([&] {
    passed.clear();
    FilterNodes(one, all, passed);
    for (const NodeIndex node : passed) static_cast<void>(Allocate(one, node, {}, random));
  });
  std::printf("%s-full-but-one\t%.0f\n", label.c_str(), full.cpu);
}

// How an attempt grows with the devices of a node, of which the last is wanted, and with the claims
// of a pod.
void RunGrowth() {
  constexpr int kDevicesPerSlice = 128;
  Random random(1);
  for (const int devices : {8, 64, 512, 4096}) {
    Inventory inventory({});
    static_cast<void>(inventory.SetClass(testing::ClassOf()));
    const int slices = (devices + kDevicesPerSlice - 1) / kDevicesPerSlice;
    for (int s = 0; s < slices; ++s) {
      const std::string name = "slice-" + std::to_string(s);
      static_cast<void>(inventory.SetSlice(testing::SliceOf(
          name, "n", name,
          testing::Gpus(std::min(devices - s * kDevicesPerSlice, kDevicesPerSlice)))));
    }
    const NodeIndex node = inventory.SetNode({.name = "n", .labels = {}, .declared_features = {}});
    RawUsage usage;
    for (int d = 0; d + 1 < devices; ++d) {
      usage.devices.push_back({"gpu.example.com", "slice-" + std::to_string(d / kDevicesPerSlice),
                               "gpu-" + std::to_string(d % kDevicesPerSlice)});
    }
    inventory.SetUsage("used", "ns/used", usage);
    const Problem problem(
        inventory,
        {testing::ClaimOf("claim", "{\"requests\":[" + testing::Request("r", 1) + "]}")});
    const Times times = Time([&] { static_cast<void>(Allocate(problem, node, {}, random)); });
    std::printf("growth-last-of-%d-devices\t%.0f\n", devices, times.cpu);
  }
  for (const int claims : {1, 4, 16, 64}) {
    testing::OneNode host(testing::Gpus(kDevicesPerSlice));
    std::vector<api::ResourceClaim> all;
    for (int c = 0; c < claims; ++c) {
      all.push_back(testing::ClaimOf("claim-" + std::to_string(c),
                                     "{\"requests\":[" + testing::Request("r", 1) + "]}"));
    }
    const Problem problem(host.inventory, all);
    const Times times = Time([&] { static_cast<void>(Allocate(problem, host.node, {}, random)); });
    std::printf("growth-%d-claims\t%.0f\n", claims, times.cpu);
  }
}

}  // namespace
}  // namespace drachma::allocator

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: allocator_bench CASES_FILE\n");
    return 2;
  }
  std::ifstream cases(argv[1]);
  for (std::string line; std::getline(cases, line);) {
    drachma::allocator::RunCase(drachma::json::Read(line).value());
  }
  drachma::allocator::RunGrowth();
  std::fflush(stdout);
  for (const int nodes : {1000, 5000, 20000, 60000}) drachma::allocator::RunCluster(nodes);
  return 0;
}
