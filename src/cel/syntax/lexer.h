#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace drachma::cel {

// Tokens in the order of CEL's grammar (cel-go's CEL.g4): the numbers are those that its generated
// parser uses, which matters for the sets of expected tokens in messages.
enum class TokenKind : std::int8_t {
  kEof = -1,
  kEquals = 1,
  kNotEquals,
  kIn,
  kLess,
  kLessEquals,
  kGreaterEquals,
  kGreater,
  kLogicalAnd,
  kLogicalOr,
  kLeftBracket,
  kRightBracket,
  kLeftBrace,
  kRightBrace,
  kLeftParen,
  kRightParen,
  kDot,
  kComma,
  kMinus,
  kExclamation,
  kQuestionMark,
  kColon,
  kPlus,
  kStar,
  kSlash,
  kPercent,
  kTrue,
  kFalse,
  kNull,
  kWhitespace,
  kComment,
  kFloat,
  kInt,
  kUint,
  kString,
  kBytes,
  kIdentifier,
  kEscapedIdentifier,
};

// A token's kind and its bytes in the source.
struct Token {
  TokenKind kind = TokenKind::kEof;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

// A character where no token begins, or a token that never ends. Bytes [begin, end) are what the
// lexer looked at; it goes on behind them.
struct LexicalError {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

struct Tokens {
  std::vector<Token> tokens;  // without white space and comments; the last one is kEof
  std::vector<LexicalError> errors;
};

// Splits valid UTF-8 into tokens; linear time.
[[nodiscard]] Tokens Tokenize(std::string_view text);

}  // namespace drachma::cel
