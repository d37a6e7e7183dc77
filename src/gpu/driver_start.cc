// What the driver does at its start and when the hardware changes.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "base/log.h"
#include "gpu/driver.h"

namespace drachma::gpu {
namespace {

using json::Value;
using node::ClaimState;
using node::JournalRecord;

// A claim holds the device, and the hardware has it no more.
constexpr std::string_view kRemovedTaint = "gpu.nvidia.com/removed";
constexpr std::size_t kVanishedPerSliceMax = 64;  // resource.k8s.io's limit of devices with taints

bool SameContent(const std::vector<node::SliceContent>& a,
                 const std::vector<node::SliceContent>& b) {
  return std::ranges::equal(a, b, [](const auto& x, const auto& y) {
    return x.devices == y.devices && x.shared_counters == y.shared_counters;
  });
}

// A device that is gone takes nothing from the counters of those that are there.
Value AsRemoved(Value device) {
  device.Erase("consumesCounters");
  Value taints = Value::Array();
  taints.Append(
      Value::Object({{"key", kRemovedTaint}, {"effect", NameOf(TaintEffect::kNoSchedule)}}));
  device.Set("taints", std::move(taints));
  return device;
}

bool SamePlace(const Change& change, int minor, const Part& part) {
  return change.kind == Change::Kind::kPart && change.minor == minor &&
         change.part.profile == part.profile && change.part.start == part.start;
}

}  // namespace

Result<std::unique_ptr<GpuDriver>> GpuDriver::Create(Options options,
                                                     std::unique_ptr<Backend> backend) {
  DRA_ASSIGN(node::Journal journal,
             node::Journal::Open(options.state, kDriverName, options.boot_id));
  std::unique_ptr<GpuDriver> driver(
      new GpuDriver(std::move(options), std::move(backend), std::move(journal)));
  DRA_TRY(driver->Recover());
  driver->backend_->Watch([raw = driver.get()] { raw->Refresh(); });
  return driver;
}

bool GpuDriver::PartsAreThere(const JournalRecord& record) const {
  const std::vector<Change> changes = ReadChanges(record.detail["changes"]);
  return std::ranges::all_of(changes, [&](const Change& change) {
    if (change.kind != Change::Kind::kPart) return true;
    const auto board = std::ranges::find(boards_, change.minor, &Board::minor);
    return board != boards_.end() && std::ranges::any_of(board->parts, [&](const Part& part) {
             return SamePlace(change, change.minor, part);
           });
  });
}

Status GpuDriver::Recover() {
  DRA_ASSIGN(boards_, backend_->Enumerate());
  faults_ = backend_->Faults();
  const node::Journal::Records records = journal_.records();
  for (const auto& [uid, record] : records) {
    Hold(record);
    const bool completed = record.state == ClaimState::kPrepareCompleted;
    if (completed && PartsAreThere(record)) continue;
    Log(LogLevel::kWarning, "gpu", "claim {}/{} ({}) {}: it is taken back", record.claim.ns,
        record.claim.name, uid,
        completed ? "had MIG parts that are gone" : "was being prepared or unprepared");
    if (const Status back = TakeBack(record); !back) {
      Log(LogLevel::kWarning, "gpu", "claim {} keeps its devices: {}", uid, back.error().message);
    }
  }
  Reconcile();
  DRA_TRY(RestoreSpecs());
  DRA_ASSIGN(boards_, backend_->Enumerate());
  MakeOffers();
  Publish();
  return {};
}

Status GpuDriver::RestoreSpecs() {
  if (!cdi_.writes()) return {};
  for (const auto& [uid, record] : journal_.records()) {
    if (record.state != ClaimState::kPrepareCompleted) continue;
    DRA_TRY(cdi_.Write(uid, record.detail["cdi"]));
  }
  // Containers of claims that a damaged journal forgot still need theirs, to start again.
  if (journal_.lost()) return {};
  DRA_ASSIGN(const std::vector<std::string> claims, cdi_.Claims());
  for (const std::string& uid : claims) {
    if (journal_.Find(uid) == nullptr) DRA_TRY(cdi_.Remove(uid));
  }
  return {};
}

void GpuDriver::TidyBoard(const Board& board, const std::vector<Change>& owned) {
  std::size_t left = board.parts.size();
  for (const Part& part : board.parts) {
    const bool known = std::ranges::any_of(
        owned, [&](const Change& change) { return SamePlace(change, board.minor, part); });
    if (known) continue;
    const Status destroyed = backend_->DestroyPart(board.minor, part.uuid);
    Log(destroyed ? LogLevel::kInfo : LogLevel::kWarning, "gpu",
        "part {} of GPU {} belongs to no claim: {}", part.uuid, board.minor,
        destroyed ? "destroyed" : destroyed.error().message);
    if (destroyed) --left;
    leftovers_ |= !destroyed;
  }
  if (!TogglesMig(board) || !board.mig_enabled || left > 0) return;
  if (const Status off = backend_->SetMigMode(board.minor, false); !off) {
    Log(LogLevel::kWarning, "gpu", "MIG stays on: {}", off.error().message);
  }
}

void GpuDriver::Reconcile() {
  leftovers_ = false;
  std::vector<Change> owned;
  for (const auto& [uid, record] : journal_.records()) {
    std::ranges::move(ReadChanges(record.detail["changes"]), std::back_inserter(owned));
  }
  const Result<std::vector<Board>> boards = backend_->Enumerate();
  if (!boards) return;
  for (const std::string& id : backend_->MpsDaemons()) {
    const bool known = std::ranges::any_of(owned, [&](const Change& change) {
      return change.kind == Change::Kind::kMpsDaemon && change.daemon.id == id;
    });
    if (!known) leftovers_ |= !backend_->StopMps(id);
  }
  for (const Board& board : *boards) {
    if (CanBeCut(board)) TidyBoard(board, owned);
    if (!journal_.lost() || board.mig == MigMode::kStatic) continue;
    const bool set_up = std::ranges::any_of(
        owned, [&](const Change& change) { return change.minor == board.minor; });
    if (set_up) continue;
    // Nobody knows how an earlier run left it. GPUs that cannot be set need no resetting.
    for (const Status& reset : {backend_->SetComputeMode(board.minor, ComputeMode::kDefault),
                                backend_->SetTimeSlice(board.minor, TimeSlice::kDefault)}) {
      if (!reset) Log(LogLevel::kDebug, "gpu", "{}", reset.error().message);
    }
  }
}

void GpuDriver::MakeOffers() {
  offers_.clear();
  for (std::size_t i = 0; i < boards_.size(); ++i) {
    for (BoardDevice& device : DevicesOf(boards_[i])) {
      std::string name = device.name;
      offers_.insert_or_assign(std::move(name), Offer{i, std::move(device)});
    }
  }
  for (const node::SliceContent& slice : slices_) {
    for (const Value& device : slice.devices) {
      const std::string name(device["name"].AsString());
      if (!holders_.contains(name) || offers_.contains(name)) continue;
      vanished_.try_emplace(name, AsRemoved(device));
    }
  }
  std::erase_if(vanished_, [&](const auto& entry) { return offers_.contains(entry.first); });
}

void GpuDriver::Publish() {
  std::vector<node::SliceContent> slices;
  if (faults_.empty()) {
    slices = SlicesOf(boards_);
  } else {
    slices = SlicesOf(boards_, [&](const Board& board, const BoardDevice& device) {
      return TaintsOf(board, device, faults_);
    });
  }
  for (const auto& [name, device] : vanished_) {
    if (slices.empty() || !slices.back().shared_counters.empty() ||
        slices.back().devices.size() >= kVanishedPerSliceMax) {
      slices.emplace_back();
    }
    slices.back().devices.push_back(device);
  }
  if (SameContent(slices, slices_)) return;
  slices_ = std::move(slices);
  published_ = true;
  if (changed_) changed_();
}

void GpuDriver::Refresh() {
  Result<std::vector<Board>> boards = backend_->Enumerate();
  faults_ = backend_->Faults();
  if (boards) {
    boards_ = *std::move(boards);
    MakeOffers();
  } else {
    Log(LogLevel::kError, "gpu", "the GPUs do not answer: {}", boards.error().message);
    faults_.push_back({.device = "*", .kind = Fault::Kind::kLost});
  }
  Publish();
}

}  // namespace drachma::gpu
