#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/catalogue.h"
#include "json/value.h"
#include "node/dra_plugin.h"

namespace drachma::gpu {

inline constexpr std::string_view kDriverName = "gpu.nvidia.com";
// Versions that simulated boards report.
inline constexpr std::string_view kDriverVersion = "580.126.20";
inline constexpr std::string_view kCudaVersion = "13.0.0";

// How a GPU is offered: whole; cut into the parts that an administrator made; or both, where parts
// are made when a claim is prepared and everything excludes each other by counters.
enum class MigMode : std::uint8_t { kOff, kStatic, kDynamic };

// How a device may be shared by claims that take a part of its capacity (the NVIDIA driver's
// ConsumableShares): not at all; by memory, each claim taking all of it unless it says less;
// without limit, memory being taken only by those that say how much; so, and by a number of shares.
struct Shares {
  enum class By : std::uint8_t { kNothing, kMemory, kUnlimited, kCount };
  By by = By::kNothing;
  int count = 0;  // kCount

  friend bool operator==(const Shares&, const Shares&) = default;
};

// A part that exists: a GPU instance with one compute instance that fills it.
struct Part {
  std::string uuid;  // "MIG-…"
  int profile = 0;   // MigProfile::id
  int start = 0;     // first memory slice

  friend bool operator==(const Part&, const Part&) = default;
};

// One GPU of a node as its driver sees it.
struct Board {
  int minor = 0;
  std::string uuid;              // "GPU-…"
  const Model* model = nullptr;  // lives as long as the backend
  std::string pci_bus_id;        // "0000:65:00.0"
  std::string pcie_root;         // "pci0000:64"; empty: it cannot be told
  int numa_node = 0;             // negative: it cannot be told
  MigMode mig = MigMode::kOff;
  bool mig_enabled = false;  // the hardware's mode now
  std::vector<Part> parts;   // that exist now
  std::string brand = "Nvidia";
  std::string driver_version{kDriverVersion};
  std::string cuda_version{kCudaVersion};
  std::string addressing_mode = "HMM";  // empty: it cannot be told
  Shares shares;                        // of what exists: not of parts that are made for claims
  bool numa_list = false;               // numaNode as a list (gate DRAListTypeAttributes)
};

// Whether parts can be made of `board` for claims: its MIG mode and its model allow it.
[[nodiscard]] bool CanBeCut(const Board& board);
// Whether MIG is switched on for the first part and off after the last: not where that needs a
// reset of the GPU.
[[nodiscard]] bool TogglesMig(const Board& board);
// Whether several claims may hold a device of `board` at once.
[[nodiscard]] inline bool IsShared(const Board& board) {
  return board.shares.by != Shares::By::kNothing && !CanBeCut(board);
}
// Null when the model has no such profile.
[[nodiscard]] const MigProfile* FindProfile(const Model& model, int id);

// A device that a board offers: the whole of it, or a part that may not exist yet.
struct BoardDevice {
  std::string name;                     // "gpu-0", "gpu-0-mig-1g10gb-19-6"
  const MigProfile* profile = nullptr;  // null: the whole
  int start = 0;                        // first memory slice of the part
  std::string uuid;                     // empty for a part that does not exist yet
};
// In the order in which they are published: the whole, then parts by profile from large to small;
// of a profile those first that leave the most room for others, so that an allocator that takes the
// first one keeps large parts possible as long as it can.
[[nodiscard]] std::vector<BoardDevice> DevicesOf(const Board& board);
// "gpu-0-mig-1g10gb-me-20-6".
[[nodiscard]] std::string PartName(int minor, const MigProfile& profile, int start);

// The taints of a device, in the form of resource.k8s.io/v1.
using TaintsOfDevice = std::function<std::vector<json::Value>(const Board&, const BoardDevice&)>;

// The devices that the driver publishes for `boards`, in the form of resource.k8s.io/v1: whole GPUs
// and parts that exist, or with parts to be made the counters first and then slices for each GPU.
[[nodiscard]] std::vector<node::SliceContent> SlicesOf(const std::vector<Board>& boards,
                                                       const TaintsOfDevice& taints = nullptr);

}  // namespace drachma::gpu
