#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"
#include "bench/system/process_times.h"
#include "client/kubeconfig.h"

namespace drachma::bench {

struct LoadOptions {
  client::KubeConfig config;
  std::vector<pid_t> processes;  // whose CPU time and memory are measured
  int pods = 5000;
  int connections = 8;
  int nodes = 0;  // that the load writes itself; 0: the server has some
  int devices = 10;
  // When a pod counts: once it has a node, or once it runs.
  enum class Until { kBound, kRunning } until = Until::kBound;
  // All at once, or each when the one before is there.
  enum class Pace { kAtOnce, kOneByOne } pace = Pace::kAtOnce;
};

struct LoadFigures {
  double seconds = 0;    // from the first request to the last pod
  double median_ms = 0;  // of a pod, with kOneByOne
  RoleTimes cpu;         // seconds, until all is quiet again
  double bytes = 0;      // that resident memory has grown by
};

// Writes nodes and slices, then pods that each have a claim from a template, over
// `options.connections` connections, and waits for them by a watch.
// ERRORS: kUnavailable; kInternal with the answer that was not expected.
[[nodiscard]] Result<LoadFigures> RunLoad(const LoadOptions& options);

}  // namespace drachma::bench
