#include <algorithm>
#include <set>
#include <utility>

#include "allocator/inventory.h"
#include "allocator/inventory_impl.h"
#include "base/check.h"

namespace drachma::allocator {
namespace {

// Whether the pool in its newest generation is complete: what `current` of a device means without
// a node that looks at it.
struct PoolStatus {
  std::int64_t generation = 0;
  bool usable = false;
};

PoolStatus StatusOf(const Pool& pool, const Features& features) {
  PoolStatus status;
  for (const auto& slice : pool.slices) {
    status.generation = std::max(status.generation, slice->generation);
  }
  std::vector<bool> newest;
  for (const auto& slice : pool.slices) newest.push_back(slice->generation == status.generation);
  status.usable = !pool.slices.empty() &&
                  BuildPoolView(pool, newest, features)->state == PoolView::State::kUsable;
  return status;
}

std::vector<std::string> HoldersIn(const Inventory::Impl& impl, const Pool& pool,
                                   std::string_view device) {
  std::vector<std::string> holders;
  const auto usage = pool.usage.find(std::string(device));
  if (usage == pool.usage.end()) return holders;
  for (const Usage::Holder& holder : usage->second.holders) {
    holders.push_back(impl.claims[holder.claim].holder);
  }
  std::ranges::sort(holders);
  return holders;
}

DeviceView ViewOfDevice(const Inventory::Impl& impl, const Slice& slice, std::size_t index) {
  DeviceView view{.id = slice.Id(index), .slice = slice.name, .json = &slice.DeviceJson(index)};
  const api::NodeScope& scope =
      slice.per_device_nodes.value_or(false) ? slice.device_scopes[index].scope : slice.scope;
  view.node = scope.node_name.value_or("");
  view.allow_multiple = slice.devices[index].allow_multiple;
  view.holders = HoldersIn(impl, *slice.pool, slice.devices[index].name);
  for (const auto& [device, taint] : slice.taints) {
    if (device == index) view.taints.push_back(taint);
  }
  const auto capacities =
      slice.capacity.empty()
          ? api::CapacityOf(*view.json).value_or(api::StringMap<api::DeviceCapacity>())
          : slice.capacity[index];
  for (const auto& [name, capacity] : capacities) view.capacity.emplace(name, capacity.value);
  const auto usage = slice.pool->usage.find(std::string(slice.devices[index].name));
  if (usage != slice.pool->usage.end()) {
    for (const auto& [name, amount] : Inventory::Impl::Sum(usage->second).consumed) {
      const auto own = view.capacity.find(name);
      view.consumed.emplace(
          name, amount.ToQuantity(own == view.capacity.end() ? QuantityFormat::kDecimalSI
                                                             : own->second.format()));
    }
  }
  return view;
}

}  // namespace

const json::Value* Inventory::FindDevice(const DeviceId& id) const {
  const Pool* pool = impl_->FindPool(id.driver, id.pool);
  if (pool == nullptr) return nullptr;
  const Slice* found = nullptr;
  std::size_t index = 0;
  for (const auto& slice : pool->slices) {
    if (found != nullptr && slice->generation <= found->generation) continue;
    const auto device = std::ranges::find(slice->devices, id.device, &DeviceInfo::name);
    if (device == slice->devices.end()) continue;
    found = slice.get();
    index = static_cast<std::size_t>(device - slice->devices.begin());
  }
  return found == nullptr ? nullptr : &found->DeviceJson(index);
}

std::vector<std::string> Inventory::HoldersOf(const DeviceId& id) const {
  const Pool* pool = impl_->FindPool(id.driver, id.pool);
  return pool == nullptr ? std::vector<std::string>() : HoldersIn(*impl_, *pool, id.device);
}

std::vector<DeviceId> Inventory::DevicesOf(std::string_view uid) const {
  std::vector<DeviceId> devices;
  const std::uint32_t claim = impl_->FindClaim(uid);
  if (claim == kNoClaim) return devices;
  for (const auto& held : impl_->claims[claim].held) {
    devices.push_back({held.pool->driver, held.pool->name, held.device});
  }
  return devices;
}

std::vector<ShortCounter> Inventory::ShortCountersOf(const DeviceId& id) const {
  const Pool* pool = impl_->FindPool(id.driver, id.pool);
  if (pool == nullptr || pool->slices.empty()) return {};
  const std::int64_t generation = StatusOf(*pool, impl_->options.features).generation;
  std::vector<bool> newest;
  for (const auto& slice : pool->slices) newest.push_back(slice->generation == generation);
  const auto view = BuildPoolView(*pool, newest, impl_->options.features);
  if (view->state != PoolView::State::kUsable) return {};
  const auto free = AvailableCounters(*view, [&](const Slice& slice, std::size_t device) {
    const auto usage = pool->usage.find(std::string(slice.devices[device].name));
    return usage != pool->usage.end() && !usage->second.holders.empty();
  });
  std::vector<ShortCounter> found;
  for (const ViewSlice& slice : view->slices) {
    const auto device = std::ranges::find(slice.slice->devices, id.device, &DeviceInfo::name);
    if (slice.first.empty() || device == slice.slice->devices.end()) continue;
    const auto index = static_cast<std::size_t>(device - slice.slice->devices.begin());
    for (std::uint32_t u = slice.first[index]; u < slice.first[index + 1]; ++u) {
      const CounterUse& use = slice.uses[u];
      if (use.amount <= free[use.counter]) continue;
      const QuantityFormat format = view->counter_formats[use.counter];
      found.push_back({.set = view->sets[view->counter_sets[use.counter]].name,
                       .counter = view->counter_names[use.counter],
                       .needed = use.amount.ToQuantity(format).ToString(),
                       .free = free[use.counter].ToQuantity(format).ToString()});
    }
  }
  return found;
}

std::vector<std::string> Inventory::ClaimsOn(NodeIndex node) const {
  std::set<std::uint32_t> claims;
  for (const PoolView* view : impl_->ViewOf(node).pools) {
    for (const auto& [device, usage] : view->pool->usage) {
      // Devices of other nodes count as well where they draw on counters of this view.
      const auto in = [&](const std::vector<ViewSlice>& slices) {
        return std::ranges::any_of(slices, [&](const ViewSlice& slice) {
          return std::ranges::find(slice.slice->devices, device, &DeviceInfo::name) !=
                 slice.slice->devices.end();
        });
      };
      if (!in(view->slices) && !in(view->others)) continue;
      for (const Usage::Holder& holder : usage.holders) claims.insert(holder.claim);
    }
  }
  std::vector<std::string> uids;
  for (const std::uint32_t claim : claims) uids.push_back(impl_->claims[claim].uid);
  std::ranges::sort(uids);
  return uids;
}

void Inventory::ForEachDevice(const std::function<void(const DeviceView&)>& visit) const {
  for (const auto& [id, pool] : impl_->pools) {
    const PoolStatus status = StatusOf(*pool, impl_->options.features);
    for (const auto& slice : pool->slices) {
      for (std::size_t i = 0; i < slice->devices.size(); ++i) {
        DeviceView view = ViewOfDevice(*impl_, *slice, i);
        view.current = status.usable && slice->generation == status.generation;
        visit(view);
      }
    }
  }
}

}  // namespace drachma::allocator
