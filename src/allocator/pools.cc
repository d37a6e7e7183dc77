#include "allocator/pools.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace drachma::allocator {
namespace {

enum class Match : std::uint8_t { kNo, kYes, kFault };

Match ScopeMatches(const api::NodeScope& scope, const std::string& fault, const Node& node) {
  if (scope.node_name && !scope.node_name->empty()) {
    return node.name == *scope.node_name ? Match::kYes : Match::kNo;
  }
  if (scope.all_nodes) return Match::kYes;
  if (!scope.node_selector) return Match::kNo;
  if (!fault.empty()) return Match::kFault;
  return api::Matches(*scope.node_selector, node.name, node.labels) ? Match::kYes : Match::kNo;
}

bool IsIgnored(const Slice& slice, const Features& features) {
  return (!features.partitionable_devices && (slice.per_device_nodes || slice.has_counters)) ||
         (!features.compatibility_groups && slice.has_groups);
}

Match SliceMatches(const Slice& slice, const Node& node, std::string& fault) {
  const api::NodeScope& scope = slice.scope;
  if ((scope.node_name && !scope.node_name->empty()) || scope.all_nodes || scope.node_selector) {
    const Match match = ScopeMatches(scope, slice.scope_fault, node);
    if (match == Match::kFault) {
      fault = "failed to perform node selection for slice " + slice.name + ": " + slice.scope_fault;
    }
    return match;
  }
  if (!slice.per_device_nodes.value_or(false)) return Match::kNo;
  for (std::size_t i = 0; i < slice.device_scopes.size(); ++i) {
    const DeviceScope& device = slice.device_scopes[i];
    const Match match = ScopeMatches(device.scope, device.fault, node);
    if (match == Match::kFault) {
      fault = "failed to perform node selection for device " + std::string(slice.devices[i].name) +
              " in slice " + slice.name + ": " + device.fault;
    }
    if (match != Match::kNo) return match;
  }
  return Match::kNo;
}

// Names by which devices find their counters.
using CounterIndex = std::map<std::pair<std::string_view, std::string_view>, std::uint32_t>;

// Reads the counter sets; the reason why they are invalid, or empty.
std::string ReadCounterSets(const std::vector<const Slice*>& slices, PoolView& view,
                            CounterIndex& index) {
  std::map<std::string_view, const api::CounterSet*> sets;
  for (const Slice* slice : slices) {
    for (const api::CounterSet& set : slice->shared_counters) {
      if (!sets.emplace(set.name, &set).second) return "duplicate counter set name " + set.name;
    }
  }
  for (const auto& [name, set] : sets) {
    const auto number = static_cast<std::uint32_t>(view.sets.size());
    view.sets.push_back({.name = std::string(name),
                         .first = static_cast<std::uint32_t>(view.counters.size()),
                         .count = static_cast<std::uint32_t>(set->counters.size())});
    for (const auto& [counter, amount] : set->counters) {
      index.emplace(std::pair(name, std::string_view(counter)), view.counters.size());
      view.counter_names.push_back(counter);
      view.counter_sets.push_back(number);
      view.counter_formats.push_back(amount.format());
      view.counters.push_back(Amount::Of(amount));
    }
  }
  return {};
}

std::uint32_t SetNumber(const PoolView& view, const std::string& name) {
  const auto set = std::ranges::find(view.sets, name, &PoolView::Set::name);
  return static_cast<std::uint32_t>(set - view.sets.begin());
}

// Resolves what the devices of a slice consume; the reason why it is invalid, or empty.
std::string ResolveConsumption(PoolView& view, const CounterIndex& index, ViewSlice& out) {
  const Slice& slice = *out.slice;
  if (!slice.consumes) return {};
  out.first.push_back(0);
  for (std::size_t i = 0; i < slice.devices.size(); ++i) {
    const auto consumptions = api::ConsumptionOf(slice.DeviceJson(i));
    if (!consumptions) return consumptions.error().message;
    std::map<std::uint32_t, Amount> uses;
    std::vector<GroupUse> groups;
    for (const api::CounterConsumption& consumption : *consumptions) {
      const std::uint32_t set = SetNumber(view, consumption.counter_set);
      if (set == view.sets.size()) {
        return "counter set " + consumption.counter_set + " not found";
      }
      for (const auto& [counter, amount] : consumption.counters) {
        const auto place = index.find(
            std::pair(std::string_view(consumption.counter_set), std::string_view(counter)));
        if (place == index.end()) {
          return "counter " + counter + " not found in counter set " + consumption.counter_set;
        }
        uses[place->second] += Amount::Of(amount);
      }
      groups.push_back({.set = set, .groups = consumption.compatibility_groups});
      std::ranges::sort(groups.back().groups);
    }
    for (const auto& [counter, amount] : uses) {
      out.uses.push_back({.counter = counter, .amount = amount});
      view.negative_use |= amount.IsNegative();
    }
    out.first.push_back(static_cast<std::uint32_t>(out.uses.size()));
    out.groups.push_back(groups.empty() ? 0 : static_cast<std::uint32_t>(view.group_uses.size()));
    if (!groups.empty()) view.group_uses.push_back(std::move(groups));
  }
  return {};
}

std::string DuplicateDevice(const std::vector<const Slice*>& slices) {
  std::set<std::string_view> names;
  for (const Slice* slice : slices) {
    for (const DeviceInfo& device : slice->devices) {
      if (!names.insert(device.name).second) {
        return "duplicate device name " + std::string(device.name);
      }
    }
  }
  return {};
}

struct Sorted {
  std::vector<const Slice*> devices;
  std::vector<const Slice*> counters;
  std::vector<const Slice*> others;
};

void Fill(const Sorted& sorted, const Features& features, PoolView& view) {
  const auto invalid = [&](std::string reason) {
    view.state = PoolView::State::kInvalid;
    view.invalid_reason = std::move(reason);
    view.binding = false;
    view.slices.clear();
    view.others.clear();
  };
  if (auto reason = DuplicateDevice(sorted.devices); !reason.empty()) return invalid(reason);
  for (const Slice* slice : sorted.devices) {
    view.slices.push_back({.slice = slice});
    view.binding |= std::ranges::any_of(slice->devices, &DeviceInfo::binding_list);
  }
  if (!features.partitionable_devices) return;
  for (const Slice* slice : sorted.others) {
    if (slice->consumes) view.others.push_back({.slice = slice});
  }
  CounterIndex index;
  view.group_uses.emplace_back();
  if (auto reason = ReadCounterSets(sorted.counters, view, index); !reason.empty()) {
    return invalid(reason);
  }
  for (auto* slices : {&view.slices, &view.others}) {
    for (ViewSlice& slice : *slices) {
      if (auto reason = ResolveConsumption(view, index, slice); !reason.empty()) {
        return invalid(reason);
      }
    }
  }
}

}  // namespace

Relevance RelevantSlices(const Pool& pool, const Node& node, const Features& features) {
  Relevance result;
  result.relevant.resize(pool.slices.size());
  for (std::size_t i = 0; i < pool.slices.size(); ++i) {
    const Slice& slice = *pool.slices[i];
    if (IsIgnored(slice, features)) continue;
    const Match match = SliceMatches(slice, node, result.fault);
    if (match == Match::kFault) return result;
    result.relevant[i] = match == Match::kYes;
    result.any |= result.relevant[i];
  }
  return result;
}

std::unique_ptr<PoolView> BuildPoolView(const Pool& pool, const std::vector<bool>& relevant,
                                        const Features& features) {
  auto view = std::make_unique<PoolView>();
  view->pool = &pool;
  // Only the newest generation among the relevant slices counts. Slices of the node come first:
  // what the first one says about the size of the pool is believed.
  std::vector<const Slice*> slices;
  for (const bool of_node : {true, false}) {
    for (std::size_t i = 0; i < pool.slices.size(); ++i) {
      const Slice* slice = pool.slices[i].get();
      if (!relevant[i] || slice->scope.node_name.value_or("").empty() == of_node) continue;
      if (!slices.empty() && slice->generation < slices[0]->generation) continue;
      if (!slices.empty() && slice->generation > slices[0]->generation) slices.clear();
      slices.push_back(slice);
    }
  }
  const std::int64_t generation = slices[0]->generation;
  const auto wanted = static_cast<std::size_t>(slices[0]->pool_slice_count);
  std::vector<const Slice*> all;
  if (slices.size() != wanted) {
    for (const auto& slice : pool.slices) {
      if (slice->generation > generation) {
        view->state = PoolView::State::kObsolete;
        return view;
      }
      if (slice->generation == generation &&
          (features.compatibility_groups || !slice->has_groups)) {
        all.push_back(slice.get());
      }
    }
    if (all.size() != wanted) {
      view->state = PoolView::State::kIncomplete;
      return view;
    }
  }
  std::ranges::stable_sort(slices, {}, &Slice::name);
  Sorted sorted;
  const auto sort_in = [&](const Slice* slice, std::vector<const Slice*>& rest) {
    (features.partitionable_devices && slice->has_counters ? sorted.counters : rest)
        .push_back(slice);
  };
  for (const Slice* slice : slices) sort_in(slice, sorted.devices);
  if (slices.size() < all.size()) {
    for (const Slice* slice : all) {
      if (std::ranges::find(slices, slice->name, &Slice::name) == slices.end()) {
        sort_in(slice, sorted.others);
      }
    }
  }
  Fill(sorted, features, *view);
  return view;
}

std::unique_ptr<NodeView> BuildNodeView(const Node& node, std::vector<const PoolView*> pools) {
  auto view = std::make_unique<NodeView>();
  std::erase_if(pools, [](const PoolView* p) { return p->state == PoolView::State::kObsolete; });
  std::ranges::sort(pools, [](const PoolView* a, const PoolView* b) {
    if (a->binding != b->binding) return b->binding;
    return std::tie(a->pool->driver, a->pool->name) < std::tie(b->pool->driver, b->pool->name);
  });
  view->pools = std::move(pools);
  for (std::uint32_t p = 0; p < view->pools.size(); ++p) {
    const PoolView& pool = *view->pools[p];
    view->any_invalid |= pool.state == PoolView::State::kInvalid;
    for (const ViewSlice& view_slice : pool.slices) {
      const Slice& slice = *view_slice.slice;
      NodeSlice entry{.view = &view_slice,
                      .slice = &slice,
                      .pool = p,
                      .first_word = view->words,
                      .first_position = static_cast<std::uint32_t>(view->words * kWordBits),
                      .devices = static_cast<std::uint32_t>(slice.devices.size())};
      const std::size_t words = WordsFor(slice.devices.size());
      if (slice.per_device_nodes.value_or(false)) {
        entry.node_mask.resize(words);
        entry.node_fault.resize(words);
        for (std::size_t i = 0; i < slice.device_scopes.size(); ++i) {
          const DeviceScope& device = slice.device_scopes[i];
          const Match match = ScopeMatches(device.scope, device.fault, node);
          if (match == Match::kYes) SetBit(entry.node_mask, i);
          if (match == Match::kFault) SetBit(entry.node_fault, i);
        }
      }
      view->slice_of_word.insert(view->slice_of_word.end(), words,
                                 static_cast<std::uint32_t>(view->slices.size()));
      view->words += static_cast<std::uint32_t>(words);
      view->slices.push_back(std::move(entry));
    }
  }
  return view;
}

std::vector<Amount> AvailableCounters(
    const PoolView& view, const std::function<bool(const Slice&, std::size_t)>& allocated) {
  std::vector<Amount> available = view.counters;
  for (const auto* slices : {&view.slices, &view.others}) {
    for (const ViewSlice& slice : *slices) {
      if (slice.first.empty()) continue;
      for (std::size_t i = 0; i < slice.slice->devices.size(); ++i) {
        if (slice.first[i] == slice.first[i + 1] || !allocated(*slice.slice, i)) continue;
        for (std::uint32_t u = slice.first[i]; u < slice.first[i + 1]; ++u) {
          available[slice.uses[u].counter] -= slice.uses[u].amount;
        }
      }
    }
  }
  return available;
}

}  // namespace drachma::allocator
