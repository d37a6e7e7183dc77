#include "cluster/simulated_gpus.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

#include "client/objects.h"
#include "gpu/health.h"
#include "gpu/sim_backend.h"
#include "node/node_object.h"

namespace drachma::cluster {
namespace {

using json::Value;

// What the annotations of a Node say.
struct Described {
  std::optional<gpu::SimSpec> spec;
  std::vector<gpu::Fault> faults;
};

std::unexpected<Error> InAnnotation(std::string_view annotation, Error error) {
  error.message = fmt::format("{}: {}", annotation, error.message);
  return std::unexpected(std::move(error));
}

Result<Described> Describe(const Value& node) {
  Described described;
  const std::string_view gpus = client::AnnotationOf(node, node::kSimulatedGpu);
  if (!gpus.empty()) {
    Result<gpu::SimSpec> spec = gpu::ParseSimSpec(gpus);
    if (!spec) return InAnnotation(node::kSimulatedGpu, std::move(spec.error()));
    described.spec = *std::move(spec);
  }
  auto faults = gpu::ParseFaults(client::AnnotationOf(node, node::kSimulatedHealth));
  if (!faults) return InAnnotation(node::kSimulatedHealth, std::move(faults.error()));
  described.faults = *std::move(faults);
  return described;
}

}  // namespace

Result<std::unique_ptr<gpu::GpuDriver>> SimulatedGpuDriver(const Value& node) {
  DRA_ASSIGN(Described described, Describe(node));
  if (!described.spec) return nullptr;
  const std::string name(client::NameOf(node));
  DRA_ASSIGN(std::unique_ptr<gpu::SimBackend> backend,
             gpu::SimBackend::Create(name, *std::move(described.spec)));
  backend->SetFaults(std::move(described.faults));
  return gpu::GpuDriver::Create({.pool = name}, std::move(backend));
}

Status UpdateSimulatedGpus(const Value& node,
                           std::vector<std::unique_ptr<node::DraPlugin>>& drivers) {
  DRA_ASSIGN(Described described, Describe(node));
  for (const auto& plugin : drivers) {
    auto* const driver = dynamic_cast<gpu::GpuDriver*>(plugin.get());
    if (driver == nullptr) continue;
    auto& gpus = static_cast<gpu::SimBackend&>(driver->backend());
    gpu::SimSpec none = gpus.spec();
    none.count = 0;
    DRA_TRY(gpus.Reconfigure(described.spec.value_or(std::move(none))));
    gpus.SetFaults(std::move(described.faults));
    return {};
  }
  DRA_ASSIGN(std::unique_ptr<gpu::GpuDriver> driver, SimulatedGpuDriver(node));
  if (driver != nullptr) drivers.push_back(std::move(driver));
  return {};
}

}  // namespace drachma::cluster
