#include "gpu/setup.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/log.h"
#include "net/signing.h"

namespace drachma::gpu {
namespace {

using json::Value;
using validation::Mps;
using validation::Sharing;
using validation::TimeSlicing;

struct Interval {
  std::string_view name;
  TimeSlice slice;
};
constexpr Interval kIntervals[] = {{"Default", TimeSlice::kDefault},
                                   {"Short", TimeSlice::kShort},
                                   {"Medium", TimeSlice::kMedium},
                                   {"Long", TimeSlice::kLong}};

constexpr int kDaemonDigestLength = 5;

const std::optional<Sharing>& SharingOf(const validation::GpuOpaqueConfig& config) {
  static const std::optional<Sharing> none;
  if (const auto* gpu = std::get_if<validation::GpuConfig>(&config)) return gpu->sharing;
  if (const auto* mig = std::get_if<validation::MigDeviceConfig>(&config)) return mig->sharing;
  return none;
}

Status SetMode(Backend& backend, const SetUpDevice& device, ComputeMode mode,
               std::vector<Change>& changes) {
  DRA_TRY(backend.SetComputeMode(device.board->minor, mode));
  changes.push_back({.kind = Change::Kind::kComputeMode, .minor = device.board->minor, .id = {}});
  return {};
}

Status TakeTurns(Backend& backend, const TimeSlicing& slicing, SetUpDevice& device,
                 std::vector<Change>& changes) {
  const auto interval =
      std::ranges::find(kIntervals, slicing.interval.value_or("Default"), &Interval::name);
  if (interval == std::end(kIntervals)) {
    return Fail(Code::kInvalid, "unknown time-slice interval: " + *slicing.interval);
  }
  DRA_TRY(SetMode(backend, device, ComputeMode::kDefault, changes));
  DRA_TRY(backend.SetTimeSlice(device.board->minor, interval->slice));
  changes.push_back({.kind = Change::Kind::kTimeSlice, .minor = device.board->minor, .id = {}});
  device.report.Set("sharing",
                    Value::Object({{"strategy", "TimeSlicing"}, {"interval", interval->name}}));
  return {};
}

Value ReportOf(const MpsDaemon& daemon, const std::string& uuid) {
  Value report = Value::Object({{"strategy", "MPS"},
                                {"controlDaemon", daemon.id},
                                {"activeThreadPercentage", daemon.active_thread_percentage}});
  const auto limit = daemon.pinned_memory_limits.find(uuid);
  if (limit != daemon.pinned_memory_limits.end()) report.Set("pinnedMemoryLimit", limit->second);
  return report;
}

// One daemon for all devices of the group.
Status RunMps(Backend& backend, std::string_view claim_uid, const Mps& mps,
              std::span<SetUpDevice* const> devices, std::vector<Change>& changes) {
  MpsDaemon daemon;
  for (const SetUpDevice* device : devices) daemon.uuids.push_back(device->uuid);
  std::ranges::sort(daemon.uuids);
  const std::string digest = net::Sha256Hex(fmt::format("{}", fmt::join(daemon.uuids, ",")));
  daemon.id = fmt::format("{}-{}", claim_uid, digest.substr(0, kDaemonDigestLength));
  daemon.active_thread_percentage = mps.default_active_thread_percentage.value_or(100);
  DRA_ASSIGN(daemon.pinned_memory_limits, validation::PinnedMemoryLimits(mps, daemon.uuids));
  for (const SetUpDevice* device : devices) {
    DRA_TRY(SetMode(backend, *device, ComputeMode::kExclusiveProcess, changes));
  }
  DRA_TRY(backend.StartMps(daemon));
  changes.push_back({.kind = Change::Kind::kMpsDaemon, .minor = 0, .id = daemon.id});
  for (SetUpDevice* device : devices) {
    device->report.Set("sharing", ReportOf(daemon, device->uuid));
  }
  return {};
}

Status UndoOne(Backend& backend, const Change& change) {
  switch (change.kind) {
    case Change::Kind::kPart:
      return backend.DestroyPart(change.minor, change.id);
    case Change::Kind::kTimeSlice:
      return backend.SetTimeSlice(change.minor, TimeSlice::kDefault);
    case Change::Kind::kComputeMode:
      return backend.SetComputeMode(change.minor, ComputeMode::kDefault);
    case Change::Kind::kMpsDaemon:
      return backend.StopMps(change.id);
  }
  return {};
}

}  // namespace

Status MakeParts(Backend& backend, std::span<SetUpDevice> devices, std::vector<Change>& changes) {
  for (SetUpDevice& device : devices) {
    if (device.admin || device.device->profile == nullptr) continue;
    const int minor = device.board->minor;
    DRA_ASSIGN(device.uuid,
               backend.CreatePart(minor, *device.device->profile, device.device->start));
    changes.push_back({.kind = Change::Kind::kPart, .minor = minor, .id = device.uuid});
    device.report.Set("uuid", device.uuid);
  }
  return {};
}

Status Share(Backend& backend, std::string_view claim_uid, const ConfigGroup& group,
             std::span<SetUpDevice> devices, std::vector<Change>& changes) {
  const std::optional<Sharing>& sharing = SharingOf(group.config);
  if (!sharing) return {};
  std::vector<SetUpDevice*> whole;
  for (const std::size_t i : group.devices) {
    if (devices[i].admin) continue;
    if (sharing->mps && CanBeCut(*devices[i].board)) {
      return Fail(Code::kInvalid, fmt::format("device {}: GPU sharing strategy MPS needs feature "
                                              "gate MPSSupport, which DynamicMIG excludes",
                                              devices[i].device->name));
    }
    if (devices[i].device->profile == nullptr) whole.push_back(&devices[i]);
  }
  if (whole.empty()) return {};
  if (sharing->mps) return RunMps(backend, claim_uid, *sharing->mps, whole, changes);
  if (!sharing->time_slicing) return {};
  for (SetUpDevice* device : whole) {
    DRA_TRY(TakeTurns(backend, *sharing->time_slicing, *device, changes));
  }
  return {};
}

void Undo(Backend& backend, std::vector<Change> changes) {
  for (; !changes.empty(); changes.pop_back()) {
    if (const Status undone = UndoOne(backend, changes.back()); !undone) {
      Log(LogLevel::kWarning, "gpu", "cannot undo a setting: {}", undone.error().message);
    }
  }
}

}  // namespace drachma::gpu
