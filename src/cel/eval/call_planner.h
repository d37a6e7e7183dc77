#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

#include "cel/eval/nodes.h"
#include "cel/eval/plan.h"
#include "cel/eval/regex.h"

// Which functions a call may run, and what of calls is worked out when the plan is made. Private to
// planner.cc.
namespace drachma::cel {

// A node, or what is wrong with the expression.
using Planned = std::expected<const Node*, std::string>;

// What the planner knows of functions; a plan has one.
class CallPlanner {
 protected:
  CallPlanner(const PlanOptions& options, Plan& plan)
      : options_(options), functions_(*options.functions), plan_(plan) {}

  static std::unexpected<std::string> Fail(std::string message) {
    return std::unexpected(std::move(message));
  }

  template <typename T, typename... Args>
  T* Make(Args&&... args) {
    return plan_.arena.Own<T>(std::forward<Args>(args)...);
  }
  const Node* Constant(Value value) { return Make<ConstantNode>(value); }

  CallCost CostFor(std::string_view function, std::string_view overload) const;

  // Sets what `spec` may run: one function when `overload` is known, all overloads otherwise.
  void FindCallees(std::string_view function, std::string_view overload, CallNode::Spec& spec);
  // What of a call can be worked out once: a node, or null when there is nothing to do.
  Planned Optimize(std::string_view function, std::string_view overload, CallNode::Spec& spec);

  const PlanOptions& options_;
  const FunctionTable& functions_;
  Plan& plan_;

 private:
  // Parameters whose declared types must be looked at when the call is made: static types are no
  // promise, as the checker infers them for values that come out of dyn.
  static const Overload* GuardFor(const Overload& overload, const FunctionTable::Body& body);

  void FillGuard(const Function& declared, CallNode::Spec& spec, std::size_t index);

  // A guard that only counts arguments.
  const Overload* AnyArgs(std::size_t count);

  // Calls of constants have constant results, but go on costing what they cost.
  Planned PlanFolded(const CallNode::Spec& spec);

  static Value CountedText(const Value& value);

  Planned PlanPattern(const RegexFunction& function, const Value& pattern,
                      const CallNode::Spec& spec);

  // `x in [1, 'a']`: all members with the numbers of other kinds that equal them. Null when a
  // member is no simple value.
  Planned PlanSet(const Node* element, const Value& list);

  std::size_t pattern_weight_left_ = kPatternWeightMax;
};

}  // namespace drachma::cel
