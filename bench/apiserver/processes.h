#pragma once

#include <sys/types.h>

#include <vector>

namespace drachma::bench {

// What some processes have cost so far, added up.
struct Cost {
  double cpu_seconds = 0;     // user and system
  double resident_bytes = 0;  // now
};

// Reads /proc of the processes. Those that have ended count as nothing.
Cost CostOf(const std::vector<pid_t>& processes);
// CPU seconds of this process.
double OwnCpuSeconds();

}  // namespace drachma::bench
