#include "processes.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

namespace drachma::bench {
namespace {

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

Cost CostOf(const std::vector<pid_t>& processes) {
  Cost cost;
  for (const pid_t process : processes) {
    // The process's CPU clock counts in nanoseconds, proc(5) in hundredths of a second.
    clockid_t clock = 0;
    timespec used{};
    if (clock_getcpuclockid(process, &clock) == 0 && clock_gettime(clock, &used) == 0) {
      cost.cpu_seconds +=
          static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
    }
    std::istringstream pages(ReadFile(fmt::format("/proc/{}/statm", process)));
    double size = 0;
    double resident = 0;
    pages >> size >> resident;
    cost.resident_bytes += resident * static_cast<double>(sysconf(_SC_PAGESIZE));
  }
  return cost;
}

double OwnCpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace drachma::bench
