#include "allocator/slice_reader.h"

#include <algorithm>
#include <utility>

#include "allocator/capacity.h"

namespace drachma::allocator {
namespace {

std::string FaultOf(const api::NodeScope& scope) {
  if (!scope.node_selector) return {};
  const Status valid = scope.node_selector->Validate();
  return valid ? std::string() : "failed to parse node selector: " + valid.error().message;
}

bool HasPolicy(const Capacities& capacities) {
  return std::ranges::any_of(capacities,
                             [](const auto& entry) { return entry.second.policy.has_value(); });
}

// Whether a request that asks for no capacity fits the unused device (devices with policies are
// looked at again).
bool IsPlain(const Capacities& capacities) {
  if (capacities.empty()) return true;
  const Consumption consumption = Resolve(std::nullopt, capacities, false);
  return !HasPolicy(capacities) && consumption.verdict == Consumption::Verdict::kPossible &&
         Fits(consumption, capacities, {}, nullptr).fits;
}

void ReadDevice(api::Device& device, std::size_t index, Slice& slice) {
  slice.devices.push_back(
      {.name = slice.DeviceJson(index)["name"].AsString(),
       .allow_multiple = device.allow_multiple_allocations.value_or(false),
       .binds_to_node = device.binds_to_node,
       .binding_list = device.binding_conditions.has_value(),
       .binding = device.binding_conditions && !device.binding_conditions->empty(),
       .binding_fields =
           device.binding_conditions.has_value() || !device.binding_failure_conditions.empty(),
       .consumes = !device.consumes_counters.empty()});
  if (slice.devices.back().binding) SetBit(slice.binding_mask, index);
  if (IsPlain(device.capacity)) SetBit(slice.plain_capacity, index);
  if (!TestBit(slice.plain_capacity, index) || slice.devices.back().allow_multiple ||
      slice.devices.back().consumes || !slice.skip_node_operations.empty()) {
    SetBit(slice.special, index);
  }
  if (slice.per_device_nodes.value_or(false)) {
    std::string fault = FaultOf(device.scope);
    slice.device_scopes.push_back({.scope = std::move(device.scope), .fault = std::move(fault)});
  }
  for (api::DeviceTaint& taint : device.taints) {
    slice.taints.emplace_back(static_cast<std::uint32_t>(index), std::move(taint));
  }
  slice.has_groups |= std::ranges::any_of(
      device.consumes_counters,
      [](const api::CounterConsumption& use) { return !use.compatibility_groups.empty(); });
}

}  // namespace

Result<std::unique_ptr<Slice>> ReadSlice(const json::Value& json) {
  DRA_ASSIGN(api::ResourceSlice typed, api::ResourceSlice::FromJson(json));
  auto slice = std::make_unique<Slice>();
  slice->json = json;
  slice->name = std::move(typed.name);
  slice->driver = std::move(typed.driver);
  slice->pool_name = std::move(typed.pool);
  slice->generation = typed.pool_generation;
  slice->pool_slice_count = typed.pool_slice_count;
  slice->scope = std::move(typed.scope);
  slice->scope_fault = FaultOf(slice->scope);
  slice->per_device_nodes = typed.per_device_node_selection;
  slice->has_counters = !typed.shared_counters.empty();
  slice->shared_counters = std::move(typed.shared_counters);
  slice->skip_node_operations = std::move(typed.skip_node_operations);
  const std::size_t count = typed.devices.size();
  slice->binding_mask.resize(WordsFor(count));
  slice->blocking_taints.resize(WordsFor(count));
  slice->plain_capacity.resize(WordsFor(count));
  slice->special.resize(WordsFor(count));
  slice->devices.reserve(count);
  for (std::size_t i = 0; i < count; ++i) ReadDevice(typed.devices[i], i, *slice);
  slice->own_taints = slice->taints.size();
  slice->consumes = std::ranges::any_of(slice->devices, &DeviceInfo::consumes);
  const bool keeps_capacity = std::ranges::any_of(typed.devices, [](const api::Device& device) {
    return !device.capacity.empty() &&
           (device.allow_multiple_allocations.value_or(false) || HasPolicy(device.capacity));
  });
  if (keeps_capacity) {
    for (api::Device& device : typed.devices) slice->capacity.push_back(std::move(device.capacity));
  }
  return slice;
}

}  // namespace drachma::allocator
