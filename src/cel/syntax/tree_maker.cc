#include "cel/syntax/tree_maker.h"

#include <optional>
#include <span>

#include "cel/syntax/literals.h"

namespace drachma::cel {

using enum TokenKind;

Expr* TreeMaker::Wrong(std::uint32_t start, std::string message) {
  Expr* expr = Make(ExprKind::kUnspecified, NewId(start));
  issues_.push_back({.location = ast_.LocationOf(expr->id), .message = std::move(message)});
  return expr;
}

Piece TreeMaker::ParseLiteral() {
  const std::int32_t begin = HereBegin();
  const bool sign = Peek() == kMinus && (Peek(1) == kInt || Peek(1) == kFloat);
  if (sign) Next();
  const Token token = Next();
  const std::string_view text = ast_.source.text().substr(begin, token.end - begin);
  Literal literal;
  switch (token.kind) {
    case kInt: {
      const std::optional<std::int64_t> value = ParseIntLiteral(SkipSpaces(text));
      if (!value) return {.expr = Wrong(begin, "invalid int literal"), .height = 0};
      literal.kind = LiteralKind::kInt;
      literal.integer = *value;
      break;
    }
    case kUint: {
      const std::optional<std::uint64_t> value = ParseUintLiteral(text);
      if (!value) return {.expr = Wrong(begin, "invalid uint literal"), .height = 0};
      literal.kind = LiteralKind::kUint;
      literal.unsigned_integer = *value;
      break;
    }
    case kFloat: {
      const std::optional<double> value = ParseDoubleLiteral(SkipSpaces(text));
      if (!value) return {.expr = Wrong(begin, "invalid double literal"), .height = 0};
      literal.kind = LiteralKind::kDouble;
      literal.number = *value;
      break;
    }
    case kString:
    case kBytes: {
      const bool bytes = token.kind == kBytes;
      const auto value =
          Unescape(bytes ? text.substr(1) : text, bytes ? StringKind::kBytes : StringKind::kText);
      if (!value) Wrong(begin, value.error());
      literal.kind = bytes ? LiteralKind::kBytes : LiteralKind::kString;
      literal.text = ast_.arena.CopyString(value ? std::string_view(*value) : text);
      break;
    }
    case kTrue:
    case kFalse:
      literal.kind = LiteralKind::kBool;
      literal.boolean = token.kind == kTrue;
      break;
    case kNull:
      break;
    default:
      return Fail();
  }
  Expr* expr = Make(ExprKind::kLiteral, NewId(begin));
  expr->literal = literal;
  return {.expr = Bound(expr, begin), .height = 0};
}

std::string_view TreeMaker::SkipSpaces(std::string_view text) {
  if (!text.starts_with('-')) return text;
  return ast_.arena.CopyString("-" + std::string(TextOf(Last())));
}

Expr* TreeMaker::Call(std::int32_t id, std::string_view function,
                      std::initializer_list<Expr*> args) {
  Expr* call = Make(ExprKind::kCall, id);
  call->name = function;
  call->args = ast_.arena.Copy(std::span<Expr* const>(args.begin(), args.size()));
  return call;
}

Expr* TreeMaker::CallOrMacro(std::int32_t id, std::string_view name, Expr* target,
                             const std::vector<Expr*>& args) {
  Expr* call = Make(ExprKind::kCall, id);
  call->name = name;
  call->target = target;
  call->member = target != nullptr;
  call->args = ast_.arena.Copy(args);
  if (options_.macros == nullptr) return call;
  const Macro* macro = options_.macros->Find(name, args.size(), call->member);
  if (macro == nullptr) return call;
  MacroHelper helper(ast_, id);
  const MacroResult result = macro->expand(helper, target, call->args);
  if (result) return *result == nullptr ? call : *result;
  const SourceRange& range = ast_.ranges[result.error().id];
  Expr* wrong = Make(ExprKind::kUnspecified, NewId(range.start));
  issues_.push_back({.location = ast_.LocationOf(wrong->id), .message = result.error().message});
  return wrong;
}

}  // namespace drachma::cel
