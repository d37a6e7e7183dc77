#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

namespace drachma::bench {

// Seconds of CPU time per role: the threads of our process carry their roles' names, the threads
// of a program of upstream's carry the program's. Read from /proc.
using RoleTimes = std::map<std::string, double>;
[[nodiscard]] RoleTimes TimesOf(const std::vector<pid_t>& processes);
[[nodiscard]] double Sum(const RoleTimes& times);

// Resident memory of the processes now, in bytes.
[[nodiscard]] double ResidentBytes(const std::vector<pid_t>& processes);

// Waits until the processes use next to no CPU time, for at most half a minute: what they put off
// (events, compaction) belongs to what the pods cost.
void AwaitQuiet(const std::vector<pid_t>& processes);

}  // namespace drachma::bench
