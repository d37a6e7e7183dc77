#include "cel/check/checker.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "cel/check/checker_scope.h"

namespace drachma::cel {
namespace {

// The comparisons between different kinds of numbers, which an environment may switch off.
bool IsCrossTypeComparison(const Overload& overload) {
  static constexpr std::array<std::string_view, 4> kPrefixes = {"less_", "less_equals_", "greater_",
                                                                "greater_equals_"};
  if (overload.args.size() != 2 || overload.args[0] == overload.args[1]) return false;
  return std::ranges::any_of(
      kPrefixes, [&](std::string_view prefix) { return overload.id.starts_with(prefix); });
}

class Checker : private CheckerScope {
 public:
  Checker(CheckedAst& checked, const CheckEnv& env) : CheckerScope(checked, env) {}

  std::vector<Issue> Run() {
    checked_.info.resize(ast_.ranges.size());
    CheckNode(ast_.root);
    for (NodeInfo& info : checked_.info) {
      if (info.type != nullptr) info.type = unifier_.Substitute(info.type, Unbound::kToDyn);
    }
    if (unifier_.too_complex()) {
      issues_.clear();
      Report(ast_.root->id, "types are too complex");
    }
    return std::move(issues_);
  }

 private:
  void CheckNode(Expr* expr) {
    if (unifier_.too_complex()) return;
    switch (expr->kind) {
      case ExprKind::kLiteral:
        return SetType(expr, LiteralType(expr->literal));
      case ExprKind::kIdent:
        return CheckIdent(expr);
      case ExprKind::kSelect:
        return CheckSelect(expr);
      case ExprKind::kCall:
        return CheckCall(expr);
      case ExprKind::kList:
        return CheckList(expr);
      case ExprKind::kMap:
        return CheckMap(expr);
      case ExprKind::kStruct:
        return CheckStruct(expr);
      case ExprKind::kComprehension:
        return CheckFold(expr);
      case ExprKind::kUnspecified:
        return Report(expr->id, "unexpected unspecified type: ");
    }
  }

  static const Type* LiteralType(const Literal& literal) {
    switch (literal.kind) {
      case LiteralKind::kNull:
        return &types::kNull;
      case LiteralKind::kBool:
        return &types::kBool;
      case LiteralKind::kInt:
        return &types::kInt;
      case LiteralKind::kUint:
        return &types::kUint;
      case LiteralKind::kDouble:
        return &types::kDouble;
      case LiteralKind::kString:
        return &types::kString;
      case LiteralKind::kBytes:
        return &types::kBytes;
    }
    return &types::kError;
  }

  // --- Names

  void BecomeIdent(Expr* expr, const Resolved& resolved) {
    SetType(expr, resolved.type);
    checked_.info[expr->id].resolved_ident = true;
    expr->kind = ExprKind::kIdent;
    expr->name = resolved.name;
    expr->target = nullptr;
  }

  void CheckIdent(Expr* expr) {
    if (const std::optional<Resolved> resolved = ResolveIdent(expr->name)) {
      return BecomeIdent(expr, *resolved);
    }
    SetType(expr, &types::kError);
    ReportUndeclared(expr, expr->name);
  }

  // --- Selections

  void CheckSelect(Expr* expr) {
    const std::string qualified = QualifiedName(expr);
    if (!qualified.empty()) {
      const std::string_view first = FirstName(expr);
      const bool shadowed = FindLocal(first) != nullptr;
      if (!shadowed || first.starts_with('.')) {
        const std::string_view name = ast_.arena.CopyString(qualified);
        if (const auto resolved = Disambiguate(FindGlobal(name), shadowed)) {
          return BecomeIdent(expr, *resolved);
        }
      }
    }
    const Type* type = CheckField(expr, expr->target, expr->name, /*optional=*/false);
    if (expr->test_only) type = &types::kBool;
    SetType(expr, unifier_.Substitute(type, Unbound::kKeep));
  }

  void CheckOptionalSelect(Expr* expr) {
    if (expr->args.size() != 2 || expr->member) {
      return Report(expr->id,
                    "unsupported optional field selection: incorrect signature. argument "
                    "count: " +
                        std::to_string(expr->args.size()));
    }
    const Expr* field = expr->args[1];
    if (field->kind != ExprKind::kLiteral || field->literal.kind != LiteralKind::kString) {
      return Report(field->id, "unsupported optional field selection: ");
    }
    SetType(field, &types::kString);
    const Type* type = CheckField(expr, expr->args[0], field->literal.text, /*optional=*/true);
    SetType(expr, unifier_.Substitute(type, Unbound::kKeep));
    static constexpr std::array<std::string_view, 1> kOverload = {"select_optional_field"};
    checked_.info[expr->id].overloads = kOverload;
  }

  const Type* CheckField(const Expr* expr, Expr* operand, std::string_view field, bool optional) {
    CheckNode(operand);
    const Type* target = unifier_.Substitute(TypeOf(operand), Unbound::kKeep);
    const bool was_optional = IsOptional(target);
    if (was_optional) target = target->parameters[0];
    const Type* result = FieldType(expr, target, field);
    return was_optional || optional ? OptionalOf(ast_.arena, result) : result;
  }

  const Type* FieldType(const Expr* expr, const Type* target, std::string_view field) {
    switch (target->kind) {
      case TypeKind::kMap:
        return target->parameters[1];
      case TypeKind::kStruct:
        return StructFieldType(expr, target->name, field);
      case TypeKind::kTypeParam:
        unifier_.Assign(&types::kDyn, target);
        return &types::kDyn;
      case TypeKind::kDyn:
      case TypeKind::kAny:
      case TypeKind::kError:
        return &types::kDyn;
      default:
        Report(expr->id, "type '" + FormatType(target) + "' does not support field selection");
        return &types::kDyn;
    }
  }

  const Type* StructFieldType(const Expr* expr, std::string_view type, std::string_view field) {
    if (env_.IsOpenStruct(type)) return &types::kDyn;
    const StructDecl* declaration = env_.FindStruct(type);
    if (declaration == nullptr) {
      Report(expr->id, "unexpected failed resolution of '" + std::string(type) + "'");
      return &types::kError;
    }
    const auto found = declaration->fields.find(field);
    if (found != declaration->fields.end()) return found->second;
    Report(expr->id, "undefined field '" + std::string(field) + "'");
    return &types::kError;
  }

  // --- Calls

  void CheckCall(Expr* expr) {
    if (expr->name == "_?._") return CheckOptionalSelect(expr);
    for (Expr* arg : expr->args) CheckNode(arg);
    if (!expr->member) {
      const Function* function = FindFunction(expr->name);
      if (function == nullptr) return UnknownFunction(expr);
      expr->name = function->name;
      return ResolveOverload(expr, *function);
    }
    // a.b.c() is the function a.b.c when there is one.
    const std::string prefix = QualifiedName(expr->target);
    if (!prefix.empty()) {
      const std::string_view name = ast_.arena.CopyString(prefix + "." + std::string(expr->name));
      if (const Function* function = FindFunction(name)) {
        expr->name = function->name;
        expr->member = false;
        expr->target = nullptr;
        return ResolveOverload(expr, *function);
      }
    }
    CheckNode(expr->target);
    const Function* function = FindFunction(expr->name);
    if (function == nullptr) return UnknownFunction(expr);
    ResolveOverload(expr, *function);
  }

  void UnknownFunction(const Expr* expr) {
    SetType(expr, &types::kError);
    ReportUndeclared(expr, expr->name);
  }

  void ResolveOverload(const Expr* expr, const Function& function) {
    std::vector<const Type*> args;
    if (expr->member) args.push_back(TypeOf(expr->target));
    for (const Expr* arg : expr->args) args.push_back(TypeOf(arg));
    if (function.name == "_&&_" || function.name == "_||_") {
      return ResolveLogical(expr, function, args);
    }

    const Type* result = nullptr;
    std::vector<std::string_view> ids;
    for (const Overload& overload : function.overloads) {
      if (overload.member != expr->member) continue;
      if (!env_.cross_type_comparisons && locals_.empty() && IsCrossTypeComparison(overload)) {
        continue;
      }
      const Type* overload_result = TryOverload(overload, args);
      if (overload_result == nullptr) continue;
      ids.push_back(overload.id);
      if (result == nullptr) {
        result = overload_result;
      } else if (!IsDyn(result) && !IsExactType(overload_result, result)) {
        result = &types::kDyn;
      }
    }
    if (result == nullptr) return NoOverload(expr, function, args);
    SetType(expr, result);
    checked_.info[expr->id].overloads = ast_.arena.Copy(ids);
  }

  // The result type when the overload takes `args`, or null.
  const Type* TryOverload(const Overload& overload, const std::vector<const Type*>& args) {
    if (overload.type_params.empty()) {
      return unifier_.AssignAll(args, overload.args)
                 ? unifier_.Substitute(overload.result, Unbound::kKeep)
                 : nullptr;
    }
    std::vector<const Type*> variables;
    for (std::size_t i = 0; i < overload.type_params.size(); ++i) {
      variables.push_back(unifier_.NewVariable());
    }
    std::vector<const Type*> wanted;
    for (const Type* arg : overload.args) {
      wanted.push_back(unifier_.Instantiate(arg, overload.type_params, variables));
    }
    if (!unifier_.AssignAll(args, wanted)) return nullptr;
    const Type* result = unifier_.Instantiate(overload.result, overload.type_params, variables);
    return unifier_.Substitute(result, Unbound::kKeep);
  }

  void ResolveLogical(const Expr* expr, const Function& function,
                      const std::vector<const Type*>& args) {
    bool fits = true;
    for (std::size_t i = 0; i < args.size(); ++i) {
      if (unifier_.Assign(args[i], &types::kBool)) continue;
      ReportMismatch(expr->args[i], &types::kBool, args[i]);
      fits = false;
    }
    SetType(expr, fits ? &types::kBool : &types::kError);
    if (fits) checked_.info[expr->id].overloads = {&function.overloads.front().id, 1};
  }

  void NoOverload(const Expr* expr, const Function& function, std::vector<const Type*> args) {
    for (const Type*& arg : args) arg = unifier_.Substitute(arg, Unbound::kToDyn);
    Report(expr->id, "found no matching overload for '" + function.name + "' applied to '" +
                         FormatSignature(args, expr->member) + "'");
    SetType(expr, &types::kError);
  }

  // --- Literals of lists, maps and messages

  // The type of an element written with '?': what the optional holds.
  const Type* Unwrap(const Expr* expr, const Type* type) {
    if (IsOptional(type)) return type->parameters[0];
    if (!IsDyn(type)) ReportMismatch(expr, OptionalOf(ast_.arena, type), type);
    return type;
  }

  const Type* Join(const Type* previous, const Type* current) {
    if (previous == nullptr) return current;
    if (unifier_.Assign(previous, current)) return Unifier::MostGeneral(previous, current);
    return &types::kDyn;
  }

  void CheckList(Expr* expr) {
    const Type* joined = nullptr;
    for (std::size_t i = 0; i < expr->args.size(); ++i) {
      Expr* element = expr->args[i];
      CheckNode(element);
      const Type* type = TypeOf(element);
      const bool optional =
          std::ranges::find(expr->optional_indices, static_cast<std::int32_t>(i)) !=
          expr->optional_indices.end();
      if (optional) type = Unwrap(element, type);
      joined = Join(joined, type);
    }
    SetMadeType(expr, ListOf(ast_.arena, joined == nullptr ? unifier_.NewVariable() : joined));
  }

  void CheckMap(Expr* expr) {
    const Type* key_type = nullptr;
    const Type* value_type = nullptr;
    for (const Entry& entry : expr->entries) {
      CheckNode(entry.key);
      key_type = Join(key_type, TypeOf(entry.key));
      CheckNode(entry.value);
      const Type* type = TypeOf(entry.value);
      if (entry.optional) type = Unwrap(entry.value, type);
      value_type = Join(value_type, type);
    }
    if (key_type == nullptr) {
      key_type = unifier_.NewVariable();
      value_type = unifier_.NewVariable();
    }
    SetMadeType(expr, MapOf(ast_.arena, key_type, value_type));
  }

  void CheckStruct(Expr* expr) {
    const auto resolved = FindGlobal(expr->name);
    if (!resolved || resolved->type->kind != TypeKind::kType ||
        env_.FindVariable(resolved->name) != nullptr) {
      SetType(expr, &types::kError);
      return ReportUndeclared(expr, expr->name);
    }
    expr->name = resolved->name;
    const Type* type = resolved->type->parameters[0];
    if (type->kind != TypeKind::kStruct) {
      Report(expr->id, "'" + std::string(type->name) + "' is not a message type");
      type = &types::kError;
    }
    SetType(expr, type);
    for (const Entry& entry : expr->entries) {
      CheckNode(entry.value);
      const Type* field_type = &types::kError;
      if (type->kind == TypeKind::kStruct) {
        // Issues of a field stand where the field stands.
        Expr at = *expr;
        at.id = entry.id;
        field_type = StructFieldType(&at, type->name, entry.field);
      }
      const Type* value_type = TypeOf(entry.value);
      if (entry.optional) value_type = Unwrap(entry.value, value_type);
      if (!unifier_.Assign(field_type, value_type)) {
        Report(entry.id, "expected type of field '" + std::string(entry.field) + "' is '" +
                             FormatType(field_type) + "' but provided type is '" +
                             FormatType(value_type) + "'");
      }
    }
  }

  // --- Folds

  struct IterTypes {
    const Type* first;
    const Type* second;
  };

  IterTypes RangeTypes(const Expr* range_expr, const Type* range, bool two) {
    switch (range->kind) {
      case TypeKind::kList:
        if (two) return {&types::kInt, range->parameters[0]};
        return {range->parameters[0], nullptr};
      case TypeKind::kMap:
        return {range->parameters[0], range->parameters[1]};
      case TypeKind::kDyn:
      case TypeKind::kError:
      case TypeKind::kTypeParam:
        unifier_.Assign(&types::kDyn, range);
        return {&types::kDyn, &types::kDyn};
      default:
        Report(range_expr->id, "expression of type '" + FormatType(range) +
                                   "' cannot be range of a comprehension (must be list, map, or "
                                   "dynamic)");
        return {&types::kError, &types::kError};
    }
  }

  void AssertType(const Expr* expr, const Type* type) {
    if (!unifier_.Assign(type, TypeOf(expr))) ReportMismatch(expr, type, TypeOf(expr));
  }

  void CheckFold(Expr* expr) {
    const Comprehension& fold = *expr->comprehension;
    CheckNode(fold.range);
    CheckNode(fold.accu_init);
    const Type* range = unifier_.Substitute(TypeOf(fold.range), Unbound::kKeep);
    const Type* accu = TypeOf(fold.accu_init);
    locals_.push_back({fold.accu_var, accu});
    const bool two = !fold.iter_var2.empty();
    const IterTypes iter = RangeTypes(fold.range, range, two);
    locals_.push_back({fold.iter_var, iter.first});
    if (two) locals_.push_back({fold.iter_var2, iter.second});
    CheckNode(fold.condition);
    AssertType(fold.condition, &types::kBool);
    CheckNode(fold.step);
    AssertType(fold.step, accu);
    locals_.resize(locals_.size() - (two ? 2 : 1));
    CheckNode(fold.result);
    locals_.pop_back();
    SetType(expr, unifier_.Substitute(TypeOf(fold.result), Unbound::kKeep));
  }
};

}  // namespace

CheckResult Check(std::unique_ptr<Ast> ast, const CheckEnv& env) {
  CheckResult result;
  result.checked.ast = std::move(ast);
  result.issues = Checker(result.checked, env).Run();
  return result;
}

}  // namespace drachma::cel
