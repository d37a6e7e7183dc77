#include "cel/syntax/parser.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "cel/syntax/diagnose.h"
#include "cel/syntax/lexer.h"
#include "cel/syntax/tree_maker.h"

namespace drachma::cel {
namespace {

using enum TokenKind;

struct BinaryOperator {
  TokenKind token;
  int precedence;  // of relation: 1; of calc: 1 for + -, 2 for * / %
  std::string_view function;
};
constexpr std::array<BinaryOperator, 7> kRelations = {{{kLess, 1, "_<_"},
                                                       {kLessEquals, 1, "_<=_"},
                                                       {kGreaterEquals, 1, "_>=_"},
                                                       {kGreater, 1, "_>_"},
                                                       {kEquals, 1, "_==_"},
                                                       {kNotEquals, 1, "_!=_"},
                                                       {kIn, 1, "@in"}}};
constexpr std::array<BinaryOperator, 5> kCalculations = {{{kStar, 2, "_*_"},
                                                          {kSlash, 2, "_/_"},
                                                          {kPercent, 2, "_%_"},
                                                          {kPlus, 1, "_+_"},
                                                          {kMinus, 1, "_-_"}}};

// Parses by recursive descent with operator precedence. Its functions follow the grammar's rules,
// since the limits on depth are counted per rule. On the first syntax error it gives up: the
// message is then found by diagnose.h.
class Parser : public TreeMaker {
 public:
  Parser(Ast& ast, const std::vector<Token>& tokens, const ParseOptions& options)
      : TreeMaker(ast, tokens, options) {}

  Outcome Run() {
    const Piece piece = ParseExpr();
    if (outcome_ == Outcome::kParsed && Peek() != kEof) Fail();
    if (outcome_ != Outcome::kParsed) return outcome_;
    ast_.root = piece.expr;
    if (piece.height > kDepthMax) {
      issues_.push_back({.location = {}, .message = "max recursion depth exceeded"});
    }
    if (ast_.too_large) {
      issues_.push_back({.location = {}, .message = "expression is too large"});
    }
    return outcome_;
  }

 private:
  // --- expr: conditionalOr ('?' conditionalOr ':' expr)?
  Piece ParseExpr() {
    const Depth depth(*this, expr_depth_);
    if (failed()) return {};
    const std::int32_t begin = HereBegin();
    const Piece condition = ParseOr();
    if (failed() || Peek() != kQuestionMark) return condition;
    const std::int32_t id = NewId(Next().begin);
    const Piece yes = ParseOr();
    if (failed() || !Expect(kColon)) return {};
    const Piece no = ParseExpr();
    if (failed()) return {};
    Expr* call = Call(id, "_?_:_", {condition.expr, yes.expr, no.expr});
    return {.expr = Bound(call, begin),
            .height = 1 + std::max({condition.height, yes.height, no.height})};
  }

  Piece ParseOr() { return ParseLogical(kLogicalOr, "_||_", &Parser::ParseAnd); }
  Piece ParseAnd() { return ParseLogical(kLogicalAnd, "_&&_", &Parser::ParseRelation); }

  // Terms joined by one logical operator: a balanced tree, as the operators commute.
  Piece ParseLogical(TokenKind op, std::string_view function, Piece (Parser::*parse_term)()) {
    Piece first = (this->*parse_term)();
    if (failed() || Peek() != op) return first;
    std::vector<Term> terms;
    std::vector<std::int32_t> ids;
    int height = first.height;
    terms.push_back({first.expr, TextBegin(first.expr), LastEnd()});
    while (Peek() == op) {
      const std::uint32_t start = Next().begin;
      const std::int32_t begin = HereBegin();
      const Piece term = (this->*parse_term)();
      if (failed()) return {};
      height = std::max(height, term.height);
      terms.push_back({term.expr, begin, LastEnd()});
      ids.push_back(NewId(start));
    }
    return {.expr = Balance(function, terms, ids, 0, ids.size() - 1), .height = height};
  }

  struct Term {
    Expr* expr;
    std::int32_t begin;
    std::int32_t end;
  };
  [[nodiscard]] std::int32_t TextBegin(const Expr* expr) const {
    return ast_.ranges[expr->id].begin;
  }
  [[nodiscard]] std::int32_t LastEnd() const { return static_cast<std::int32_t>(Last().end); }

  // The tree over operators [low, high] (terms [low, high + 1]).
  Expr* Balance(std::string_view function, const std::vector<Term>& terms,
                const std::vector<std::int32_t>& ids, std::size_t low, std::size_t high) {
    const std::size_t middle = (low + high + 1) / 2;
    Expr* left =
        middle == low ? terms[middle].expr : Balance(function, terms, ids, low, middle - 1);
    Expr* right =
        middle == high ? terms[middle + 1].expr : Balance(function, terms, ids, middle + 1, high);
    Expr* call = Call(ids[middle], function, {left, right});
    ast_.ranges[call->id].begin = terms[low].begin;
    ast_.ranges[call->id].end = terms[high + 1].end;
    return call;
  }

  // --- relation: calc | relation op relation
  Piece ParseRelation() {
    const Depth depth(*this, relation_depth_);
    if (failed()) return {};
    const std::int32_t begin = HereBegin();
    Piece left = ParseCalc(1);
    for (const BinaryOperator* op = nullptr;
         !failed() && (op = FindOperator(kRelations, 1)) != nullptr;) {
      const std::int32_t id = NewId(Next().begin);
      const Depth operand_depth(*this, relation_depth_);
      const Piece right = ParseCalc(1);
      if (failed()) return {};
      left = {.expr = Bound(Call(id, op->function, {left.expr, right.expr}), begin),
              .height = 1 + std::max(left.height, right.height)};
    }
    return left;
  }

  // --- calc: unary | calc op calc
  Piece ParseCalc(int precedence_min) {
    const Depth depth(*this, calc_depth_);
    if (failed()) return {};
    const std::int32_t begin = HereBegin();
    Piece left = ParseUnary();
    for (const BinaryOperator* op = nullptr;
         !failed() && (op = FindOperator(kCalculations, precedence_min)) != nullptr;) {
      const std::int32_t id = NewId(Next().begin);
      const Piece right = ParseCalc(op->precedence + 1);
      if (failed()) return {};
      left = {.expr = Bound(Call(id, op->function, {left.expr, right.expr}), begin),
              .height = 1 + std::max(left.height, right.height)};
    }
    return left;
  }

  template <std::size_t kSize>
  const BinaryOperator* FindOperator(const std::array<BinaryOperator, kSize>& operators,
                                     int precedence_min) const {
    for (const BinaryOperator& op : operators) {
      if (op.token == Peek() && op.precedence >= precedence_min) return &op;
    }
    return nullptr;
  }

  // --- unary: member | '!'+ member | '-'+ member. One minus before a number belongs to the number.
  Piece ParseUnary() {
    const TokenKind op = Peek();
    const std::int32_t begin = HereBegin();
    if (op != kExclamation && op != kMinus) return ParseMember();
    if (op == kMinus && (Peek(1) == kInt || Peek(1) == kFloat)) return ParseMember();
    const std::uint32_t start = Next().begin;
    std::size_t count = 1;
    while (Accept(op)) ++count;
    std::int32_t id = 0;
    if (count % 2 == 1) id = NewId(start);
    Piece operand = ParseMember();
    if (failed() || id == 0) return operand;
    operand.expr = Bound(Call(id, op == kMinus ? "-_" : "!_", {operand.expr}), begin);
    return operand;
  }

  // --- member: primary followed by selections, calls and indexes
  Piece ParseMember() {
    const std::int32_t begin = HereBegin();
    Piece left = ParsePrimary();
    while (!failed()) {
      if (Peek() == kDot) {
        left = ParseSelection(left);
      } else if (Peek() == kLeftBracket) {
        left = ParseIndex(left);
      } else {
        return left;
      }
      if (!failed() && ast_.ranges[left.expr->id].begin < 0) Bound(left.expr, begin);
    }
    return {};
  }

  Piece ParseSelection(Piece operand) {
    const std::uint32_t dot = Next().begin;
    const bool optional = Accept(kQuestionMark);
    if (Peek() != kIdentifier && Peek() != kEscapedIdentifier) return Fail();
    const Token field = Next();
    if (!optional && field.kind == kIdentifier && Peek() == kLeftParen) {
      return ParseMemberCall(operand, TextOf(field));
    }
    std::string_view name = TextOf(field);
    if (field.kind == kEscapedIdentifier) name = name.substr(1, name.size() - 2);
    const int height = operand.height + 1;
    if (!optional) {
      Expr* select = Make(ExprKind::kSelect, NewId(dot));
      select->target = operand.expr;
      select->name = name;
      return {.expr = select, .height = height};
    }
    if (!options_.optional_syntax)
      return {.expr = Wrong(dot, "unsupported syntax '.?'"), .height = height};
    Expr* literal = Make(ExprKind::kLiteral, NewId(field.begin));
    literal->literal.kind = LiteralKind::kString;
    literal->literal.text = name;
    return {.expr = Call(NewId(dot), "_?._", {operand.expr, literal}), .height = height};
  }

  Piece ParseMemberCall(Piece operand, std::string_view name) {
    const std::int32_t id = NewId(Next().begin);
    int height = operand.height;
    const std::vector<Expr*> args = ParseArguments(height);
    if (failed()) return {};
    return {.expr = CallOrMacro(id, name, operand.expr, args), .height = height + 1};
  }

  // exprList? ')'
  std::vector<Expr*> ParseArguments(int& height) {
    std::vector<Expr*> args;
    if (Accept(kRightParen)) return args;
    do {
      const Piece arg = ParseExpr();
      if (failed()) return {};
      height = std::max(height, arg.height);
      args.push_back(arg.expr);
    } while (Accept(kComma));
    Expect(kRightParen);
    return args;
  }

  Piece ParseIndex(Piece operand) {
    const std::uint32_t bracket = Next().begin;
    const std::int32_t id = NewId(bracket);
    const bool optional = Accept(kQuestionMark);
    const Piece index = ParseExpr();
    if (failed() || !Expect(kRightBracket)) return {};
    const int height = 1 + std::max(operand.height, index.height);
    if (optional && !options_.optional_syntax) {
      return {.expr = Wrong(bracket, "unsupported syntax '[?'"), .height = height};
    }
    return {.expr = Call(id, optional ? "_[?_]" : "_[_]", {operand.expr, index.expr}),
            .height = height};
  }

  // --- primary
  Piece ParsePrimary() {
    switch (Peek()) {
      case kDot:
      case kIdentifier:
        return ParseName();
      case kLeftParen: {
        Next();
        const Piece nested = ParseExpr();
        if (!failed()) Expect(kRightParen);
        return nested;
      }
      case kLeftBracket:
        return ParseList();
      case kLeftBrace:
        return ParseMap();
      default:
        return ParseLiteral();
    }
  }

  // '.'? IDENTIFIER, a call of it, or a message: names followed by '{'.
  Piece ParseName() {
    const std::int32_t begin = HereBegin();
    const bool dot = Accept(kDot);
    if (Peek() != kIdentifier) return Fail();
    if (const std::size_t names = MessageNames(); names > 0) return ParseMessage(names, dot);
    const Token token = Next();
    std::string_view name = TextOf(token);
    const bool call = Peek() == kLeftParen;
    if (IsReservedWord(name)) {
      Expr* wrong = Wrong(begin, "reserved identifier: " + std::string(name));
      if (!call) return {.expr = Bound(wrong, begin), .height = 0};
      Next();
      int height = 0;
      const std::size_t issues = issues_.size();
      (void)ParseArguments(height);
      issues_.resize(issues);  // the second pass does not look into the arguments
      return failed() ? Piece{} : Piece{.expr = Bound(wrong, begin), .height = 0};
    }
    if (dot) name = ast_.arena.CopyString("." + std::string(name));
    if (!call) {
      Expr* ident = Make(ExprKind::kIdent, NewId(token.begin));
      ident->name = name;
      return {.expr = Bound(ident, begin), .height = 0};
    }
    const std::int32_t id = NewId(Next().begin);
    int height = 0;
    const std::vector<Expr*> args = ParseArguments(height);
    if (failed()) return {};
    Expr* expr = CallOrMacro(id, name, nullptr, args);
    if (ast_.ranges[expr->id].begin < 0) Bound(expr, begin);
    return {.expr = expr, .height = height};
  }

  // How many dotted names stand before a '{' here; 0 when this is no message.
  [[nodiscard]] std::size_t MessageNames() const {
    std::size_t names = 1;
    while (Peek(2 * names - 1) == kDot && Peek(2 * names) == kIdentifier) ++names;
    return Peek(2 * names - 1) == kLeftBrace ? names : 0;
  }

  Piece ParseMessage(std::size_t names, bool dot) {
    const std::int32_t begin = HereBegin();
    std::string type = dot ? "." : "";
    for (std::size_t i = 0; i < names; ++i) {
      if (i > 0) type += '.';
      if (i > 0) Next();
      type += TextOf(Next());
    }
    Expr* message = Make(ExprKind::kStruct, NewId(Next().begin));
    message->name = ast_.arena.CopyString(type);
    std::vector<Entry> entries;
    int height = 0;
    bool more = Peek() != kRightBrace && Peek() != kComma;
    while (more) {
      Entry entry;
      entry.optional = AcceptOptional();
      if (Peek() != kIdentifier && Peek() != kEscapedIdentifier) return Fail();
      const Token field = Next();
      entry.field = TextOf(field);
      if (field.kind == kEscapedIdentifier)
        entry.field = entry.field.substr(1, entry.field.size() - 2);
      if (!ParseEntryValue(entry, height)) return {};
      entries.push_back(entry);
      more = More(kRightBrace);
    }
    Accept(kComma);
    if (!Expect(kRightBrace)) return {};
    message->entries = ast_.arena.Copy(entries);
    return {.expr = Bound(message, begin), .height = height};
  }

  // ':' expr
  bool ParseEntryValue(Entry& entry, int& height) {
    const std::uint32_t colon = tokens_[at_].begin;
    if (!Expect(kColon)) return false;
    entry.id = NewId(colon);
    const Piece value = ParseExpr();
    entry.value = value.expr;
    height = std::max(height, value.height);
    return !failed();
  }

  // After an element: whether a comma and another element follow. A comma before the closing
  // bracket is left for the caller.
  bool More(TokenKind close) {
    if (Peek() != kComma || Peek(1) == close) return false;
    Next();
    return true;
  }

  bool AcceptOptional() {
    const std::uint32_t start = tokens_[at_].begin;
    if (!Accept(kQuestionMark)) return false;
    if (!options_.optional_syntax) Wrong(start, "unsupported syntax '?'");
    return true;
  }

  Piece ParseList() {
    const std::int32_t begin = HereBegin();
    Expr* list = Make(ExprKind::kList, NewId(Next().begin));
    std::vector<Expr*> elements;
    std::vector<std::int32_t> optional;
    int height = 0;
    bool more = Peek() != kRightBracket && Peek() != kComma;
    while (more) {
      if (AcceptOptional()) optional.push_back(static_cast<std::int32_t>(elements.size()));
      const Piece element = ParseExpr();
      if (failed()) return {};
      height = std::max(height, element.height);
      elements.push_back(element.expr);
      more = More(kRightBracket);
    }
    Accept(kComma);
    if (!Expect(kRightBracket)) return {};
    list->args = ast_.arena.Copy(elements);
    list->optional_indices = ast_.arena.Copy(optional);
    return {.expr = Bound(list, begin), .height = height};
  }

  Piece ParseMap() {
    const std::int32_t begin = HereBegin();
    Expr* map = Make(ExprKind::kMap, NewId(Next().begin));
    std::vector<Entry> entries;
    int height = 0;
    bool more = Peek() != kRightBrace && Peek() != kComma;
    while (more) {
      Entry entry;
      entry.optional = AcceptOptional();
      const Piece key = ParseExpr();
      if (failed()) return {};
      entry.key = key.expr;
      height = std::max(height, key.height);
      if (!ParseEntryValue(entry, height)) return {};
      entries.push_back(entry);
      more = More(kRightBrace);
    }
    Accept(kComma);
    if (!Expect(kRightBrace)) return {};
    map->entries = ast_.arena.Copy(entries);
    return {.expr = Bound(map, begin), .height = height};
  }

  int expr_depth_ = 0;
  int relation_depth_ = 0;
  int calc_depth_ = 0;
};

ParseFailure Failure(std::unique_ptr<Ast> ast, std::vector<Issue> issues) {
  ast->root = nullptr;
  return {.ast = std::move(ast), .issues = std::move(issues)};
}

}  // namespace

std::expected<std::unique_ptr<Ast>, ParseFailure> Parse(std::string_view text,
                                                        const ParseOptions& options) {
  // Before anything else, so that huge texts cost nothing.
  if (text.size() > kCodePointsMax && CountCodePoints(text) > kCodePointsMax) {
    auto ast = std::make_unique<Ast>("");
    Issue issue{.location = {}, .message = SizeMessage(CountCodePoints(text))};
    return std::unexpected(Failure(std::move(ast), {std::move(issue)}));
  }
  auto ast = std::make_unique<Ast>(text);
  const Tokens tokens = Tokenize(ast->source.text());
  const auto diagnose = [&] {
    std::vector<Issue> issues = DiagnoseSyntax(*ast, tokens, options);
    return std::unexpected(Failure(std::move(ast), std::move(issues)));
  };
  if (!tokens.errors.empty()) return diagnose();
  Parser parser(*ast, tokens.tokens, options);
  if (parser.Run() != Parser::Outcome::kParsed) return diagnose();
  std::vector<Issue> issues = parser.TakeIssues();
  if (!issues.empty()) return std::unexpected(Failure(std::move(ast), std::move(issues)));
  return ast;
}

}  // namespace drachma::cel
