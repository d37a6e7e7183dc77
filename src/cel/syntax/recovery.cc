#include "cel/syntax/recovery.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

#include "cel/syntax/parser.h"

// The grammar is cel-go's CEL.g4; the way of going on after errors is that of the ANTLR runtime for
// Go 4.13.1 (DefaultErrorStrategy), as the messages name what the parser expected in its states.

namespace drachma::cel {
namespace {

using enum TokenKind;

enum StateKind : std::uint8_t { kPlain, kBlock, kLoop };
struct State {
  StateKind kind;
  std::int16_t first_target;
  std::int16_t follow;  // of a state that enters a rule: where it goes on afterwards
  std::uint64_t next;   // a bit for each token; see below
};
constexpr State kStates[] = {
#include "cel/syntax/grammar_states.inc"
};
constexpr std::uint64_t kEpsilon = 1;  // the rule can end here
constexpr std::uint64_t kEofBit = std::uint64_t{1} << 63;

constexpr std::uint64_t Bit(TokenKind kind) {
  return kind == kEof ? kEofBit : std::uint64_t{1} << static_cast<int>(kind);
}
constexpr std::uint64_t Bits(std::initializer_list<TokenKind> kinds) {
  std::uint64_t bits = 0;
  for (const TokenKind kind : kinds) bits |= Bit(kind);
  return bits;
}

constexpr std::array<std::string_view, 38> kTokenNames = {
    "",       "'=='",       "'!='",          "'in'",      "'<'",     "'<='",     "'>='",
    "'>'",    "'&&'",       "'||'",          "'['",       "']'",     "'{'",      "'}'",
    "'('",    "')'",        "'.'",           "','",       "'-'",     "'!'",      "'?'",
    "':'",    "'+'",        "'*'",           "'/'",       "'%'",     "'true'",   "'false'",
    "'null'", "WHITESPACE", "COMMENT",       "NUM_FLOAT", "NUM_INT", "NUM_UINT", "STRING",
    "BYTES",  "IDENTIFIER", "ESC_IDENTIFIER"};
constexpr int kLiteralNames = 29;  // the first ones are written as they stand in a text

constexpr std::uint64_t kRelations =
    Bits({kEquals, kNotEquals, kIn, kLess, kLessEquals, kGreaterEquals, kGreater});
constexpr std::uint64_t kProducts = Bits({kStar, kSlash, kPercent});
constexpr std::uint64_t kSums = Bits({kPlus, kMinus});
constexpr std::uint64_t kNumbers = Bits({kInt, kFloat});
constexpr std::uint64_t kPlainLiterals =
    Bits({kFloat, kInt, kUint, kString, kBytes, kTrue, kFalse, kNull});
constexpr std::uint64_t kMemberStart =
    kPlainLiterals | Bits({kLeftBracket, kLeftBrace, kLeftParen, kDot, kMinus, kIdentifier});
constexpr std::uint64_t kExprStart = kMemberStart | Bit(kExclamation);

std::string NamesOf(std::uint64_t expected) {
  std::vector<std::string_view> names;
  if ((expected & kEofBit) != 0) names.push_back("<EOF>");
  for (std::size_t i = 1; i < kTokenNames.size(); ++i) {
    if ((expected >> i & 1) != 0) names.push_back(kTokenNames[i]);
  }
  if (names.size() == 1) return std::string(names[0]);
  std::string text = "{";
  for (const std::string_view name : names) {
    if (text.size() > 1) text += ", ";
    text += name;
  }
  return text + "}";
}

std::string Quote(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    switch (c) {
      case '\t':
        quoted += "\\t";
        break;
      case '\n':
        quoted += "\\n";
        break;
      case '\r':
        quoted += "\\r";
        break;
      default:
        quoted += c;
    }
  }
  return quoted + "'";
}

// Ends the parse; only thrown and caught inside of this file.
struct Stop {};

class RecoveringParser {
 public:
  RecoveringParser(const Source& source, const Tokens& tokens)
      : source_(source), errors_(tokens.errors) {
    for (const Token& token : tokens.tokens) {
      const std::string_view text =
          token.kind == kEof ? "<EOF>" : source.text().substr(token.begin, token.end - token.begin);
      tree_.tokens.push_back({.kind = token.kind, .begin = token.begin, .text = text});
    }
    count_ = static_cast<int>(tree_.tokens.size());
  }

  RecoveredTree Run() {
    try {
      Touch(0);
      tree_.root = ParseStart();
    } catch (const Stop&) {
      tree_.root = nullptr;
    }
    return std::move(tree_);
  }

 private:
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
  void Touch(int index) {
    index = std::min(index, count_ - 1);
    for (; next_error_ < errors_.size() && errors_[next_error_].begin < tree_.tokens[index].begin;
         ++next_error_) {
      const LexicalError& error = errors_[next_error_];
      Report(error.begin,
             "token recognition error at: '" +
                 std::string(source_.text().substr(error.begin, error.end - error.begin)) + "'");
    }
  }
  TokenKind La(int ahead) {
    const int index = std::min(at_ + ahead - 1, count_ - 1);
    Touch(index);
    return tree_.tokens[index].kind;
  }
  [[nodiscard]] int Here() const { return at_; }
  bool LaIn(std::uint64_t set, int ahead = 1) { return (Bit(La(ahead)) & set) != 0; }
  void Consume() {
    if (at_ < count_ - 1) ++at_;
    Touch(at_);
  }
  void ConsumeRecovering(int& consumed) {
    if (consumed >= kLookaheadLimit) {
      tree_.issues.push_back(
          {.location = {}, .message = "error recovery token lookahead limit exceeded: 256"});
      throw Stop();
    }
    ++consumed;
    Consume();
  }

  // --- Reports

  void Report(std::uint32_t offset, const std::string& message) {
    if (reports_ >= kIssueLimit) {
      Add(offset, "More than 100 syntax errors");
      throw Stop();
    }
    ++reports_;
    Add(offset, message);
  }
  void Add(std::uint32_t offset, const std::string& message) {
    // Upstream's columns begin with -1 where there is no text at all.
    const Location location = source_.text().empty() ? Location{1, -1} : source_.LocationOf(offset);
    tree_.issues.push_back({.location = location, .message = "Syntax error: " + message});
  }
  void ReportAt(int token, const std::string& message) {
    Report(tree_.tokens[token].begin, message);
  }
  [[nodiscard]] std::string Display(int token) const { return Quote(tree_.tokens[token].text); }

  // --- What can come next

  [[nodiscard]] std::uint64_t NextIn(int state, const Context* context) const {
    std::uint64_t following = kStates[state].next;
    std::uint64_t expected = following;
    while (context != nullptr && context->invoking_state >= 0 && (following & kEpsilon) != 0) {
      following = kStates[kStates[context->invoking_state].follow].next;
      expected |= following;
      context = context->parent;
    }
    expected &= ~kEpsilon;
    if ((following & kEpsilon) != 0) expected |= kEofBit;
    return expected;
  }
  [[nodiscard]] std::uint64_t Expected() const { return NextIn(state_, context_); }
  [[nodiscard]] std::uint64_t RecoverySet() const {
    std::uint64_t set = 0;
    for (const Context* context = context_; context != nullptr && context->invoking_state >= 0;
         context = context->parent) {
      set |= kStates[kStates[context->invoking_state].follow].next;
    }
    return set & ~kEpsilon;
  }

  // --- The error strategy

  void CheckAttempts() {
    if (attempts_++ != kAttemptLimit) return;
    ReportAt(Here(), "error recovery attempt limit exceeded: 30");
    throw Stop();
  }
  void Matched() {
    recovering_ = false;
    last_error_states_.clear();
    last_error_index_ = -1;
  }
  void Fail(Pending pending) { pending_ = pending; }
  void FailMismatch() {
    Fail({.kind = Pending::Kind::kMismatch, .offending = Here(), .expected = Expected()});
  }
  void FailNoAlternative(int ahead) {
    La(ahead);
    Fail({.kind = Pending::Kind::kNoAlternative,
          .start = Here(),
          .offending = std::min(Here() + ahead - 1, count_ - 1)});
  }
  [[nodiscard]] bool failed() const { return pending_.kind != Pending::Kind::kNone; }

  void ReportUnwanted() {
    if (recovering_) return;
    recovering_ = true;
    ReportAt(Here(), "extraneous input " + Display(Here()) + " expecting " + NamesOf(Expected()));
  }

  bool DeleteToken(int* consumed) {
    if ((Bit(La(2)) & Expected()) == 0) return false;
    ReportUnwanted();
    if (consumed != nullptr) {
      ConsumeRecovering(*consumed);
    } else {
      Consume();
    }
    Matched();
    return true;
  }

  void Sync() {
    if (recovering_) return;
    const State& state = kStates[state_];
    if ((state.next & kEpsilon) != 0 || LaIn(state.next)) return;
    if (state.kind == kBlock) {
      if (!DeleteToken(nullptr)) FailMismatch();
    } else if (state.kind == kLoop) {
      ReportUnwanted();
      const std::uint64_t set = Expected() | RecoverySet();
      while (La(1) != kEof && !LaIn(set)) Consume();
    }
  }

  // The token's number, or kNoToken with a pending error.
  int Match(TokenKind kind) {
    if (La(1) == kind) {
      Matched();
      const int token = Here();
      Consume();
      return token;
    }
    CheckAttempts();
    int consumed = 0;
    if (DeleteToken(&consumed)) {
      const int token = Here();
      ConsumeRecovering(consumed);
      return token;
    }
    const int target = kStates[state_].first_target;
    if (LaIn(NextIn(target, context_))) {
      if (!recovering_) {
        recovering_ = true;
        ReportAt(Here(), "missing " + NamesOf(Expected()) + " at " + Display(Here()));
      }
      return MakeUp(Expected());
    }
    FailMismatch();
    return kNoToken;
  }

  int MakeUp(std::uint64_t expected) {
    int kind = -1;
    if ((expected & kEofBit) == 0) {
      kind = 1;
      while ((expected >> kind & 1) == 0) ++kind;
    }
    std::string text = "<missing undefined>";
    if (kind < 0) {
      text = "<missing EOF>";
    } else if (kind < kLiteralNames) {
      text = "<missing " + std::string(kTokenNames[kind]) + ">";
    }
    tree_.made_up.push_back(std::move(text));
    const int current = La(1) == kEof && Here() > 0 ? Here() - 1 : Here();
    tree_.tokens.push_back({.kind = static_cast<TokenKind>(kind),
                            .begin = tree_.tokens[current].begin,
                            .text = tree_.made_up.back()});
    return static_cast<int>(tree_.tokens.size()) - 1;
  }

  void ReportPending() {
    if (recovering_) return;
    recovering_ = true;
    if (pending_.kind == Pending::Kind::kMismatch) {
      return ReportAt(pending_.offending, "mismatched input " + Display(pending_.offending) +
                                              " expecting " + NamesOf(pending_.expected));
    }
    const std::string text = TextBetween(pending_.start, pending_.offending);
    const std::string_view last = tree_.tokens[pending_.offending].text;
    const bool reserved = last == "true" || last == "false" || last == "null";
    // One character and a word that is no identifier: upstream rewrites the message.
    if (reserved && CountCodePoints(text) == last.size() + 1 && text[0] != '\n') {
      return ReportAt(pending_.offending,
                      "mismatched input " + Quote(last) + " expecting IDENTIFIER");
    }
    ReportAt(pending_.offending, "no viable alternative at input " + Quote(text));
  }

  // The text from one token to another, with white space but without what is no token.
  [[nodiscard]] std::string TextBetween(int start, int end) const {
    if (tree_.tokens[start].kind == kEof) return "<EOF>";
    const std::uint32_t begin = tree_.tokens[start].begin;
    std::uint32_t stop = tree_.tokens[end].begin;
    if (tree_.tokens[end].kind != kEof) {
      stop += static_cast<std::uint32_t>(tree_.tokens[end].text.size());
    }
    std::string text;
    std::uint32_t at = begin;
    for (const LexicalError& error : errors_) {
      if (error.begin < at || error.begin >= stop) continue;
      text += source_.text().substr(at, error.begin - at);
      at = error.end;
    }
    return text + std::string(source_.text().substr(at, stop - at));
  }

  void Recover() {
    CheckAttempts();
    int consumed = 0;
    if (last_error_index_ == Here() &&
        std::ranges::find(last_error_states_, state_) != last_error_states_.end()) {
      ConsumeRecovering(consumed);
    }
    last_error_index_ = Here();
    last_error_states_.push_back(state_);
    const std::uint64_t set = RecoverySet();
    while (La(1) != kEof && !LaIn(set)) ConsumeRecovering(consumed);
  }

  // --- Rules

  TreeNode* NewNode(Rule rule) {
    TreeNode& node = tree_.nodes.emplace_back();
    node.rule = rule;
    node.start = tree_.tokens[Here()].begin;
    return &node;
  }

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

  TreeNode* ParseStart() {
    return Enter(Rule::kStart, [this] {
      state_ = 34;
      Node()->first = ParseExpr();
      MatchAt(35, kEof);
    });
  }

  TreeNode* ParseExpr() {
    return Enter(Rule::kExpr, [this] {
      state_ = 37;
      Node()->first = ParseLogical(Rule::kConditionalOr);
      if (!SyncAt(43) || La(1) != kQuestionMark) return;
      if (!MatchAt(38, kQuestionMark, &Node()->op)) return;
      state_ = 39;
      Node()->second = ParseLogical(Rule::kConditionalOr);
      if (!MatchAt(40, kColon)) return;
      state_ = 41;
      Node()->third = ParseExpr();
    });
  }

  TreeNode* ParseLogical(Rule rule) {
    return Enter(rule, [this, rule] {
      const bool is_or = rule == Rule::kConditionalOr;
      const int base = is_or ? 45 : 53;  // the states of both rules lie alike
      const TokenKind op = is_or ? kLogicalOr : kLogicalAnd;
      const auto term = [&] {
        return is_or ? ParseLogical(Rule::kConditionalAnd) : ParseRelation(0);
      };
      state_ = base;
      Node()->first = term();
      if (!SyncAt(base + 5)) return;
      while (La(1) == op) {
        int token = kNoToken;
        if (!MatchAt(base + 1, op, &token)) return;
        Node()->ops.push_back(token);
        state_ = base + 2;
        Node()->items.push_back(term());
        if (!SyncAt(base + 7)) return;
      }
    });
  }

  // Takes what is parsed so far as the first child of a new node of the same rule.
  TreeNode* Wrap() {
    TreeNode* inner = Node();
    TreeNode& node = tree_.nodes.emplace_back();
    node.rule = inner->rule;
    node.start = inner->start;
    node.first = inner;
    return context_->node = &node;
  }

  TreeNode* ParseRelation(int precedence) {
    return Enter(Rule::kRelation, [this, precedence] {
      state_ = 62;
      Node()->first = ParseCalc(0);
      if (!SyncAt(69)) return;
      while (precedence <= 1 && LaIn(kRelations)) {
        TreeNode* node = Wrap();
        state_ = 65;
        Matched();
        node->op = Here();
        Consume();
        state_ = 66;
        node->second = ParseRelation(2);
        if (!SyncAt(71)) return;
      }
    });
  }

  TreeNode* ParseCalc(int precedence) {
    return Enter(Rule::kCalc, [this, precedence] {
      state_ = 73;
      Node()->first = ParseUnary();
      if (!SyncAt(83)) return;
      for (;;) {
        const bool product = precedence <= 2 && LaIn(kProducts);
        const bool sum = precedence <= 1 && LaIn(kSums);
        if (!product && !sum) return;
        if (!SyncAt(81)) return;
        TreeNode* node = Wrap();
        state_ = product ? 76 : 79;
        Matched();
        node->op = Here();
        Consume();
        state_ = product ? 77 : 80;
        node->second = ParseCalc(product ? 3 : 2);
        if (!SyncAt(85)) return;
      }
    });
  }

  TreeNode* ParseUnary() {
    return Enter(Rule::kUnary, [this] {
      if (!SyncAt(99)) return;
      if (La(1) == kExclamation) return ParseNot();
      if (La(1) == kMinus && !LaIn(kNumbers, 2)) {
        if (!LaIn(kMemberStart, 2)) return FailNoAlternative(2);
        return ParseNegate();
      }
      if (!LaIn(kMemberStart)) return FailNoAlternative(1);
      Node()->alternative = Alternative::kMemberExpr;
      state_ = 86;
      Node()->first = ParseMember();
    });
  }

  void ParseNot() {
    Node()->alternative = Alternative::kLogicalNot;
    if (!SyncAt(88)) return;
    do {
      int token = kNoToken;
      if (!MatchAt(87, kExclamation, &token)) return;
      Node()->ops.push_back(token);
      if (!SyncAt(90)) return;
    } while (La(1) == kExclamation);
    state_ = 92;
    Node()->first = ParseMember();
  }

  void ParseNegate() {
    Node()->alternative = Alternative::kNegate;
    if (!SyncAt(94)) return;
    for (bool more = true; more;) {
      int token = kNoToken;
      if (!MatchAt(93, kMinus, &token)) return;
      Node()->ops.push_back(token);
      SyncAt(96);
      if (La(1) == kMinus) {
        if (!LaIn(kMemberStart, 2)) return FailNoAlternative(2);
      } else if (LaIn(kMemberStart)) {
        more = false;
      } else {
        return FailNoAlternative(1);
      }
    }
    state_ = 98;
    Node()->first = ParseMember();
  }

  TreeNode* ParseMember() {
    return Enter(Rule::kMember, [this] {
      Node()->alternative = Alternative::kPrimaryExpr;
      state_ = 102;
      Node()->first = ParsePrimary();
      if (!SyncAt(128)) return;
      while (La(1) == kDot || La(1) == kLeftBracket) {
        if (!SyncAt(126)) return;
        if (!ParseSuffix()) return;
        if (!SyncAt(130)) return;
      }
    });
  }

  bool ParseSuffix() {
    if (La(1) == kLeftBracket) {
      TreeNode* node = Wrap();
      node->alternative = Alternative::kIndex;
      if (!MatchAt(119, kLeftBracket, &node->op) || !SyncAt(121)) return false;
      if (La(1) == kQuestionMark && !MatchAt(120, kQuestionMark, &node->opt)) return false;
      state_ = 123;
      node->second = ParseExpr();
      return MatchAt(124, kRightBracket);
    }
    if (La(2) == kIdentifier && La(3) == kLeftParen) {
      TreeNode* node = Wrap();
      node->alternative = Alternative::kMemberCall;
      if (!MatchAt(111, kDot, &node->op) || !MatchAt(112, kIdentifier, &node->id) ||
          !MatchAt(113, kLeftParen, &node->open) || !SyncAt(115)) {
        return false;
      }
      if (LaIn(kExprStart)) {
        state_ = 114;
        node->second = ParseExprList();
      }
      return MatchAt(117, kRightParen);
    }
    if (!LaIn(Bits({kIdentifier, kEscapedIdentifier, kQuestionMark}), 2)) {
      FailNoAlternative(2);
      return false;
    }
    TreeNode* node = Wrap();
    node->alternative = Alternative::kSelect;
    if (!MatchAt(105, kDot, &node->op) || !SyncAt(107)) return false;
    if (La(1) == kQuestionMark && !MatchAt(106, kQuestionMark, &node->opt)) return false;
    state_ = 109;
    node->second = ParseEscapeIdent();
    return true;
  }

  TreeNode* ParsePrimary() {
    return Enter(Rule::kPrimary, [this] {
      if (!SyncAt(184)) return;
      switch (La(1)) {
        case kLeftParen:
          return ParseNested();
        case kLeftBracket:
          return ParseList();
        case kLeftBrace:
          return ParseStruct();
        case kDot:
          if (La(2) != kIdentifier) return FailNoAlternative(2);
          return ParseName(2);
        case kIdentifier:
          return ParseName(1);
        default:
          if (!LaIn(kPlainLiterals | Bit(kMinus))) return FailNoAlternative(1);
          Node()->alternative = Alternative::kConstantLiteral;
          state_ = 183;
          Node()->first = ParseLiteral();
      }
    });
  }

  // `ahead` tells where the first identifier stands.
  void ParseName(int ahead) {
    if (La(ahead + 1) == kLeftParen) return ParseGlobalCall();
    int last = ahead;
    while (La(last + 1) == kDot && La(last + 2) == kIdentifier) last += 2;
    if (La(last + 1) == kLeftBrace) return ParseMessage();
    Node()->alternative = Alternative::kIdent;
    if (!SyncAt(132)) return;
    if (La(1) == kDot && !MatchAt(131, kDot, &Node()->leading_dot)) return;
    MatchAt(134, kIdentifier, &Node()->id);
  }

  void ParseGlobalCall() {
    TreeNode* node = Node();
    node->alternative = Alternative::kGlobalCall;
    if (!SyncAt(136)) return;
    if (La(1) == kDot && !MatchAt(135, kDot, &node->leading_dot)) return;
    if (!MatchAt(138, kIdentifier, &node->id) || !MatchAt(139, kLeftParen, &node->op) ||
        !SyncAt(141)) {
      return;
    }
    if (LaIn(kExprStart)) {
      state_ = 140;
      node->second = ParseExprList();
    }
    MatchAt(143, kRightParen);
  }

  void ParseNested() {
    Node()->alternative = Alternative::kNested;
    if (!MatchAt(144, kLeftParen)) return;
    state_ = 145;
    Node()->first = ParseExpr();
    MatchAt(146, kRightParen);
  }

  void ParseList() {
    TreeNode* node = Node();
    node->alternative = Alternative::kCreateList;
    if (!MatchAt(148, kLeftBracket, &node->op) || !SyncAt(150)) return;
    if (LaIn(kExprStart | Bit(kQuestionMark))) {
      state_ = 149;
      node->second = ParseListInit();
    }
    ParseEnd(153, 152, 155, kRightBracket);
  }

  void ParseStruct() {
    TreeNode* node = Node();
    node->alternative = Alternative::kCreateStruct;
    if (!MatchAt(156, kLeftBrace, &node->op) || !SyncAt(158)) return;
    if (LaIn(kExprStart | Bit(kQuestionMark))) {
      state_ = 157;
      node->second = ParseMapEntries();
    }
    ParseEnd(161, 160, 163, kRightBrace);
  }

  void ParseMessage() {
    TreeNode* node = Node();
    node->alternative = Alternative::kCreateMessage;
    if (!SyncAt(165)) return;
    if (La(1) == kDot && !MatchAt(164, kDot, &node->leading_dot)) return;
    int token = kNoToken;
    if (!MatchAt(167, kIdentifier, &token)) return;
    node->ids.push_back(token);
    if (!SyncAt(172)) return;
    while (La(1) == kDot) {
      if (!MatchAt(168, kDot) || !MatchAt(169, kIdentifier, &token)) return;
      node->ids.push_back(token);
      if (!SyncAt(174)) return;
    }
    if (!MatchAt(175, kLeftBrace, &node->op) || !SyncAt(177)) return;
    if (LaIn(Bits({kIdentifier, kEscapedIdentifier, kQuestionMark}))) {
      state_ = 176;
      node->second = ParseFields();
    }
    ParseEnd(180, 179, 182, kRightBrace);
  }

  // ','? and the closing bracket.
  void ParseEnd(int sync, int comma, int close, TokenKind bracket) {
    if (!SyncAt(sync)) return;
    if (La(1) == kComma && !MatchAt(comma, kComma)) return;
    MatchAt(close, bracket);
  }

  TreeNode* ParseExprList() {
    return Enter(Rule::kExprList, [this] {
      state_ = 186;
      Node()->items.push_back(ParseExpr());
      if (!SyncAt(191)) return;
      while (La(1) == kComma) {
        if (!MatchAt(187, kComma)) return;
        state_ = 188;
        Node()->items.push_back(ParseExpr());
        if (!SyncAt(193)) return;
      }
    });
  }

  TreeNode* ParseListInit() {
    return Enter(Rule::kListInit, [this] {
      state_ = 194;
      Node()->items.push_back(ParseOptExpr());
      if (!SyncAt(199)) return;
      while (La(1) == kComma && LaIn(kExprStart | Bit(kQuestionMark), 2)) {
        if (!MatchAt(195, kComma)) return;
        state_ = 196;
        Node()->items.push_back(ParseOptExpr());
        if (!SyncAt(201)) return;
      }
    });
  }

  TreeNode* ParseFields() {
    return Enter(Rule::kFieldInitializerList, [this] {
      if (!ParseEntry(202, [this] { return ParseOptField(); }) || !SyncAt(212)) return;
      while (La(1) == kComma && LaIn(Bits({kIdentifier, kEscapedIdentifier, kQuestionMark}), 2)) {
        if (!MatchAt(205, kComma)) return;
        if (!ParseEntry(206, [this] { return ParseOptField(); }) || !SyncAt(214)) return;
      }
    });
  }

  TreeNode* ParseMapEntries() {
    return Enter(Rule::kMapInitializerList, [this] {
      if (!ParseEntry(220, [this] { return ParseOptExpr(); }) || !SyncAt(230)) return;
      while (La(1) == kComma && LaIn(kExprStart | Bit(kQuestionMark), 2)) {
        if (!MatchAt(223, kComma)) return;
        if (!ParseEntry(224, [this] { return ParseOptExpr(); }) || !SyncAt(232)) return;
      }
    });
  }

  // key ':' expr, in three states in a row.
  template <typename Key>
  bool ParseEntry(int state, const Key& parse_key) {
    TreeNode* node = Node();
    state_ = state;
    node->items.push_back(parse_key());
    int colon = kNoToken;
    if (!MatchAt(state + 1, kColon, &colon)) return false;
    node->ops.push_back(colon);
    state_ = state + 2;
    node->values.push_back(ParseExpr());
    return true;
  }

  TreeNode* ParseOptField() {
    return Enter(Rule::kOptField, [this] {
      if (!SyncAt(216)) return;
      if (La(1) == kQuestionMark && !MatchAt(215, kQuestionMark, &Node()->opt)) return;
      state_ = 218;
      Node()->first = ParseEscapeIdent();
    });
  }

  TreeNode* ParseEscapeIdent() {
    return Enter(Rule::kEscapeIdent, [this] {
      if (!SyncAt(235)) return;
      if (La(1) == kIdentifier) {
        Node()->alternative = Alternative::kSimpleIdentifier;
        MatchAt(233, kIdentifier, &Node()->id);
      } else if (La(1) == kEscapedIdentifier) {
        Node()->alternative = Alternative::kEscapedIdentifier;
        MatchAt(234, kEscapedIdentifier, &Node()->id);
      } else {
        FailNoAlternative(1);
      }
    });
  }

  TreeNode* ParseOptExpr() {
    return Enter(Rule::kOptExpr, [this] {
      if (!SyncAt(238)) return;
      if (La(1) == kQuestionMark && !MatchAt(237, kQuestionMark, &Node()->opt)) return;
      state_ = 240;
      Node()->first = ParseExpr();
    });
  }

  TreeNode* ParseLiteral() {
    return Enter(Rule::kLiteral, [this] {
      if (!SyncAt(256)) return;
      TreeNode* node = Node();
      const bool minus = La(1) == kMinus;
      if (minus && !LaIn(kNumbers, 2)) return FailNoAlternative(2);
      const TokenKind kind = La(minus ? 2 : 1);
      switch (kind) {
        case kInt:
        case kFloat: {
          const bool integer = kind == kInt;
          node->alternative = integer ? Alternative::kInt : Alternative::kDouble;
          if (!SyncAt(integer ? 243 : 248)) return;
          if (La(1) == kMinus && !MatchAt(integer ? 242 : 247, kMinus, &node->sign)) return;
          MatchAt(integer ? 245 : 250, kind, &node->id);
          return;
        }
        case kUint:
          node->alternative = Alternative::kUint;
          MatchAt(246, kind, &node->id);
          return;
        case kString:
          node->alternative = Alternative::kString;
          MatchAt(251, kind, &node->id);
          return;
        case kBytes:
          node->alternative = Alternative::kBytes;
          MatchAt(252, kind, &node->id);
          return;
        case kTrue:
          node->alternative = Alternative::kTrue;
          MatchAt(253, kind, &node->id);
          return;
        case kFalse:
          node->alternative = Alternative::kFalse;
          MatchAt(254, kind, &node->id);
          return;
        case kNull:
          node->alternative = Alternative::kNull;
          MatchAt(255, kind, &node->id);
          return;
        default:
          FailNoAlternative(1);
      }
    });
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

}  // namespace

RecoveredTree ParseWithRecovery(const Source& source, const Tokens& tokens) {
  return RecoveringParser(source, tokens).Run();
}

}  // namespace drachma::cel
