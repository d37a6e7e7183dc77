#pragma once

#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cel/syntax/ast.h"

namespace drachma::cel {

// The accumulator of folds: no source text can name it.
inline constexpr std::string_view kAccumulator = "@result";
inline constexpr std::string_view kOldAccumulator = "__result__";

// Makes the nodes of a macro's expansion; all stand where the macro's call stands.
class MacroHelper {
 public:
  MacroHelper(Ast& ast, std::int32_t call_id) : ast_(ast), call_id_(call_id) {}

  [[nodiscard]] Expr* Bool(bool value);
  [[nodiscard]] Expr* Int(std::int64_t value);
  [[nodiscard]] Expr* Ident(std::string_view name);
  [[nodiscard]] Expr* Accu() { return Ident(kAccumulator); }
  [[nodiscard]] Expr* List(std::vector<Expr*> elements = {});
  [[nodiscard]] Expr* Map();
  [[nodiscard]] Expr* Call(std::string_view function, std::vector<Expr*> args);
  [[nodiscard]] Expr* MemberCall(std::string_view function, Expr* target, std::vector<Expr*> args);
  [[nodiscard]] Expr* PresenceTest(Expr* operand, std::string_view field);
  [[nodiscard]] Expr* Fold(const Comprehension& fold);
  // cel.bind(name, init, body): a fold over nothing.
  [[nodiscard]] Expr* Bind(std::string_view name, Expr* init, Expr* body);
  // A deep copy with ids of its own.
  [[nodiscard]] Expr* Copy(const Expr* expr);

 private:
  Expr* Make(ExprKind kind);

  Ast& ast_;
  std::int32_t call_id_;
};

struct MacroError {
  std::int32_t id;  // the node that is wrong
  std::string message;
};

// What a macro makes of its call; a null pointer leaves the call as it stands.
using MacroResult = std::expected<Expr*, MacroError>;
using MacroExpander = MacroResult (*)(MacroHelper& make, Expr* target, std::span<Expr*> args);

struct Macro {
  std::string_view function;
  int arg_count = 0;  // kAnyArgs: any number
  bool receiver = false;
  MacroExpander expand = nullptr;
};
inline constexpr int kAnyArgs = -1;

// has, all, exists, exists_one, map, filter: those that cel-go's standard library has. (Its
// existsOne with one variable is in no environment.)
[[nodiscard]] std::span<const Macro> StandardMacros();
// all, exists, existsOne, transformList, transformMap, transformMapEntry over two variables.
[[nodiscard]] std::span<const Macro> TwoVariableMacros();
// optMap, optFlatMap.
[[nodiscard]] std::span<const Macro> OptionalMacros();
// cel.bind.
[[nodiscard]] std::span<const Macro> BindMacros();
// math.least, math.greatest.
[[nodiscard]] std::span<const Macro> MathMacros();
// sortBy.
[[nodiscard]] std::span<const Macro> ListMacros();
// cel.block, cel.index, cel.iterVar, cel.accuVar of the conformance tests.
[[nodiscard]] std::span<const Macro> BlockMacros();

// The macros of an environment, looked up by name, arguments and receiver.
class MacroTable {
 public:
  // Later ones replace earlier ones of the same name, arguments and receiver.
  void Add(std::span<const Macro> macros);
  [[nodiscard]] const Macro* Find(std::string_view function, std::size_t arg_count,
                                  bool receiver) const;

 private:
  std::vector<Macro> macros_;
};

}  // namespace drachma::cel
