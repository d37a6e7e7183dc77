#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cel/check/checker.h"
#include "cel/check/unify.h"

// What names mean where the checker stands, and what it notes down of nodes: types and issues.
// Private to checker.cc.
namespace drachma::cel {

// A name that the environment knows, and how the tree has to spell it.
struct Resolved {
  const Type* type = nullptr;
  std::string_view name;
};

// The state of one check, without the rules for each kind of node.
class CheckerScope {
 protected:
  using Unbound = Unifier::Unbound;

  struct Local {
    std::string_view name;
    const Type* type;
  };

  CheckerScope(CheckedAst& checked, const CheckEnv& env)
      : checked_(checked), ast_(*checked.ast), env_(env), unifier_(ast_.arena) {}

  void Report(std::int32_t id, std::string message);
  void ReportMismatch(const Expr* expr, const Type* expected, const Type* actual);
  void ReportUndeclared(const Expr* expr, std::string_view name);

  void SetType(const Expr* expr, const Type* type) { checked_.info[expr->id].type = type; }
  // A type that is made of others: those that grow too large are found out where they grow. It is
  // kept with its variables, as these show in messages.
  void SetMadeType(const Expr* expr, const Type* type);
  [[nodiscard]] const Type* TypeOf(const Expr* expr) const {
    const Type* type = checked_.info[expr->id].type;
    return type == nullptr ? &types::kError : type;
  }

  // Calls `find` with each name that `name` may mean, until it finds something.
  template <typename Find>
  auto ForCandidates(std::string_view name, Find find) -> decltype(find(name)) {
    if (name.starts_with('.')) return find(name.substr(1));
    if (env_.container.empty()) return find(name);
    for (const std::string& candidate : CandidateNames(env_.container, name)) {
      if (auto found = find(std::string_view(ast_.arena.CopyString(candidate)))) return found;
    }
    return {};
  }

  [[nodiscard]] const Type* FindLocal(std::string_view name) const;

  std::optional<Resolved> FindGlobal(std::string_view name);

  const Function* FindFunction(std::string_view name) {
    return ForCandidates(
        name, [this](std::string_view candidate) { return env_.FindFunction(candidate); });
  }

  // A local variable, or else a global name; shadowed globals keep a leading dot.
  std::optional<Resolved> ResolveIdent(std::string_view name);

  std::optional<Resolved> Disambiguate(std::optional<Resolved> global, bool shadowed);

  // "a.b.c" when the selection is a chain of names.
  static std::string QualifiedName(const Expr* expr);
  static std::string_view FirstName(const Expr* expr);

  CheckedAst& checked_;
  Ast& ast_;
  const CheckEnv& env_;
  Unifier unifier_;
  std::vector<Local> locals_;
  std::vector<Issue> issues_;
};

}  // namespace drachma::cel
