#pragma once

#include <string>
#include <vector>

#include "sim_cluster.h"

namespace drachma::simulation {

// What has not come about although nothing fails any more: pods that fit and wait (a fresh
// scheduler's cycle says so), pods with a node that do not run, workloads without their pods,
// objects that should be gone. Empty when all is well.
[[nodiscard]] std::vector<std::string> Unfinished(SimCluster& cluster);

// What is left after everything has been deleted: objects, allocations, reservations, prepared
// claims. Empty when nothing is.
[[nodiscard]] std::vector<std::string> Leftovers(const SimCluster& cluster);

}  // namespace drachma::simulation
