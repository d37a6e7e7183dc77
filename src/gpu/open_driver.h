#pragma once

#include <memory>
#include <string>

#include "base/executor.h"
#include "base/result.h"
#include "gpu/driver.h"

namespace drachma::gpu {

// The GPU driver of a real kubelet's node.
struct OpenDriverOptions {
  std::string node_name;  // the pool's name, too
  // "nvml": the GPUs of this machine; "sim": GPUs that do not exist, whose settings and parts are
  // kept in the state folder, so that they survive the process as those of hardware do.
  std::string backend = "nvml";
  std::string state_dir;  // the journal's; made when missing
  std::string cdi_dir;    // of the container runtime: /var/run/cdi
  // Which boot of the machine this is (node::ReadBootId()).
  std::string boot_id;
  // sim: the GPUs, in the words of the annotation drachma.dev/simulated-gpu.
  std::string simulated_gpus = "H100-80GB x8";
  // sim: the file of this machine that stands in for each device node in containers.
  std::string stand_in = "/dev/null";
  // nvml: the library, and where the driver's files lie.
  std::string library = "libnvidia-ml.so.1";
  std::string driver_root = "/";
  // nvml: parts are made when claims want them (the NVIDIA driver's gate DynamicMIG). Otherwise
  // those that an administrator made are published.
  bool dynamic_mig = false;
};

// Opens the hardware and the journal, and undoes what an earlier run left half done. `executor`
// is the one that the driver's members are called from; it must outlive the driver.
// ERRORS: kBadRequest: no such backend, simulated GPUs that cannot be read; kUnavailable: NVML is
// not there or does not answer; those of the journal and the folders.
[[nodiscard]] Result<std::unique_ptr<GpuDriver>> OpenDriver(const OpenDriverOptions& options,
                                                            Executor& executor);

}  // namespace drachma::gpu
