#pragma once

#include <re2/re2.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cel/eval/attribute.h"
#include "cel/eval/frame.h"
#include "cel/eval/function.h"
#include "cel/eval/plan.h"

namespace drachma::cel {

class ConstantNode final : public Node {
 public:
  explicit ConstantNode(Value value) : value_(value) {}
  Value Eval(Frame&) const override { return value_; }
  const Value* AsConstant() const override { return &value_; }

 private:
  Value value_;
};

// A call whose arguments are constants, worked out when it was planned. It still costs what its
// parts cost.
class FoldedNode final : public Node {
 public:
  FoldedNode(Value value, std::span<const std::uint64_t> charges)
      : value_(value), charges_(charges) {}
  Value Eval(Frame& frame) const override {
    for (const std::uint64_t charge : charges_) frame.Charge(charge);
    return value_;
  }
  [[nodiscard]] const Value& value() const { return value_; }
  [[nodiscard]] std::span<const std::uint64_t> charges() const { return charges_; }

 private:
  Value value_;
  std::span<const std::uint64_t> charges_;
};

// && and ||: the deciding value ends it; errors count only when nothing decides.
class LogicalNode final : public Node {
 public:
  LogicalNode(std::span<const Node* const> terms, bool deciding)
      : terms_(terms), deciding_(deciding) {}
  Value Eval(Frame& frame) const override;

 private:
  std::span<const Node* const> terms_;
  bool deciding_;
};

class EqualNode final : public Node {
 public:
  EqualNode(const Node* left, const Node* right, bool negated, CallCost cost)
      : left_(left), right_(right), negated_(negated), cost_(cost) {}
  Value Eval(Frame& frame) const override;

 private:
  const Node* left_;
  const Node* right_;
  bool negated_;
  CallCost cost_;
};

// A function that may be called: its body and the types its arguments must have at run time.
struct Callee {
  const FunctionTable::Body* body = nullptr;
  // Parameters whose types are checked for each call; null when none has to be.
  const Overload* guard = nullptr;
};

// A call of a function by name. `callees` holds one entry, or all overloads that are tried in turn.
class CallNode final : public Node {
 public:
  struct Spec {
    std::string_view function;
    std::span<const Node* const> args;
    std::span<const Callee> callees;
    bool one_by_one = false;  // the first argument that is an error ends it
    bool dispatch = false;    // several overloads
    CallCost cost;
    std::string missing;  // the error when there is no body
  };
  explicit CallNode(Spec spec) : spec_(std::move(spec)) {}
  Value Eval(Frame& frame) const override;
  [[nodiscard]] const Spec& spec() const { return spec_; }

 private:
  static constexpr std::size_t kInlineArgs = 4;
  Value Call(Arena& arena, std::span<const Value> args) const;
  Value EvalWith(Frame& frame, std::span<Value> args) const;

  Spec spec_;
};

// A function of a text and a constant pattern.
class PatternNode final : public Node {
 public:
  using Body = Value (*)(Arena& arena, const RE2& pattern, std::span<const Value> args);
  PatternNode(std::span<const Node* const> args, std::unique_ptr<RE2> pattern, Body body,
              CallCost cost)
      : args_(args), pattern_(std::move(pattern)), body_(body), cost_(cost) {}
  Value Eval(Frame& frame) const override;

 private:
  std::span<const Node* const> args_;
  std::unique_ptr<RE2> pattern_;
  Body body_;
  CallCost cost_;
};

// `x in [constants]`. Free but for x.
class MemberNode final : public Node {
 public:
  MemberNode(const Node* element, Value set) : element_(element), set_(set) {}
  Value Eval(Frame& frame) const override;

 private:
  const Node* element_;
  Value set_;  // a map with the members as keys
};

// optional.or(other) and optional.orValue(other): free.
class OptionalOrNode final : public Node {
 public:
  OptionalOrNode(const Node* left, const Node* right, bool unwrap)
      : left_(left), right_(right), unwrap_(unwrap) {}
  Value Eval(Frame& frame) const override;

 private:
  const Node* left_;
  const Node* right_;
  bool unwrap_;
};

class ListNode final : public Node {
 public:
  ListNode(std::span<const Node* const> elements, std::vector<bool> optional)
      : elements_(elements), optional_(std::move(optional)) {}
  Value Eval(Frame& frame) const override;
  [[nodiscard]] std::span<const Node* const> elements() const { return elements_; }

 private:
  Value Build(Frame& frame) const;

  std::span<const Node* const> elements_;
  std::vector<bool> optional_;
};

class MapNode final : public Node {
 public:
  struct Item {
    const Node* key;
    const Node* value;
    bool optional;
  };
  explicit MapNode(std::span<const Item> items) : items_(items) {}
  Value Eval(Frame& frame) const override;
  [[nodiscard]] std::span<const Item> items() const { return items_; }

 private:
  Value Build(Frame& frame) const;

  std::span<const Item> items_;
};

// A struct literal.
class StructNode final : public Node {
 public:
  struct Item {
    std::string_view field;
    const Node* value;
    bool optional;
  };
  StructNode(const StructMaker& maker, std::string_view type, std::span<const Item> items)
      : maker_(maker), type_(type), items_(items) {}
  Value Eval(Frame& frame) const override;

 private:
  Value Build(Frame& frame) const;

  const StructMaker& maker_;
  std::string_view type_;
  std::span<const Item> items_;
};

// A comprehension. Its slots: accumulator, first and second variable.
class FoldNode final : public Node {
 public:
  struct Spec {
    const Node* range = nullptr;
    const Node* accu = nullptr;
    const Node* condition = nullptr;
    const Node* step = nullptr;
    const Node* result = nullptr;
    int slot = 0;
    bool two = false;
  };
  explicit FoldNode(Spec spec) : spec_(spec) {}
  Value Eval(Frame& frame) const override;

 private:
  enum class Next : std::uint8_t { kGoOn, kStop, kInterrupted };
  Next Iterate(Frame& frame) const;
  Next IterateAll(Frame& frame, const Value& range) const;

  Spec spec_;
};

// cel.@block: values by number, worked out when first used.
class BlockNode final : public Node {
 public:
  BlockNode(std::span<const Node* const> values, int slot, const Node* body)
      : values_(values), slot_(slot), body_(body) {}
  Value Eval(Frame& frame) const override;

 private:
  std::span<const Node* const> values_;
  int slot_;
  const Node* body_;
};

}  // namespace drachma::cel
