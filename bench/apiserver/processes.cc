#include "processes.h"

#include <fmt/format.h>
#include <sys/resource.h>
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
    // Fields 14 and 15 (utime, stime) of proc(5); the command's name before may contain spaces.
    const std::string stat = ReadFile(fmt::format("/proc/{}/stat", process));
    std::istringstream fields(stat.substr(std::min(stat.size(), stat.rfind(')') + 1)));
    std::string skipped;
    double user = 0;
    double system = 0;
    for (int i = 0; i < 11; ++i) fields >> skipped;
    fields >> user >> system;
    cost.cpu_seconds += (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
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
