#include "cel/syntax/diagnose.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "cel/syntax/literals.h"
#include "cel/syntax/recovery.h"

namespace drachma::cel {
namespace {

// Words that are no identifiers though the grammar takes them for such.
constexpr std::array<std::string_view, 17> kReserved = {
    "as",  "break", "const",   "continue",  "else",   "for", "function", "if",   "import",
    "let", "loop",  "package", "namespace", "return", "var", "void",     "while"};

// The second pass over a tree with holes: builds expressions, since macros look at them, and
// collects what it has to say.
class Visitor {
 public:
  Visitor(Ast& ast, RecoveredTree& tree, const ParseOptions& options)
      : ast_(ast), tree_(tree), options_(options) {
    ast_.ranges.assign(1, {});
  }

  void Run() { (void)Visit(tree_.root->first); }

 private:
  static constexpr std::int32_t kNowhere = -1;

  std::int32_t NewId(std::int64_t start) {
    ast_.ranges.push_back({.start = static_cast<std::int32_t>(start), .begin = -1, .end = -1});
    return static_cast<std::int32_t>(ast_.ranges.size()) - 1;
  }
  std::int32_t IdAt(int token) {
    return token == kNoToken ? NewId(kNowhere) : NewId(tree_.tokens[token].begin);
  }
  Expr* Make(ExprKind kind, std::int32_t id) {
    Expr* expr = ast_.arena.New<Expr>();
    expr->kind = kind;
    expr->id = id;
    return expr;
  }
  Expr* Unknown(std::int64_t start) { return Make(ExprKind::kUnspecified, NewId(start)); }
  [[nodiscard]] std::string_view TextOf(int token) const { return tree_.tokens[token].text; }

  Expr* Report(std::int64_t start, std::string message) {
    // Pieces without a place count as standing before the text.
    const Location location =
        start < 0 ? Location{1, -1} : ast_.source.LocationOf(static_cast<std::size_t>(start));
    tree_.issues.push_back({.location = location, .message = std::move(message)});
    return Unknown(start);
  }

  // Down to the first node that means something.
  static const TreeNode* Unnest(const TreeNode* node) {
    while (node != nullptr) {
      switch (node->rule) {
        case Rule::kExpr:
        case Rule::kRelation:
        case Rule::kCalc:
          if (node->op != kNoToken) return node;
          break;
        case Rule::kConditionalOr:
        case Rule::kConditionalAnd:
          if (!node->ops.empty()) return node;
          break;
        default: {
          const bool passes = node->alternative == Alternative::kMemberExpr ||
                              node->alternative == Alternative::kPrimaryExpr ||
                              node->alternative == Alternative::kNested ||
                              node->alternative == Alternative::kConstantLiteral;
          if (!passes) return node;
        }
      }
      node = node->first;
    }
    return node;
  }

  Expr* Visit(const TreeNode* tree) {
    const TreeNode* node = Unnest(tree);
    if (node == nullptr || stopped_) return Unknown(kNowhere);
    const bool counts = node->rule == Rule::kExpr || node->rule == Rule::kRelation ||
                        node->rule == Rule::kCalc || node->alternative == Alternative::kSelect ||
                        node->alternative == Alternative::kMemberCall ||
                        node->alternative == Alternative::kIndex;
    if (!counts) return VisitNode(*node);
    if (++depth_ > kDepthMax) {
      stopped_ = true;
      tree_.issues.push_back({.location = {}, .message = "max recursion depth exceeded"});
      return Unknown(kNowhere);
    }
    Expr* expr = VisitNode(*node);
    --depth_;
    return expr;
  }

  Expr* VisitNode(const TreeNode& node) {
    switch (node.rule) {
      case Rule::kExpr: {
        Expr* condition = Visit(node.first);
        const std::int32_t id = IdAt(node.op);
        Expr* yes = Visit(node.second);
        return Call(id, "_?_:_", {condition, yes, Visit(node.third)});
      }
      case Rule::kConditionalOr:
      case Rule::kConditionalAnd:
        return VisitLogical(node);
      case Rule::kRelation:
      case Rule::kCalc: {
        Expr* left = Visit(node.first);
        const std::int32_t id = IdAt(node.op);
        return Call(id, "_op_", {left, Visit(node.second)});
      }
      case Rule::kUnary:
        return VisitUnary(node);
      case Rule::kMember:
        return VisitSuffix(node);
      case Rule::kPrimary:
        return VisitPrimary(node);
      case Rule::kLiteral:
        return VisitLiteral(node);
      default:
        return Unknown(kNowhere);
    }
  }

  Expr* VisitLogical(const TreeNode& node) {
    std::vector<Expr*> terms = {Visit(node.first)};
    std::vector<std::int32_t> ids;
    for (std::size_t i = 0; i < node.items.size(); ++i) {
      terms.push_back(Visit(node.items[i]));
      ids.push_back(IdAt(node.ops[i]));
    }
    return ids.empty() ? terms[0] : Balance(terms, ids, 0, ids.size() - 1);
  }

  // As the parser does it for texts without errors: macros name the place of the middle operator.
  Expr* Balance(const std::vector<Expr*>& terms, const std::vector<std::int32_t>& ids,
                std::size_t low, std::size_t high) {
    const std::size_t middle = (low + high + 1) / 2;
    Expr* left = middle == low ? terms[middle] : Balance(terms, ids, low, middle - 1);
    Expr* right = middle == high ? terms[middle + 1] : Balance(terms, ids, middle + 1, high);
    return Call(ids[middle], "_op_", {left, right});
  }

  Expr* VisitUnary(const TreeNode& node) {
    if (node.alternative == Alternative::kPlain) {
      Expr* literal = Make(ExprKind::kLiteral, NewId(node.start));
      literal->literal.kind = LiteralKind::kString;
      literal->literal.text = "<<error>>";
      return literal;
    }
    if (node.ops.size() % 2 == 0) return Visit(node.first);
    const std::int32_t id = IdAt(node.ops[0]);
    return Call(id, node.alternative == Alternative::kNegate ? "-_" : "!_", {Visit(node.first)});
  }

  Expr* VisitSuffix(const TreeNode& node) {
    Expr* operand = Visit(node.first);
    switch (node.alternative) {
      case Alternative::kIndex: {
        if (node.op == kNoToken) return Unknown(node.start);
        const std::int32_t id = IdAt(node.op);
        return Call(id, "_[_]", {operand, Visit(node.second)});
      }
      case Alternative::kMemberCall: {
        if (node.id == kNoToken) return Unknown(node.start);
        const std::int32_t id = IdAt(node.open);
        return CallOrMacro(id, TextOf(node.id), operand, VisitAll(node.second));
      }
      case Alternative::kSelect:
        return VisitSelect(node, operand);
      default:
        return Unknown(kNowhere);
    }
  }

  Expr* VisitSelect(const TreeNode& node, Expr* operand) {
    if (node.second == nullptr || node.op == kNoToken) return Unknown(node.start);
    const std::string_view name = FieldName(*node.second);
    if (name.empty()) Report(node.second->start, "unsupported ident kind");
    if (node.opt != kNoToken) {
      Expr* literal = Make(ExprKind::kLiteral, NewId(node.second->start));
      return Call(IdAt(node.op), "_?._", {operand, literal});
    }
    Expr* select = Make(ExprKind::kSelect, IdAt(node.op));
    select->target = operand;
    select->name = name;
    return select;
  }

  // Empty when there is none.
  [[nodiscard]] std::string_view FieldName(const TreeNode& ident) const {
    if (ident.id == kNoToken) return {};
    const std::string_view text = TextOf(ident.id);
    if (ident.alternative == Alternative::kSimpleIdentifier) return text;
    return text.size() <= 2 ? std::string_view() : text.substr(1, text.size() - 2);
  }

  Expr* VisitPrimary(const TreeNode& node) {
    switch (node.alternative) {
      case Alternative::kIdent:
      case Alternative::kGlobalCall:
        return VisitName(node);
      case Alternative::kCreateList: {
        Expr* list = Make(ExprKind::kList, IdAt(node.op));
        std::vector<Expr*> elements;
        if (node.second != nullptr) {
          for (const TreeNode* item : node.second->items) elements.push_back(Visit(item->first));
        }
        list->args = ast_.arena.Copy(elements);
        return list;
      }
      case Alternative::kCreateStruct: {
        Expr* map = Make(ExprKind::kMap, IdAt(node.op));
        if (node.second != nullptr) VisitEntries(*node.second);
        return map;
      }
      case Alternative::kCreateMessage: {
        Expr* message = Make(ExprKind::kStruct, IdAt(node.op));
        if (node.second != nullptr) VisitFields(*node.second);
        return message;
      }
      default:
        return Unknown(kNowhere);
    }
  }

  Expr* VisitName(const TreeNode& node) {
    if (node.id == kNoToken) return Unknown(node.start);
    std::string_view name = TextOf(node.id);
    if (IsReservedWord(name)) {
      return Report(node.start, "reserved identifier: " + std::string(name));
    }
    if (node.leading_dot != kNoToken) name = ast_.arena.CopyString("." + std::string(name));
    if (node.alternative == Alternative::kGlobalCall) {
      const std::int32_t id = IdAt(node.op);
      return CallOrMacro(id, name, nullptr, VisitAll(node.second));
    }
    Expr* ident = Make(ExprKind::kIdent, IdAt(node.id));
    ident->name = name;
    return ident;
  }

  std::vector<Expr*> VisitAll(const TreeNode* list) {
    std::vector<Expr*> exprs;
    if (list == nullptr) return exprs;
    for (const TreeNode* item : list->items) exprs.push_back(Visit(item));
    return exprs;
  }

  void VisitEntries(const TreeNode& list) {
    for (std::size_t i = 0; i < list.ops.size(); ++i) {
      if (i >= list.items.size() || i >= list.values.size()) return;
      Visit(list.items[i]->first);
      Visit(list.values[i]);
    }
  }

  void VisitFields(const TreeNode& list) {
    for (std::size_t i = 0; i < list.items.size(); ++i) {
      if (i >= list.ops.size() || i >= list.values.size()) return;
      const TreeNode* ident = list.items[i]->first;
      if (ident == nullptr || FieldName(*ident).empty()) {
        Report(list.start, "unsupported ident kind");
        continue;
      }
      Visit(list.values[i]);
    }
  }

  Expr* VisitLiteral(const TreeNode& node) {
    if (node.id == kNoToken) return Unknown(kNowhere);
    std::string text(TextOf(node.id));
    if (node.sign != kNoToken) text = "-" + text;
    Literal literal;
    switch (node.alternative) {
      case Alternative::kInt: {
        const auto value = ParseIntLiteral(text);
        if (!value) return Report(node.start, "invalid int literal");
        literal.kind = LiteralKind::kInt;
        literal.integer = *value;
        break;
      }
      case Alternative::kUint:
        if (!ParseUintLiteral(text)) return Report(node.start, "invalid uint literal");
        literal.kind = LiteralKind::kUint;
        break;
      case Alternative::kDouble:
        if (!ParseDoubleLiteral(text)) return Report(node.start, "invalid double literal");
        literal.kind = LiteralKind::kDouble;
        break;
      case Alternative::kString:
      case Alternative::kBytes: {
        const bool bytes = node.alternative == Alternative::kBytes;
        const auto value = Unescape(bytes ? std::string_view(text).substr(1) : text,
                                    bytes ? StringKind::kBytes : StringKind::kText);
        if (!value) Report(node.start, value.error());
        literal.kind = bytes ? LiteralKind::kBytes : LiteralKind::kString;
        literal.text = ast_.arena.CopyString(value ? *value : text);
        break;
      }
      case Alternative::kTrue:
      case Alternative::kFalse:
        literal.kind = LiteralKind::kBool;
        literal.boolean = node.alternative == Alternative::kTrue;
        break;
      case Alternative::kNull:
        break;
      default:
        return Unknown(kNowhere);
    }
    Expr* expr = Make(ExprKind::kLiteral, NewId(node.start));
    expr->literal = literal;
    return expr;
  }

  Expr* Call(std::int32_t id, std::string_view function, std::initializer_list<Expr*> args) {
    Expr* call = Make(ExprKind::kCall, id);
    call->name = function;
    call->args = ast_.arena.Copy(std::span<Expr* const>(args.begin(), args.size()));
    return call;
  }

  Expr* CallOrMacro(std::int32_t id, std::string_view name, Expr* target,
                    const std::vector<Expr*>& args) {
    Expr* call = Make(ExprKind::kCall, id);
    call->name = name;
    call->target = target;
    call->member = target != nullptr;
    call->args = ast_.arena.Copy(args);
    if (options_.macros == nullptr || stopped_) return call;
    const Macro* macro = options_.macros->Find(name, args.size(), call->member);
    if (macro == nullptr) return call;
    MacroHelper helper(ast_, id);
    const MacroResult result = macro->expand(helper, target, call->args);
    if (result) return *result == nullptr ? call : *result;
    return Report(ast_.ranges[result.error().id].start, result.error().message);
  }

  Ast& ast_;
  RecoveredTree& tree_;
  const ParseOptions& options_;
  int depth_ = 0;
  bool stopped_ = false;
};

}  // namespace

bool IsReservedWord(std::string_view word) {
  return std::ranges::find(kReserved, word) != kReserved.end();
}

std::vector<Issue> DiagnoseSyntax(Ast& ast, const Tokens& tokens, const ParseOptions& options) {
  RecoveredTree tree = ParseWithRecovery(ast.source, tokens);
  if (tree.root != nullptr) Visitor(ast, tree, options).Run();
  return std::move(tree.issues);
}

std::string SizeMessage(std::size_t code_points) {
  return "expression code point size exceeds limit: size: " + std::to_string(code_points) +
         ", limit " + std::to_string(kCodePointsMax);
}

}  // namespace drachma::cel
