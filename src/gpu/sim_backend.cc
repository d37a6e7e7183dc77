#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/random.h"
#include "gpu/board.h"

namespace drachma::gpu {
namespace {

constexpr int kGpusPerRoot = 2;
constexpr int kBusesPerRoot = 0x10;

// FNV-1a: the same on every machine, unlike std::hash.
std::uint64_t SeedOf(std::string_view text) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return hash;
}

}  // namespace

SimBackend::SimBackend(std::string node_name, const Model& model, int count, MigMode mig)
    : settings_(static_cast<std::size_t>(count)) {
  Random random(SeedOf(node_name));
  for (int minor = 0; minor < count; ++minor) {
    const int root = (minor / kGpusPerRoot + 1) * kBusesPerRoot;
    boards_.push_back({
        .minor = minor,
        .uuid = "GPU-" + random.Uuid(),
        .model = &model,
        .pci_bus_id = fmt::format("0000:{:02x}:00.0", (root + 1 + minor % kGpusPerRoot) & 0xFF),
        .pcie_root = fmt::format("pci0000:{:02x}", root & 0xFF),
        .numa_node = count > 1 && minor >= count / 2 ? 1 : 0,
        .mig = mig,
    });
  }
}

Result<std::vector<Board>> SimBackend::Enumerate() { return boards_; }

Result<SimBackend::Settings*> SimBackend::Find(int minor) {
  if (minor < 0 || std::cmp_greater_equal(minor, settings_.size())) {
    return Fail(Code::kNotFound, fmt::format("there is no GPU {}", minor));
  }
  return &settings_[static_cast<std::size_t>(minor)];
}

Status SimBackend::SetTimeSlice(int minor, TimeSlice slice) {
  DRA_ASSIGN(auto* const settings, Find(minor));
  settings->time_slice = slice;
  return {};
}

Status SimBackend::SetComputeMode(int minor, ComputeMode mode) {
  DRA_ASSIGN(auto* const settings, Find(minor));
  settings->compute_mode = mode;
  return {};
}

Result<std::string> SimBackend::CreatePart(int minor, const MigProfile& profile, int start) {
  DRA_ASSIGN(auto* const settings, Find(minor));
  for (const Part& part : settings->parts) {
    if (start < part.start + part.slices && part.start < start + profile.slices) {
      return Fail(Code::kConflict,
                  fmt::format("GPU {} has no room for a {} at slice {}: {} is there", minor,
                              profile.name, start, part.uuid));
    }
  }
  // The same part of the same GPU has the same UUID, as on hardware.
  Random random(SeedOf(
      fmt::format("{}/{}/{}", boards_[static_cast<std::size_t>(minor)].uuid, profile.id, start)));
  settings->parts.push_back(
      {.uuid = "MIG-" + random.Uuid(), .start = start, .slices = profile.slices});
  return settings->parts.back().uuid;
}

Status SimBackend::DestroyPart(int minor, const std::string& uuid) {
  DRA_ASSIGN(auto* const settings, Find(minor));
  if (std::erase_if(settings->parts, [&](const Part& part) { return part.uuid == uuid; }) == 0) {
    return Fail(Code::kNotFound, fmt::format("GPU {} has no part {}", minor, uuid));
  }
  return {};
}

Status SimBackend::StartMps(const MpsDaemon& daemon) {
  for (const Board& board : boards_) {
    if (std::ranges::find(daemon.uuids, board.uuid) == daemon.uuids.end()) continue;
    if (settings_[static_cast<std::size_t>(board.minor)].compute_mode !=
        ComputeMode::kExclusiveProcess) {
      return Fail(Code::kConflict, fmt::format("GPU {} is not in exclusive mode", board.minor));
    }
    for (const auto& [id, other] : daemons_) {
      if (std::ranges::find(other.uuids, board.uuid) == other.uuids.end()) continue;
      return Fail(Code::kConflict, fmt::format("GPU {} has MPS daemon {}", board.minor, id));
    }
  }
  daemons_.insert_or_assign(daemon.id, daemon);
  return {};
}

Status SimBackend::StopMps(const std::string& id) {
  if (daemons_.erase(id) == 0) return Fail(Code::kNotFound, "there is no MPS daemon " + id);
  return {};
}

}  // namespace drachma::gpu
