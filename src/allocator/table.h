#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "allocator/amount.h"
#include "allocator/options.h"
#include "allocator/outcome.h"
#include "api/dra_types.h"
#include "json/value.h"
#include "num/quantity.h"

// The parts of the device table. Private to this folder.
namespace drachma::allocator {

using Words = std::vector<std::uint64_t>;

inline constexpr std::size_t kWordBits = 64;
inline std::size_t WordsFor(std::size_t bits) { return (bits + kWordBits - 1) / kWordBits; }
// Of any vector of words.
template <typename W>
bool TestBit(const W& words, std::size_t index) {
  return index / kWordBits < words.size() &&
         ((words[index / kWordBits] >> (index % kWordBits)) & 1) != 0;
}
template <typename W>
void SetBit(W& words, std::size_t index) {
  words[index / kWordBits] |= std::uint64_t{1} << (index % kWordBits);
}
template <typename W>
void ClearBit(W& words, std::size_t index) {
  words[index / kWordBits] &= ~(std::uint64_t{1} << (index % kWordBits));
}

struct Pool;

// What a device takes from one counter, by names; views into the slice's typed form.
struct DeviceInfo {
  std::string_view name;
  bool allow_multiple = false;
  bool binds_to_node = false;
  bool binding_list = false;    // bindingConditions is present, if only as an empty list
  bool binding = false;         // …and not empty
  bool binding_fields = false;  // there are binding or binding failure conditions
  bool consumes = false;        // consumesCounters is not empty
};

// A device's scope when its slice selects nodes per device.
struct DeviceScope {
  api::NodeScope scope;
  std::string fault;  // of the node selector; empty when it is fine
};

// One ResourceSlice. Its devices have consecutive records and bits of whole words, so that memos
// are flat arrays over the whole table.
struct Slice {
  json::Value json;
  std::string name;
  std::string driver;
  std::string pool_name;
  std::int64_t generation = 0;
  std::int64_t pool_slice_count = 0;
  std::uint64_t order = 0;  // of insertion where the order of the input counts (debug), else 0
  api::NodeScope scope;
  std::string scope_fault;
  std::optional<bool> per_device_nodes;
  bool has_counters = false;  // sharedCounters is not empty
  bool has_groups = false;    // a device names compatibility groups
  bool consumes = false;      // a device consumes counters
  std::vector<std::string> skip_node_operations;
  std::vector<DeviceInfo> devices;
  std::vector<DeviceScope> device_scopes;  // only with per_device_nodes
  std::vector<api::CounterSet> shared_counters;
  // By device, where a device is shared or has a policy; else empty and read when asked for.
  std::vector<api::StringMap<api::DeviceCapacity>> capacity;
  std::vector<std::pair<std::uint32_t, api::DeviceTaint>> taints;  // own, then those of rules
  std::size_t own_taints = 0;
  Words binding_mask;     // devices with binding conditions
  Words blocking_taints;  // devices with a taint that prevents allocation
  Words plain_capacity;   // a request without capacities fits an unused device, without error
  Words special;          // devices that more than matching and being free decides about

  Pool* pool = nullptr;
  std::uint32_t first_word = 0;
  std::uint32_t first_record = 0;
  std::uint32_t node_count = 0;

  [[nodiscard]] const json::Value& DeviceJson(std::size_t index) const {
    return json["spec"]["devices"].Items()[index];
  }
  [[nodiscard]] DeviceId Id(std::size_t index) const {
    return {driver, pool_name, std::string(devices[index].name)};
  }
};

// Who uses a device. Kept by name, since usage may outlive the slice or come before it.
struct Usage {
  struct Holder {
    std::uint32_t claim = 0;  // index of the claim
    std::uint32_t exclusive = 0;
    std::uint32_t shares = 0;
    bool has_capacity = false;
    api::StringMap<Amount> consumed;
  };
  std::vector<Holder> holders;

  [[nodiscard]] bool empty() const { return holders.empty(); }
};

// A resource's usage counted over the holders that are still there.
struct UsageSum {
  bool exclusive = false;
  bool shared = false;  // a share or recorded capacity
  api::StringMap<Amount> consumed;

  [[nodiscard]] bool allocated() const { return exclusive || shared; }
};

// What one device of a view takes from the view's counters.
struct CounterUse {
  std::uint32_t counter = 0;
  Amount amount;
};

// A slice within a view of its pool.
struct ViewSlice {
  const Slice* slice = nullptr;
  std::vector<CounterUse> uses;       // of all devices, grouped
  std::vector<std::uint32_t> first;   // by device, into `uses`; one more than devices
  std::vector<std::uint32_t> groups;  // by device: index into PoolView::group_uses, 0 for none
};

// The compatibility groups that a device declares on one counter set.
struct GroupUse {
  std::uint32_t set = 0;
  std::vector<std::string> groups;  // sorted
};

// A pool as a set of nodes sees it: upstream's Pool. Depends only on which slices are relevant, so
// nodes with the same relevant slices share it.
struct PoolView {
  enum class State : std::uint8_t { kUsable, kIncomplete, kInvalid, kObsolete };

  const Pool* pool = nullptr;
  State state = State::kUsable;
  std::string invalid_reason;
  bool binding = false;           // a device has binding conditions: such pools come last
  std::vector<ViewSlice> slices;  // targeting the node, by name
  std::vector<ViewSlice> others;  // not targeting it; they only charge counters

  // Counters, all sets in a row.
  struct Set {
    std::string name;
    std::uint32_t first = 0;
    std::uint32_t count = 0;
  };
  std::vector<Set> sets;
  std::vector<std::string> counter_names;
  std::vector<std::uint32_t> counter_sets;        // by counter
  std::vector<QuantityFormat> counter_formats;    // by counter, for texts
  std::vector<Amount> counters;                   // what there is
  bool negative_use = false;                      // a device takes a negative amount somewhere
  std::vector<std::vector<GroupUse>> group_uses;  // 0 is empty

  // counters minus what allocated devices take, as of `available_revision` (guarded by the lock of
  // views while it is brought up to date).
  mutable std::vector<Amount> available;
  mutable bool any_negative = false;
  mutable std::atomic<std::uint64_t> available_revision{0};
};

struct Pool {
  std::string driver;
  std::string name;
  std::vector<std::unique_ptr<Slice>> slices;  // by order, then name
  std::unordered_map<std::string, Usage> usage;
  std::uint64_t usage_revision = 1;

  // By which slices are relevant; guarded by the lock of views.
  mutable std::unordered_map<std::vector<bool>, std::unique_ptr<PoolView>> views;

  [[nodiscard]] std::string Id() const { return driver + "/" + name; }
};

// A slice in the order of a node's search.
struct NodeSlice {
  const ViewSlice* view = nullptr;
  const Slice* slice = nullptr;
  std::uint32_t pool = 0;            // index into NodeView::pools
  std::uint32_t first_word = 0;      // in the attempt's local bitmaps
  std::uint32_t first_position = 0;  // = first_word * 64
  std::uint32_t devices = 0;
  Words node_mask;   // devices for this node; empty: all
  Words node_fault;  // devices whose node selector is wrong; empty: none
};

// All that one node can reach, in the order of upstream's search: a device's position is its bit
// in the concatenation of all slices' words.
struct NodeView {
  std::string fault;  // gathering failed: the attempt fails
  std::vector<const PoolView*> pools;
  std::vector<NodeSlice> slices;
  std::vector<std::uint32_t> slice_of_word;
  std::uint32_t words = 0;
  bool any_invalid = false;
  std::uint64_t local_revision = 0;
  std::uint64_t shared_revision = 0;

  [[nodiscard]] const NodeSlice& SliceAt(std::uint32_t position) const {
    return slices[slice_of_word[position / kWordBits]];
  }
};

}  // namespace drachma::allocator
