#pragma once

#include <memory>
#include <vector>

#include "base/result.h"
#include "gpu/driver.h"
#include "json/value.h"
#include "node/dra_plugin.h"

namespace drachma::cluster {

// The driver of the GPUs that a Node's annotations describe (node::kSimulatedGpu, their faults by
// node::kSimulatedHealth). Null: the Node has no such annotation.
// ERRORS: kInvalid when an annotation cannot be read.
[[nodiscard]] Result<std::unique_ptr<gpu::GpuDriver>> SimulatedGpuDriver(const json::Value& node);

// Makes the GPU driver among `drivers` fit the annotations of a Node that has changed: other GPUs,
// other parts, other faults; a driver that is missing is added. What cannot be read changes
// nothing. ERRORS: as above.
[[nodiscard]] Status UpdateSimulatedGpus(const json::Value& node,
                                         std::vector<std::unique_ptr<node::DraPlugin>>& drivers);

}  // namespace drachma::cluster
