// Evaluation takes nothing from the heap: the selectors of public drivers on devices that have what
// they ask for, lack it, and hold other values.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <new>
#include <string>
#include <string_view>

#include "json/json.h"
#include "selector/program.h"

namespace {
std::atomic<std::size_t> allocations = 0;
}  // namespace

// Not inlined, so that the compiler does not take them for mismatched pairs.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  std::abort();
}
// The standard library's temporary buffers use it; replaced, too, so that pairs match.
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t& /*tag*/) noexcept {
  ++allocations;
  return std::malloc(size);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace drachma::selector {
namespace {

constexpr std::string_view kFullDevice = R"({"allowMultipleAllocations":true,"attributes":{
    "type":{"string":"gpu"},"productName":{"string":"NVIDIA A100-SXM4-80GB"},
    "architecture":{"string":"Hopper"},"index":{"int":1},"driverVersion":{"version":"570.86.15"},
    "uuid":{"string":"GPU-18db0e85-99e9-c746-8531-ffeb86328b39"},"numaNode":{"int":0},
    "cudaComputeCapability":{"version":"9.0.0"},"profile":{"string":"1g.10gb"},
    "rdma":{"bool":true},"ifName":{"string":"gpu1rdma0"},"model":{"string":"Gaudi3"},
    "family":{"string":"Arc"},"resourceName":{"string":"port1-vfs"}},
    "capacity":{"memory":{"value":"80Gi"},"multiprocessors":{"value":"132"}}})";
constexpr std::string_view kOtherDevice = R"({"attributes":{
    "type":{"string":"mig"},"productName":{"string":"Größe L4"},"index":{"int":7},
    "model":{"int":3},"driverVersion":{"version":"1.0.0-rc.1"}},"capacity":{"memory":{"value":"500M"}}})";

// The first name in quotes, mostly the driver's.
std::string FirstName(const std::string& expression) {
  const std::size_t begin = expression.find_first_of("\"'");
  if (begin == std::string::npos) return "gpu.nvidia.com";
  const std::size_t end = expression.find(expression[begin], begin + 1);
  return expression.substr(begin + 1, end - begin - 1);
}

TEST(CelAllocationTest, MatchingTakesNothingFromTheHeap) {
  std::ifstream file(DRACHMA_SOURCE_DIR "/tests/cel/selectors.txt");
  int count = 0;
  for (std::string line; std::getline(file, line); ++count) {
    const auto program = Compile(line, {.list_type_attributes = true});
    ASSERT_TRUE(program) << line;
    const std::array<Device, 3> devices = {
        *Device::FromJson(FirstName(line), *json::Read(kFullDevice)),
        *Device::FromJson(FirstName(line), *json::Read(kOtherDevice)),
        *Device::FromJson("empty.example.com", *json::Read("{}"))};
    for (const Device& device : devices) {
      // What is worked out once: the device as a map, the states of patterns.
      static_cast<void>(program->Match(device));
      const std::size_t before = allocations;
      const Outcome outcome = program->Match(device);
      EXPECT_EQ(allocations - before, 0u)
          << line << "\non device " << &device - devices.data() << ": " << outcome.error;
    }
  }
  EXPECT_GT(count, 100);
}

}  // namespace
}  // namespace drachma::selector
