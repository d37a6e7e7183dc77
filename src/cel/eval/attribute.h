#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cel/eval/frame.h"

namespace drachma::cel {

// Reads a whole path from the host at once: what the host offers for paths it knows (selector's
// device.attributes["domain"].name). Immutable.
class PathLoader {
 public:
  virtual ~PathLoader() = default;
  // False when the last step of the path is not there.
  [[nodiscard]] virtual bool Find(const void* host, Value* value) const = 0;
};
class PathPlanner {
 public:
  virtual ~PathPlanner() = default;
  // A loader for `root` followed by `keys`, or null when there is none for it.
  [[nodiscard]] virtual std::unique_ptr<PathLoader> Plan(
      std::string_view root, const std::vector<std::string_view>& keys) const = 0;
};

// One step of an attribute: `.name`, `[key]`, `[?key]`, or the last step of has().
struct Qualifier {
  Value key;                      // when `dynamic` is null
  const Node* dynamic = nullptr;  // an operation that gives the key
  bool resolve_only = false;      // `dynamic` is an attribute, which costs one less here
  bool optional = false;
  bool test_only = false;
};

// A value reached from a variable or an operation by steps. Mutable only while it is planned.
class Attribute {
 public:
  virtual ~Attribute() = default;
  // The value, without the cost of the attribute itself; errors are results.
  [[nodiscard]] virtual Value Resolve(Frame& frame) const = 0;
  virtual void AddQualifier(const Qualifier& qualifier) = 0;
  [[nodiscard]] virtual bool is_conditional() const { return false; }
  // Called once, when no qualifier will be added any more.
  virtual void Finish(const PathPlanner*) {}
};

// The operation that gives an attribute's value. Costs 1, except for conditionals.
class AttributeNode final : public Node {
 public:
  enum class Mode : std::uint8_t { kValue, kTest };

  AttributeNode(Attribute* attribute, Mode mode) : attribute_(attribute), mode_(mode) {}
  [[nodiscard]] Value Eval(Frame& frame) const override;
  [[nodiscard]] Attribute* attribute() const { return attribute_; }
  [[nodiscard]] Mode mode() const { return mode_; }
  void BecomeTest() { mode_ = Mode::kTest; }

 private:
  Attribute* attribute_;
  Mode mode_;
};

// From a variable of the host (by any of `names`, then types of these names), a local variable, or
// the result of an operation.
class PathAttribute final : public Attribute {
 public:
  struct TypeName {
    std::string_view name;
  };
  static PathAttribute FromVariable(std::vector<std::string> names) {
    PathAttribute attribute;
    attribute.names_ = std::move(names);
    return attribute;
  }
  static PathAttribute FromSlot(int slot) {
    PathAttribute attribute;
    attribute.slot_ = slot;
    return attribute;
  }
  static PathAttribute FromNode(const Node* operand) {
    PathAttribute attribute;
    attribute.operand_ = operand;
    return attribute;
  }
  // Names of types that may stand where no variable is found (unchecked expressions).
  void AllowTypeNames(const class FunctionTable* functions) { types_ = functions; }

  [[nodiscard]] Value Resolve(Frame& frame) const override;
  void AddQualifier(const Qualifier& qualifier) override { qualifiers_.push_back(qualifier); }
  void Finish(const PathPlanner* planner) override;

  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  [[nodiscard]] const std::vector<Qualifier>& qualifiers() const { return qualifiers_; }
  // False when no name is known: `*value` is the error.
  bool TryResolve(Frame& frame, Value* value) const;

 private:
  [[nodiscard]] bool Base(Frame& frame, Value* value) const;
  [[nodiscard]] Value ApplyQualifiers(Frame& frame, Value value) const;
  [[nodiscard]] Value LoadPath(Frame& frame) const;

  std::vector<std::string> names_;
  int slot_ = -1;
  const Node* operand_ = nullptr;
  std::vector<Qualifier> qualifiers_;
  std::unique_ptr<PathLoader> loader_;
  bool loader_tests_ = false;
  std::string missing_;  // the error when the loader finds nothing
  const class FunctionTable* types_ = nullptr;
};

// condition ? a : b, with what is selected from it selected from both.
class ConditionalAttribute final : public Attribute {
 public:
  ConditionalAttribute(const Node* condition, Attribute* yes, Attribute* no)
      : condition_(condition), yes_(yes), no_(no) {}
  [[nodiscard]] Value Resolve(Frame& frame) const override;
  void AddQualifier(const Qualifier& qualifier) override {
    yes_->AddQualifier(qualifier);
    no_->AddQualifier(qualifier);
  }
  [[nodiscard]] bool is_conditional() const override { return true; }

 private:
  const Node* condition_;
  Attribute* yes_;
  Attribute* no_;
};

// A name of an unchecked expression: with each selected name it may be a longer variable name.
class MaybeAttribute final : public Attribute {
 public:
  MaybeAttribute(std::vector<std::string> names, const class FunctionTable* functions);
  [[nodiscard]] Value Resolve(Frame& frame) const override;
  void AddQualifier(const Qualifier& qualifier) override;

 private:
  const class FunctionTable* functions_;
  std::vector<std::unique_ptr<PathAttribute>> alternatives_;  // most specific first
};

// The name of the Go type that cel-go shows for a value in some messages ("types.Int").
[[nodiscard]] std::string_view GoTypeName(const Value& value);

}  // namespace drachma::cel
