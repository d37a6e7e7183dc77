#include "gpu/driver.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace drachma::gpu {
namespace {

using json::Value;
using node::ClaimState;
using node::JournalRecord;

constexpr std::string_view kCdiVendor = "k8s.gpu.nvidia.com";

std::string UidOf(const Value& claim) {
  return std::string(claim.At({"metadata", "uid"}).AsString());
}

void Merge(node::CdiEdits from, node::CdiEdits& to) {
  to.env.merge(from.env);
  std::ranges::move(from.device_nodes, std::back_inserter(to.device_nodes));
  std::ranges::move(from.mounts, std::back_inserter(to.mounts));
  std::ranges::move(from.hooks, std::back_inserter(to.hooks));
}

}  // namespace

GpuDriver::GpuDriver(Options options, std::unique_ptr<Backend> backend, node::Journal journal)
    : pool_(std::move(options.pool)),
      backend_(std::move(backend)),
      journal_(std::move(journal)),
      cdi_(std::move(options.cdi), std::string(kCdiVendor)) {}

std::vector<node::Pool> GpuDriver::Pools() const {
  if (!published_) return {};
  return {node::Pool{.name = pool_, .generation = 0, .slices = slices_}};
}

std::vector<node::HeldClaim> GpuDriver::Held() const {
  std::vector<node::HeldClaim> held;
  for (const auto& [uid, record] : journal_.records()) {
    held.push_back({.claim = record.claim, .devices = {}});
    for (const auto& [device, holder] : holders_) {
      if (holder.contains(uid)) held.back().devices.push_back(device);
    }
  }
  return held;
}

Result<const GpuDriver::Offer*> GpuDriver::Take(const Value& result,
                                                std::string_view claim_uid) const {
  const std::string_view device = result["device"].AsString();
  const auto offer = offers_.find(device);
  if (offer == offers_.end() || result["pool"].AsString() != pool_) {
    return Fail(Code::kNotFound, fmt::format("requested device is not allocatable: {}", device));
  }
  if (result["adminAccess"].AsBool()) return &offer->second;
  const auto& [board, wanted] = offer->second;
  for (const auto& [name, uids] : holders_) {
    const auto held = offers_.find(name);
    if (held == offers_.end() || held->second.board != board) continue;
    // A whole GPU and its parts exclude each other; that parts do not overlap the hardware sees to.
    const bool same = name == device;
    const bool whole = wanted.profile == nullptr || held->second.device.profile == nullptr;
    if (same ? IsShared(boards_[board]) : !whole) continue;
    const auto other =
        std::ranges::find_if(uids, [&](const std::string& uid) { return uid != claim_uid; });
    if (other == uids.end()) continue;
    return Fail(Code::kConflict, fmt::format("device {} is in use by claim {}", name, *other));
  }
  return &offer->second;
}

Status GpuDriver::CheckSharers(const Preparation& preparation) const {
  for (const SetUpDevice& device : preparation.devices) {
    const auto holders = holders_.find(device.device->name);
    if (device.admin || holders == holders_.end()) continue;
    for (const std::string& uid : holders->second) {
      const JournalRecord* other = journal_.Find(uid);
      if (other == nullptr || uid == preparation.record.claim.uid) continue;
      const auto theirs =
          std::ranges::find(other->devices, device.device->name, &node::PreparedDevice::device);
      if (theirs == other->devices.end() || theirs->report == device.report) continue;
      return Fail(Code::kConflict,
                  fmt::format("device {} is shared with claim {}, whose config is another one",
                              device.device->name, uid));
    }
  }
  return {};
}

// Undoing a plan destroys what lies where its parts go. Nothing may lie there before.
Status GpuDriver::CheckRoom(std::span<const Change> changes) const {
  const auto makes_part = [](const Change& change) { return change.kind == Change::Kind::kPart; };
  if (std::ranges::none_of(changes, makes_part)) return {};
  DRA_ASSIGN(const std::vector<Board> boards, backend_->Enumerate());
  for (const Change& change : changes) {
    const auto board = std::ranges::find(boards, change.minor, &Board::minor);
    if (!makes_part(change) || board == boards.end()) continue;
    for (const Part& part : board->parts) {
      if (part.profile != change.part.profile || part.start != change.part.start) continue;
      return Fail(Code::kConflict,
                  fmt::format("GPU {} has a {} at slice {} already: {}", change.minor,
                              change.profile->name, part.start, part.uuid));
    }
  }
  return {};
}

Result<GpuDriver::Preparation> GpuDriver::Plan(const Value& claim) const {
  const std::string uid = UidOf(claim);
  const Value& metadata = claim["metadata"];
  Preparation plan{.record = {.claim = {.ns = std::string(metadata["namespace"].AsString()),
                                        .name = std::string(metadata["name"].AsString()),
                                        .uid = uid}}};
  plan.results = node::ResultsOf(claim, kDriverName);
  std::vector<ClaimedDevice> claimed;
  Value held = Value::Array();
  for (const Value* result : plan.results) {
    DRA_ASSIGN(const Offer* offer, Take(*result, uid));
    const bool admin = (*result)["adminAccess"].AsBool();
    plan.devices.push_back({.board = &boards_[offer->board],
                            .device = &offer->device,
                            .admin = admin,
                            .uuid = offer->device.uuid,
                            .daemon = {},
                            .report = {}});
    claimed.push_back(
        {.request = std::string((*result)["request"].AsString()),
         .name = offer->device.name,
         .type = offer->device.profile == nullptr ? DeviceType::kGpu : DeviceType::kMig});
    if (!admin) held.Append(offer->device.name);
  }
  DRA_ASSIGN(const std::vector<ConfigGroup> groups,
             GroupsOf(kDriverName, claim.At({"status", "allocation"}), claimed));
  DRA_ASSIGN(plan.changes, PlanChanges(uid, groups, plan.devices));
  DRA_TRY(CheckSharers(plan));
  DRA_TRY(CheckRoom(plan.changes));
  plan.record.detail =
      Value::Object({{"held", std::move(held)}, {"changes", WriteChanges(plan.changes)}});
  return plan;
}

Result<Value> GpuDriver::SpecOf(const Preparation& preparation) const {
  node::CdiSpec spec;
  DRA_ASSIGN(spec.common, backend_->CommonEdits());
  for (const SetUpDevice& device : preparation.devices) {
    const BoardDevice& offered = *device.device;
    const Part part{.uuid = device.uuid,
                    .profile = offered.profile == nullptr ? 0 : offered.profile->id,
                    .start = offered.start};
    // Administrators may look at a part that nobody has made: at its GPU, that is.
    const bool whole = offered.profile == nullptr || device.uuid.empty();
    DRA_ASSIGN(node::CdiEdits edits, backend_->EditsOf(*device.board, whole ? nullptr : &part));
    if (!device.daemon.empty()) Merge(backend_->MpsEdits(device.daemon), edits);
    spec.devices.push_back({.name = offered.name, .edits = std::move(edits)});
  }
  return node::WriteCdiSpec(cdi_.vendor(), preparation.record.claim.uid, spec);
}

Status GpuDriver::Carry(Preparation& preparation) {
  JournalRecord& record = preparation.record;
  const std::string& uid = record.claim.uid;
  for (Change& change : preparation.changes) {
    DRA_TRY(Apply(*backend_, change));
    if (change.kind != Change::Kind::kPart) continue;
    for (SetUpDevice& device : preparation.devices) {
      if (device.admin || device.device->profile != change.profile ||
          device.board->minor != change.minor || device.device->start != change.part.start) {
        continue;
      }
      device.uuid = change.part.uuid;
      device.report.Set("uuid", device.uuid);
    }
  }
  record.detail.Set("changes", WriteChanges(preparation.changes));
  for (std::size_t i = 0; i < preparation.devices.size(); ++i) {
    const Value& result = *preparation.results[i];
    const std::string& name = preparation.devices[i].device->name;
    record.devices.push_back({
        .requests = {std::string(node::BaseRequest(result["request"].AsString()))},
        .pool = pool_,
        .device = name,
        .cdi_device_ids = {node::CdiDeviceId(cdi_.vendor(), uid, name)},
        .share_id = std::string(result["shareID"].AsString()),
        .report = std::move(preparation.devices[i].report),
    });
  }
  if (cdi_.writes()) {
    DRA_ASSIGN(Value spec, SpecOf(preparation));
    DRA_TRY(cdi_.Write(uid, spec));
    record.detail.Set("cdi", std::move(spec));
  }
  record.state = ClaimState::kPrepareCompleted;
  return journal_.Put(record);
}

node::PrepareResult GpuDriver::PrepareOne(const Value& claim) {
  const std::string uid = UidOf(claim);
  if (const JournalRecord* known = journal_.Find(uid)) {
    if (known->state == ClaimState::kPrepareCompleted) {
      if (cdi_.writes()) DRA_TRY(cdi_.Write(uid, known->detail["cdi"]));
      return known->devices;
    }
    DRA_TRY(TakeBack(*known));
  }
  DRA_ASSIGN(Preparation preparation, Plan(claim));
  // What the journal need not undo need not be in it before it is done.
  if (!preparation.changes.empty()) DRA_TRY(journal_.Put(preparation.record));
  Hold(preparation.record);
  if (Status done = Carry(preparation); !done) {
    preparation.record.state = ClaimState::kPrepareStarted;
    if (const Status back = TakeBack(std::move(preparation.record)); !back) {
      Log(LogLevel::kWarning, "gpu", "claim {}: cannot undo what was done: {}", uid,
          back.error().message);
    }
    return std::unexpected(std::move(done.error()));
  }
  return std::move(preparation.record.devices);
}

void GpuDriver::Hold(const JournalRecord& record) {
  for (const Value& device : record.detail["held"].Items()) {
    holders_[std::string(device.AsString())].insert(record.claim.uid);
  }
}

void GpuDriver::Release(const std::string& claim_uid) {
  bool vanished = false;
  for (auto entry = holders_.begin(); entry != holders_.end();) {
    entry->second.erase(claim_uid);
    if (!entry->second.empty()) {
      ++entry;
      continue;
    }
    vanished |= vanished_.erase(entry->first) > 0;
    entry = holders_.erase(entry);
  }
  if (vanished) Publish();
}

Status GpuDriver::TakeBack(JournalRecord record) {
  const std::string uid = record.claim.uid;
  std::vector<Change> changes = ReadChanges(record.detail["changes"]);
  // The last one that shares a GPU takes its settings back.
  std::erase_if(changes, [&](const Change& change) {
    const auto holders = holders_.find(fmt::format("gpu-{}", change.minor));
    const bool alone = holders == holders_.end() || holders->second.size() < 2;
    return !alone &&
           (change.kind == Change::Kind::kTimeSlice || change.kind == Change::Kind::kComputeMode);
  });
  DRA_TRY(Undo(*backend_, changes));
  DRA_TRY(cdi_.Remove(uid));
  DRA_TRY(journal_.Erase(uid));
  Release(uid);
  return {};
}

Status GpuDriver::UnprepareOne(const std::string& claim_uid) {
  const JournalRecord* known = journal_.Find(claim_uid);
  if (known == nullptr) {
    DRA_TRY(cdi_.Remove(claim_uid));  // of a claim that a damaged journal forgot
    if (leftovers_) Reconcile();
    return {};
  }
  JournalRecord record = *known;
  // From here on it is not to be answered from the journal, however far the undoing comes.
  if (record.state == ClaimState::kPrepareCompleted && !record.detail["changes"].empty()) {
    record.state = ClaimState::kPrepareStarted;
    DRA_TRY(journal_.Put(record));
  }
  return TakeBack(std::move(record));
}

void GpuDriver::Prepare(std::span<const Value> claims, PrepareDone done) {
  node::PrepareAnswer answer;
  for (const Value& claim : claims) answer.emplace(UidOf(claim), PrepareOne(claim));
  done(std::move(answer));
}

void GpuDriver::Unprepare(std::span<const node::ClaimRef> claims, UnprepareDone done) {
  node::UnprepareAnswer answer;
  for (const node::ClaimRef& claim : claims) answer.emplace(claim.uid, UnprepareOne(claim.uid));
  done(std::move(answer));
}

}  // namespace drachma::gpu
