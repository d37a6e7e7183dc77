#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/executor.h"
#include "gpu/backend.h"
#include "gpu/nvml_library.h"
#include "gpu/nvml_model.h"

namespace drachma::gpu {

// The GPUs of this machine through NVML, nvidia-smi (time slices) and nvidia-cuda-mps-control.
// Opening and enumerating change nothing. Errors are heard by a thread of its own; MIG parts that
// an administrator makes, GPUs that come back and errors that are over are found by looking again
// from time to time.
class NvmlBackend final : public Backend {
 public:
  static constexpr Duration kLookInterval = std::chrono::seconds(30);

  struct Options {
    std::string library = "libnvidia-ml.so.1";
    std::string driver_root = "/";  // where the driver's programs and libraries lie
    std::string system_root = "/";  // of dev, proc and sys
    std::string mps_folder;         // of pipes and logs of MPS daemons
    bool dynamic_mig = false;
  };

  // `executor` is the driver's; it must outlive the backend.
  // ERRORS: those of NvmlLibrary::Open.
  [[nodiscard]] static Result<std::unique_ptr<NvmlBackend>> Open(Options options,
                                                                 Executor& executor);
  ~NvmlBackend() override;
  NvmlBackend(const NvmlBackend&) = delete;
  NvmlBackend& operator=(const NvmlBackend&) = delete;

  [[nodiscard]] Result<std::vector<Board>> Enumerate() override;
  [[nodiscard]] Status SetTimeSlice(int minor, TimeSlice slice) override;
  [[nodiscard]] Status SetComputeMode(int minor, ComputeMode mode) override;
  [[nodiscard]] Status SetMigMode(int minor, bool enabled) override;
  [[nodiscard]] Result<std::string> CreatePart(int minor, const MigProfile& profile,
                                               int start) override;
  [[nodiscard]] Status DestroyPart(int minor, const std::string& uuid) override;
  [[nodiscard]] Status StartMps(const MpsDaemon& daemon) override;
  [[nodiscard]] Status StopMps(const std::string& id) override;
  [[nodiscard]] std::vector<std::string> MpsDaemons() override;
  [[nodiscard]] Result<node::CdiEdits> CommonEdits() override;
  [[nodiscard]] Result<node::CdiEdits> EditsOf(const Board& board, const Part* part) override;
  [[nodiscard]] node::CdiEdits MpsEdits(const std::string& daemon) override;
  [[nodiscard]] std::vector<Fault> Faults() override;
  void Watch(std::function<void()> changed) override;
  // The GPU reported an error, of GPU instance `instance` if it is one's.
  void OnXid(int minor, int xid, std::optional<unsigned int> instance = {});

 private:
  // A GPU instance.
  struct Instance {
    nvmlGpuInstance_t handle = nullptr;
    unsigned int id = 0;
    unsigned int compute_id = 0;  // of its compute instance
    Part part;
  };
  struct Gpu {
    nvmlDevice_t handle = nullptr;
    Board board;
    std::vector<Instance> instances;
  };

  NvmlBackend(Options options, Executor& executor, std::unique_ptr<NvmlLibrary> library)
      : options_(std::move(options)), executor_(executor), nvml_(std::move(library)) {}

  // nvml_backend.cc
  [[nodiscard]] Result<Gpu> Read(nvmlDevice_t handle, const std::string& cuda_version);
  [[nodiscard]] Result<const Model*> ModelOf(nvmlDevice_t handle);
  void ReadPlace(nvmlDevice_t handle, Board& board);
  [[nodiscard]] Result<Gpu*> Find(int minor);
  [[nodiscard]] std::string ToolPath(std::string_view name) const;
  [[nodiscard]] std::string MpsPath(const std::string& daemon, std::string_view folder) const;

  // nvml_parts.cc
  [[nodiscard]] Status ReadInstances(Gpu& gpu);
  [[nodiscard]] Status CreateCompute(nvmlGpuInstance_t instance, const MigProfile& profile);
  [[nodiscard]] Status DestroyInstance(nvmlGpuInstance_t instance);

  // nvml_watch.cc
  void Listen(nvmlEventSet_t events);
  void LookAgain();
  // Whether NVML says that a GPU needs nothing to be well; nothing: it cannot tell.
  [[nodiscard]] std::optional<bool> IsWell(int minor);

  const Options options_;
  Executor& executor_;
  const std::unique_ptr<NvmlLibrary> nvml_;
  std::map<std::string, std::unique_ptr<OwnedModel>> models_;  // boards point to them
  std::vector<Gpu> gpus_;                                      // as enumerated last
  std::string driver_version_;                                 // as the driver's files are named
  std::vector<Fault> lost_;
  std::vector<Fault> unmonitored_;
  std::vector<std::pair<int, Fault>> xids_;  // with the minor number
  std::function<void()> changed_;
  TimerId look_timer_ = 0;
  // What the executor still has of this backend finds out by it that the backend is gone.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  nvmlEventSet_t events_ = nullptr;
  std::atomic<bool> stopping_ = false;
  std::thread listener_;
};

}  // namespace drachma::gpu
