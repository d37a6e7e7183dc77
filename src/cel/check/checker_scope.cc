#include "cel/check/checker_scope.h"

#include <utility>

namespace drachma::cel {

void CheckerScope::Report(std::int32_t id, std::string message) {
  issues_.push_back({.location = ast_.LocationOf(id), .message = std::move(message)});
}

void CheckerScope::ReportMismatch(const Expr* expr, const Type* expected, const Type* actual) {
  Report(expr->id,
         "expected type '" + FormatType(expected) + "' but found '" + FormatType(actual) + "'");
}

void CheckerScope::ReportUndeclared(const Expr* expr, std::string_view name) {
  Report(expr->id, "undeclared reference to '" + std::string(name) + "' (in container '" +
                       env_.container + "')");
}

void CheckerScope::SetMadeType(const Expr* expr, const Type* type) {
  static_cast<void>(unifier_.Substitute(type, Unbound::kKeep));
  SetType(expr, type);
}

const Type* CheckerScope::FindLocal(std::string_view name) const {
  if (name.starts_with('.')) name.remove_prefix(1);
  for (auto local = locals_.rbegin(); local != locals_.rend(); ++local) {
    if (local->name == name) return local->type;
  }
  return nullptr;
}

std::optional<Resolved> CheckerScope::FindGlobal(std::string_view name) {
  return ForCandidates(name, [this](std::string_view candidate) -> std::optional<Resolved> {
    if (const Type* type = env_.FindVariable(candidate)) return Resolved{type, candidate};
    if (const Type* type = env_.FindTypeName(candidate)) {
      return Resolved{cel::TypeOf(ast_.arena, type), candidate};
    }
    if (const StructDecl* declaration = env_.FindStruct(candidate)) {
      return Resolved{cel::TypeOf(ast_.arena, declaration->type), candidate};
    }
    if (env_.IsOpenStruct(candidate)) {
      return Resolved{cel::TypeOf(ast_.arena, StructType(ast_.arena, candidate)), candidate};
    }
    return std::nullopt;
  });
}

std::optional<Resolved> CheckerScope::ResolveIdent(std::string_view name) {
  const Type* local = FindLocal(name);
  if (local != nullptr && !name.starts_with('.')) return Resolved{local, name};
  return Disambiguate(FindGlobal(name), local != nullptr);
}

std::optional<Resolved> CheckerScope::Disambiguate(std::optional<Resolved> global, bool shadowed) {
  if (global && shadowed) {
    global->name = ast_.arena.CopyString("." + std::string(global->name));
  }
  return global;
}

std::string CheckerScope::QualifiedName(const Expr* expr) {
  if (expr->kind == ExprKind::kIdent) return std::string(expr->name);
  if (expr->kind != ExprKind::kSelect || expr->test_only) return {};
  std::string prefix = QualifiedName(expr->target);
  if (prefix.empty()) return {};
  return prefix + "." + std::string(expr->name);
}

std::string_view CheckerScope::FirstName(const Expr* expr) {
  while (expr->kind == ExprKind::kSelect) expr = expr->target;
  return expr->name;
}

}  // namespace drachma::cel
