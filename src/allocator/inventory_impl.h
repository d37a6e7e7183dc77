#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "allocator/inventory.h"
#include "allocator/memo.h"
#include "allocator/pools.h"
#include "allocator/table.h"

namespace drachma::allocator {

// Gives out consecutive numbers in runs and takes them back.
class RunAllocator {
 public:
  std::uint32_t Take(std::uint32_t count);
  void Give(std::uint32_t first, std::uint32_t count);
  [[nodiscard]] std::uint32_t end() const { return end_; }

 private:
  std::map<std::uint32_t, std::vector<std::uint32_t>> free_;  // by length
  std::uint32_t end_ = 0;
};

class Inventory::Impl {
 public:
  explicit Impl(Options given) : options(given), memo(given.features) {}

  const Options options;
  Memo memo;
  std::uint64_t revision = 1;

  // --- Slices and pools.
  // Whether the order in which slices are set counts, and the number of the latest.
  bool keep_order = false;
  std::uint64_t next_order = 0;
  std::map<std::string, Slice*, std::less<>> slices;
  std::map<std::pair<std::string, std::string>, std::unique_ptr<Pool>, std::less<>> pools;
  RunAllocator words;
  RunAllocator records;
  // By word of the table: devices that claims hold exclusively, and those that are shared.
  Words exclusive;
  Words shared;
  std::size_t device_count = 0;

  // Pools with slices of one node, by node; pools with slices of no single node.
  struct LocalPools {
    std::set<Pool*> pools;
    std::uint64_t revision = 1;
  };
  std::map<std::string, LocalPools, std::less<>> local_pools;
  std::set<Pool*> shared_pools;
  std::uint64_t shared_revision = 1;

  Status SetSlice(const json::Value& slice);
  void RemoveSlice(std::string_view name);

  // --- Classes and rules.
  struct Class {
    json::Value json;
    api::DeviceClass typed;
  };
  std::map<std::string, Class, std::less<>> classes;
  struct Rule {
    json::Value json;
    api::DeviceTaintRule typed;
  };
  std::map<std::string, Rule, std::less<>> rules;
  // Puts the taints of rules on the slice again.
  void ApplyRules(Slice& slice);
  void ApplyRule(const api::DeviceTaintRule& rule);

  // --- Claims.
  struct Held {
    Pool* pool = nullptr;
    std::string device;
    bool exclusive = false;
    std::uint32_t shares = 0;
    bool has_capacity = false;
    api::StringMap<Amount> consumed;

    friend bool operator==(const Held&, const Held&) = default;
  };
  struct Claim {
    std::string uid;
    std::string holder;
    std::vector<Held> held;
  };
  std::vector<Claim> claims;  // by index; an empty uid is a free place
  std::vector<std::uint32_t> free_claims;
  std::unordered_map<std::string, std::uint32_t> claim_index;

  void SetClaim(std::string_view uid, std::string_view holder, std::vector<Held> held);
  void RemoveClaim(std::string_view uid);
  [[nodiscard]] std::uint32_t FindClaim(std::string_view uid) const;  // kNoClaim without one
  Pool& PoolFor(std::string_view driver, std::string_view name);
  [[nodiscard]] const Pool* FindPool(std::string_view driver, std::string_view name) const;
  // What the device's holders have, without those of `released` claims.
  [[nodiscard]] static UsageSum Sum(const Usage& usage,
                                    const std::vector<std::uint32_t>& released = {});

  // --- Nodes.
  struct NodeSlot {
    Node node;
    bool present = false;
    const LocalPools* local = nullptr;  // of the node's name; entries never move or go
    mutable std::atomic<const NodeView*> view{nullptr};
    NodeSlot() = default;
    NodeSlot(NodeSlot&& other) noexcept
        : node(std::move(other.node)),
          present(other.present),
          local(other.local),
          view(other.view.exchange(nullptr)) {}
    NodeSlot(const NodeSlot&) = delete;
    NodeSlot& operator=(NodeSlot&&) = delete;
    ~NodeSlot() { delete view.load(); }
  };
  std::vector<NodeSlot> nodes;
  std::unordered_map<std::string, NodeIndex> node_index;
  std::vector<NodeIndex> free_nodes;

  // What the node reaches, built when somebody asks. Thread-safe between changes.
  [[nodiscard]] const NodeView& ViewOf(NodeIndex node) const;
  // The view's counters minus what is allocated. Thread-safe between changes.
  [[nodiscard]] const std::vector<Amount>& AvailableOf(const PoolView& view) const;

 private:
  struct Scope {
    std::string node;  // empty: several nodes
    bool exists = false;
  };
  [[nodiscard]] static Scope ScopeOf(const Pool& pool);
  void Place(Pool& pool);
  void PoolChanged(Pool& pool, const Scope& before);
  void DropPoolIfUnused(Pool& pool);
  void SetUsageBits(const Slice& slice, std::size_t device, const Usage* usage);
  void UsageChanged(Pool& pool, const std::string& device);
  void Charge(Pool& pool, std::uint32_t claim, const Held& held);
  void Discharge(Pool& pool, std::uint32_t claim, const std::string& device);
  void DropRetired();

  mutable std::mutex view_mutex_;  // guards views of nodes and pools while they are built
  mutable std::vector<std::unique_ptr<const NodeView>> retired_;
};

inline constexpr std::uint32_t kNoClaim = ~std::uint32_t{0};

}  // namespace drachma::allocator
