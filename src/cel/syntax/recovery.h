#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "cel/syntax/lexer.h"
#include "cel/syntax/source.h"

namespace drachma::cel {

// What cel-go's generated parser makes of a text with syntax errors: the errors with their texts,
// and a tree in which pieces may be missing (null nodes, tokens -1).

enum class Rule : std::uint8_t {
  kStart,
  kExpr,
  kConditionalOr,
  kConditionalAnd,
  kRelation,
  kCalc,
  kUnary,
  kMember,
  kPrimary,
  kExprList,
  kListInit,
  kFieldInitializerList,
  kOptField,
  kMapInitializerList,
  kEscapeIdent,
  kOptExpr,
  kLiteral,
};

// The alternatives of rules that the second pass tells apart. kPlain: of rules with one, and where
// the parser gave up before it chose.
enum class Alternative : std::uint8_t {
  kPlain,
  kMemberExpr,
  kLogicalNot,
  kNegate,
  kPrimaryExpr,
  kSelect,
  kMemberCall,
  kIndex,
  kIdent,
  kGlobalCall,
  kNested,
  kCreateList,
  kCreateStruct,
  kCreateMessage,
  kConstantLiteral,
  kSimpleIdentifier,
  kEscapedIdentifier,
  kInt,
  kUint,
  kDouble,
  kString,
  kBytes,
  kTrue,
  kFalse,
  kNull,
};

inline constexpr int kNoToken = -1;

struct TreeNode {
  Rule rule = Rule::kStart;
  Alternative alternative = Alternative::kPlain;
  std::uint32_t start = 0;  // byte offset
  // Numbers of tokens; see RecoveredTree::tokens.
  int op = kNoToken;    // operators, the opening bracket, the dot of a selection
  int id = kNoToken;    // identifiers and literals
  int opt = kNoToken;   // '?'
  int open = kNoToken;  // '(' of a member call
  int sign = kNoToken;
  int leading_dot = kNoToken;
  std::vector<int> ops;  // repeated operators, or colons
  std::vector<int> ids;  // of a message's name
  // The first, second and third child; the meaning depends on the alternative.
  TreeNode* first = nullptr;
  TreeNode* second = nullptr;
  TreeNode* third = nullptr;
  std::vector<TreeNode*> items;
  std::vector<TreeNode*> values;
};

struct TreeToken {
  TokenKind kind = TokenKind::kEof;
  std::uint32_t begin = 0;
  std::string_view text;
};

struct RecoveredTree {
  std::vector<Issue> issues;
  // Null when the parser stopped: too deep, or too many attempts to go on.
  TreeNode* root = nullptr;
  std::deque<TreeNode> nodes;
  std::deque<std::string> made_up;  // texts of tokens that were not there
  std::vector<TreeToken> tokens;
};

// Parses once more, going on after errors. `tokens` and `errors` are what Tokenize() gave.
[[nodiscard]] RecoveredTree ParseWithRecovery(const Source& source, const Tokens& tokens);

}  // namespace drachma::cel
