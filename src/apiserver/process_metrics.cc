#include "apiserver/process_metrics.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>

namespace drachma::apiserver {
namespace {

// Fields of /proc/self/stat after the name in parentheses (proc(5) counts from 1, the name is 2).
struct Stat {
  double start_ticks = 0;     // field 22
  double virtual_bytes = 0;   // field 23
  double resident_pages = 0;  // field 24
};

Stat ReadStat() {
  std::ifstream file("/proc/self/stat");
  std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t end_of_name = text.rfind(')');
  Stat stat;
  if (end_of_name == std::string::npos) return stat;
  std::string_view rest = std::string_view(text).substr(end_of_name + 1);
  for (int field = 3; field <= 24; ++field) {
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    const double value = std::strtod(rest.data(), nullptr);
    if (field == 22) stat.start_ticks = value;
    if (field == 23) stat.virtual_bytes = value;
    if (field == 24) stat.resident_pages = value;
    rest.remove_prefix(std::min(rest.find(' '), rest.size()));
  }
  return stat;
}

// Seconds since 1970 at which the machine started.
double BootTime() {
  std::ifstream file("/proc/stat");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("btime ")) return std::strtod(line.c_str() + 6, nullptr);
  }
  return 0;
}

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double OpenFiles() {
  std::error_code error;
  const std::filesystem::directory_iterator files("/proc/self/fd", error);
  return error ? 0 : static_cast<double>(std::distance(begin(files), end(files)));
}

}  // namespace

std::string ProcessMetricsText() {
  const Stat stat = ReadStat();
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  const struct {
    std::string_view name;
    std::string_view type;
    std::string_view help;
    double value;
  } metrics[] = {
      {"process_cpu_seconds_total", "counter", "CPU time used.", CpuSeconds()},
      {"process_max_fds", "gauge", "Files that may be open.", static_cast<double>(files.rlim_cur)},
      {"process_open_fds", "gauge", "Files that are open.", OpenFiles()},
      {"process_resident_memory_bytes", "gauge", "Resident memory.",
       stat.resident_pages * static_cast<double>(sysconf(_SC_PAGESIZE))},
      {"process_start_time_seconds", "gauge", "Start since 1970.",
       BootTime() + stat.start_ticks / static_cast<double>(sysconf(_SC_CLK_TCK))},
      {"process_virtual_memory_bytes", "gauge", "Address space.", stat.virtual_bytes},
  };
  std::string text;
  for (const auto& metric : metrics) {
    text += fmt::format("# HELP {0} {2}\n# TYPE {0} {1}\n{0} {3}\n", metric.name, metric.type,
                        metric.help, metric.value);
  }
  return text;
}

}  // namespace drachma::apiserver
