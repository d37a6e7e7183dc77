#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "cel/check/env.h"
#include "cel/syntax/ast.h"

namespace drachma::cel {

// What the checker found out about a node.
struct NodeInfo {
  const Type* type = nullptr;
  // The overloads that a call may take, in order; empty for other nodes.
  std::span<const std::string_view> overloads;
  // An identifier (or a selection that turned out to be one) that the environment resolves.
  bool resolved_ident = false;
};

// A parsed expression with its types. The checker rewrites identifiers, selections and calls to
// their qualified names, as cel-go does.
struct CheckedAst {
  std::unique_ptr<Ast> ast;
  std::vector<NodeInfo> info;  // by id; empty for an expression that was not checked

  [[nodiscard]] const NodeInfo& InfoOf(const Expr* expr) const {
    static const NodeInfo kNone;
    return static_cast<std::size_t>(expr->id) < info.size() ? info[expr->id] : kNone;
  }
  [[nodiscard]] const Type* TypeOf(const Expr* expr) const { return InfoOf(expr).type; }
  [[nodiscard]] const Type* output_type() const { return TypeOf(ast->root); }
};

// Deduces all types. Issues carry cel-go's texts ("found no matching overload for …"); when there
// are any, the result must not be planned.
struct CheckResult {
  CheckedAst checked;
  std::vector<Issue> issues;
};
[[nodiscard]] CheckResult Check(std::unique_ptr<Ast> ast, const CheckEnv& env);

}  // namespace drachma::cel
