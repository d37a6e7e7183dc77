// What containers get of the GPUs of this machine.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>

#include "gpu/nvml_backend.h"

namespace drachma::gpu {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLibraryFolders[] = {
    "usr/lib/x86_64-linux-gnu", "usr/lib/aarch64-linux-gnu", "usr/lib64", "usr/lib", "lib64"};
constexpr std::string_view kPrograms[] = {"nvidia-smi", "nvidia-debugdump", "nvidia-persistenced",
                                          "nvidia-cuda-mps-control", "nvidia-cuda-mps-server"};
// Without the first two no program reaches a GPU.
struct DeviceFile {
  std::string_view path;
  bool needed;
};
constexpr DeviceFile kDeviceFiles[] = {{"/dev/nvidiactl", true},
                                       {"/dev/nvidia-uvm", true},
                                       {"/dev/nvidia-uvm-tools", false},
                                       {"/dev/nvidia-modeset", false}};

node::CdiEdits::Mount ReadOnly(const fs::path& host, std::string container) {
  return {.host_path = host.string(),
          .container_path = std::move(container),
          .options = {"ro", "nosuid", "nodev", "rbind", "rprivate"}};
}

// The libraries of the driver in one folder, each under its own name and under those that link to
// it ("libcuda.so.1"), so that programs find them without the container's ld.so.cache.
void AddLibraries(const fs::path& root, std::string_view folder, const std::string& version,
                  node::CdiEdits& edits) {
  std::error_code failure;
  const std::string ending = ".so." + version;
  for (fs::directory_iterator entry(root / folder, failure), end; !failure && entry != end;
       entry.increment(failure)) {
    std::error_code none;
    const fs::path real = fs::canonical(entry->path(), none);
    if (none || !real.filename().string().ends_with(ending)) continue;
    edits.mounts.push_back(
        ReadOnly(real, fmt::format("/{}/{}", folder, entry->path().filename().string())));
  }
}

// The number of the device file of a MIG capability, of /proc/driver/nvidia/capabilities.
std::optional<int> CapabilityMinor(const fs::path& file) {
  std::ifstream lines(file);
  for (std::string word; lines >> word;) {
    int minor = 0;
    if (word == "DeviceFileMinor:" && lines >> minor) return minor;
  }
  return std::nullopt;
}

}  // namespace

Result<node::CdiEdits> NvmlBackend::CommonEdits() {
  node::CdiEdits edits;
  // Keeps the NVIDIA runtime's hook, where it is installed, from adding GPUs by itself.
  edits.env.emplace("NVIDIA_VISIBLE_DEVICES", "void");
  const fs::path system = options_.system_root;
  for (const DeviceFile& file : kDeviceFiles) {
    const bool there = fs::exists(system / file.path.substr(1));
    if (there) edits.device_nodes.push_back({.path = std::string(file.path), .host_path = {}});
    if (there || !file.needed) continue;
    return Fail(Code::kUnavailable,
                fmt::format("{} is not there yet: load the NVIDIA kernel modules (nvidia-modprobe)",
                            file.path));
  }
  const fs::path root = options_.driver_root;
  for (const std::string_view folder : kLibraryFolders) {
    AddLibraries(root, folder, driver_version_, edits);
  }
  std::ranges::sort(edits.mounts, {}, &node::CdiEdits::Mount::container_path);
  for (const std::string_view program : kPrograms) {
    const fs::path path = root / "usr/bin" / program;
    if (fs::exists(path))
      edits.mounts.push_back(ReadOnly(path, fmt::format("/usr/bin/{}", program)));
  }
  return edits;
}

Result<node::CdiEdits> NvmlBackend::EditsOf(const Board& board, const Part* part) {
  node::CdiEdits edits;
  const std::string path = fmt::format("/dev/nvidia{}", board.minor);
  const fs::path system = options_.system_root;
  if (!fs::exists(system / path.substr(1))) {
    return Fail(Code::kUnavailable, fmt::format("{} is not there", path));
  }
  edits.device_nodes.push_back({.path = path, .host_path = {}});
  if (part == nullptr) return edits;
  DRA_ASSIGN(const Gpu* const gpu, Find(board.minor));
  const auto instance = std::ranges::find_if(
      gpu->instances, [&](const Instance& entry) { return entry.part.uuid == part->uuid; });
  if (instance == gpu->instances.end()) {
    return Fail(Code::kNotFound, fmt::format("there is no part {}", part->uuid));
  }
  const std::string place =
      fmt::format("proc/driver/nvidia/capabilities/gpu{}/mig/gi{}", board.minor, instance->id);
  for (const std::string& file :
       {place + "/access", fmt::format("{}/ci{}/access", place, instance->compute_id)}) {
    const std::optional<int> minor = CapabilityMinor(system / file);
    if (!minor) return Fail(Code::kUnavailable, fmt::format("cannot read /{}", file));
    edits.device_nodes.push_back(
        {.path = fmt::format("/dev/nvidia-caps/nvidia-cap{}", *minor), .host_path = {}});
  }
  return edits;
}

node::CdiEdits NvmlBackend::MpsEdits(const std::string& daemon) {
  constexpr std::string_view kPipe = "/tmp/nvidia-mps";
  node::CdiEdits edits;
  edits.env.emplace("CUDA_MPS_PIPE_DIRECTORY", kPipe);
  const std::vector<std::string> options = {"rw", "nosuid", "nodev", "rbind"};
  edits.mounts = {{.host_path = MpsPath(daemon, "pipe"),
                   .container_path = std::string(kPipe),
                   .options = options},
                  {.host_path = "/dev/shm", .container_path = "/dev/shm", .options = options}};
  return edits;
}

}  // namespace drachma::gpu
