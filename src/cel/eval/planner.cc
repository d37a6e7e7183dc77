#include <string>
#include <utility>
#include <vector>

#include "cel/eval/call_planner.h"
#include "cel/eval/nodes.h"
#include "cel/eval/plan.h"

namespace drachma::cel {
namespace {

class Planner : private CallPlanner {
 public:
  Planner(const CheckedAst& checked, const PlanOptions& options, Plan& plan)
      : CallPlanner(options, plan), checked_(checked) {}

  Planned Run(const Expr* expr) {
    Planned root = Visit(expr);
    for (Attribute* attribute : attributes_) attribute->Finish(options_.paths);
    return root;
  }

 private:
  struct LocalSlot {
    std::string_view name;
    int slot;
  };

  [[nodiscard]] bool checked() const { return !checked_.info.empty(); }

  Planned Visit(const Expr* expr) {
    switch (expr->kind) {
      case ExprKind::kLiteral:
        return Constant(LiteralValue(expr->literal));
      case ExprKind::kIdent:
        return PlanIdent(expr);
      case ExprKind::kSelect:
        return PlanSelect(expr);
      case ExprKind::kCall:
        return PlanCall(expr);
      case ExprKind::kList:
        return PlanList(expr);
      case ExprKind::kMap:
        return PlanMap(expr);
      case ExprKind::kStruct:
        return PlanStruct(expr);
      case ExprKind::kComprehension:
        return PlanFold(expr);
      case ExprKind::kUnspecified:
        break;
    }
    return Fail("unsupported expr");
  }

  Value LiteralValue(const Literal& literal) {
    switch (literal.kind) {
      case LiteralKind::kNull:
        return Value::Null();
      case LiteralKind::kBool:
        return Value::Bool(literal.boolean);
      case LiteralKind::kInt:
        return Value::Int(literal.integer);
      case LiteralKind::kUint:
        return Value::Uint(literal.unsigned_integer);
      case LiteralKind::kDouble:
        return Value::Double(literal.number);
      case LiteralKind::kString:
        return Value::CountedString(literal.text);
      case LiteralKind::kBytes:
        return Value::Bytes(literal.text);
    }
    return {};
  }

  // --- Names

  [[nodiscard]] const LocalSlot* FindLocal(std::string_view name) const {
    for (auto local = locals_.rbegin(); local != locals_.rend(); ++local) {
      if (local->name == name) return &*local;
    }
    return nullptr;
  }

  const Node* MakeAttribute(Attribute* attribute) {
    attributes_.push_back(attribute);
    return Make<AttributeNode>(attribute, AttributeNode::Mode::kValue);
  }
  static AttributeNode* AsAttribute(const Node* node) {
    return const_cast<AttributeNode*>(dynamic_cast<const AttributeNode*>(node));
  }
  Attribute* FromNode(const Node* node) {
    Attribute* attribute = Make<PathAttribute>(PathAttribute::FromNode(node));
    attributes_.push_back(attribute);
    return attribute;
  }

  Planned PlanIdent(const Expr* expr) {
    const NodeInfo& info = checked_.InfoOf(expr);
    std::string_view name = expr->name;
    const bool root = name.starts_with('.');
    if (root) name.remove_prefix(1);
    // A name of type type is taken for a type's name, even where it is a variable (as cel-go).
    if (checked() && info.type != nullptr && info.type->kind == TypeKind::kType) {
      const Type* type = functions_.env().FindTypeName(name);
      if (type == nullptr) return Fail("reference to undefined type: " + std::string(name));
      return Constant(Value::Type(type->name));
    }
    if (const LocalSlot* local = root ? nullptr : FindLocal(name)) {
      return MakeAttribute(Make<PathAttribute>(PathAttribute::FromSlot(local->slot)));
    }
    if (checked()) {
      return MakeAttribute(Make<PathAttribute>(PathAttribute::FromVariable({std::string(name)})));
    }
    return MakeAttribute(
        Make<MaybeAttribute>(CandidateNames(functions_.env().container, expr->name), &functions_));
  }

  // The attribute that steps can be added to.
  AttributeNode* Qualifiable(const Node* node) {
    if (AttributeNode* attribute = AsAttribute(node)) return attribute;
    return Make<AttributeNode>(FromNode(node), AttributeNode::Mode::kValue);
  }

  Planned PlanSelect(const Expr* expr) {
    const Planned operand = Visit(expr->target);
    if (!operand) return operand;
    AttributeNode* node = Qualifiable(*operand);
    Qualifier qualifier;
    qualifier.key = Value::CountedString(expr->name);
    qualifier.test_only = expr->test_only;
    node->attribute()->AddQualifier(qualifier);
    if (expr->test_only) node->BecomeTest();
    return node;
  }

  Planned PlanIndex(const Node* operand, const Node* index, bool optional) {
    AttributeNode* node = Qualifiable(operand);
    Qualifier qualifier;
    qualifier.optional = optional;
    if (const Value* constant = index->AsConstant()) {
      qualifier.key = *constant;
      switch (constant->kind()) {
        case ValueKind::kBool:
        case ValueKind::kInt:
        case ValueKind::kUint:
        case ValueKind::kDouble:
        case ValueKind::kString:
          break;
        default:
          return Fail("invalid qualifier type: " + std::string(GoTypeName(*constant)));
      }
    } else {
      qualifier.dynamic = index;
      qualifier.resolve_only = AsAttribute(index) != nullptr;
    }
    node->attribute()->AddQualifier(qualifier);
    return node;
  }

  // --- Calls

  // A call as it will be made: unchecked expressions find out here what a dotted call means.
  struct Target {
    std::string_view function;
    const Expr* receiver = nullptr;
  };

  [[nodiscard]] bool HasBody(std::string_view function) const {
    return functions_.env().FindFunction(function) != nullptr;
  }

  static std::string QualifiedName(const Expr* expr) {
    if (expr->kind == ExprKind::kIdent) return std::string(expr->name);
    if (expr->kind != ExprKind::kSelect || expr->test_only) return {};
    const std::string prefix = QualifiedName(expr->target);
    return prefix.empty() ? prefix : prefix + "." + std::string(expr->name);
  }

  Target ResolveTarget(const Expr* expr) {
    const Expr* receiver = expr->member ? expr->target : nullptr;
    if (checked()) return {expr->name, receiver};
    std::string name(expr->name);
    if (receiver != nullptr) {
      const std::string prefix = QualifiedName(receiver);
      if (prefix.empty()) return {expr->name, receiver};
      name = prefix + "." + name;
    }
    for (const std::string& candidate : CandidateNames(functions_.env().container, name)) {
      if (HasBody(candidate)) return {plan_.arena.CopyString(candidate), nullptr};
    }
    return {expr->name, receiver};
  }

  Planned PlanCall(const Expr* expr) {
    if (expr->name == "cel.@block") return PlanBlock(expr);
    const Target target = ResolveTarget(expr);
    std::vector<const Node*> nodes;
    if (target.receiver != nullptr) {
      const Planned receiver = Visit(target.receiver);
      if (!receiver) return receiver;
      nodes.push_back(*receiver);
    }
    for (const Expr* arg : expr->args) {
      const Planned node = Visit(arg);
      if (!node) return node;
      nodes.push_back(*node);
    }
    const std::span<const Node* const> args = plan_.arena.Copy(nodes);
    const std::string_view function = target.function;
    if (function == "_&&_" || function == "_||_") {
      return Make<LogicalNode>(args, function == "_||_");
    }
    if (function == "_?_:_") return PlanConditional(args);
    if (function == "_==_" || function == "_!=_") {
      const bool negated = function == "_!=_";
      return Make<EqualNode>(args[0], args[1], negated,
                             CostFor(function, negated ? "not_equals" : "equals"));
    }
    if (function == "_[_]") return PlanIndex(args[0], args[1], /*optional=*/false);
    if (function == "_?._" || function == "_[?_]") {
      return PlanIndex(args[0], args[1], /*optional=*/true);
    }
    return PlanFunction(expr, function, args);
  }

  Planned PlanConditional(std::span<const Node* const> args) {
    const auto branch = [this](const Node* node) {
      AttributeNode* attribute = AsAttribute(node);
      return attribute != nullptr ? attribute->attribute() : FromNode(node);
    };
    Attribute* yes = branch(args[1]);
    Attribute* no = branch(args[2]);
    return MakeAttribute(Make<ConditionalAttribute>(args[0], yes, no));
  }

  // The overload that a call takes for certain; empty when several are possible.
  [[nodiscard]] std::string_view OverloadOf(const Expr* expr) const {
    const auto overloads = checked_.InfoOf(expr).overloads;
    return overloads.size() == 1 ? overloads[0] : std::string_view();
  }

  Planned PlanFunction(const Expr* expr, std::string_view function,
                       std::span<const Node* const> args) {
    const std::string_view overload = OverloadOf(expr);
    if (args.size() == 2 && (function == "or" || function == "orValue")) {
      const bool unwrap = function == "orValue";
      if (overload.empty() ||
          overload == (unwrap ? "optional_orValue_value" : "optional_or_optional")) {
        return Make<OptionalOrNode>(args[0], args[1], unwrap);
      }
    }
    CallNode::Spec spec;
    spec.function = function;
    spec.args = args;
    spec.cost = CostFor(function, overload);
    spec.missing = "no such overload: " + std::string(function);
    FindCallees(function, overload, spec);
    if (args.empty() && spec.callees.empty()) {
      return Fail("no such overload: " + std::string(function) + "()");
    }
    if (args.size() > 2) {
      spec.missing += " " + std::to_string(expr->id);
      spec.one_by_one = true;
    }
    if (options_.optimize) {
      if (const Planned optimized = Optimize(function, overload, spec); !optimized || *optimized) {
        return optimized;
      }
    }
    return Make<CallNode>(std::move(spec));
  }

  // --- Lists, maps, folds

  Planned PlanList(const Expr* expr) {
    std::vector<const Node*> elements;
    bool constant = true;
    for (const Expr* element : expr->args) {
      const Planned node = Visit(element);
      if (!node) return node;
      constant = constant && (*node)->AsConstant() != nullptr;
      elements.push_back(*node);
    }
    std::vector<bool> optional;
    for (const std::int32_t index : expr->optional_indices) {
      optional.resize(elements.size());
      optional[index] = true;
    }
    const ListNode* list = Make<ListNode>(plan_.arena.Copy(elements), std::move(optional));
    return options_.optimize && constant ? WorkOut(list) : list;
  }

  Planned PlanMap(const Expr* expr) {
    std::vector<MapNode::Item> items;
    bool constant = true;
    for (const Entry& entry : expr->entries) {
      const Planned key = Visit(entry.key);
      if (!key) return key;
      const Planned value = Visit(entry.value);
      if (!value) return value;
      constant = constant && (*key)->AsConstant() != nullptr && (*value)->AsConstant() != nullptr;
      items.push_back({.key = *key, .value = *value, .optional = entry.optional});
    }
    const MapNode* map = Make<MapNode>(plan_.arena.Copy(items));
    return options_.optimize && constant ? WorkOut(map) : map;
  }

  Planned PlanStruct(const Expr* expr) {
    if (options_.structs == nullptr) return Fail("unknown type: " + std::string(expr->name));
    std::vector<StructNode::Item> items;
    for (const Entry& entry : expr->entries) {
      const Planned value = Visit(entry.value);
      if (!value) return value;
      items.push_back({.field = entry.field, .value = *value, .optional = entry.optional});
    }
    return Make<StructNode>(*options_.structs, expr->name, plan_.arena.Copy(items));
  }

  const Node* WorkOut(const Node* node) {
    Frame frame{.arena = plan_.arena};
    return Constant(node->Eval(frame));
  }

  int NewSlots(int count) {
    const int slot = plan_.slot_count;
    plan_.slot_count += count;
    return slot;
  }

  Planned PlanFold(const Expr* expr) {
    const Comprehension& fold = *expr->comprehension;
    FoldNode::Spec spec;
    const Planned accu = Visit(fold.accu_init);
    if (!accu) return accu;
    const Planned range = Visit(fold.range);
    if (!range) return range;
    spec.accu = *accu;
    spec.range = *range;
    spec.slot = NewSlots(3);
    spec.two = !fold.iter_var2.empty();
    // cel-go looks for the accumulator first.
    if (spec.two) locals_.push_back({fold.iter_var2, spec.slot + 2});
    locals_.push_back({fold.iter_var, spec.slot + 1});
    locals_.push_back({fold.accu_var, spec.slot});
    const Planned condition = Visit(fold.condition);
    if (!condition) return condition;
    const Planned step = Visit(fold.step);
    if (!step) return step;
    locals_.resize(locals_.size() - (spec.two ? 3 : 2));
    locals_.push_back({fold.accu_var, spec.slot});
    const Planned result = Visit(fold.result);
    if (!result) return result;
    locals_.pop_back();
    spec.condition = *condition;
    spec.step = *step;
    spec.result = *result;
    return Make<FoldNode>(spec);
  }

  Planned PlanBlock(const Expr* expr) {
    if (expr->args.size() != 2 || expr->args[0]->kind != ExprKind::kList) {
      return Fail("cel.@block expects a list constructor as the first argument");
    }
    const std::span<Expr*> values = expr->args[0]->args;
    const int slot = NewSlots(static_cast<int>(values.size()));
    const std::size_t mark = locals_.size();
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::string_view name = plan_.arena.CopyString("@index" + std::to_string(i));
      locals_.push_back({name, slot + static_cast<int>(i)});
    }
    std::vector<const Node*> nodes;
    for (const Expr* value : values) {
      const Planned node = Visit(value);
      if (!node) return node;
      nodes.push_back(*node);
    }
    const Planned body = Visit(expr->args[1]);
    if (!body) return body;
    locals_.resize(mark);
    return Make<BlockNode>(plan_.arena.Copy(nodes), slot, *body);
  }

  const CheckedAst& checked_;
  std::vector<LocalSlot> locals_;
  std::vector<Attribute*> attributes_;
};

constexpr int kInlineSlots = 12;

}  // namespace

Value Plan::Eval(Frame& frame) const {
  Slot inline_slots[kInlineSlots];
  frame.slots = slot_count <= kInlineSlots
                    ? inline_slots
                    : frame.arena.NewSpan<Slot>(static_cast<std::size_t>(slot_count)).data();
  const Value value = root->Eval(frame);
  frame.slots = nullptr;
  return frame.stopped ? frame.StopValue() : value;
}

std::expected<std::unique_ptr<Plan>, std::string> MakePlan(const CheckedAst& checked,
                                                           const PlanOptions& options) {
  return MakePlanFor(checked, checked.ast->root, options);
}

std::expected<std::unique_ptr<Plan>, std::string> MakePlanFor(const CheckedAst& checked,
                                                              const Expr* expr,
                                                              const PlanOptions& options) {
  auto plan = std::make_unique<Plan>();
  const Planned root = Planner(checked, options, *plan).Run(expr);
  if (!root) return std::unexpected(root.error());
  plan->root = *root;
  return plan;
}

}  // namespace drachma::cel
