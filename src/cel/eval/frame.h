#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <string_view>

#include "cel/eval/value.h"
#include "cel/syntax/arena.h"

namespace drachma::cel {

inline constexpr std::string_view kInterrupted = "operation interrupted";
// How many iterations of folds pass between two looks at Frame::interrupt.
inline constexpr std::uint32_t kInterruptEvery = 100;

// Where variables of the host come from.
class Activation {
 public:
  virtual ~Activation() = default;
  // False when there is no such variable.
  [[nodiscard]] virtual bool Find(std::string_view name, Value* value) const = 0;
};

class Node;

// A local variable of a fold. The accumulator begins lazily, as cel-go does: its initial value is
// worked out when it is first read.
struct Slot {
  Value value;
  const Node* lazy = nullptr;
};

// The state of one evaluation.
struct Frame {
  Arena& arena;
  const Activation* activation = nullptr;
  const void* host = nullptr;  // what PathLoaders read from
  Slot* slots = nullptr;
  std::uint64_t cost = 0;
  std::uint64_t cost_limit = std::numeric_limits<std::uint64_t>::max();
  bool stopped = false;  // nothing counts any more; `stop_reason` is the result
  std::string_view stop_reason;
  const std::atomic<bool>* interrupt = nullptr;
  std::uint32_t iterations = 0;

  // Adds the cost of one operation.
  void Charge(std::uint64_t amount) {
    if (stopped) return;
    cost += amount;
    if (cost > cost_limit) [[unlikely]]
      Stop(kCostExceeded);
  }
  // Adds `count` operations of cost 1; stops in the middle of them when the limit is there.
  void ChargeUnits(std::uint64_t count) {
    if (stopped) return;
    cost += count;
    if (cost > cost_limit) [[unlikely]] {
      cost = cost_limit + 1;
      Stop(kCostExceeded);
    }
  }
  void Stop(std::string_view reason) {
    stopped = true;
    stop_reason = reason;
  }
  [[nodiscard]] Value StopValue() const { return Value::Error(stop_reason); }
};

// One operation of a planned expression. Immutable; any number of threads may evaluate it.
class Node {
 public:
  virtual ~Node() = default;
  [[nodiscard]] virtual Value Eval(Frame& frame) const = 0;
  // The value of a constant, else null.
  [[nodiscard]] virtual const Value* AsConstant() const { return nullptr; }
};

}  // namespace drachma::cel
