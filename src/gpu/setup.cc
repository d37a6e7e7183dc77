#include "gpu/setup.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
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

bool IsWhole(const SetUpDevice& device) { return device.device->profile == nullptr; }

// Parts that are still to be made, and the MIG mode of their GPUs before.
void PlanParts(std::span<SetUpDevice> devices, std::vector<Change>& changes) {
  std::set<int> switched;
  for (const SetUpDevice& device : devices) {
    if (device.admin || IsWhole(device) || !CanBeCut(*device.board)) continue;
    const int minor = device.board->minor;
    if (TogglesMig(*device.board) && switched.insert(minor).second) {
      changes.push_back({.kind = Change::Kind::kMigMode, .minor = minor});
    }
    changes.push_back(
        {.kind = Change::Kind::kPart,
         .minor = minor,
         .part = {.uuid = {}, .profile = device.device->profile->id, .start = device.device->start},
         .profile = device.device->profile});
  }
}

Status PlanTurns(const TimeSlicing& slicing, SetUpDevice& device, std::vector<Change>& changes) {
  const auto interval =
      std::ranges::find(kIntervals, slicing.interval.value_or("Default"), &Interval::name);
  if (interval == std::end(kIntervals)) {
    return Fail(Code::kInvalid, "unknown time-slice interval: " + *slicing.interval);
  }
  const int minor = device.board->minor;
  changes.push_back(
      {.kind = Change::Kind::kComputeMode, .minor = minor, .mode = ComputeMode::kDefault});
  changes.push_back({.kind = Change::Kind::kTimeSlice, .minor = minor, .slice = interval->slice});
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
Status PlanMps(std::string_view claim_uid, const Mps& mps, std::span<SetUpDevice* const> devices,
               std::vector<Change>& changes) {
  MpsDaemon daemon;
  for (const SetUpDevice* device : devices) daemon.uuids.push_back(device->uuid);
  std::ranges::sort(daemon.uuids);
  const std::string digest = net::Sha256Hex(fmt::format("{}", fmt::join(daemon.uuids, ",")));
  daemon.id = fmt::format("{}-{}", claim_uid, digest.substr(0, kDaemonDigestLength));
  daemon.active_thread_percentage = mps.default_active_thread_percentage.value_or(100);
  DRA_ASSIGN(daemon.pinned_memory_limits, validation::PinnedMemoryLimits(mps, daemon.uuids));
  for (SetUpDevice* device : devices) {
    device->daemon = daemon.id;
    device->report.Set("sharing", ReportOf(daemon, device->uuid));
    if (!IsWhole(*device)) continue;  // parts have no mode of their own
    changes.push_back({.kind = Change::Kind::kComputeMode,
                       .minor = device->board->minor,
                       .mode = ComputeMode::kExclusiveProcess});
  }
  changes.push_back({.kind = Change::Kind::kMpsDaemon, .daemon = std::move(daemon)});
  return {};
}

Status PlanSharing(std::string_view claim_uid, const ConfigGroup& group,
                   std::span<SetUpDevice> devices, std::vector<Change>& changes) {
  const std::optional<Sharing>& sharing = SharingOf(group.config);
  if (!sharing) return {};
  std::vector<SetUpDevice*> sharers;
  for (const std::size_t i : group.devices) {
    if (devices[i].admin) continue;
    if (sharing->mps && CanBeCut(*devices[i].board)) {
      return Fail(Code::kInvalid, fmt::format("device {}: GPU sharing strategy MPS needs feature "
                                              "gate MPSSupport, which DynamicMIG excludes",
                                              devices[i].device->name));
    }
    if (sharing->mps && IsShared(*devices[i].board)) {
      return Fail(Code::kInvalid, fmt::format("device {}: MPS cannot be used with ConsumableShares",
                                              devices[i].device->name));
    }
    sharers.push_back(&devices[i]);
  }
  if (sharers.empty()) return {};
  if (sharing->mps) return PlanMps(claim_uid, *sharing->mps, sharers, changes);
  if (!sharing->time_slicing) return {};
  for (SetUpDevice* device : sharers) {
    if (IsWhole(*device)) DRA_TRY(PlanTurns(*sharing->time_slicing, *device, changes));
  }
  return {};
}

// Undoes changes one by one; knows which parts are left.
class Undoing {
 public:
  Undoing(Backend& backend, std::vector<Board> boards)
      : backend_(backend), boards_(std::move(boards)) {}

  Status One(const Change& change) {
    switch (change.kind) {
      case Change::Kind::kMigMode:
        return SwitchMigOff(change.minor);
      case Change::Kind::kPart:
        return Destroy(change.minor, change.part);
      case Change::Kind::kComputeMode:
        return backend_.SetComputeMode(change.minor, ComputeMode::kDefault);
      case Change::Kind::kTimeSlice:
        return backend_.SetTimeSlice(change.minor, TimeSlice::kDefault);
      case Change::Kind::kMpsDaemon:
        return backend_.StopMps(change.daemon.id);
    }
    return {};
  }

 private:
  Board* Find(int minor) {
    const auto found = std::ranges::find(boards_, minor, &Board::minor);
    return found == boards_.end() ? nullptr : &*found;
  }

  Status SwitchMigOff(int minor) {
    const Board* board = Find(minor);
    const bool last = board != nullptr && board->mig_enabled && board->parts.empty();
    return last ? backend_.SetMigMode(minor, false) : Status();
  }

  Status Destroy(int minor, const Part& wanted) {
    Board* board = Find(minor);
    if (board == nullptr) return {};
    const auto part = std::ranges::find_if(board->parts, [&](const Part& p) {
      return p.profile == wanted.profile && p.start == wanted.start;
    });
    if (part == board->parts.end()) return {};
    DRA_TRY(backend_.DestroyPart(minor, part->uuid));
    board->parts.erase(part);
    return {};
  }

  Backend& backend_;
  std::vector<Board> boards_;
};

constexpr std::array<std::string_view, 5> kKinds = {"migMode", "part", "computeMode", "timeSlice",
                                                    "mpsDaemon"};

}  // namespace

Result<std::vector<Change>> PlanChanges(std::string_view claim_uid,
                                        std::span<const ConfigGroup> groups,
                                        std::span<SetUpDevice> devices) {
  std::vector<Change> changes;
  PlanParts(devices, changes);
  for (const ConfigGroup& group : groups) {
    DRA_TRY(PlanSharing(claim_uid, group, devices, changes));
  }
  return changes;
}

Status Apply(Backend& backend, Change& change) {
  switch (change.kind) {
    case Change::Kind::kMigMode:
      return backend.SetMigMode(change.minor, true);
    case Change::Kind::kPart: {
      DRA_ASSIGN(change.part.uuid,
                 backend.CreatePart(change.minor, *change.profile, change.part.start));
      return {};
    }
    case Change::Kind::kComputeMode:
      return backend.SetComputeMode(change.minor, change.mode);
    case Change::Kind::kTimeSlice:
      return backend.SetTimeSlice(change.minor, change.slice);
    case Change::Kind::kMpsDaemon:
      return backend.StartMps(change.daemon);
  }
  return {};
}

Status Undo(Backend& backend, std::span<const Change> changes) {
  std::vector<Board> boards;
  if (std::ranges::any_of(changes, [](const Change& change) {
        return change.kind == Change::Kind::kMigMode || change.kind == Change::Kind::kPart;
      })) {
    DRA_ASSIGN(boards, backend.Enumerate());
  }
  Undoing undoing(backend, std::move(boards));
  Status first;
  for (std::size_t i = changes.size(); i-- > 0;) {
    Status undone = undoing.One(changes[i]);
    if (undone || undone.error().code == Code::kNotFound) continue;
    if (undone.error().code == kNotSupported) {
      Log(LogLevel::kWarning, "gpu", "cannot undo a setting: {}", undone.error().message);
    } else if (first) {
      first = std::move(undone);
    }
  }
  return first;
}

Value WriteChanges(std::span<const Change> changes) {
  Value array = Value::Array();
  for (const Change& change : changes) {
    Value entry = Value::Object(
        {{"kind", kKinds[static_cast<std::size_t>(change.kind)]}, {"minor", change.minor}});
    if (change.kind == Change::Kind::kPart) {
      entry.Set("uuid", change.part.uuid);
      entry.Set("profile", change.part.profile);
      entry.Set("start", change.part.start);
    }
    if (change.kind == Change::Kind::kMpsDaemon) entry.Set("daemon", change.daemon.id);
    array.Append(std::move(entry));
  }
  return array;
}

std::vector<Change> ReadChanges(const Value& value) {
  std::vector<Change> changes;
  for (const Value& entry : value.Items()) {
    const auto kind = std::ranges::find(kKinds, entry["kind"].AsString());
    if (kind == kKinds.end()) continue;
    changes.push_back({.kind = static_cast<Change::Kind>(kind - kKinds.begin()),
                       .minor = static_cast<int>(entry["minor"].AsInt()),
                       .part = {.uuid = std::string(entry["uuid"].AsString()),
                                .profile = static_cast<int>(entry["profile"].AsInt()),
                                .start = static_cast<int>(entry["start"].AsInt())},
                       .daemon = {.id = std::string(entry["daemon"].AsString())}});
  }
  return changes;
}

}  // namespace drachma::gpu
