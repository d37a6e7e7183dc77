#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "cel/syntax/parser.h"
#include "cel/syntax/recovery.h"

// How the second parse reads tokens, reports and goes on after errors. Private to recovery.cc,
// which has the grammar's rules. This is the way of the ANTLR runtime for Go 4.13.1
// (DefaultErrorStrategy), as the messages name what the parser expected in its states.
namespace drachma::cel {

// Sets of tokens have a bit for each kind. Bit 0 is no token: the rule can end here.
inline constexpr std::uint64_t kEpsilon = 1;
inline constexpr std::uint64_t kEofBit = std::uint64_t{1} << 63;

constexpr std::uint64_t Bit(TokenKind kind) {
  return kind == TokenKind::kEof ? kEofBit : std::uint64_t{1} << static_cast<int>(kind);
}
constexpr std::uint64_t Bits(std::initializer_list<TokenKind> kinds) {
  std::uint64_t bits = 0;
  for (const TokenKind kind : kinds) bits |= Bit(kind);
  return bits;
}

// The state of one parse. What derives from it has a function for each rule, which tells the state
// it is in and leaves when failed().
class RecoveryStrategy {
 public:
  RecoveryStrategy(const Source& source, const Tokens& tokens);

 protected:
  // Ends the parse; thrown and caught by it alone.
  struct Stop {};

  static constexpr int kIssueLimit = 100;
  static constexpr int kAttemptLimit = 30;
  static constexpr int kLookaheadLimit = 256;

  // A rule being parsed: where it was entered from, and what it makes.
  struct Context {
    Rule rule;
    int invoking_state;
    Context* parent;
    TreeNode* node;
  };

  // An error that waits for the end of its rule.
  struct Pending {
    enum class Kind : std::uint8_t { kNone, kMismatch, kNoAlternative } kind = Kind::kNone;
    int start = 0;
    int offending = 0;
    std::uint64_t expected = 0;
  };

  // --- Tokens

  // Tokens are read as late as upstream does: errors of the lexer count once it got there.
  void Touch(int index);
  TokenKind La(int ahead) {
    const int index = std::min(at_ + ahead - 1, count_ - 1);
    Touch(index);
    return tree_.tokens[index].kind;
  }
  [[nodiscard]] int Here() const { return at_; }
  bool LaIn(std::uint64_t set, int ahead = 1) { return (Bit(La(ahead)) & set) != 0; }
  void Consume();
  void ConsumeRecovering(int& consumed);

  // --- Reports

  void Report(std::uint32_t offset, const std::string& message);
  void Add(std::uint32_t offset, const std::string& message);
  void ReportAt(int token, const std::string& message);
  [[nodiscard]] std::string Display(int token) const;

  // --- What can come next

  [[nodiscard]] std::uint64_t NextIn(int state, const Context* context) const;
  [[nodiscard]] std::uint64_t Expected() const { return NextIn(state_, context_); }
  [[nodiscard]] std::uint64_t RecoverySet() const;

  // --- The error strategy

  void CheckAttempts();
  void Matched() {
    recovering_ = false;
    last_error_states_.clear();
    last_error_index_ = -1;
  }
  void Fail(Pending pending) { pending_ = pending; }
  void FailMismatch();
  void FailNoAlternative(int ahead);
  [[nodiscard]] bool failed() const { return pending_.kind != Pending::Kind::kNone; }

  void ReportUnwanted();
  bool DeleteToken(int* consumed);
  void Sync();
  // The token's number, or kNoToken with a pending error.
  int Match(TokenKind kind);

  int MakeUp(std::uint64_t expected);

  void ReportPending();

  // The text from one token to another, with white space but without what is no token.
  [[nodiscard]] std::string TextBetween(int start, int end) const;

  void Recover();

  // --- Rules

  TreeNode* NewNode(Rule rule);

  // Runs `body(node)` as a rule; `body` returns early when an error is pending.
  template <typename Body>
  TreeNode* Enter(Rule rule, const Body& body) {
    La(1);
    Context context{
        .rule = rule, .invoking_state = state_, .parent = context_, .node = NewNode(rule)};
    if (context_ == nullptr) context.invoking_state = -1;
    int& depth = depths_[static_cast<std::size_t>(rule)];
    if (++depth > kDepthMax) {
      tree_.issues.push_back(
          {.location = {}, .message = "expression recursion limit exceeded: 250"});
      throw Stop();
    }
    context_ = &context;
    state_ = static_cast<int>(rule) * 2;
    body();
    if (failed()) {
      ReportPending();
      Recover();
      pending_ = {};
    }
    --depth;
    state_ = context.invoking_state;
    context_ = context.parent;
    return context.node;
  }
  [[nodiscard]] TreeNode* Node() const { return context_->node; }

  bool SyncAt(int state) {
    state_ = state;
    Sync();
    return !failed();
  }
  bool MatchAt(int state, TokenKind kind, int* token = nullptr) {
    state_ = state;
    const int matched = Match(kind);
    if (failed()) return false;
    if (token != nullptr) *token = matched;
    return true;
  }

  const Source& source_;
  const std::vector<LexicalError>& errors_;
  RecoveredTree tree_;
  std::size_t next_error_ = 0;
  int count_ = 0;  // tokens of the text; made up ones follow them
  int at_ = 0;
  int state_ = 0;
  Context* context_ = nullptr;
  Pending pending_;
  bool recovering_ = false;
  int last_error_index_ = -1;
  std::vector<int> last_error_states_;
  int attempts_ = 0;
  int reports_ = 0;
  std::array<int, 17> depths_{};
};

}  // namespace drachma::cel
