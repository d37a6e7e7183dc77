// What is wrong with the GPUs of this machine.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/log.h"
#include "gpu/nvml_backend.h"

namespace drachma::gpu {
namespace {

// The listener looks this often whether it is to stop.
constexpr unsigned int kWaitMilliseconds = 500;
constexpr unsigned int kNoInstance = 0xFFFFFFFF;

}  // namespace

std::vector<Fault> NvmlBackend::Faults() {
  std::vector<Fault> faults = lost_;
  faults.insert(faults.end(), unmonitored_.begin(), unmonitored_.end());
  for (const auto& [minor, fault] : xids_) faults.push_back(fault);
  return faults;
}

void NvmlBackend::Watch(std::function<void()> changed) {
  changed_ = std::move(changed);
  const bool made = nvml_->EventSetCreate(&events_) == NVML_SUCCESS;
  for (const Gpu& gpu : gpus_) {
    if (made && nvml_->DeviceRegisterEvents(gpu.handle, kNvmlEventXid, events_) == NVML_SUCCESS) {
      continue;
    }
    unmonitored_.push_back({.device = fmt::format("gpu-{}", gpu.board.minor),
                            .kind = Fault::Kind::kUnmonitored,
                            .effect = TaintEffect::kNone});
  }
  if (made) listener_ = std::thread([this] { Listen(events_); });
  if (!unmonitored_.empty()) changed_();
  look_timer_ = executor_.PostAfter(kLookInterval, [this] { LookAgain(); });
}

void NvmlBackend::Listen(nvmlEventSet_t events) {
  while (!stopping_) {
    nvmlEventData_t data = {};
    const nvmlReturn_t heard = nvml_->EventSetWait_v2(events, &data, kWaitMilliseconds);
    if (heard == NVML_ERROR_TIMEOUT) continue;
    if (heard == NVML_SUCCESS && data.eventType == kNvmlEventXid) {
      executor_.Post([this, alive = alive_, data] {
        if (!*alive) return;
        const auto gpu = std::ranges::find(gpus_, data.device, &Gpu::handle);
        if (gpu == gpus_.end()) return;
        std::optional<unsigned int> instance;
        if (data.gpuInstanceId != kNoInstance) instance = data.gpuInstanceId;
        OnXid(gpu->board.minor, static_cast<int>(data.eventData), instance);
      });
      continue;
    }
    if (heard == NVML_SUCCESS) continue;
    // A GPU is lost. The next look finds out which; to ask NVML at once would fail in a loop.
    executor_.Post([this, alive = alive_] {
      if (*alive) changed_();
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(kWaitMilliseconds));
  }
}

std::optional<bool> NvmlBackend::IsWell(int minor) {
  const Result<Gpu*> gpu = Find(minor);
  nvmlFieldValue_t field = {.fieldId = NVML_FI_DEV_GET_GPU_RECOVERY_ACTION};
  if (!gpu || nvml_->DeviceGetFieldValues((*gpu)->handle, 1, &field) != NVML_SUCCESS ||
      field.nvmlReturn != NVML_SUCCESS) {
    return std::nullopt;
  }
  return field.value.uiVal == NVML_GPU_RECOVERY_ACTION_NONE;
}

void NvmlBackend::OnXid(int minor, int xid, std::optional<unsigned int> instance) {
  const Result<Gpu*> gpu = Find(minor);
  if (!gpu) return;
  Fault fault{.device = fmt::format("gpu-{}", minor), .xid = xid};
  for (const Instance& entry : (*gpu)->instances) {
    if (entry.id != instance) continue;
    const Board& board = (*gpu)->board;
    fault.device =
        PartName(minor, *FindProfile(*board.model, entry.part.profile), entry.part.start);
  }
  fault.effect = IsWell(minor).value_or(true) ? EffectOfXid(xid) : TaintEffect::kNoSchedule;
  Log(LogLevel::kWarning, "gpu", "{}: XID {}", fault.device, xid);
  const auto known = std::ranges::find(xids_, fault, &std::pair<int, Fault>::second);
  if (known != xids_.end()) return;
  xids_.emplace_back(minor, std::move(fault));
  changed_();
}

// An error is over when NVML says that the GPU needs nothing to be well. GPUs that cannot tell keep
// theirs until the driver starts again.
void NvmlBackend::LookAgain() {
  look_timer_ = executor_.PostAfter(kLookInterval, [this] { LookAgain(); });
  std::erase_if(xids_, [&](const auto& entry) { return IsWell(entry.first).value_or(false); });
  changed_();
}

}  // namespace drachma::gpu
