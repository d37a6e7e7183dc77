#include "cel/syntax/macros.h"

#include <array>

namespace drachma::cel {
namespace {

constexpr std::string_view kUnusedVariable = "#unused";

MacroResult Wrong(const Expr* expr, std::string message) {
  return std::unexpected(MacroError{.id = expr->id, .message = std::move(message)});
}

bool IsIdent(const Expr* expr) { return expr->kind == ExprKind::kIdent; }
bool IsNamespace(const Expr* target, std::string_view name) {
  return IsIdent(target) && target->name == name;
}
bool IsAccumulator(std::string_view name) {
  return name == kAccumulator || name == kOldAccumulator;
}

MacroResult ExpandHas(MacroHelper& make, Expr*, std::span<Expr*> args) {
  if (args[0]->kind != ExprKind::kSelect) return Wrong(args[0], "invalid argument to has() macro");
  return make.PresenceTest(args[0]->target, args[0]->name);
}

// The variables of a fold: one, or two for the forms with index/key and value.
struct IterVars {
  std::string_view first;
  std::string_view second;
};
using IterVarsResult = std::expected<IterVars, MacroError>;

constexpr const char* kOverwrites = "iteration variable overwrites accumulator variable";

IterVarsResult OneVariable(std::span<Expr*> args, const char* not_a_name) {
  if (!IsIdent(args[0])) return std::unexpected(Wrong(args[0], not_a_name).error());
  if (IsAccumulator(args[0]->name)) return std::unexpected(Wrong(args[0], kOverwrites).error());
  return IterVars{.first = args[0]->name, .second = {}};
}

IterVarsResult TwoVariables(std::span<Expr*> args) {
  for (Expr* arg : args.first(2)) {
    if (!IsIdent(arg)) return std::unexpected(Wrong(arg, "argument must be a simple name").error());
  }
  const IterVars vars{.first = args[0]->name, .second = args[1]->name};
  if (vars.first == vars.second) {
    return std::unexpected(
        Wrong(args[1], "duplicate variable name: " + std::string(vars.first)).error());
  }
  for (Expr* arg : args.first(2)) {
    if (IsAccumulator(arg->name)) return std::unexpected(Wrong(arg, kOverwrites).error());
  }
  return vars;
}

// all, exists, exists_one: `predicate` folded into a bool.
using Quantifier = Expr* (*)(MacroHelper&, Expr*, const IterVars&, Expr*);

Expr* MakeAll(MacroHelper& make, Expr* range, const IterVars& vars, Expr* predicate) {
  Expr* init = make.Bool(true);
  Expr* condition = make.Call("@not_strictly_false", {make.Accu()});
  Expr* step = make.Call("_&&_", {make.Accu(), predicate});
  return make.Fold({.range = range,
                    .iter_var = vars.first,
                    .iter_var2 = vars.second,
                    .accu_var = kAccumulator,
                    .accu_init = init,
                    .condition = condition,
                    .step = step,
                    .result = make.Accu()});
}

Expr* MakeExists(MacroHelper& make, Expr* range, const IterVars& vars, Expr* predicate) {
  Expr* init = make.Bool(false);
  Expr* condition = make.Call("@not_strictly_false", {make.Call("!_", {make.Accu()})});
  Expr* step = make.Call("_||_", {make.Accu(), predicate});
  return make.Fold({.range = range,
                    .iter_var = vars.first,
                    .iter_var2 = vars.second,
                    .accu_var = kAccumulator,
                    .accu_init = init,
                    .condition = condition,
                    .step = step,
                    .result = make.Accu()});
}

Expr* MakeExistsOne(MacroHelper& make, Expr* range, const IterVars& vars, Expr* predicate) {
  Expr* init = make.Int(0);
  Expr* condition = make.Bool(true);
  Expr* step =
      make.Call("_?_:_", {predicate, make.Call("_+_", {make.Accu(), make.Int(1)}), make.Accu()});
  Expr* result = make.Call("_==_", {make.Accu(), make.Int(1)});
  return make.Fold({.range = range,
                    .iter_var = vars.first,
                    .iter_var2 = vars.second,
                    .accu_var = kAccumulator,
                    .accu_init = init,
                    .condition = condition,
                    .step = step,
                    .result = result});
}

template <Quantifier kMake>
MacroResult ExpandQuantifier(MacroHelper& make, Expr* target, std::span<Expr*> args) {
  const IterVarsResult vars = OneVariable(args, "argument must be a simple name");
  if (!vars) return std::unexpected(vars.error());
  return kMake(make, target, *vars, args[1]);
}

template <Quantifier kMake>
MacroResult ExpandQuantifier2(MacroHelper& make, Expr* target, std::span<Expr*> args) {
  const IterVarsResult vars = TwoVariables(args);
  if (!vars) return std::unexpected(vars.error());
  return kMake(make, target, *vars, args[2]);
}

// A fold that collects: `step` is kept where `filter` holds.
Expr* Collect(MacroHelper& make, Expr* range, const IterVars& vars, Expr* init, Expr* filter,
              Expr* step) {
  if (filter != nullptr) step = make.Call("_?_:_", {filter, step, make.Accu()});
  return make.Fold({.range = range,
                    .iter_var = vars.first,
                    .iter_var2 = vars.second,
                    .accu_var = kAccumulator,
                    .accu_init = init,
                    .condition = make.Bool(true),
                    .step = step,
                    .result = make.Accu()});
}

MacroResult ExpandMap(MacroHelper& make, Expr* target, std::span<Expr*> args) {
  const IterVarsResult vars = OneVariable(args, "argument is not an identifier");
  if (!vars) return std::unexpected(vars.error());
  Expr* init = make.List();
  Expr* step = make.Call("_+_", {make.Accu(), make.List({args.back()})});
  return Collect(make, target, *vars, init, args.size() == 3 ? args[1] : nullptr, step);
}

MacroResult ExpandFilter(MacroHelper& make, Expr* target, std::span<Expr*> args) {
  const IterVarsResult vars = OneVariable(args, "argument is not an identifier");
  if (!vars) return std::unexpected(vars.error());
  Expr* init = make.List();
  Expr* step = make.Call("_+_", {make.Accu(), make.List({args[0]})});
  return Collect(make, target, *vars, init, args[1], step);
}

MacroResult ExpandTransformList(MacroHelper& make, Expr* target, std::span<Expr*> args) {
  const IterVarsResult vars = TwoVariables(args);
  if (!vars) return std::unexpected(vars.error());
  Expr* step = make.Call("_+_", {make.Accu(), make.List({args.back()})});
  return Collect(make, target, *vars, make.List(), args.size() == 4 ? args[2] : nullptr, step);
}

MacroResult ExpandTransformMap(MacroHelper& make, Expr* target, std::span<Expr*> args) {
  const IterVarsResult vars = TwoVariables(args);
  if (!vars) return std::unexpected(vars.error());
  Expr* step = make.Call("cel.@mapInsert", {make.Accu(), make.Ident(vars->first), args.back()});
  return Collect(make, target, *vars, make.Map(), args.size() == 4 ? args[2] : nullptr, step);
}

MacroResult ExpandTransformMapEntry(MacroHelper& make, Expr* target, std::span<Expr*> args) {
  const IterVarsResult vars = TwoVariables(args);
  if (!vars) return std::unexpected(vars.error());
  Expr* step = make.Call("cel.@mapInsert", {make.Accu(), args.back()});
  return Collect(make, target, *vars, make.Map(), args.size() == 4 ? args[2] : nullptr, step);
}

// target.hasValue() ? wrap(bind(var, target.value(), body)) : optional.none()
enum class Wrap : std::uint8_t { kOptionalOf, kAsIs };

template <Wrap kWrap>
MacroResult ExpandOptional(MacroHelper& make, Expr* target, std::span<Expr*> args) {
  if (!IsIdent(args[0])) {
    const std::string name = kWrap == Wrap::kAsIs ? "optFlatMap" : "optMap";
    return Wrong(args[0], name + "() variable name must be a simple identifier");
  }
  Expr* has_value = make.MemberCall("hasValue", target, {});
  Expr* value = make.MemberCall("value", make.Copy(target), {});
  Expr* body = make.Bind(args[0]->name, value, args[1]);
  if (kWrap == Wrap::kOptionalOf) body = make.Call("optional.of", {body});
  return make.Call("_?_:_", {has_value, body, make.Call("optional.none", {})});
}

MacroResult ExpandBind(MacroHelper& make, Expr* target, std::span<Expr*> args) {
  if (!IsNamespace(target, "cel")) return nullptr;
  if (!IsIdent(args[0])) {
    return Wrong(args[0], "cel.bind() variable names must be simple identifiers");
  }
  return make.Bind(args[0]->name, args[1], args[2]);
}

bool MayBeNumber(const Expr* expr) {
  switch (expr->kind) {
    case ExprKind::kLiteral:
      return expr->literal.kind == LiteralKind::kInt || expr->literal.kind == LiteralKind::kUint ||
             expr->literal.kind == LiteralKind::kDouble;
    case ExprKind::kList:
    case ExprKind::kMap:
    case ExprKind::kStruct:
      return false;
    default:
      return true;
  }
}

bool IsListOfNumbers(const Expr* expr) {
  if (expr->kind != ExprKind::kList || expr->args.empty()) return false;
  for (const Expr* element : expr->args) {
    if (!MayBeNumber(element)) return false;
  }
  return true;
}

MacroResult ExpandExtreme(MacroHelper& make, Expr* target, std::span<Expr*> args,
                          std::string_view function, const std::string& name) {
  if (!IsNamespace(target, "math")) return nullptr;
  if (args.empty()) return Wrong(target, name + " requires at least one argument");
  if (args.size() == 1) {
    if (!IsListOfNumbers(args[0]) && !MayBeNumber(args[0])) {
      return Wrong(args[0], name + " invalid single argument value");
    }
    return make.Call(function, {args[0]});
  }
  for (Expr* arg : args) {
    if (!MayBeNumber(arg)) return Wrong(arg, name + " simple literal arguments must be numeric");
  }
  std::vector<Expr*> list(args.begin(), args.end());
  if (args.size() == 2) return make.Call(function, std::move(list));
  return make.Call(function, {make.List(std::move(list))});
}

MacroResult ExpandLeast(MacroHelper& make, Expr* target, std::span<Expr*> args) {
  return ExpandExtreme(make, target, args, "math.@min", "math.least()");
}
MacroResult ExpandGreatest(MacroHelper& make, Expr* target, std::span<Expr*> args) {
  return ExpandExtreme(make, target, args, "math.@max", "math.greatest()");
}

MacroResult ExpandSortBy(MacroHelper& make, Expr* target, std::span<Expr*> args) {
  constexpr std::string_view kInput = "@__sortBy_input__";
  switch (target->kind) {
    case ExprKind::kList:
    case ExprKind::kSelect:
    case ExprKind::kIdent:
    case ExprKind::kComprehension:
    case ExprKind::kCall:
      break;
    default:
      return Wrong(target,
                   "sortBy can only be applied to a list, identifier, comprehension, call or "
                   "select expression");
  }
  const MacroResult keys = ExpandMap(make, make.Ident(kInput), args);
  if (!keys) return keys;
  Expr* call = make.MemberCall("@sortByAssociatedKeys", make.Ident(kInput), {*keys});
  return make.Bind(kInput, target, call);
}

// cel.index(1) is the variable "@index1", cel.iterVar(0, 1) is "@it:0:1".
MacroResult NamedIndex(MacroHelper& make, Expr* target, std::span<Expr*> args,
                       std::string_view kind) {
  if (!IsNamespace(target, "cel")) return nullptr;
  std::string name(kind);
  for (Expr* arg : args) {
    const bool number = arg->kind == ExprKind::kLiteral && arg->literal.kind == LiteralKind::kInt &&
                        arg->literal.integer >= 0;
    if (!number) return Wrong(arg, "a non-negative int literal is needed");
    if (args.size() > 1) name += ':';
    name += std::to_string(arg->literal.integer);
  }
  return make.Ident(name);
}

MacroResult ExpandIndex(MacroHelper& make, Expr* target, std::span<Expr*> args) {
  return NamedIndex(make, target, args, "@index");
}
MacroResult ExpandIterVar(MacroHelper& make, Expr* target, std::span<Expr*> args) {
  return NamedIndex(make, target, args, "@it");
}
MacroResult ExpandAccuVar(MacroHelper& make, Expr* target, std::span<Expr*> args) {
  return NamedIndex(make, target, args, "@ac");
}
MacroResult ExpandBlock(MacroHelper& make, Expr* target, std::span<Expr*> args) {
  if (!IsNamespace(target, "cel")) return nullptr;
  if (args[0]->kind != ExprKind::kList) return Wrong(args[0], "cel.block needs a list literal");
  return make.Call("cel.@block", {args[0], args[1]});
}

constexpr auto kStandard = std::to_array<Macro>({
    {"has", 1, false, ExpandHas},
    {"all", 2, true, ExpandQuantifier<MakeAll>},
    {"exists", 2, true, ExpandQuantifier<MakeExists>},
    {"exists_one", 2, true, ExpandQuantifier<MakeExistsOne>},
    {"map", 2, true, ExpandMap},
    {"map", 3, true, ExpandMap},
    {"filter", 2, true, ExpandFilter},
});
constexpr auto kTwoVariable = std::to_array<Macro>({
    {"all", 3, true, ExpandQuantifier2<MakeAll>},
    {"exists", 3, true, ExpandQuantifier2<MakeExists>},
    {"existsOne", 3, true, ExpandQuantifier2<MakeExistsOne>},
    {"exists_one", 3, true, ExpandQuantifier2<MakeExistsOne>},
    {"transformList", 3, true, ExpandTransformList},
    {"transformList", 4, true, ExpandTransformList},
    {"transformMap", 3, true, ExpandTransformMap},
    {"transformMap", 4, true, ExpandTransformMap},
    {"transformMapEntry", 3, true, ExpandTransformMapEntry},
    {"transformMapEntry", 4, true, ExpandTransformMapEntry},
});
constexpr auto kOptional = std::to_array<Macro>({
    {"optMap", 2, true, ExpandOptional<Wrap::kOptionalOf>},
    {"optFlatMap", 2, true, ExpandOptional<Wrap::kAsIs>},
});
constexpr auto kBind = std::to_array<Macro>({{"bind", 3, true, ExpandBind}});
constexpr auto kMath = std::to_array<Macro>({
    {"least", kAnyArgs, true, ExpandLeast},
    {"greatest", kAnyArgs, true, ExpandGreatest},
});
constexpr auto kList = std::to_array<Macro>({{"sortBy", 2, true, ExpandSortBy}});
constexpr auto kBlock = std::to_array<Macro>({
    {"block", 2, true, ExpandBlock},
    {"index", 1, true, ExpandIndex},
    {"iterVar", 2, true, ExpandIterVar},
    {"accuVar", 2, true, ExpandAccuVar},
});

}  // namespace

std::span<const Macro> StandardMacros() { return kStandard; }
std::span<const Macro> TwoVariableMacros() { return kTwoVariable; }
std::span<const Macro> OptionalMacros() { return kOptional; }
std::span<const Macro> BindMacros() { return kBind; }
std::span<const Macro> MathMacros() { return kMath; }
std::span<const Macro> ListMacros() { return kList; }
std::span<const Macro> BlockMacros() { return kBlock; }

Expr* MacroHelper::Make(ExprKind kind) {
  Expr* expr = ast_.arena.New<Expr>();
  expr->kind = kind;
  expr->id = static_cast<std::int32_t>(ast_.ranges.size());
  ast_.ranges.push_back({.start = ast_.ranges[call_id_].start, .begin = -1, .end = -1});
  return expr;
}

Expr* MacroHelper::Bool(bool value) {
  Expr* expr = Make(ExprKind::kLiteral);
  expr->literal.kind = LiteralKind::kBool;
  expr->literal.boolean = value;
  return expr;
}

Expr* MacroHelper::Int(std::int64_t value) {
  Expr* expr = Make(ExprKind::kLiteral);
  expr->literal.kind = LiteralKind::kInt;
  expr->literal.integer = value;
  return expr;
}

Expr* MacroHelper::Ident(std::string_view name) {
  Expr* expr = Make(ExprKind::kIdent);
  expr->name = ast_.arena.CopyString(name);
  return expr;
}

Expr* MacroHelper::List(std::vector<Expr*> elements) {
  Expr* expr = Make(ExprKind::kList);
  expr->args = ast_.arena.Copy(elements);
  return expr;
}

Expr* MacroHelper::Map() { return Make(ExprKind::kMap); }

Expr* MacroHelper::Call(std::string_view function, std::vector<Expr*> args) {
  Expr* expr = Make(ExprKind::kCall);
  expr->name = function;
  expr->args = ast_.arena.Copy(args);
  return expr;
}

Expr* MacroHelper::MemberCall(std::string_view function, Expr* target, std::vector<Expr*> args) {
  Expr* expr = Call(function, std::move(args));
  expr->member = true;
  expr->target = target;
  return expr;
}

Expr* MacroHelper::PresenceTest(Expr* operand, std::string_view field) {
  Expr* expr = Make(ExprKind::kSelect);
  expr->test_only = true;
  expr->target = operand;
  expr->name = field;
  return expr;
}

Expr* MacroHelper::Fold(const Comprehension& fold) {
  Expr* expr = Make(ExprKind::kComprehension);
  expr->comprehension = ast_.arena.New<Comprehension>(fold);
  return expr;
}

Expr* MacroHelper::Bind(std::string_view name, Expr* init, Expr* body) {
  return Fold({.range = List(),
               .iter_var = kUnusedVariable,
               .iter_var2 = {},
               .accu_var = ast_.arena.CopyString(name),
               .accu_init = init,
               .condition = Bool(false),
               .step = Ident(name),
               .result = body});
}

Expr* MacroHelper::Copy(const Expr* expr) {
  if (expr == nullptr) return nullptr;
  if (ast_.ranges.size() >= kNodesMax) {
    ast_.too_large = true;
    return Make(ExprKind::kUnspecified);
  }
  Expr* copy = ast_.arena.New<Expr>(*expr);
  copy->id = static_cast<std::int32_t>(ast_.ranges.size());
  ast_.ranges.push_back(ast_.ranges[expr->id]);
  copy->target = Copy(expr->target);
  copy->args = ast_.arena.Copy(std::span<Expr* const>(expr->args.data(), expr->args.size()));
  for (Expr*& arg : copy->args) arg = Copy(arg);
  copy->entries = ast_.arena.Copy(std::span<const Entry>(expr->entries));
  for (Entry& entry : copy->entries) {
    entry.key = Copy(entry.key);
    entry.value = Copy(entry.value);
  }
  if (expr->comprehension != nullptr) {
    Comprehension* fold = ast_.arena.New<Comprehension>(*expr->comprehension);
    for (Expr** part :
         {&fold->range, &fold->accu_init, &fold->condition, &fold->step, &fold->result}) {
      *part = Copy(*part);
    }
    copy->comprehension = fold;
  }
  return copy;
}

void MacroTable::Add(std::span<const Macro> macros) {
  macros_.insert(macros_.end(), macros.begin(), macros.end());
}

const Macro* MacroTable::Find(std::string_view function, std::size_t arg_count,
                              bool receiver) const {
  const Macro* any_args = nullptr;
  for (auto macro = macros_.rbegin(); macro != macros_.rend(); ++macro) {
    if (macro->receiver != receiver || macro->function != function) continue;
    if (macro->arg_count == static_cast<int>(arg_count)) return &*macro;
    if (macro->arg_count == kAnyArgs && any_args == nullptr) any_args = &*macro;
  }
  return any_args;
}

}  // namespace drachma::cel
