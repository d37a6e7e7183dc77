#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "allocator/attempt.h"

// Which devices are interchangeable. Private to this folder.
namespace drachma::allocator {

struct Place;
struct Turn;
using Order = std::vector<Turn>;

// 128 bits that stand for a state or a device; equal ones are taken to be the same.
struct StateKey {
  std::uint64_t a = 0;
  std::uint64_t b = 0;

  // Order does not count: keys of the parts of a multiset are summed.
  StateKey& operator+=(const StateKey& other) {
    a += other.a;
    b += other.b;
    return *this;
  }
  void Mix(std::uint64_t value);
  friend bool operator==(const StateKey&, const StateKey&) = default;
};
struct StateKeyHash {
  std::size_t operator()(const StateKey& key) const { return key.a; }
};

// The kinds of all devices on the node that any request can use or fail on.
//
// Two devices are of one kind when every request, constraint, taint, capacity and prior use treats
// them alike. Devices that draw on counters are told apart by block: a block is the sets of
// counters that are tied together by devices (a GPU with its partitions). Blocks are of one kind
// when their free counters and their devices' kinds agree in order; then a device of one stands for
// the device at the same place of the other, as long as both blocks are in the same state.
class Kinds {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  // Refers to its arguments.
  Kinds(Attempt& attempt, const Order& order);

  // Of a device in its present state: devices with equal keys lead to equal searches. The keys of
  // positions that are not relevant are meaningless.
  [[nodiscard]] StateKey DeviceKey(std::uint32_t position) const;
  // Of all that matters to the search from `place` on.
  [[nodiscard]] StateKey SearchKey(const Place& place) const;

  [[nodiscard]] const std::vector<std::uint32_t>& positions() const { return positions_; }
  [[nodiscard]] std::uint32_t KindOf(std::uint32_t position) const { return kind_[position]; }
  [[nodiscard]] std::uint32_t BlockOf(std::uint32_t position) const { return block_[position]; }

  struct Block {
    std::uint32_t kind = 0;
    std::uint32_t pool = 0;
    std::vector<std::uint32_t> positions;
    std::vector<std::uint32_t> counters;  // of the pool
    std::vector<std::uint32_t> sets;
  };
  [[nodiscard]] const std::vector<Block>& blocks() const { return blocks_; }

 private:
  void FindBlocks();
  [[nodiscard]] std::string Signature(std::uint32_t position);
  [[nodiscard]] std::string BlockSignature(const Block& block) const;
  [[nodiscard]] StateKey BlockKey(const Block& block, std::uint32_t start) const;
  [[nodiscard]] StateKey LocalKey(std::uint32_t position) const;
  void MixClaim(StateKey& key, std::uint32_t claim) const;

  Attempt& attempt_;
  const Order& order_;
  std::vector<std::uint32_t> positions_;  // relevant ones
  std::vector<std::uint32_t> kind_;       // by position
  std::vector<std::uint32_t> block_;      // by position
  std::vector<Block> blocks_;
};

}  // namespace drachma::allocator
