#include "gpu/open_driver.h"

#include <fmt/format.h>

#include <utility>

#include "gpu/nvml_backend.h"
#include "gpu/sim_backend.h"

namespace drachma::gpu {
namespace {

using Opened = Result<std::unique_ptr<Backend>>;

Opened OpenSim(const OpenDriverOptions& options, std::shared_ptr<node::Folder> state) {
  DRA_ASSIGN(SimSpec spec, ParseSimSpec(options.simulated_gpus));
  return SimBackend::Create(options.node_name, std::move(spec),
                            {.folder = std::move(state), .boot_id = options.boot_id},
                            options.stand_in);
}

Opened OpenBackend(const OpenDriverOptions& options, std::shared_ptr<node::Folder> state,
                   Executor& executor) {
  if (options.backend == "sim") return OpenSim(options, std::move(state));
  if (options.backend == "nvml") {
    return NvmlBackend::Open({.library = options.library,
                              .driver_root = options.driver_root,
                              .mps_folder = options.state_dir + "/mps",
                              .dynamic_mig = options.dynamic_mig},
                             executor);
  }
  return BadInput(fmt::format("there is no GPU backend \"{}\": nvml, sim", options.backend));
}

}  // namespace

Result<std::unique_ptr<GpuDriver>> OpenDriver(const OpenDriverOptions& options,
                                              Executor& executor) {
  DRA_ASSIGN(std::shared_ptr<node::Folder> state, node::OpenFolder(options.state_dir));
  DRA_ASSIGN(std::shared_ptr<node::Folder> cdi, node::OpenFolder(options.cdi_dir));
  DRA_ASSIGN(std::unique_ptr<Backend> backend, OpenBackend(options, state, executor));
  return GpuDriver::Create({.pool = options.node_name,
                            .state = std::move(state),
                            .cdi = std::move(cdi),
                            .boot_id = options.boot_id},
                           std::move(backend));
}

}  // namespace drachma::gpu
