// Times the selectors of public drivers: compilation, and evaluation of a decoded device; counts
// what an evaluation allocates; and how long expressions are refused that are made to take long.
// The comparison with upstream is bench/cel/run.sh.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "json/json.h"
#include "monsters.h"
#include "selector/program.h"

namespace {
std::atomic<std::size_t> allocations = 0;
}  // namespace

void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  std::abort();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace {

using namespace drachma;

template <typename Body>
double Time(int count, const Body& body) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < count; ++i) body();
  const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - start;
  return taken.count() / count;
}

double Median(std::vector<double> values) {
  std::ranges::sort(values);
  return values.empty() ? 0 : values[values.size() / 2];
}

// The device of celbench; its driver is the first name in quotes of the expression.
selector::Device DeviceFor(const std::string& expression) {
  std::string driver = "gpu.nvidia.com";
  const std::size_t begin = expression.find_first_of("\"'");
  if (begin != std::string::npos) {
    const std::size_t end = expression.find(expression[begin], begin + 1);
    driver = expression.substr(begin + 1, end - begin - 1);
  }
  const auto json = json::Read(R"({"allowMultipleAllocations":true,"attributes":{
    "type":{"string":"gpu"},"productName":{"string":"NVIDIA A100-SXM4-80GB"},
    "architecture":{"string":"Hopper"},"index":{"int":1},"driverVersion":{"version":"570.86.15"},
    "uuid":{"string":"GPU-18db0e85-99e9-c746-8531-ffeb86328b39"},"numaNode":{"int":0},
    "cudaComputeCapability":{"version":"9.0.0"},"profile":{"string":"1g.10gb"},
    "rdma":{"bool":true},"ifName":{"string":"gpu1rdma0"},"model":{"string":"Gaudi3"},
    "family":{"string":"Arc"},"resourceName":{"string":"port1-vfs"}},
    "capacity":{"memory":{"value":"80Gi"},"multiprocessors":{"value":"132"}}})");
  return *selector::Device::FromJson(driver, *json);
}

// The best of a few times, since the machine is shared.
double Best(int count, const auto& body) {
  double best = Time(1, body);
  for (int i = 1; i < count; ++i) best = std::min(best, Time(1, body));
  return best;
}

void TimeMonsters() {
  std::vector<std::pair<double, std::string>> times;
  const auto device = selector::Device::FromJson("gpu.example.com", *json::Read("{}"));
  for (const cel::Monster& monster : cel::Monsters()) {
    const auto refuse = [&] {
      const auto program = selector::Compile(monster.text, {});
      if (program) static_cast<void>(program->Match(*device));
    };
    times.emplace_back(Best(5, refuse) / 1e6, monster.name);
  }
  std::ranges::sort(times, std::greater());
  std::printf("%zu monsters are refused; the slowest:\n", times.size());
  for (const auto& [milliseconds, name] : std::span(times).first(5)) {
    std::printf("  %5.2f ms  %s\n", milliseconds, name.c_str());
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::ifstream file(argc > 1 ? argv[1] : DRACHMA_SOURCE_DIR "/tests/cel/selectors.txt");
  std::vector<double> evaluations;
  std::vector<double> compilations;
  std::vector<std::size_t> allocated;
  for (std::string line; std::getline(file, line);) {
    const selector::CompileOptions options{.list_type_attributes = true, .estimate_cost = false};
    const auto program = selector::Compile(line, options);
    if (!program) {
      std::printf("%s\n", program.error().message.c_str());
      return 1;
    }
    const selector::Device device = DeviceFor(line);
    const auto match = [&] { static_cast<void>(program->Match(device)); };
    Time(2000, match);
    const std::size_t before = allocations;
    match();
    allocated.push_back(allocations - before);
    evaluations.push_back(Time(20000, match));
    compilations.push_back(Time(100, [&] { static_cast<void>(selector::Compile(line, options)); }));
  }
  std::ranges::sort(allocated);
  const auto without = std::ranges::count(allocated, std::size_t{0});
  std::printf(
      "%zu selectors: median evaluation %.0f ns, slowest %.0f ns; median compilation %.0f ns;"
      " %td evaluate without allocating (most: %zu allocations)\n",
      evaluations.size(), Median(evaluations), std::ranges::max(evaluations), Median(compilations),
      without, allocated.back());
  TimeMonsters();
  return 0;
}
