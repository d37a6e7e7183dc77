#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory_resource>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "allocator/problem.h"

// One attempt on one node: what is free there, and what the search has taken so far. Private to
// this folder.
namespace drachma::allocator {

enum class Verdict : std::uint8_t { kNo, kYes, kError };

// A device that the search took for a request.
struct Pick {
  std::uint32_t plan = 0;
  std::uint32_t position = 0;
};

// The state of one constraint: a value per device that was added. matchAttribute's top is what all
// have in common; distinctAttribute keeps them all.
using ConstraintState = std::pmr::vector<ValueId>;

// What the search has taken of a shared device.
struct ShareState {
  std::uint32_t position = 0;
  std::uint32_t count = 0;
  std::vector<Amount> consumed;  // by the device's capacities
};

// The compatibility groups of the devices on one counter set (KEP-5963).
struct GroupState {
  bool members = false;
  bool without = false;  // all members name no group
  std::vector<std::string> groups;

  [[nodiscard]] bool Admits(const std::vector<std::string>& others) const;
  void Add(const std::vector<std::string>& others);
};

// How many devices a plan takes on this node.
struct Demand {
  std::int64_t devices = 0;
  std::vector<std::uint32_t> all;  // positions, for mode All
};
using Demands = std::pmr::vector<Demand>;  // by plan

class Attempt {
 public:
  Attempt(const Problem::Impl& problem, NodeIndex node, const Overlay& overlay);
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  [[nodiscard]] const Problem::Impl& problem() const { return problem_; }
  [[nodiscard]] const NodeView& view() const { return view_; }
  [[nodiscard]] const Node& node() const { return node_; }
  [[nodiscard]] const RequestPlan& plan(std::uint32_t index) const { return problem_.plans[index]; }
  // Memory that lives as long as the attempt.
  [[nodiscard]] std::pmr::memory_resource* arena() { return &arena_; }
  [[nodiscard]] const std::string& error() const { return error_; }
  void set_error(std::string error) { error_ = std::move(error); }

  // --- Looks at a device for a request, apart from what the search took.

  // Bits of a word of the view that selectors may match: known matches, and those that nobody
  // evaluated yet or that failed.
  [[nodiscard]] std::uint64_t CandidateBits(const RequestPlan& plan, const NodeSlice& slice,
                                            std::size_t word) const;
  // Features, selectors and per-device nodes: upstream's isSelectable.
  [[nodiscard]] Verdict Selectable(const RequestPlan& plan, std::uint32_t position);
  // Capacity with what is taken; `empty` looks at the device as if nothing were.
  enum class CapacityUse : std::uint8_t { kCurrent, kEmpty };
  [[nodiscard]] Verdict HasCapacity(std::uint32_t plan, std::uint32_t position, CapacityUse use);
  [[nodiscard]] const Consumption& ConsumptionOf(std::uint32_t plan, std::uint32_t position);
  [[nodiscard]] const Capacities& CapacitiesOf(std::uint32_t position);
  [[nodiscard]] bool TaintsTolerated(const RequestPlan& plan, std::uint32_t position) const;
  // Whether the node and the features let the device be used at all.
  [[nodiscard]] bool FeaturesAllow(std::uint32_t position) const;
  [[nodiscard]] bool AllowsMultiple(std::uint32_t position) const;

  // --- State.

  [[nodiscard]] std::uint64_t BusyWord(std::size_t word) const { return busy_[word]; }
  [[nodiscard]] bool Busy(std::uint32_t position) const { return TestBit(busy_, position); }
  [[nodiscard]] bool MarkedBy(std::uint32_t position, std::uint32_t claim) const;
  [[nodiscard]] bool BaseExclusive(std::uint32_t position) const;
  // The device is shared already: by a claim, or by the search.
  [[nodiscard]] bool InShare(std::uint32_t position) const;
  [[nodiscard]] const UsageSum& BaseUsage(std::uint32_t position) const;
  [[nodiscard]] std::span<const Pick> picks() const { return picks_; }
  [[nodiscard]] std::size_t ResultsOf(std::uint32_t claim) const { return results_[claim]; }
  [[nodiscard]] const ConstraintState& constraint(std::uint32_t claim, std::uint32_t index) const {
    return constraints_[claim][index];
  }
  [[nodiscard]] const ShareState* FindShare(std::uint32_t position) const;
  [[nodiscard]] std::span<const std::pair<std::uint32_t, std::uint32_t>> marks() const {
    return marks_;
  }
  // Of the pool with this index: what is free before the search, and what it took.
  [[nodiscard]] const std::vector<Amount>& Available(std::uint32_t pool);
  [[nodiscard]] const std::vector<Amount>& Consumed(std::uint32_t pool);
  [[nodiscard]] bool CountersNeedFullCheck(std::uint32_t pool);
  [[nodiscard]] const GroupState& GroupOf(std::uint32_t pool, std::uint32_t set);
  [[nodiscard]] std::span<const CounterUse> UsesOf(std::uint32_t position) const;
  [[nodiscard]] const std::vector<GroupUse>& GroupsOf(std::uint32_t position) const;
  [[nodiscard]] std::size_t IndexOf(std::uint32_t position) const {
    return position - view_.SliceAt(position).first_position;
  }
  [[nodiscard]] ValueId ValueOf(const ConstraintUse& use, std::uint32_t position) const;
  // Whether a device with this value may be added to the constraint now.
  [[nodiscard]] bool Admits(std::uint32_t claim, std::uint32_t constraint, ValueId value) const;
  [[nodiscard]] std::string CounterName(std::uint32_t pool, std::uint32_t counter) const;

  // Takes the device for the request if nothing speaks against it: upstream's allocateDevice.
  // kMust: a constraint that is not satisfied is an error (allocation mode All).
  enum class Mode : std::uint8_t { kMay, kMust };
  [[nodiscard]] Verdict Take(std::uint32_t plan, std::uint32_t position, Mode mode);
  // Takes back the latest pick.
  void TakeBack();
  // Takes back all but the first `picks`.
  void TakeBackTo(std::size_t picks);
  // Puts the picks of each request into the order of positions. No pick can be taken back then.
  void SortPicks();

  // Selectors that failed and were skipped: expression, slice, device.
  struct Fault {
    ExpressionIndex expression;
    const Slice* slice;
    std::uint32_t device;
    friend bool operator==(const Fault&, const Fault&) = default;
  };
  [[nodiscard]] const std::vector<Fault>& faults() const { return faults_; }

 private:
  // What Take changed, to take it back.
  struct Undo {
    std::uint32_t constraints = 0;
    bool counters = false;
    bool marked = false;
    bool shared = false;
    std::vector<std::pair<std::uint32_t, GroupState>> groups;
  };

  void ApplyOverlay(const Overlay& overlay);
  void Suppose(const api::DeviceResult& result);
  void SetBaseUsage(std::uint32_t position, UsageSum usage);
  [[nodiscard]] std::vector<std::uint32_t> PositionsOf(const Pool* pool,
                                                       std::string_view device) const;
  // Whether somebody has the device before the search; also for devices of other nodes.
  [[nodiscard]] bool AllocatedBefore(const Slice& slice, std::size_t device) const;
  [[nodiscard]] bool CountersFit(std::uint32_t pool, std::span<const CounterUse> uses);
  [[nodiscard]] bool TakeGroups(std::uint32_t position, std::uint32_t pool, Undo& undo);
  void Rollback(const RequestPlan& plan, std::uint32_t position, Undo& undo);
  [[nodiscard]] std::string SelectorFailure(const RequestPlan& plan, std::size_t selector,
                                            const NodeSlice& slice, std::size_t device,
                                            const std::string& error, bool compile) const;
  [[nodiscard]] std::vector<GroupState> BaseGroups(std::uint32_t pool) const;

  struct PoolState {
    const std::vector<Amount>* available = nullptr;
    std::vector<Amount> own_available;  // under an overlay
    bool full_check = false;
    std::vector<Amount> consumed;
    std::vector<GroupState> groups;
    bool groups_ready = false;
  };
  PoolState& StateOf(std::uint32_t pool);

  const Problem::Impl& problem_;
  const Inventory::Impl& table_;
  const Node& node_;
  const NodeView& view_;
  const Features& features_;
  bool node_skips_operations_ = false;
  std::string error_;
  // Memory of what every attempt needs, so that a small one asks the heap for nothing.
  static constexpr std::size_t kArenaBytes = 3072;
  alignas(std::max_align_t) std::array<std::byte, kArenaBytes> arena_bytes_;
  std::pmr::monotonic_buffer_resource arena_{arena_bytes_.data(), arena_bytes_.size()};
  std::pmr::vector<std::uint64_t> busy_{&arena_};  // exclusively held, or taken by the search
  std::pmr::vector<std::pair<std::uint32_t, std::uint32_t>> marks_{&arena_};  // position, claim
  std::pmr::vector<PoolState> pools_{&arena_};
  std::vector<ShareState> shares_;
  std::pmr::vector<std::pmr::vector<ConstraintState>> constraints_{&arena_};
  std::pmr::vector<Pick> picks_{&arena_};
  std::pmr::vector<Undo> undo_{&arena_};  // by pick
  std::pmr::vector<std::size_t> results_{&arena_};
  // Of an overlay: released claims, devices with other usage, and devices taken that this node does
  // not reach.
  std::vector<std::uint32_t> released_;
  std::map<std::uint32_t, UsageSum> overrides_;
  std::set<std::pair<const Pool*, std::string>> elsewhere_;
  mutable std::map<std::uint32_t, UsageSum> usage_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Consumption> consumption_;
  std::map<std::uint32_t, Capacities> capacities_;
  std::vector<Fault> faults_;
};

}  // namespace drachma::allocator
