#include "gpu/nvml_backend.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>

#include "base/log.h"
#include "gpu/host_tool.h"

namespace drachma::gpu {
namespace {

namespace fs = std::filesystem;

// Names of NVML_BRAND_*, from 0 on.
constexpr std::string_view kBrands[] = {
    "Unknown",   "Quadro",      "Tesla",     "NVS",        "Grid",      "GeForce",
    "Titan",     "NvidiaVApps", "NvidiaVPC", "NvidiaVCS",  "NvidiaVWS", "NvidiaVGaming",
    "QuadroRTX", "NvidiaRTX",   "Nvidia",    "GeForceRTX", "TitanRTX"};
constexpr std::string_view kAddressingModes[] = {"None", "HMM", "ATS"};

Result<std::string> ReadCudaVersion(const NvmlLibrary& nvml) {
  int version = 0;
  DRA_TRY(
      NvmlLibrary::Check(nvml.SystemGetCudaDriverVersion_v2(&version), "reading CUDA's version"));
  return fmt::format("{}.{}.0", version / 1000, version % 1000 / 10);
}

// "580.126.20", also of a driver that says "580.126" or "580.126.020": a semantic version.
std::string AsSemanticVersion(std::string_view text) {
  int numbers[3] = {};
  const char* next = text.data();
  const char* const end = next + text.size();
  for (int& number : numbers) {
    const auto [rest, error] = std::from_chars(next, end, number);
    if (error != std::errc()) break;
    next = rest == end ? end : rest + 1;
  }
  return fmt::format("{}.{}.{}", numbers[0], numbers[1], numbers[2]);
}

}  // namespace

Result<std::unique_ptr<NvmlBackend>> NvmlBackend::Open(Options options, Executor& executor) {
  DRA_ASSIGN(std::unique_ptr<NvmlLibrary> library, NvmlLibrary::Open(options.library));
  return std::unique_ptr<NvmlBackend>(
      new NvmlBackend(std::move(options), executor, std::move(library)));
}

NvmlBackend::~NvmlBackend() {
  *alive_ = false;
  stopping_ = true;
  if (look_timer_ != 0) executor_.Cancel(look_timer_);
  if (listener_.joinable()) listener_.join();
  if (events_ != nullptr) nvml_->EventSetFree(events_);
}

Result<const Model*> NvmlBackend::ModelOf(nvmlDevice_t handle) {
  auto owned = std::make_unique<OwnedModel>();
  DRA_ASSIGN(const std::string name,
             NvmlText("reading a GPU's UUID", [&](char* text, unsigned int size) {
               return nvml_->DeviceGetUUID(handle, text, size);
             }));
  auto& known = models_[name];
  if (known == nullptr) {
    DRA_TRY(ReadModel(*nvml_, handle, *owned));
    known = std::move(owned);
  }
  return &known->model;
}

void NvmlBackend::ReadPlace(nvmlDevice_t handle, Board& board) {
  nvmlPciInfo_t pci = {};
  if (nvml_->DeviceGetPciInfo_v3(handle, &pci) != NVML_SUCCESS) return;
  board.pci_bus_id = fmt::format("{:04x}:{:02x}:{:02x}.0", pci.domain, pci.bus, pci.device);
  const fs::path device = fs::path(options_.system_root) / "sys/bus/pci/devices" / board.pci_bus_id;
  std::ifstream(device / "numa_node") >> board.numa_node;
  std::error_code failure;
  for (const fs::path& step : fs::canonical(device, failure)) {
    const std::string name = step.string();
    if (name.starts_with("pci") && name.contains(':')) board.pcie_root = name;
  }
}

Result<NvmlBackend::Gpu> NvmlBackend::Read(nvmlDevice_t handle, const std::string& cuda_version) {
  Gpu gpu{.handle = handle};
  Board& board = gpu.board;
  unsigned int minor = 0;
  DRA_TRY(NvmlLibrary::Check(nvml_->DeviceGetMinorNumber(handle, &minor),
                             "reading a GPU's minor number"));
  board.minor = static_cast<int>(minor);
  DRA_ASSIGN(board.model, ModelOf(handle));
  DRA_ASSIGN(board.uuid, NvmlText("reading a GPU's UUID", [&](char* text, unsigned int size) {
               return nvml_->DeviceGetUUID(handle, text, size);
             }));
  board.numa_node = -1;
  ReadPlace(handle, board);
  board.driver_version = AsSemanticVersion(driver_version_);
  board.cuda_version = cuda_version;
  unsigned int brand = 0;
  if (nvml_->DeviceGetBrand(handle, &brand) != NVML_SUCCESS || brand >= std::size(kBrands))
    brand = 0;
  board.brand = kBrands[brand];
  board.addressing_mode.clear();
  nvmlDeviceAddressingMode_v1_t mode = {.version = NvmlVersion<nvmlDeviceAddressingMode_v1_t>(1),
                                        .value = 0};
  if (nvml_->DeviceGetAddressingMode != nullptr &&
      nvml_->DeviceGetAddressingMode(handle, &mode) == NVML_SUCCESS &&
      mode.value < std::size(kAddressingModes)) {
    board.addressing_mode = kAddressingModes[mode.value];
  }
  unsigned int enabled = 0;
  unsigned int pending = 0;
  const bool has_mig = nvml_->DeviceGetMigMode(handle, &enabled, &pending) == NVML_SUCCESS;
  board.mig_enabled = has_mig && enabled != 0;
  board.mig = board.mig_enabled ? MigMode::kStatic : MigMode::kOff;
  // Where MIG is off and only a reset switches it on, the GPU stays whole.
  if (options_.dynamic_mig && has_mig && (board.mig_enabled || !board.model->mig_needs_reset)) {
    board.mig = MigMode::kDynamic;
  }
  if (board.mig_enabled) DRA_TRY(ReadInstances(gpu));
  for (const Instance& instance : gpu.instances) board.parts.push_back(instance.part);
  return gpu;
}

Result<std::vector<Board>> NvmlBackend::Enumerate() {
  DRA_ASSIGN(driver_version_,
             NvmlText("reading the driver's version", [&](char* text, unsigned int size) {
               return nvml_->SystemGetDriverVersion(text, size);
             }));
  DRA_ASSIGN(const std::string cuda, ReadCudaVersion(*nvml_));
  unsigned int count = 0;
  DRA_TRY(NvmlLibrary::Check(nvml_->DeviceGetCount_v2(&count), "counting GPUs"));
  std::vector<Gpu> gpus;
  std::vector<Fault> lost;
  for (unsigned int index = 0; index < count; ++index) {
    nvmlDevice_t handle = nullptr;
    Result<Gpu> gpu = Fail(Code::kUnavailable, "lost");
    if (nvml_->DeviceGetHandleByIndex_v2(index, &handle) == NVML_SUCCESS) {
      gpu = Read(handle, cuda);
    }
    if (!gpu && index < gpus_.size()) {
      // It was there before: it stays published, with a taint.
      lost.push_back(
          {.device = fmt::format("gpu-{}", gpus_[index].board.minor), .kind = Fault::Kind::kLost});
      gpu = gpus_[index];
    } else if (!gpu) {
      Log(LogLevel::kError, "gpu", "GPU {} is left out: {}", index, gpu.error().message);
      continue;
    }
    gpus.push_back(*std::move(gpu));
  }
  gpus_ = std::move(gpus);
  lost_ = std::move(lost);
  std::vector<Board> boards;
  for (const Gpu& gpu : gpus_) boards.push_back(gpu.board);
  std::ranges::sort(boards, {}, &Board::minor);
  return boards;
}

Result<NvmlBackend::Gpu*> NvmlBackend::Find(int minor) {
  const auto found =
      std::ranges::find_if(gpus_, [&](const Gpu& gpu) { return gpu.board.minor == minor; });
  if (found == gpus_.end()) return Fail(Code::kNotFound, fmt::format("there is no GPU {}", minor));
  return &*found;
}

std::string NvmlBackend::ToolPath(std::string_view name) const {
  fs::path path = fs::path(options_.driver_root) / "usr/bin" / name;
  return fs::exists(path) ? path.string() : std::string(name);
}

// NVML has no time slices in these versions of the driver.
Status NvmlBackend::SetTimeSlice(int minor, TimeSlice slice) {
  DRA_ASSIGN(const Gpu* const gpu, Find(minor));
  const Result<std::string> ran =
      RunTool({ToolPath("nvidia-smi"), "compute-policy", "-i", gpu->board.uuid, "--set-timeslice",
               std::to_string(static_cast<int>(slice))});
  if (ran) return {};
  const bool cannot =
      ran.error().message.contains("ot supported") || ran.error().message.contains("ot Supported");
  return Fail(cannot ? kNotSupported : ran.error().code,
              fmt::format("setting the time slice of GPU {}: {}", minor, ran.error().message));
}

Status NvmlBackend::SetComputeMode(int minor, ComputeMode mode) {
  DRA_ASSIGN(const Gpu* const gpu, Find(minor));
  return NvmlLibrary::Check(
      nvml_->DeviceSetComputeMode(gpu->handle, mode == ComputeMode::kDefault
                                                   ? NVML_COMPUTEMODE_DEFAULT
                                                   : NVML_COMPUTEMODE_EXCLUSIVE_PROCESS),
      fmt::format("setting the compute mode of GPU {}", minor));
}

std::string NvmlBackend::MpsPath(const std::string& daemon, std::string_view folder) const {
  return fmt::format("{}/{}/{}", options_.mps_folder, daemon, folder);
}

Status NvmlBackend::StartMps(const MpsDaemon& daemon) {
  std::error_code failure;
  for (const std::string_view folder : {"pipe", "log"}) {
    fs::create_directories(MpsPath(daemon.id, folder), failure);
    if (failure) return Fail(Code::kUnavailable, "MPS: " + failure.message());
  }
  const std::map<std::string, std::string> environment = {
      {"CUDA_MPS_PIPE_DIRECTORY", MpsPath(daemon.id, "pipe")},
      {"CUDA_MPS_LOG_DIRECTORY", MpsPath(daemon.id, "log")},
      {"CUDA_VISIBLE_DEVICES", fmt::format("{}", fmt::join(daemon.uuids, ","))}};
  const std::string control = ToolPath("nvidia-cuda-mps-control");
  DRA_TRY(RunTool({control, "-d"}, {}, environment));
  std::string commands =
      fmt::format("set_default_active_thread_percentage {}\n", daemon.active_thread_percentage);
  for (std::size_t i = 0; i < daemon.uuids.size(); ++i) {
    const auto limit = daemon.pinned_memory_limits.find(daemon.uuids[i]);
    if (limit == daemon.pinned_memory_limits.end()) continue;
    commands += fmt::format("set_default_device_pinned_mem_limit {} {}\n", i, limit->second);
  }
  Result<std::string> told = RunTool({control}, commands, environment);
  if (told) return {};
  if (const Status stopped = StopMps(daemon.id); !stopped) {
    Log(LogLevel::kWarning, "gpu", "{}", stopped.error().message);
  }
  return std::unexpected(std::move(told.error()));
}

Status NvmlBackend::StopMps(const std::string& id) {
  const fs::path folder = fs::path(options_.mps_folder) / id;
  if (!fs::exists(folder)) return Fail(Code::kNotFound, "there is no MPS daemon " + id);
  // A daemon that has ended already is as good as one that is told to.
  const Result<std::string> told = RunTool({ToolPath("nvidia-cuda-mps-control")}, "quit\n",
                                           {{"CUDA_MPS_PIPE_DIRECTORY", MpsPath(id, "pipe")}});
  if (!told) Log(LogLevel::kInfo, "gpu", "MPS daemon {}: {}", id, told.error().message);
  std::error_code failure;
  fs::remove_all(folder, failure);
  if (failure) return Fail(Code::kUnavailable, "MPS: " + failure.message());
  return {};
}

std::vector<std::string> NvmlBackend::MpsDaemons() {
  std::vector<std::string> ids;
  std::error_code failure;
  for (fs::directory_iterator entry(options_.mps_folder, failure), end; !failure && entry != end;
       entry.increment(failure)) {
    ids.push_back(entry->path().filename().string());
  }
  return ids;
}

}  // namespace drachma::gpu
