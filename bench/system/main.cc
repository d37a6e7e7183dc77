// Measures a whole system from outside, over HTTPS. Prints one line of fields separated by tabs.
//
//   system_bench cold DRACHMA FOLDER MANIFEST
//     milliseconds to the kubeconfig, to the first claim allocated, idle bytes, idle CPU seconds
//   system_bench load KUBECONFIG PID,… [--pods N] [--connections N] [--nodes N] [--devices N]
//                     [--running] [--one-by-one]
//     pods, seconds, pods a second, median milliseconds, microseconds of CPU time a pod, bytes a
//     pod, "role microseconds, …"
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <span>
#include <string_view>
#include <utility>

#include "bench/system/cold_start.h"
#include "bench/system/load.h"

namespace drachma::bench {
namespace {

int Wrong(std::string_view what) {
  fmt::print(stderr, "system_bench: {}\n", what);
  return 2;
}

int ColdStartCommand(std::span<char*> arguments) {
  if (arguments.size() != 3) return Wrong("cold DRACHMA FOLDER MANIFEST");
  const auto measured = MeasureColdStart(arguments[0], arguments[1], arguments[2]);
  if (!measured) return Wrong(measured.error().message);
  fmt::print("{:.1f}\t{:.1f}\t{:.0f}\t{:.3f}\n", measured->kubeconfig, measured->allocated,
             measured->idle_bytes, measured->idle_cpu);
  return 0;
}

std::vector<pid_t> ProcessesIn(const std::string& list) {
  std::vector<pid_t> processes;
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    processes.push_back(std::atoi(list.substr(begin, end - begin).c_str()));
    begin = end + 1;
  }
  return processes;
}

// False when there is no such option.
bool ReadOptions(std::span<char*> arguments, LoadOptions& options) {
  const std::pair<std::string_view, int*> numbers[] = {{"--pods", &options.pods},
                                                       {"--connections", &options.connections},
                                                       {"--nodes", &options.nodes},
                                                       {"--devices", &options.devices}};
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "--running") {
      options.until = LoadOptions::Until::kRunning;
      continue;
    }
    if (argument == "--one-by-one") {
      options.pace = LoadOptions::Pace::kOneByOne;
      continue;
    }
    const auto number = std::ranges::find(numbers, argument, [](const auto& n) { return n.first; });
    if (number == std::end(numbers) || i + 1 == arguments.size()) return false;
    *number->second = std::atoi(arguments[++i]);
  }
  return true;
}

int LoadCommand(std::span<char*> arguments) {
  LoadOptions options;
  if (arguments.size() < 2 || !ReadOptions(arguments.subspan(2), options)) {
    return Wrong("load KUBECONFIG PID,… [OPTION…]");
  }
  auto config = client::LoadKubeConfig({.flag = arguments[0], .environment = {}, .home = {}});
  if (!config) return Wrong(config.error().message);
  options.config = std::move(*config);
  options.processes = ProcessesIn(arguments[1]);
  const auto figures = RunLoad(options);
  if (!figures) return Wrong(figures.error().message);
  std::vector<std::pair<double, std::string>> roles;
  for (const auto& [role, seconds] : figures->cpu) {
    if (const double each = 1e6 * seconds / options.pods; each >= 1) roles.emplace_back(each, role);
  }
  std::ranges::sort(roles, std::greater());
  std::string split;
  for (const auto& [each, role] : roles) {
    split += fmt::format("{}{} {:.0f}", split.empty() ? "" : ", ", role, each);
  }
  fmt::print("{}\t{:.2f}\t{:.0f}\t{:.1f}\t{:.0f}\t{:.0f}\t{}\n", options.pods, figures->seconds,
             options.pods / figures->seconds, figures->median_ms,
             1e6 * Sum(figures->cpu) / options.pods, figures->bytes / options.pods, split);
  return 0;
}

int Run(std::span<char*> arguments) {
  const std::string_view command = arguments.size() > 1 ? arguments[1] : "";
  if (command == "cold") return ColdStartCommand(arguments.subspan(2));
  if (command == "load") return LoadCommand(arguments.subspan(2));
  return Wrong("cold or load");
}

}  // namespace
}  // namespace drachma::bench

int main(int argc, char** argv) {
  return drachma::bench::Run({argv, static_cast<std::size_t>(argc)});
}
