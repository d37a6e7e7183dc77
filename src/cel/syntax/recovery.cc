#include "cel/syntax/recovery.h"

#include <utility>

#include "cel/syntax/recovery_strategy.h"

// The grammar is cel-go's CEL.g4; the numbers are those of the states of its generated parser.

namespace drachma::cel {
namespace {

using enum TokenKind;

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

class RecoveringParser : private RecoveryStrategy {
 public:
  using RecoveryStrategy::RecoveryStrategy;

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
};

}  // namespace

RecoveredTree ParseWithRecovery(const Source& source, const Tokens& tokens) {
  return RecoveringParser(source, tokens).Run();
}

}  // namespace drachma::cel
