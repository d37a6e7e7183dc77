#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "gpu/board.h"
#include "gpu/health.h"
#include "node/cdi.h"

namespace drachma::gpu {

// How long CUDA programs run before the next one's turn on a GPU
// (`nvidia-smi compute-policy --set-timeslice`).
enum class TimeSlice : std::uint8_t { kDefault, kShort, kMedium, kLong };
// NVML's compute modes, as far as the driver sets them.
enum class ComputeMode : std::uint8_t { kDefault, kExclusiveProcess };

// An MPS control daemon: programs share its GPUs at the same time.
struct MpsDaemon {
  std::string id;
  std::vector<std::string> uuids;  // sorted; of GPUs or parts
  std::int64_t active_thread_percentage = 100;
  std::map<std::string, std::string> pinned_memory_limits;  // "1024M" by UUID
};

// What the hardware cannot do at all (NVML_ERROR_NOT_SUPPORTED), as opposed to what fails now.
inline constexpr Code kNotSupported = Code::kMethodNotAllowed;

// The GPUs of a node: the hardware, or what stands in for it. What fails changes nothing. Reading
// changes nothing; only claims lead to calls that do.
//
// Members are called from the driver's executor.
class Backend {
 public:
  virtual ~Backend() = default;
  // As they are now, in the order of their minor numbers.
  // ERRORS: kUnavailable when the hardware does not answer.
  [[nodiscard]] virtual Result<std::vector<Board>> Enumerate() = 0;

  // ERRORS of all that follow: kNotFound for a GPU, part or daemon that is not there;
  // kNotSupported.
  [[nodiscard]] virtual Status SetTimeSlice(int minor, TimeSlice slice) = 0;
  [[nodiscard]] virtual Status SetComputeMode(int minor, ComputeMode mode) = 0;
  // ERRORS: kConflict: parts are there, or it works only after a reset of the GPU.
  [[nodiscard]] virtual Status SetMigMode(int minor, bool enabled) = 0;
  // A GPU instance at memory slice `start` with one compute instance that fills it; its UUID.
  // ERRORS: kConflict when a slice of it is taken or MIG is off.
  [[nodiscard]] virtual Result<std::string> CreatePart(int minor, const MigProfile& profile,
                                                       int start) = 0;
  // ERRORS: kConflict when a program runs on it.
  [[nodiscard]] virtual Status DestroyPart(int minor, const std::string& uuid) = 0;
  // ERRORS: kConflict for a GPU that is not in exclusive mode or has a daemon.
  [[nodiscard]] virtual Status StartMps(const MpsDaemon& daemon) = 0;
  [[nodiscard]] virtual Status StopMps(const std::string& id) = 0;
  // The ids of the daemons that this driver started, in an earlier run, too.
  [[nodiscard]] virtual std::vector<std::string> MpsDaemons() = 0;

  // What containers get with any device of the driver, with this GPU or a part of it that exists
  // (`part` null: the whole), and with an MPS daemon. ERRORS: kUnavailable when a device node that
  // is needed is not there (yet).
  [[nodiscard]] virtual Result<node::CdiEdits> CommonEdits() = 0;
  [[nodiscard]] virtual Result<node::CdiEdits> EditsOf(const Board& board, const Part* part) = 0;
  [[nodiscard]] virtual node::CdiEdits MpsEdits(const std::string& daemon) = 0;

  // What is wrong now.
  [[nodiscard]] virtual std::vector<Fault> Faults() = 0;
  // Tells `changed`, on the driver's executor, that Enumerate() or Faults() may say something new.
  virtual void Watch(std::function<void()> changed) = 0;
};

}  // namespace drachma::gpu
