#include "allocator/inventory_impl.h"

#include <algorithm>
#include <utility>

#include "allocator/slice_reader.h"
#include "base/check.h"

namespace drachma::allocator {

std::uint32_t RunAllocator::Take(std::uint32_t count) {
  if (count == 0) return 0;
  if (const auto known = free_.find(count); known != free_.end() && !known->second.empty()) {
    const std::uint32_t first = known->second.back();
    known->second.pop_back();
    return first;
  }
  return std::exchange(end_, end_ + count);
}

void RunAllocator::Give(std::uint32_t first, std::uint32_t count) {
  if (count != 0) free_[count].push_back(first);
}

Pool& Inventory::Impl::PoolFor(std::string_view driver, std::string_view name) {
  auto& pool = pools[std::pair(std::string(driver), std::string(name))];
  if (pool == nullptr) {
    pool = std::make_unique<Pool>();
    pool->driver = driver;
    pool->name = name;
  }
  return *pool;
}

const Pool* Inventory::Impl::FindPool(std::string_view driver, std::string_view name) const {
  const auto pool = pools.find(std::pair(std::string(driver), std::string(name)));
  return pool == pools.end() ? nullptr : pool->second.get();
}

// --- Slices.

Inventory::Impl::Scope Inventory::Impl::ScopeOf(const Pool& pool) {
  Scope scope{.node = {}, .exists = !pool.slices.empty()};
  for (const auto& slice : pool.slices) {
    const std::string node = slice->scope.node_name.value_or("");
    if (node.empty() || (!scope.node.empty() && scope.node != node)) {
      return {.node = {}, .exists = true};
    }
    scope.node = node;
  }
  return scope;
}

// Enters the pool where nodes look for it.
void Inventory::Impl::Place(Pool& pool) {
  bool shared = false;
  for (const auto& slice : pool.slices) {
    const std::string node = slice->scope.node_name.value_or("");
    if (node.empty()) {
      shared = true;
    } else {
      local_pools[node].pools.insert(&pool);
    }
  }
  if (shared) shared_pools.insert(&pool);
}

// Views of nodes hold pointers into views of pools, so whoever reaches the pool must build anew.
void Inventory::Impl::PoolChanged(Pool& pool, const Scope& before) {
  DropRetired();
  pool.views.clear();
  shared_pools.erase(&pool);
  std::set<std::string> touched;
  if (!before.node.empty()) touched.insert(before.node);
  for (const auto& slice : pool.slices) {
    if (slice->scope.node_name) touched.insert(*slice->scope.node_name);
  }
  for (const std::string& node : touched) {
    if (const auto local = local_pools.find(node); local != local_pools.end()) {
      local->second.pools.erase(&pool);
      ++local->second.revision;
    }
  }
  const Scope after = ScopeOf(pool);
  const bool several_nodes =
      (before.exists && before.node.empty()) || (after.exists && after.node.empty());
  if (several_nodes) ++shared_revision;
  Place(pool);
  for (const std::string& node : touched) ++local_pools[node].revision;
  ++revision;
}

void Inventory::Impl::DropRetired() {
  const std::scoped_lock lock(view_mutex_);
  retired_.clear();
}

Status Inventory::Impl::SetSlice(const json::Value& json) {
  std::string name(json["metadata"]["name"].AsString());
  // A list may hold one name twice, which a cluster never does.
  if (keep_order) name += '#' + std::to_string(++next_order);
  const auto known = slices.find(name);
  if (known != slices.end() && known->second->json.SharesWith(json)) return {};
  auto read = ReadSlice(json);
  RemoveSlice(name);
  if (!read) return std::unexpected(std::move(read).error());
  std::unique_ptr<Slice> slice = std::move(*read);
  Pool& pool = PoolFor(slice->driver, slice->pool_name);
  const Scope before = ScopeOf(pool);
  slice->pool = &pool;
  slice->order = next_order;
  const auto count = static_cast<std::uint32_t>(slice->devices.size());
  slice->first_word = words.Take(static_cast<std::uint32_t>(WordsFor(count)));
  slice->first_record = records.Take(count);
  memo.Resize(words.end(), records.end());
  if (exclusive.size() < words.end()) {
    exclusive.resize(words.end() + words.end() / 2);
    shared.resize(exclusive.size());
  }
  for (std::size_t i = 0; i < count; ++i) {
    const auto usage = pool.usage.find(std::string(slice->devices[i].name));
    SetUsageBits(*slice, i, usage == pool.usage.end() ? nullptr : &usage->second);
  }
  ApplyRules(*slice);
  device_count += count;
  slices.emplace(std::move(name), slice.get());
  const auto place = std::ranges::upper_bound(
      pool.slices, std::tie(slice->order, slice->name), {},
      [](const std::unique_ptr<Slice>& other) { return std::tie(other->order, other->name); });
  pool.slices.insert(place, std::move(slice));
  PoolChanged(pool, before);
  return {};
}

void Inventory::Impl::RemoveSlice(std::string_view name) {
  const auto known = slices.find(name);
  if (known == slices.end()) return;
  Slice* slice = known->second;
  Pool& pool = *slice->pool;
  const Scope before = ScopeOf(pool);
  memo.Forget(*slice);
  for (std::size_t i = 0; i < slice->devices.size(); ++i) SetUsageBits(*slice, i, nullptr);
  const auto count = static_cast<std::uint32_t>(slice->devices.size());
  words.Give(slice->first_word, static_cast<std::uint32_t>(WordsFor(count)));
  records.Give(slice->first_record, count);
  device_count -= count;
  slices.erase(known);
  // The scope of the slice that goes must be told as well.
  const std::string node = slice->scope.node_name.value_or("");
  std::erase_if(pool.slices, [&](const auto& other) { return other.get() == slice; });
  if (!node.empty()) {
    local_pools[node].pools.erase(&pool);
    ++local_pools[node].revision;
  }
  PoolChanged(pool, before);
  DropPoolIfUnused(pool);
}

void Inventory::Impl::DropPoolIfUnused(Pool& pool) {
  if (!pool.slices.empty() || !pool.usage.empty()) return;
  pools.erase(std::pair(pool.driver, pool.name));
}

// --- Taints.

void Inventory::Impl::ApplyRules(Slice& slice) {
  slice.taints.resize(slice.own_taints);
  std::ranges::fill(slice.blocking_taints, 0);
  if (options.features.device_taints && options.features.device_taint_rules) {
    for (const auto& [name, rule] : rules) {
      for (std::uint32_t i = 0; i < slice.devices.size(); ++i) {
        if (rule.typed.Matches(slice.driver, slice.pool_name, slice.devices[i].name)) {
          slice.taints.emplace_back(i, rule.typed.taint);
        }
      }
    }
  }
  for (const auto& [device, taint] : slice.taints) {
    if (taint.PreventsAllocation()) SetBit(slice.blocking_taints, device);
  }
}

void Inventory::Impl::ApplyRule(const api::DeviceTaintRule& rule) {
  ++revision;
  for (const auto& [name, slice] : slices) {
    if (!rule.has_selector || (rule.driver && *rule.driver != slice->driver) ||
        (rule.pool && *rule.pool != slice->pool_name)) {
      continue;
    }
    ApplyRules(*slice);
  }
}

// --- Claims.

std::uint32_t Inventory::Impl::FindClaim(std::string_view uid) const {
  const auto known = claim_index.find(std::string(uid));
  return known == claim_index.end() ? kNoClaim : known->second;
}

void Inventory::Impl::SetClaim(std::string_view uid, std::string_view holder,
                               std::vector<Held> held) {
  std::uint32_t index = FindClaim(uid);
  if (index != kNoClaim) {
    Claim& claim = claims[index];
    claim.holder = holder;
    if (claim.held == held) return;
  }
  std::set<Pool*> left;
  if (index != kNoClaim) {
    for (const Held& old : std::exchange(claims[index].held, {})) {
      Discharge(*old.pool, index, old.device);
      left.insert(old.pool);
    }
  } else if (free_claims.empty()) {
    index = static_cast<std::uint32_t>(claims.size());
    claims.push_back({.uid = std::string(uid), .holder = std::string(holder), .held = {}});
    claim_index.emplace(uid, index);
  } else {
    index = free_claims.back();
    free_claims.pop_back();
    claims[index] = {.uid = std::string(uid), .holder = std::string(holder), .held = {}};
    claim_index.emplace(uid, index);
  }
  for (const Held& entry : held) Charge(*entry.pool, index, entry);
  claims[index].held = std::move(held);
  for (Pool* pool : left) DropPoolIfUnused(*pool);
  ++revision;
}

void Inventory::Impl::RemoveClaim(std::string_view uid) {
  const std::uint32_t index = FindClaim(uid);
  if (index == kNoClaim) return;
  std::set<Pool*> touched;
  for (const Held& old : std::exchange(claims[index].held, {})) {
    Discharge(*old.pool, index, old.device);
    touched.insert(old.pool);
  }
  for (Pool* pool : touched) DropPoolIfUnused(*pool);
  claim_index.erase(claims[index].uid);
  claims[index] = {};
  free_claims.push_back(index);
  ++revision;
}

void Inventory::Impl::Charge(Pool& pool, std::uint32_t claim, const Held& held) {
  Usage& usage = pool.usage[held.device];
  auto holder = std::ranges::find(usage.holders, claim, &Usage::Holder::claim);
  if (holder == usage.holders.end()) {
    usage.holders.push_back({.claim = claim, .consumed = {}});
    holder = usage.holders.end() - 1;
  }
  holder->exclusive += held.exclusive ? 1 : 0;
  holder->shares += held.shares;
  holder->has_capacity |= held.has_capacity;
  for (const auto& [name, amount] : held.consumed) holder->consumed[name] += amount;
  UsageChanged(pool, held.device);
}

void Inventory::Impl::Discharge(Pool& pool, std::uint32_t claim, const std::string& device) {
  const auto usage = pool.usage.find(device);
  if (usage == pool.usage.end()) return;
  std::erase_if(usage->second.holders,
                [&](const Usage::Holder& holder) { return holder.claim == claim; });
  if (usage->second.empty()) pool.usage.erase(usage);
  UsageChanged(pool, device);
}

UsageSum Inventory::Impl::Sum(const Usage& usage, const std::vector<std::uint32_t>& released) {
  UsageSum sum;
  for (const Usage::Holder& holder : usage.holders) {
    if (std::ranges::find(released, holder.claim) != released.end()) continue;
    sum.exclusive |= holder.exclusive > 0;
    sum.shared |= holder.shares > 0 || holder.has_capacity;
    for (const auto& [name, amount] : holder.consumed) sum.consumed[name] += amount;
  }
  return sum;
}

void Inventory::Impl::SetUsageBits(const Slice& slice, std::size_t device, const Usage* usage) {
  const UsageSum sum = usage == nullptr ? UsageSum() : Sum(*usage);
  const std::size_t bit = slice.first_word * kWordBits + device;
  sum.exclusive ? SetBit(exclusive, bit) : ClearBit(exclusive, bit);
  sum.shared ? SetBit(shared, bit) : ClearBit(shared, bit);
}

void Inventory::Impl::UsageChanged(Pool& pool, const std::string& device) {
  ++pool.usage_revision;
  const auto usage = pool.usage.find(device);
  for (const auto& slice : pool.slices) {
    for (std::size_t i = 0; i < slice->devices.size(); ++i) {
      if (slice->devices[i].name == device) {
        SetUsageBits(*slice, i, usage == pool.usage.end() ? nullptr : &usage->second);
      }
    }
  }
}

// --- Views.

const NodeView& Inventory::Impl::ViewOf(NodeIndex index) const {
  DRA_CHECK(index < nodes.size() && nodes[index].present);
  const NodeSlot& slot = nodes[index];
  const std::uint64_t local_revision = slot.local->revision;
  const auto fresh = [&](const NodeView* view) {
    return view != nullptr && view->local_revision == local_revision &&
           view->shared_revision == shared_revision;
  };
  if (const NodeView* view = slot.view.load(std::memory_order_acquire); fresh(view)) return *view;

  const std::scoped_lock lock(view_mutex_);
  const NodeView* old = slot.view.load(std::memory_order_relaxed);
  if (fresh(old)) return *old;
  std::vector<const PoolView*> views;
  std::string fault;
  const auto gather = [&](const std::set<Pool*>& candidates) {
    for (const Pool* pool : candidates) {
      Relevance relevance = RelevantSlices(*pool, slot.node, options.features);
      if (!relevance.fault.empty()) fault = std::move(relevance.fault);
      if (!relevance.any) continue;
      auto& known = pool->views[relevance.relevant];
      if (known == nullptr) known = BuildPoolView(*pool, relevance.relevant, options.features);
      views.push_back(known.get());
    }
  };
  gather(shared_pools);
  std::set<Pool*> rest = slot.local->pools;
  for (Pool* pool : shared_pools) rest.erase(pool);
  gather(rest);
  std::unique_ptr<NodeView> view = BuildNodeView(slot.node, std::move(views));
  if (!fault.empty()) view->fault = "gather pool information: " + fault;
  view->local_revision = local_revision;
  view->shared_revision = shared_revision;
  // Somebody may still be looking at the stale view to find that it is stale.
  if (old != nullptr) retired_.emplace_back(old);
  const NodeView* fresh_view = view.release();
  slot.view.store(fresh_view, std::memory_order_release);
  return *fresh_view;
}

const std::vector<Amount>& Inventory::Impl::AvailableOf(const PoolView& view) const {
  const Pool& pool = *view.pool;
  if (view.available_revision.load(std::memory_order_acquire) == pool.usage_revision) {
    return view.available;
  }
  const std::scoped_lock lock(view_mutex_);
  if (view.available_revision.load(std::memory_order_relaxed) == pool.usage_revision) {
    return view.available;
  }
  view.available = AvailableCounters(view, [&](const Slice& slice, std::size_t device) {
    const std::size_t bit = slice.first_word * kWordBits + device;
    return TestBit(exclusive, bit) || TestBit(shared, bit);
  });
  view.any_negative = std::ranges::any_of(view.available, &Amount::IsNegative);
  view.available_revision.store(pool.usage_revision, std::memory_order_release);
  return view.available;
}

}  // namespace drachma::allocator
