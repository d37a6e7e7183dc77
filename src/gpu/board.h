#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gpu/catalogue.h"
#include "json/value.h"
#include "node/dra_plugin.h"

namespace drachma::gpu {

inline constexpr std::string_view kDriverName = "gpu.nvidia.com";
// Versions that simulated boards report.
inline constexpr std::string_view kDriverVersion = "580.126.20";
inline constexpr std::string_view kCudaVersion = "13.0.0";

// How a GPU may be cut. Static parts are made by an administrator and are not simulated; dynamic
// parts are offered as partitionable devices and made when a claim is prepared.
enum class MigMode : std::uint8_t { kOff, kDynamic };

// One GPU of a node as its driver sees it.
struct Board {
  int minor = 0;
  std::string uuid;  // "GPU-…"
  const Model* model = nullptr;
  std::string pci_bus_id;  // "0000:65:00.0"
  std::string pcie_root;   // "pci0000:64"
  int numa_node = 0;
  MigMode mig = MigMode::kOff;
};

// Where boards come from: the hardware (NVML) or the simulation.
class Backend {
 public:
  virtual ~Backend() = default;
  // The GPUs of this node in the order of their minor numbers. ERRORS: kUnavailable when the
  // hardware does not answer.
  [[nodiscard]] virtual Result<std::vector<Board>> Enumerate() = 0;
};

// Boards that stand in for hardware: the same node name always gives the same uuids and the same
// wiring (two NUMA nodes, two GPUs to a PCIe root).
class SimBackend final : public Backend {
 public:
  SimBackend(std::string node_name, const Model& model, int count, MigMode mig);
  [[nodiscard]] Result<std::vector<Board>> Enumerate() override;

 private:
  const std::string node_name_;
  const Model& model_;
  const int count_;
  const MigMode mig_;
};

// The devices that the driver publishes for `boards`, in the form of resource.k8s.io/v1: whole GPUs
// in one slice, or with parts to be made the counters first and then a slice for each GPU. The
// order is by minor number, then by profile from large to small, then by placement, so that a
// first-fit allocator keeps large parts possible as long as it can.
[[nodiscard]] std::vector<node::SliceContent> SlicesOf(const std::vector<Board>& boards);

}  // namespace drachma::gpu
