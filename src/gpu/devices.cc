// Boards as the devices of ResourceSlices (the NVIDIA DRA driver's deviceinfo and partitions).
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "gpu/board.h"

namespace drachma::gpu {
namespace {

using json::Value;

// resource.k8s.io's limits of a slice.
constexpr std::size_t kDevicesPerSliceMax = 128;
constexpr std::size_t kCountingDevicesPerSliceMax = 64;
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
  attributes.Set("brand", String("Nvidia"));
  attributes.Set("architecture", String(model.architecture));
  attributes.Set("cudaComputeCapability", Version(model.compute_capability));
  attributes.Set("driverVersion", Version(kDriverVersion));
  attributes.Set("cudaDriverVersion", Version(kCudaVersion));
  attributes.Set("addressingMode", String("HMM"));
  attributes.Set("resource.kubernetes.io/pciBusID", String(board.pci_bus_id));
  attributes.Set("resource.kubernetes.io/pcieRoot", String(board.pcie_root));
  attributes.Set("resource.kubernetes.io/numaNode", Value::Object({{"int", board.numa_node}}));
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

void AddSlices(int first, int count, Value& counters) {
  for (int slice = first; slice < first + count; ++slice) {
    counters.Set(fmt::format("memory-slice-{}", slice), Amount("1"));
  }
}

// Everything that one GPU can be cut into, as counters.
Value AllCounters(const Model& model) {
  Value counters = Value::Object();
  AddEngines(EnginesMax(model), kEngineCounters, counters);
  counters.Set("memory", Mebibytes(ProfileMemoryMax(model)));
  AddSlices(0, model.memory_slices, counters);
  return counters;
}

Value Consumes(const Board& board, Value counters) {
  return Value::Array(
      {Value::Object({{"counterSet", CounterSetName(board)}, {"counters", std::move(counters)}})});
}

std::string WholeName(const Board& board) { return fmt::format("gpu-{}", board.minor); }

Value WholeGpu(const Board& board) {
  const Model& model = *board.model;
  Value attributes = Value::Object({{"type", String("gpu")}, {"uuid", String(board.uuid)}});
  AddSharedAttributes(board, attributes);
  Value capacity = Value::Object({{"memory", Mebibytes(model.memory_mib)}});
  Value device = Value::Object({{"name", WholeName(board)}});
  if (board.mig == MigMode::kDynamic) AddEngines(EnginesMax(model), kEngineCapacities, capacity);
  device.Set("attributes", std::move(attributes));
  device.Set("capacity", std::move(capacity));
  if (board.mig == MigMode::kDynamic) {
    device.Set("consumesCounters", Consumes(board, AllCounters(model)));
  }
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

Value MigDevice(const Board& board, const BoardDevice& part) {
  const MigProfile& profile = *part.profile;
  Value attributes = Value::Object({{"type", String("mig")},
                                    {"parentUUID", String(board.uuid)},
                                    {"profile", String(profile.name)}});
  AddSharedAttributes(board, attributes);
  Value capacity = Value::Object({{"memory", Mebibytes(profile.memory_mib)}});
  AddEngines(profile.engines, kEngineCapacities, capacity);
  Value counters = Value::Object();
  AddEngines(profile.engines, kEngineCounters, counters);
  counters.Set("memory", Mebibytes(profile.memory_mib));
  AddSlices(part.start, profile.slices, counters);
  return Value::Object({{"name", part.name},
                        {"attributes", std::move(attributes)},
                        {"capacity", std::move(capacity)},
                        {"consumesCounters", Consumes(board, std::move(counters))}});
}

std::vector<Value> PartitionableDevices(const Board& board) {
  std::vector<Value> devices;
  for (const BoardDevice& device : DevicesOf(board)) {
    devices.push_back(device.profile == nullptr ? WholeGpu(board) : MigDevice(board, device));
  }
  return devices;
}

void AppendDevices(std::vector<Value> devices, std::size_t per_slice_max,
                   std::vector<node::SliceContent>& slices) {
  for (std::size_t first = 0; first < devices.size(); first += per_slice_max) {
    const std::size_t end = std::min(devices.size(), first + per_slice_max);
    slices.push_back({{},
                      {devices.begin() + static_cast<std::ptrdiff_t>(first),
                       devices.begin() + static_cast<std::ptrdiff_t>(end)}});
  }
}

}  // namespace

bool CanBeCut(const Board& board) {
  return board.mig == MigMode::kDynamic && !board.model->profiles.empty();
}

// MIG is switched on and off only where that needs no reset; boards of Ampere offer their parts
// without the whole.
std::vector<BoardDevice> DevicesOf(const Board& board) {
  if (!CanBeCut(board)) return {{.name = WholeName(board)}};
  std::vector<BoardDevice> devices;
  if (!board.model->mig_needs_reset) devices.push_back({.name = WholeName(board)});
  std::vector<const MigProfile*> profiles;
  for (const MigProfile& profile : board.model->profiles) profiles.push_back(&profile);
  std::ranges::stable_sort(profiles, std::greater{}, &MigProfile::slices);
  for (const MigProfile* profile : profiles) {
    for (int i = 0; i < profile->placements; ++i) {
      const int start = i * profile->slices;
      devices.push_back({.name = fmt::format("gpu-{}-mig-{}-{}-{}", board.minor,
                                             NameOfProfile(profile->name), profile->id, start),
                         .profile = profile,
                         .start = start});
    }
  }
  return devices;
}

std::vector<node::SliceContent> SlicesOf(const std::vector<Board>& boards) {
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
  std::vector<Value> whole;
  for (const Board& board : boards) {
    if (CanBeCut(board)) {
      AppendDevices(PartitionableDevices(board), kCountingDevicesPerSliceMax, slices);
    } else {
      Board plain = board;
      plain.mig = MigMode::kOff;
      whole.push_back(WholeGpu(plain));
    }
  }
  AppendDevices(std::move(whole), kDevicesPerSliceMax, slices);
  return slices;
}

}  // namespace drachma::gpu
