#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cel/syntax/lexer.h"
#include "cel/syntax/parser.h"

// What the parser's rules stand on: the tokens, the nodes of the tree, literals and macros. Private
// to parser.cc.
namespace drachma::cel {

// A parsed piece: its tree and how deep operators nest in it (what cel-go's second pass limits).
struct Piece {
  Expr* expr = nullptr;
  int height = 0;
};

// Reads tokens and makes nodes. After the first failure nothing counts any more; see Outcome.
class TreeMaker {
 public:
  enum class Outcome : std::uint8_t { kParsed, kSyntaxError, kTooDeep };

  std::vector<Issue> TakeIssues() { return std::move(issues_); }

 protected:
  TreeMaker(Ast& ast, const std::vector<Token>& tokens, const ParseOptions& options)
      : ast_(ast), options_(options), tokens_(tokens) {
    ast_.ranges.reserve(tokens_.size() + 1);
    ast_.ranges.push_back({});  // ids begin at 1
  }

  // Counts the nesting of one grammar rule while it lives.
  class Depth {
   public:
    Depth(TreeMaker& maker, int& depth) : depth_(depth) {
      if (++depth_ > kDepthMax) maker.Give(Outcome::kTooDeep);
    }
    ~Depth() { --depth_; }
    Depth(const Depth&) = delete;
    Depth& operator=(const Depth&) = delete;

   private:
    int& depth_;
  };

  void Give(Outcome outcome) {
    if (outcome_ == Outcome::kParsed) outcome_ = outcome;
  }
  Piece Fail() {
    Give(Outcome::kSyntaxError);
    return {};
  }
  [[nodiscard]] bool failed() const { return outcome_ != Outcome::kParsed; }

  [[nodiscard]] TokenKind Peek(std::size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)].kind;
  }
  const Token& Next() { return tokens_[at_ < tokens_.size() - 1 ? at_++ : at_]; }
  [[nodiscard]] const Token& Last() const { return tokens_[at_ - 1]; }
  bool Accept(TokenKind kind) {
    if (Peek() != kind) return false;
    ++at_;
    return true;
  }
  bool Expect(TokenKind kind) {
    if (Accept(kind)) return true;
    Fail();
    return false;
  }
  [[nodiscard]] std::string_view TextOf(const Token& token) const {
    return ast_.source.text().substr(token.begin, token.end - token.begin);
  }

  std::int32_t NewId(std::uint32_t start) {
    ast_.ranges.push_back({.start = static_cast<std::int32_t>(start), .begin = -1, .end = -1});
    return static_cast<std::int32_t>(ast_.ranges.size()) - 1;
  }
  Expr* Make(ExprKind kind, std::int32_t id) {
    Expr* expr = ast_.arena.New<Expr>();
    expr->kind = kind;
    expr->id = id;
    return expr;
  }
  // The bounds of a node's text: from `begin` to the last token read.
  Expr* Bound(Expr* expr, std::int32_t begin) {
    ast_.ranges[expr->id].begin = begin;
    ast_.ranges[expr->id].end = static_cast<std::int32_t>(Last().end);
    return expr;
  }
  Expr* Wrong(std::uint32_t start, std::string message);
  [[nodiscard]] std::int32_t HereBegin() const {
    return static_cast<std::int32_t>(tokens_[at_].begin);
  }

  Piece ParseLiteral();

  // "- 1" is the number "-1".
  std::string_view SkipSpaces(std::string_view text);

  Expr* Call(std::int32_t id, std::string_view function, std::initializer_list<Expr*> args);

  Expr* CallOrMacro(std::int32_t id, std::string_view name, Expr* target,
                    const std::vector<Expr*>& args);

  Ast& ast_;
  const ParseOptions& options_;
  const std::vector<Token>& tokens_;
  std::size_t at_ = 0;
  Outcome outcome_ = Outcome::kParsed;
  std::vector<Issue> issues_;
};

}  // namespace drachma::cel
