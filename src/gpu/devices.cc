// Boards as the devices of ResourceSlices (the NVIDIA DRA driver's deviceinfo and partitions).
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "gpu/board.h"
#include "gpu/mig_plan.h"

namespace drachma::gpu {
namespace {

using json::Value;

// resource.k8s.io's limits of a slice whose devices have counters or taints. A device may get a
// taint at any time, and must not move to another slice by that.
constexpr std::size_t kDevicesPerSliceMax = 64;
constexpr std::size_t kCounterSetsPerSliceMax = 8;

Value String(std::string_view text) { return Value::Object({{"string", text}}); }
Value Version(std::string_view text) { return Value::Object({{"version", text}}); }
Value Amount(std::string_view text) { return Value::Object({{"value", text}}); }
// Mebibytes as a canonical quantity: 40960 is "40Gi".
Value Mebibytes(std::int64_t mib) {
  constexpr std::int64_t kMibPerGib = 1024;
  return Amount(mib % kMibPerGib == 0 ? fmt::format("{}Gi", mib / kMibPerGib)
                                      : fmt::format("{}Mi", mib));
}

std::string CounterSetName(const Board& board) {
  return fmt::format("gpu-{}-counter-set", board.minor);
}

// What a GPU and its parts have in common.
void AddSharedAttributes(const Board& board, Value& attributes) {
  const Model& model = *board.model;
  attributes.Set("productName", String(model.product));
  attributes.Set("brand", String(board.brand));
  attributes.Set("architecture", String(model.architecture));
  attributes.Set("cudaComputeCapability", Version(model.compute_capability));
  attributes.Set("driverVersion", Version(board.driver_version));
  attributes.Set("cudaDriverVersion", Version(board.cuda_version));
  if (!board.addressing_mode.empty()) {
    attributes.Set("addressingMode", String(board.addressing_mode));
  }
  attributes.Set("resource.kubernetes.io/pciBusID", String(board.pci_bus_id));
  if (!board.pcie_root.empty()) {
    attributes.Set("resource.kubernetes.io/pcieRoot", String(board.pcie_root));
  }
  if (board.numa_node >= 0) {
    Value numa = Value::Object({{"int", board.numa_node}});
    if (board.numa_list) numa = Value::Object({{"ints", Value::Array({board.numa_node})}});
    attributes.Set("resource.kubernetes.io/numaNode", std::move(numa));
  }
}

// The largest value of each engine over all profiles: what the whole GPU offers for sharing out.
Engines EnginesMax(const Model& model) {
  Engines most = {};
  for (const MigProfile& profile : model.profiles) {
    for (std::size_t i = 0; i < most.size(); ++i) most[i] = std::max(most[i], profile.engines[i]);
  }
  return most;
}

std::int64_t ProfileMemoryMax(const Model& model) {
  std::int64_t most = 0;
  for (const MigProfile& profile : model.profiles) most = std::max(most, profile.memory_mib);
  return most;
}

void AddEngines(const Engines& engines, const std::array<std::string_view, 6>& names,
                Value& target) {
  for (std::size_t i = 0; i < engines.size(); ++i) {
    target.Set(names[i], Amount(std::to_string(engines[i])));
  }
}

void AddSlices(std::string_view name, int first, int count, Value& target) {
  for (int slice = first; slice < first + count; ++slice) {
    target.Set(fmt::format("{}{}", name, slice), Amount("1"));
  }
}

// Everything that one GPU can be cut into, as counters.
Value AllCounters(const Model& model) {
  Value counters = Value::Object();
  AddEngines(EnginesMax(model), kEngineCounters, counters);
  counters.Set("memory", Mebibytes(ProfileMemoryMax(model)));
  AddSlices("memory-slice-", 0, model.memory_slices, counters);
  return counters;
}

Value Consumes(const Board& board, Value counters) {
  return Value::Array(
      {Value::Object({{"counterSet", CounterSetName(board)}, {"counters", std::move(counters)}})});
}

Value Range(std::string_view least, std::string_view most, std::string_view step,
            std::string_view unless_said) {
  return Value::Object(
      {{"default", unless_said},
       {"validRange", Value::Object({{"min", least}, {"max", most}, {"step", step}})}});
}

// Lets claims take a part of the capacity of a device with `memory_mib`.
void Share(const Shares& shares, std::int64_t memory_mib, Value& device) {
  const Value most = Mebibytes(memory_mib)["value"];
  const bool by_memory = shares.by == Shares::By::kMemory;
  device.Set("allowMultipleAllocations", true);
  Value& capacity = device.Edit("capacity");
  capacity.Edit("memory").Set("requestPolicy", Range(by_memory ? "1Mi" : "0", most.AsString(),
                                                     "1Mi", by_memory ? most.AsString() : "0"));
  if (shares.by != Shares::By::kCount) return;
  const std::string count = std::to_string(shares.count);
  Value amount = Amount(count);
  amount.Set("requestPolicy", Range("1", count, "1", "1"));
  capacity.Set("shares", std::move(amount));
}

std::string WholeName(const Board& board) { return fmt::format("gpu-{}", board.minor); }

Value WholeGpu(const Board& board) {
  const Model& model = *board.model;
  Value attributes = Value::Object({{"type", String("gpu")}, {"uuid", String(board.uuid)}});
  AddSharedAttributes(board, attributes);
  Value capacity = Value::Object({{"memory", Mebibytes(model.memory_mib)}});
  Value device = Value::Object({{"name", WholeName(board)}});
  if (CanBeCut(board)) AddEngines(EnginesMax(model), kEngineCapacities, capacity);
  device.Set("attributes", std::move(attributes));
  device.Set("capacity", std::move(capacity));
  if (CanBeCut(board)) device.Set("consumesCounters", Consumes(board, AllCounters(model)));
  return device;
}

// "1g.10gb+me" as a part of a device name: "1g10gb-me".
std::string NameOfProfile(std::string_view profile) {
  std::string name;
  for (const char c : profile) {
    if (c == '.') continue;
    name += c == '+' ? '-' : c;
  }
  return name;
}

// A part that exists has its UUID and tells its slices as capacities; one that is still to be made
// takes them from the counters of its GPU.
Value MigDevice(const Board& board, const BoardDevice& part) {
  const MigProfile& profile = *part.profile;
  Value attributes = Value::Object({{"type", String("mig")}});
  if (!part.uuid.empty()) attributes.Set("uuid", String(part.uuid));
  attributes.Set("parentUUID", String(board.uuid));
  attributes.Set("profile", String(profile.name));
  AddSharedAttributes(board, attributes);
  Value capacity = Value::Object({{"memory", Mebibytes(profile.memory_mib)}});
  AddEngines(profile.engines, kEngineCapacities, capacity);
  if (!CanBeCut(board)) AddSlices("memorySlice", part.start, profile.slices, capacity);
  Value device = Value::Object({{"name", part.name},
                                {"attributes", std::move(attributes)},
                                {"capacity", std::move(capacity)}});
  if (!CanBeCut(board)) return device;
  Value counters = Value::Object();
  AddEngines(profile.engines, kEngineCounters, counters);
  counters.Set("memory", Mebibytes(profile.memory_mib));
  AddSlices("memory-slice-", part.start, profile.slices, counters);
  device.Set("consumesCounters", Consumes(board, std::move(counters)));
  return device;
}

std::vector<Value> PublishedDevices(const Board& board, const TaintsOfDevice& taints) {
  std::vector<Value> devices;
  for (const BoardDevice& device : DevicesOf(board)) {
    devices.push_back(device.profile == nullptr ? WholeGpu(board) : MigDevice(board, device));
    if (IsShared(board)) {
      const std::int64_t memory =
          device.profile == nullptr ? board.model->memory_mib : device.profile->memory_mib;
      Share(board.shares, memory, devices.back());
    }
    if (!taints) continue;
    if (std::vector<Value> of_device = taints(board, device); !of_device.empty()) {
      devices.back().Set("taints", Value::Array(std::move(of_device)));
    }
  }
  return devices;
}

void AppendDevices(const std::vector<Value>& devices, std::vector<node::SliceContent>& slices) {
  for (std::size_t first = 0; first < devices.size(); first += kDevicesPerSliceMax) {
    const std::size_t end = std::min(devices.size(), first + kDevicesPerSliceMax);
    slices.push_back({{},
                      {devices.begin() + static_cast<std::ptrdiff_t>(first),
                       devices.begin() + static_cast<std::ptrdiff_t>(end)}});
  }
}

// Where parts of a profile may start, those first that leave the most room for others.
std::vector<int> StartsOf(const Model& model, const MigProfile& profile) {
  std::vector<int> starts;
  for (int i = 0; i < profile.placements; ++i) starts.push_back(i * profile.slices);
  std::ranges::stable_sort(starts, std::greater{},
                           [&](int start) { return RoomBeside(model, profile, start); });
  return starts;
}

// The parts of `board` that exist and that containers can use, as devices.
std::vector<BoardDevice> ExistingParts(const Board& board) {
  std::vector<BoardDevice> devices;
  for (const Part& part : board.parts) {
    const MigProfile* profile = FindProfile(*board.model, part.profile);
    if (profile == nullptr || !part.uuid.starts_with("MIG-")) continue;
    devices.push_back({.name = PartName(board.minor, *profile, part.start),
                       .profile = profile,
                       .start = part.start,
                       .uuid = part.uuid});
  }
  std::ranges::sort(devices, [](const BoardDevice& a, const BoardDevice& b) {
    return std::tuple(-a.profile->slices, a.profile->id, a.start) <
           std::tuple(-b.profile->slices, b.profile->id, b.start);
  });
  return devices;
}

}  // namespace

bool CanBeCut(const Board& board) {
  return board.mig == MigMode::kDynamic && !board.model->profiles.empty();
}

bool TogglesMig(const Board& board) { return CanBeCut(board) && !board.model->mig_needs_reset; }

const MigProfile* FindProfile(const Model& model, int id) {
  const auto found = std::ranges::find(model.profiles, id, &MigProfile::id);
  return found == model.profiles.end() ? nullptr : &*found;
}

std::string PartName(int minor, const MigProfile& profile, int start) {
  return fmt::format("gpu-{}-mig-{}-{}-{}", minor, NameOfProfile(profile.name), profile.id, start);
}

// MIG is switched on and off only where that needs no reset; boards of Ampere offer their parts
// without the whole.
std::vector<BoardDevice> DevicesOf(const Board& board) {
  if (board.mig == MigMode::kStatic) return ExistingParts(board);
  if (!CanBeCut(board)) return {{.name = WholeName(board), .uuid = board.uuid}};
  std::vector<BoardDevice> devices;
  if (TogglesMig(board)) devices.push_back({.name = WholeName(board), .uuid = board.uuid});
  std::vector<const MigProfile*> profiles;
  for (const MigProfile& profile : board.model->profiles) profiles.push_back(&profile);
  std::ranges::stable_sort(profiles, std::greater{}, &MigProfile::slices);
  for (const MigProfile* profile : profiles) {
    for (const int start : StartsOf(*board.model, *profile)) {
      devices.push_back({.name = PartName(board.minor, *profile, start),
                         .profile = profile,
                         .start = start,
                         .uuid = {}});
    }
  }
  return devices;
}

std::vector<node::SliceContent> SlicesOf(const std::vector<Board>& boards,
                                         const TaintsOfDevice& taints) {
  std::vector<node::SliceContent> slices;
  std::vector<Value> counter_sets;
  for (const Board& board : boards) {
    if (!CanBeCut(board)) continue;
    counter_sets.push_back(
        Value::Object({{"name", CounterSetName(board)}, {"counters", AllCounters(*board.model)}}));
  }
  for (std::size_t first = 0; first < counter_sets.size(); first += kCounterSetsPerSliceMax) {
    const std::size_t end = std::min(counter_sets.size(), first + kCounterSetsPerSliceMax);
    slices.push_back({{counter_sets.begin() + static_cast<std::ptrdiff_t>(first),
                       counter_sets.begin() + static_cast<std::ptrdiff_t>(end)},
                      {}});
  }
  std::vector<Value> plain;
  for (const Board& board : boards) {
    std::vector<Value> devices = PublishedDevices(board, taints);
    if (CanBeCut(board)) {
      AppendDevices(devices, slices);
    } else {
      std::ranges::move(devices, std::back_inserter(plain));
    }
  }
  AppendDevices(plain, slices);
  return slices;
}

}  // namespace drachma::gpu
