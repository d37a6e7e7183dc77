#include <algorithm>
#include <utility>

#include "allocator/attempt.h"

// What an overlay changes about what is in use before the search.
namespace drachma::allocator {

void Attempt::SetBaseUsage(std::uint32_t position, UsageSum usage) {
  usage.exclusive ? SetBit(busy_, position) : ClearBit(busy_, position);
  overrides_.insert_or_assign(position, std::move(usage));
}

std::vector<std::uint32_t> Attempt::PositionsOf(const Pool* pool, std::string_view device) const {
  std::vector<std::uint32_t> positions;
  for (const NodeSlice& slice : view_.slices) {
    if (slice.slice->pool != pool) continue;
    for (std::uint32_t i = 0; i < slice.devices; ++i) {
      if (slice.slice->devices[i].name == device) positions.push_back(slice.first_position + i);
    }
  }
  return positions;
}

void Attempt::ApplyOverlay(const Overlay& overlay) {
  for (const std::string& uid : overlay.released()) {
    if (const std::uint32_t claim = table_.FindClaim(uid); claim != kNoClaim) {
      released_.push_back(claim);
    }
  }
  for (const std::uint32_t claim : released_) {
    for (const auto& held : table_.claims[claim].held) {
      for (const std::uint32_t position : PositionsOf(held.pool, held.device)) {
        SetBaseUsage(position, Inventory::Impl::Sum(held.pool->usage.at(held.device), released_));
      }
    }
  }
  for (const api::AllocationResult& allocation : overlay.taken()) {
    for (const api::DeviceResult& result : allocation.results) {
      if (!result.admin_access.value_or(false)) Suppose(result);
    }
  }
  // Counters of pools are summed anew.
  for (std::uint32_t p = 0; p < view_.pools.size(); ++p) {
    const PoolView& pool = *view_.pools[p];
    if (pool.counters.empty()) continue;
    PoolState& state = pools_[p];
    state.own_available = AvailableCounters(pool, [&](const Slice& slice, std::size_t device) {
      return AllocatedBefore(slice, device);
    });
    state.available = &state.own_available;
    state.full_check =
        pool.negative_use || std::ranges::any_of(state.own_available, &Amount::IsNegative);
    state.consumed.assign(pool.counters.size(), {});
  }
}

void Attempt::Suppose(const api::DeviceResult& result) {
  const Pool* pool = table_.FindPool(result.driver, result.pool);
  const auto positions = PositionsOf(pool, result.device);
  // A device that this node does not reach may still draw on counters that it does.
  if (positions.empty()) elsewhere_.emplace(pool, result.device);
  for (const std::uint32_t position : positions) {
    UsageSum usage = BaseUsage(position);
    usage.exclusive |= !result.share_id;
    usage.shared |= result.share_id.has_value();
    for (const auto& [name, amount] : result.consumed_capacity) {
      usage.consumed[name] += Amount::Of(amount);
    }
    SetBaseUsage(position, std::move(usage));
  }
}

bool Attempt::AllocatedBefore(const Slice& slice, std::size_t device) const {
  for (const NodeSlice& own : view_.slices) {
    if (own.slice != &slice) continue;
    return BaseUsage(own.first_position + static_cast<std::uint32_t>(device)).allocated();
  }
  const std::string name(slice.devices[device].name);
  if (elsewhere_.contains({slice.pool, name})) return true;
  const auto usage = slice.pool->usage.find(name);
  return usage != slice.pool->usage.end() &&
         Inventory::Impl::Sum(usage->second, released_).allocated();
}

}  // namespace drachma::allocator
