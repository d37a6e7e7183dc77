#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "allocator/options.h"
#include "allocator/outcome.h"
#include "api/dra_types.h"
#include "base/result.h"
#include "json/value.h"

namespace drachma::allocator {

// A node as far as devices care.
struct Node {
  std::string name;
  api::Labels labels;
  std::vector<std::string> declared_features;  // status.declaredFeatures

  // A v1.Node.
  [[nodiscard]] static Node FromJson(const json::Value& node);
  friend bool operator==(const Node&, const Node&) = default;
};

// A number of a node of one inventory; stays valid until the node is removed.
using NodeIndex = std::uint32_t;
inline constexpr NodeIndex kNoNode = ~NodeIndex{0};

// What a claim (or anything else) holds, when it is not an AllocationResult: the parts of
// upstream's AllocatedState.
struct RawUsage {
  std::vector<DeviceId> devices;  // exclusive
  std::vector<DeviceId> shared;   // one entry per share
  std::vector<std::pair<DeviceId, api::StringMap<Quantity>>> capacity;
};

// One device as `top` and `explain` list it.
struct DeviceView {
  DeviceId id;
  std::string slice;
  std::string node;      // of a slice or device of one node; empty otherwise
  bool current = false;  // of a complete, valid pool in its newest generation
  bool allow_multiple = false;
  std::vector<std::string> holders;      // claims, "namespace/name"
  std::vector<api::DeviceTaint> taints;  // its own and those of rules
  api::StringMap<Quantity> capacity;     // what it has
  api::StringMap<Quantity> consumed;     // what its shares took
  const json::Value* json = nullptr;     // the entry of spec.devices
};

// A counter of which less is left than a device takes; amounts as texts.
struct ShortCounter {
  std::string set;
  std::string counter;
  std::string needed;
  std::string free;
};

// The table of all devices: those of ResourceSlices with dense ids, who uses them, the nodes that
// reach them, and what selectors said about them (remembered as bits per expression and slice
// revision). Updates are incremental: a change costs what changed, not the size of the cluster.
//
// Threads: one owner. Functions that change it (and Problem's constructor, which registers its
// selectors) need it exclusively; between two changes any number of threads may evaluate problems
// on it, since what they fill in (memos, views of nodes) is locked or atomic inside. That makes the
// state between two changes the immutable snapshot of a scheduling cycle, without a copy.
class Inventory {
 public:
  explicit Inventory(Options options);
  ~Inventory();
  Inventory(Inventory&&) noexcept;
  Inventory& operator=(Inventory&&) noexcept;

  [[nodiscard]] const Options& options() const;

  // From now on slices of a pool that disagree about its size are looked at in the order in which
  // they were set, as upstream's allocator does with its list; otherwise by name, so that the order
  // of insertion never matters.
  void KeepOrder();

  // --- Changes. All are idempotent; setting what is there already costs a comparison.

  // `slice` is a ResourceSlice in API version v1; it is kept (shared, not copied).
  // ERRORS: kBadRequest when it cannot be read; the slice then counts as absent.
  Status SetSlice(const json::Value& slice);
  void RemoveSlice(std::string_view name);
  Status SetClass(const json::Value& device_class);
  void RemoveClass(std::string_view name);
  Status SetTaintRule(const json::Value& rule);
  void RemoveTaintRule(std::string_view name);
  NodeIndex SetNode(const Node& node);
  void RemoveNode(std::string_view name);
  [[nodiscard]] NodeIndex FindNode(std::string_view name) const;  // kNoNode when unknown

  // What the claim `uid` holds, as its status.allocation says. Results with adminAccess hold
  // nothing. A claim in flight is set with the allocation that was decided for it, and again when
  // the informer shows the written one; `holder` ("namespace/name") is for reasons.
  void SetClaim(std::string_view uid, std::string_view holder,
                const api::AllocationResult& allocation);
  void SetUsage(std::string_view uid, std::string_view holder, const RawUsage& usage);
  // The claim was deallocated, deleted or given up.
  void RemoveClaim(std::string_view uid);

  // --- Questions.

  [[nodiscard]] const api::DeviceClass* FindClass(std::string_view name) const;
  // The name of the class that maps an extended resource: by spec.extendedResourceName (the newest
  // class wins, then the first name) or by "deviceclass.resource.kubernetes.io/<class>"; empty when
  // there is none.
  [[nodiscard]] std::string ClassOfExtendedResource(std::string_view resource) const;
  // The entry of spec.devices; null when the device is not in a current pool.
  [[nodiscard]] const json::Value* FindDevice(const DeviceId& id) const;
  // The claims that hold a device, and the devices that a claim holds.
  [[nodiscard]] std::vector<std::string> HoldersOf(const DeviceId& id) const;
  [[nodiscard]] std::vector<DeviceId> DevicesOf(std::string_view uid) const;
  // The counters that keep a device which nobody holds from being taken: other devices of its pool
  // use them up. Empty when there are none, or when the pool is not in use.
  [[nodiscard]] std::vector<ShortCounter> ShortCountersOf(const DeviceId& id) const;
  // uids of the claims that hold devices which the node can reach: candidates for preemption.
  [[nodiscard]] std::vector<std::string> ClaimsOn(NodeIndex node) const;
  // All devices, pool by pool.
  void ForEachDevice(const std::function<void(const DeviceView&)>& visit) const;
  [[nodiscard]] std::size_t device_count() const;
  [[nodiscard]] std::size_t slice_count() const;
  // Rises with every change of slices, taints or usage that can alter an outcome.
  [[nodiscard]] std::uint64_t revision() const;

  class Impl;  // for this folder's own files
  [[nodiscard]] Impl& impl() const { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace drachma::allocator
