#include "gpu/sim_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/random.h"
#include "json/json.h"

namespace drachma::gpu {
namespace {

using json::Value;

constexpr int kGpusPerRoot = 2;
constexpr int kBusesPerRoot = 0x10;
constexpr const char* kStateFile = "simulated-gpus.json";

// FNV-1a: the same on every machine, unlike std::hash.
std::uint64_t SeedOf(std::string_view text) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return hash;
}

Value WriteSettings(const SimBackend::Settings& settings) {
  Value parts = Value::Array();
  for (const Part& part : settings.parts) {
    parts.Append(Value::Object({{"profile", part.profile}, {"start", part.start}}));
  }
  return Value::Object({{"timeSlice", static_cast<int>(settings.time_slice)},
                        {"computeMode", static_cast<int>(settings.compute_mode)},
                        {"mig", settings.mig_enabled},
                        {"parts", std::move(parts)}});
}

bool Overlap(const MigProfile& a, int a_start, const MigProfile& b, int b_start) {
  return a_start < b_start + b.slices && b_start < a_start + a.slices;
}

}  // namespace

SimBackend::SimBackend(std::string node_name, const Model& model, int count, MigMode mig)
    : SimBackend(std::move(node_name), {.model = &model, .count = count, .mig = mig}, {}, {}) {
  // Only parts that are to be placed can fail.
  if (const Status built = Build(); !built) {
    Log(LogLevel::kError, "gpu", "simulated GPUs: {}", built.error().message);
  }
}

Result<std::unique_ptr<SimBackend>> SimBackend::Create(std::string node_name, SimSpec spec,
                                                       Memory memory, std::string stand_in) {
  std::unique_ptr<SimBackend> backend(new SimBackend(std::move(node_name), std::move(spec),
                                                     std::move(memory), std::move(stand_in)));
  DRA_TRY(backend->Build());
  DRA_TRY(backend->Load());
  return backend;
}

Status SimBackend::Build() {
  std::vector<Part> places;
  if (spec_.mig == MigMode::kStatic) {
    DRA_ASSIGN(places, PlaceParts(*spec_.model, spec_.parts));
  }
  boards_.clear();
  Random random(SeedOf(node_name_));
  for (int minor = 0; minor < spec_.count; ++minor) {
    const int root = (minor / kGpusPerRoot + 1) * kBusesPerRoot;
    boards_.push_back({
        .minor = minor,
        .uuid = "GPU-" + random.Uuid(),
        .model = spec_.model,
        .pci_bus_id = fmt::format("0000:{:02x}:00.0", (root + 1 + minor % kGpusPerRoot) & 0xFF),
        .pcie_root = fmt::format("pci0000:{:02x}", root & 0xFF),
        .numa_node = spec_.count > 1 && minor >= spec_.count / 2 ? 1 : 0,
        .mig = spec_.mig,
        .shares = spec_.shares,
        .numa_list = std::ranges::find(spec_.gates, "DRAListTypeAttributes") != spec_.gates.end(),
    });
  }
  const std::size_t kept = std::min(settings_.size(), boards_.size());
  settings_.resize(boards_.size());
  for (std::size_t i = kept; i < settings_.size(); ++i) {
    // An administrator has set the mode where the driver does not.
    settings_[i].mig_enabled =
        spec_.mig == MigMode::kStatic || (CanBeCut(boards_[i]) && !TogglesMig(boards_[i]));
    for (const Part& place : places) {
      settings_[i].parts.push_back(PartOf(static_cast<int>(i), place.profile, place.start));
    }
  }
  return {};
}

Status SimBackend::Load() {
  if (memory_.folder == nullptr) return {};
  DRA_ASSIGN(const auto text, memory_.folder->Read(kStateFile));
  if (!text) return {};
  DRA_ASSIGN(const Value state, json::Read(*text));
  if (state["bootID"].AsString() != memory_.boot_id) return {};
  if (state["gpus"].AsString() != WriteSimSpec(spec_)) return {};
  for (std::size_t i = 0; i < settings_.size(); ++i) {
    const Value& from = state["settings"].Items()[i];
    Settings settings{.time_slice = static_cast<TimeSlice>(from["timeSlice"].AsInt()),
                      .compute_mode = static_cast<ComputeMode>(from["computeMode"].AsInt()),
                      .mig_enabled = from["mig"].AsBool(),
                      .parts = {}};
    for (const Value& part : from["parts"].Items()) {
      settings.parts.push_back(PartOf(static_cast<int>(i),
                                      static_cast<int>(part["profile"].AsInt()),
                                      static_cast<int>(part["start"].AsInt())));
    }
    settings_[i] = std::move(settings);
  }
  for (const Value& from : state["mpsDaemons"].Items()) {
    MpsDaemon daemon{.id = std::string(from["id"].AsString())};
    for (const Value& uuid : from["uuids"].Items()) daemon.uuids.emplace_back(uuid.AsString());
    daemons_.insert_or_assign(daemon.id, daemon);
  }
  return {};
}

Status SimBackend::Save() const {
  if (memory_.folder == nullptr) return {};
  Value settings = Value::Array();
  for (const Settings& entry : settings_) settings.Append(WriteSettings(entry));
  Value daemons = Value::Array();
  for (const auto& [id, daemon] : daemons_) {
    Value uuids = Value::Array();
    for (const std::string& uuid : daemon.uuids) uuids.Append(uuid);
    daemons.Append(Value::Object({{"id", id}, {"uuids", std::move(uuids)}}));
  }
  return memory_.folder->Write(kStateFile,
                               json::Write(Value::Object({{"bootID", memory_.boot_id},
                                                          {"gpus", WriteSimSpec(spec_)},
                                                          {"settings", std::move(settings)},
                                                          {"mpsDaemons", std::move(daemons)}})));
}

Status SimBackend::Reconfigure(SimSpec spec) {
  if (WriteSimSpec(spec) == WriteSimSpec(spec_)) return {};
  const bool same = spec.model == spec_.model && spec.mig == spec_.mig;
  if (!same || spec.mig == MigMode::kStatic) {
    settings_.clear();
    daemons_.clear();
  }
  spec_ = std::move(spec);
  DRA_TRY(Build());
  DRA_TRY(Save());
  if (changed_) changed_();
  return {};
}

void SimBackend::SetFaults(std::vector<Fault> faults) {
  if (faults == faults_) return;
  faults_ = std::move(faults);
  if (changed_) changed_();
}

Result<std::vector<Board>> SimBackend::Enumerate() {
  std::vector<Board> boards = boards_;
  for (std::size_t i = 0; i < boards.size(); ++i) {
    boards[i].mig_enabled = settings_[i].mig_enabled;
    boards[i].parts = settings_[i].parts;
  }
  return boards;
}

Result<SimBackend::Settings*> SimBackend::Find(int minor) {
  if (minor < 0 || std::cmp_greater_equal(minor, settings_.size())) {
    return Fail(Code::kNotFound, fmt::format("there is no GPU {}", minor));
  }
  return &settings_[static_cast<std::size_t>(minor)];
}

Status SimBackend::Change(int minor, const std::function<void(Settings&)>& change) {
  DRA_ASSIGN(auto* const settings, Find(minor));
  Settings before = *settings;
  change(*settings);
  Status saved = Save();
  if (!saved) *settings = std::move(before);
  return saved;
}

Status SimBackend::SetTimeSlice(int minor, TimeSlice slice) {
  return Change(minor, [&](Settings& settings) { settings.time_slice = slice; });
}

Status SimBackend::SetComputeMode(int minor, ComputeMode mode) {
  return Change(minor, [&](Settings& settings) { settings.compute_mode = mode; });
}

Status SimBackend::SetMigMode(int minor, bool enabled) {
  DRA_ASSIGN(const auto* const settings, Find(minor));
  if (settings->mig_enabled == enabled) return {};
  const Board& board = boards_[static_cast<std::size_t>(minor)];
  if (board.model->profiles.empty()) {
    return Fail(kNotSupported, fmt::format("GPU {} has no MIG mode", minor));
  }
  if (board.model->mig_needs_reset) {
    return Fail(Code::kConflict, fmt::format("GPU {} changes its MIG mode at a reset only", minor));
  }
  if (!settings->parts.empty()) {
    return Fail(Code::kConflict, fmt::format("GPU {} has parts", minor));
  }
  return Change(minor, [&](Settings& changed) { changed.mig_enabled = enabled; });
}

// The same part of the same GPU has the same UUID, as on hardware.
Part SimBackend::PartOf(int minor, int profile, int start) const {
  Random random(SeedOf(
      fmt::format("{}/{}/{}", boards_[static_cast<std::size_t>(minor)].uuid, profile, start)));
  return {.uuid = "MIG-" + random.Uuid(), .profile = profile, .start = start};
}

Result<std::string> SimBackend::CreatePart(int minor, const MigProfile& profile, int start) {
  DRA_ASSIGN(const auto* const settings, Find(minor));
  if (!settings->mig_enabled) {
    return Fail(Code::kConflict, fmt::format("MIG is off on GPU {}", minor));
  }
  const Model& model = *boards_[static_cast<std::size_t>(minor)].model;
  for (const Part& part : settings->parts) {
    const MigProfile* const other = FindProfile(model, part.profile);
    if (other == nullptr || !Overlap(profile, start, *other, part.start)) continue;
    return Fail(Code::kConflict, fmt::format("GPU {} has no room for a {} at slice {}: {} is there",
                                             minor, profile.name, start, part.uuid));
  }
  Part made = PartOf(minor, profile.id, start);
  DRA_TRY(Change(minor, [&](Settings& changed) { changed.parts.push_back(made); }));
  return std::move(made.uuid);
}

Status SimBackend::DestroyPart(int minor, const std::string& uuid) {
  DRA_ASSIGN(const auto* const settings, Find(minor));
  if (std::ranges::find(settings->parts, uuid, &Part::uuid) == settings->parts.end()) {
    return Fail(Code::kNotFound, fmt::format("GPU {} has no part {}", minor, uuid));
  }
  return Change(minor, [&](Settings& changed) {
    std::erase_if(changed.parts, [&](const Part& part) { return part.uuid == uuid; });
  });
}

Status SimBackend::StartMps(const MpsDaemon& daemon) {
  for (const std::string& uuid : daemon.uuids) {
    const auto board = std::ranges::find(boards_, uuid, &Board::uuid);
    if (board != boards_.end() &&
        settings(board->minor).compute_mode != ComputeMode::kExclusiveProcess) {
      return Fail(Code::kConflict, fmt::format("GPU {} is not in exclusive mode", board->minor));
    }
    for (const auto& [id, other] : daemons_) {
      if (id == daemon.id || std::ranges::find(other.uuids, uuid) == other.uuids.end()) continue;
      return Fail(Code::kConflict, fmt::format("{} has MPS daemon {}", uuid, id));
    }
  }
  daemons_.insert_or_assign(daemon.id, daemon);
  Status saved = Save();
  if (!saved) daemons_.erase(daemon.id);
  return saved;
}

Status SimBackend::StopMps(const std::string& id) {
  auto stopped = daemons_.extract(id);
  if (stopped.empty()) return Fail(Code::kNotFound, "there is no MPS daemon " + id);
  Status saved = Save();
  if (!saved) daemons_.insert(std::move(stopped));
  return saved;
}

std::vector<std::string> SimBackend::MpsDaemons() {
  std::vector<std::string> ids;
  for (const auto& [id, daemon] : daemons_) ids.push_back(id);
  return ids;
}

node::CdiEdits::DeviceNode SimBackend::Node(std::string path) const {
  return {.path = std::move(path), .host_path = stand_in_};
}

Result<node::CdiEdits> SimBackend::CommonEdits() {
  return node::CdiEdits{.env = {{"NVIDIA_VISIBLE_DEVICES", "void"}},
                        .device_nodes = {Node("/dev/nvidiactl"), Node("/dev/nvidia-uvm"),
                                         Node("/dev/nvidia-uvm-tools")},
                        .mounts = {},
                        .hooks = {}};
}

// Programs cannot ask simulated GPUs who they are: the environment says it.
Result<node::CdiEdits> SimBackend::EditsOf(const Board& board, const Part* part) {
  node::CdiEdits edits;
  edits.device_nodes.push_back(Node(fmt::format("/dev/nvidia{}", board.minor)));
  if (part == nullptr) {
    edits.env.emplace(fmt::format("DRACHMA_GPU_{}", board.minor), board.uuid);
    return edits;
  }
  edits.env.emplace(
      fmt::format("DRACHMA_GPU_{}_MIG_{}_{}", board.minor, part->profile, part->start), part->uuid);
  // Hardware numbers its instances as they come; here the place is the number. Each GPU has two
  // capabilities for each instance.
  constexpr int kInstancesMax = 64;
  const int first = 1 + 2 * (board.minor * kInstancesMax + part->profile % 8 * 8 + part->start);
  for (const int capability : {first, first + 1}) {
    edits.device_nodes.push_back(Node(fmt::format("/dev/nvidia-caps/nvidia-cap{}", capability)));
  }
  return edits;
}

node::CdiEdits SimBackend::MpsEdits(const std::string& /*daemon*/) {
  return {.env = {{"CUDA_MPS_PIPE_DIRECTORY", "/tmp/nvidia-mps"}},
          .device_nodes = {},
          .mounts = {},
          .hooks = {}};
}

}  // namespace drachma::gpu
