#pragma once

#include <cstdint>
#include <map>
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

// Whether parts can be made of `board`: its MIG mode and its model allow it.
[[nodiscard]] bool CanBeCut(const Board& board);

// A device that can be made of a board: the whole of it, or a part that may not exist yet.
struct BoardDevice {
  std::string name;                     // "gpu-0", "gpu-0-mig-1g10gb-19-6"
  const MigProfile* profile = nullptr;  // null: the whole
  int start = 0;                        // first memory slice of the part
};
// In the order in which they are published: the whole, then by profile from large to small, then by
// placement, so that a first-fit allocator keeps large parts possible as long as it can.
[[nodiscard]] std::vector<BoardDevice> DevicesOf(const Board& board);

// How long CUDA programs run before the next one's turn on a GPU
// (`nvidia-smi compute-policy --set-timeslice`).
enum class TimeSlice : std::uint8_t { kDefault, kShort, kMedium, kLong };
// NVML's compute modes, as far as the driver sets them.
enum class ComputeMode : std::uint8_t { kDefault, kExclusiveProcess };

// An MPS control daemon: programs share its GPUs at the same time.
struct MpsDaemon {
  std::string id;
  std::vector<std::string> uuids;  // sorted
  std::int64_t active_thread_percentage = 100;
  std::map<std::string, std::string> pinned_memory_limits;  // "1024M" by UUID
};

// The GPUs of a node: the hardware, or what stands in for it. What fails changes nothing.
class Backend {
 public:
  virtual ~Backend() = default;
  // In the order of their minor numbers. ERRORS: kUnavailable when the hardware does not answer.
  [[nodiscard]] virtual Result<std::vector<Board>> Enumerate() = 0;

  // ERRORS of all: kNotFound for a GPU, part or daemon that is not there.
  [[nodiscard]] virtual Status SetTimeSlice(int minor, TimeSlice slice) = 0;
  [[nodiscard]] virtual Status SetComputeMode(int minor, ComputeMode mode) = 0;
  // A GPU instance at memory slice `start` with one compute instance that fills it; its UUID.
  // ERRORS: kConflict when a slice of it is in use.
  [[nodiscard]] virtual Result<std::string> CreatePart(int minor, const MigProfile& profile,
                                                       int start) = 0;
  [[nodiscard]] virtual Status DestroyPart(int minor, const std::string& uuid) = 0;
  // ERRORS: kConflict for a GPU that is not in exclusive mode or has a daemon.
  [[nodiscard]] virtual Status StartMps(const MpsDaemon& daemon) = 0;
  [[nodiscard]] virtual Status StopMps(const std::string& id) = 0;
};

// Boards that stand in for hardware: the same node name always gives the same uuids and the same
// wiring (two NUMA nodes, two GPUs to a PCIe root). What is set is remembered and can be asked for.
class SimBackend final : public Backend {
 public:
  struct Part {
    std::string uuid;
    int start = 0;
    int slices = 0;
  };
  struct Settings {
    TimeSlice time_slice = TimeSlice::kDefault;
    ComputeMode compute_mode = ComputeMode::kDefault;
    std::vector<Part> parts;
  };

  SimBackend(std::string node_name, const Model& model, int count, MigMode mig);

  [[nodiscard]] Result<std::vector<Board>> Enumerate() override;
  [[nodiscard]] Status SetTimeSlice(int minor, TimeSlice slice) override;
  [[nodiscard]] Status SetComputeMode(int minor, ComputeMode mode) override;
  [[nodiscard]] Result<std::string> CreatePart(int minor, const MigProfile& profile,
                                               int start) override;
  [[nodiscard]] Status DestroyPart(int minor, const std::string& uuid) override;
  [[nodiscard]] Status StartMps(const MpsDaemon& daemon) override;
  [[nodiscard]] Status StopMps(const std::string& id) override;

  // `minor` is one of Enumerate()'s.
  [[nodiscard]] const Settings& settings(int minor) const { return settings_.at(minor); }
  [[nodiscard]] const std::map<std::string, MpsDaemon>& daemons() const { return daemons_; }

 private:
  [[nodiscard]] Result<Settings*> Find(int minor);

  std::vector<Board> boards_;
  std::vector<Settings> settings_;  // by minor number
  std::map<std::string, MpsDaemon> daemons_;
};

// The devices that the driver publishes for `boards`, in the form of resource.k8s.io/v1: whole GPUs
// in one slice, or with parts to be made the counters first and then a slice for each GPU.
[[nodiscard]] std::vector<node::SliceContent> SlicesOf(const std::vector<Board>& boards);

}  // namespace drachma::gpu
