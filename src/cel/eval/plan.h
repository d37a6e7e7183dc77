#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "cel/check/checker.h"
#include "cel/eval/attribute.h"
#include "cel/eval/frame.h"
#include "cel/eval/function.h"

namespace drachma::cel {

// What a call of `function` costs when it takes `overload` (empty: several are possible).
using CostRules = CallCost (*)(std::string_view function, std::string_view overload);

// Makes the values of struct literals. Immutable, any thread; must outlive the plan.
class StructMaker {
 public:
  struct Field {
    std::string_view name;
    Value value;
  };
  virtual ~StructMaker() = default;
  // A struct of `type` with `fields`, each name once; all lives in `arena` afterwards. May be an
  // error.
  [[nodiscard]] virtual Value Make(Arena& arena, std::string_view type,
                                   std::span<const Field> fields) const = 0;
};

struct PlanOptions {
  const FunctionTable* functions = nullptr;
  CostRules costs = nullptr;             // null: every call costs 1
  const PathPlanner* paths = nullptr;    // null: no shortcuts
  const StructMaker* structs = nullptr;  // null: expressions with struct literals have no plan
  // Works out constant lists, maps and conversions once, compiles constant patterns and turns `in`
  // over constants into a set, as cel-go's OptOptimize does. Costs change by it, as they do there.
  bool optimize = false;
};

// A planned expression: names are slots, functions are bound. Immutable.
class Plan {
 public:
  // Memory of the nodes and of constants.
  Arena arena;
  const Node* root = nullptr;
  int slot_count = 0;

  // Evaluates with the frame's activation, host and limits. The result lives in the frame's arena,
  // in the plan or in the host. When the frame was stopped the result is its reason.
  [[nodiscard]] Value Eval(Frame& frame) const;
};

// Plans a checked expression, or (with no types) one that was only parsed.
// ERRORS: cel-go's text for what cannot be planned: constants that do not convert, patterns that do
// not compile, functions without a body.
[[nodiscard]] std::expected<std::unique_ptr<Plan>, std::string> MakePlan(
    const CheckedAst& checked, const PlanOptions& options);
// The same for a part of the expression that uses no local variables.
[[nodiscard]] std::expected<std::unique_ptr<Plan>, std::string> MakePlanFor(
    const CheckedAst& checked, const Expr* expr, const PlanOptions& options);

}  // namespace drachma::cel
