#include "bench/system/process_times.h"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <thread>

namespace drachma::bench {
namespace {

constexpr auto kLook = std::chrono::milliseconds(250);
constexpr int kLooksMax = 120;
constexpr double kQuietShare = 0.04;  // of one CPU

// "net-0" and "net-1" are one role.
std::string RoleOf(std::string name) {
  if (name.starts_with("net-")) return "net (TLS, HTTP)";
  if (name == "drachma") return "start";
  return name;
}

}  // namespace

RoleTimes TimesOf(const std::vector<pid_t>& processes) {
  RoleTimes times;
  for (const pid_t process : processes) {
    std::error_code gone;
    for (const auto& task :
         std::filesystem::directory_iterator(fmt::format("/proc/{}/task", process), gone)) {
      std::string name;
      std::getline(std::ifstream(task.path() / "comm"), name);
      double nanoseconds = 0;  // the first number of schedstat: time on a CPU
      std::ifstream(task.path() / "schedstat") >> nanoseconds;
      if (!name.empty()) times[RoleOf(name)] += nanoseconds / 1e9;
    }
  }
  return times;
}

double Sum(const RoleTimes& times) {
  return std::accumulate(times.begin(), times.end(), 0.0,
                         [](double sum, const auto& entry) { return sum + entry.second; });
}

double ResidentBytes(const std::vector<pid_t>& processes) {
  double bytes = 0;
  for (const pid_t process : processes) {
    std::ifstream status(fmt::format("/proc/{}/status", process));
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("VmRSS:")) bytes += 1024 * std::stod(line.substr(6));
    }
  }
  return bytes;
}

void AwaitQuiet(const std::vector<pid_t>& processes) {
  double before = Sum(TimesOf(processes));
  for (int look = 0; look < kLooksMax; ++look) {
    std::this_thread::sleep_for(kLook);
    const double now = Sum(TimesOf(processes));
    if (now - before < kQuietShare * std::chrono::duration<double>(kLook).count()) return;
    before = now;
  }
}

}  // namespace drachma::bench
