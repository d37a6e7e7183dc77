#include "cel/syntax/lexer.h"

#include <algorithm>
#include <array>
#include <optional>

#include "cel/syntax/source.h"

namespace drachma::cel {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsOctal(char c) { return c >= '0' && c <= '7'; }
bool IsHex(char c) { return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsIdentifierStart(char c) { return IsLetter(c) || c == '_'; }
bool IsIdentifierPart(char c) { return IsIdentifierStart(c) || IsDigit(c); }
bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f'; }

struct Punctuation {
  std::string_view text;
  TokenKind kind;
};
// Longer ones first.
constexpr std::array<Punctuation, 24> kPunctuation = {{
    {"==", TokenKind::kEquals},      {"!=", TokenKind::kNotEquals},
    {"<=", TokenKind::kLessEquals},  {">=", TokenKind::kGreaterEquals},
    {"&&", TokenKind::kLogicalAnd},  {"||", TokenKind::kLogicalOr},
    {"<", TokenKind::kLess},         {">", TokenKind::kGreater},
    {"[", TokenKind::kLeftBracket},  {"]", TokenKind::kRightBracket},
    {"{", TokenKind::kLeftBrace},    {"}", TokenKind::kRightBrace},
    {"(", TokenKind::kLeftParen},    {")", TokenKind::kRightParen},
    {".", TokenKind::kDot},          {",", TokenKind::kComma},
    {"-", TokenKind::kMinus},        {"!", TokenKind::kExclamation},
    {"?", TokenKind::kQuestionMark}, {":", TokenKind::kColon},
    {"+", TokenKind::kPlus},         {"*", TokenKind::kStar},
    {"/", TokenKind::kSlash},        {"%", TokenKind::kPercent},
}};

struct Keyword {
  std::string_view text;
  TokenKind kind;
};
constexpr std::array<Keyword, 4> kKeywords = {{{"in", TokenKind::kIn},
                                               {"true", TokenKind::kTrue},
                                               {"false", TokenKind::kFalse},
                                               {"null", TokenKind::kNull}}};

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {
    result_.tokens.reserve(text.size() / 4 + 2);
  }

  Tokens Run() {
    while (SkipSpace(), at_ < text_.size()) {
      const std::size_t begin = at_;
      looked_at_ = begin;
      if (const std::optional<TokenKind> kind = Next()) {
        Push(*kind, begin, at_);
      } else {
        Fail(begin);
      }
    }
    Push(TokenKind::kEof, text_.size(), text_.size());
    return std::move(result_);
  }

 private:
  [[nodiscard]] char At(std::size_t index) const {
    return index < text_.size() ? text_[index] : '\0';
  }
  [[nodiscard]] bool StartsWith(std::size_t index, std::string_view prefix) const {
    return text_.substr(std::min(index, text_.size())).starts_with(prefix);
  }

  void Push(TokenKind kind, std::size_t begin, std::size_t end) {
    result_.tokens.push_back({.kind = kind,
                              .begin = static_cast<std::uint32_t>(begin),
                              .end = static_cast<std::uint32_t>(end)});
  }

  // The generated lexer reports all it looked at and goes on behind it, at least one character on.
  void Fail(std::size_t begin) {
    std::size_t end = std::min(std::max(looked_at_, begin), text_.size());
    if (end < text_.size()) (void)DecodeUtf8(text_, &end);
    result_.errors.push_back(
        {.begin = static_cast<std::uint32_t>(begin), .end = static_cast<std::uint32_t>(end)});
    at_ = end;
  }

  void SkipSpace() {
    while (at_ < text_.size()) {
      if (IsSpace(text_[at_])) {
        ++at_;
      } else if (StartsWith(at_, "//")) {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else {
        return;
      }
    }
  }

  std::optional<TokenKind> Next() {
    const char c = text_[at_];
    if (IsIdentifierStart(c)) return Word();
    if (IsDigit(c) || (c == '.' && IsDigit(At(at_ + 1)))) return Number();
    if (c == '"' || c == '\'') return QuotedFrom(at_, Raw::kNo) ? Take(TokenKind::kString) : kNone;
    if (c == '`') return EscapedIdentifier();
    for (const Punctuation& punctuation : kPunctuation) {
      if (StartsWith(at_, punctuation.text)) {
        at_ += punctuation.text.size();
        return punctuation.kind;
      }
    }
    if (c == '=' || c == '&' || c == '|') looked_at_ = at_ + 1;
    return kNone;
  }

  // A string token was found up to token_end_.
  TokenKind Take(TokenKind kind) {
    at_ = token_end_;
    return kind;
  }

  // Identifiers, keywords and the prefixes of strings.
  TokenKind Word() {
    std::size_t quote = at_;
    const bool bytes = text_[quote] == 'b' || text_[quote] == 'B';
    if (bytes) ++quote;
    const bool raw = At(quote) == 'r' || At(quote) == 'R';
    if (raw) ++quote;
    if (quote > at_ && (At(quote) == '"' || At(quote) == '\'') &&
        QuotedFrom(quote, raw ? Raw::kYes : Raw::kNo)) {
      return Take(bytes ? TokenKind::kBytes : TokenKind::kString);
    }
    const std::size_t begin = at_;
    while (IsIdentifierPart(At(at_))) ++at_;
    const std::string_view word = text_.substr(begin, at_ - begin);
    for (const Keyword& keyword : kKeywords) {
      if (word == keyword.text) return keyword.kind;
    }
    return TokenKind::kIdentifier;
  }

  [[nodiscard]] std::size_t DigitsFrom(std::size_t index) const {
    while (IsDigit(At(index))) ++index;
    return index;
  }

  // The end of an exponent that begins at `index`, or `index` when there is none.
  [[nodiscard]] std::size_t ExponentFrom(std::size_t index) const {
    if (At(index) != 'e' && At(index) != 'E') return index;
    std::size_t digits = index + 1;
    if (At(digits) == '+' || At(digits) == '-') ++digits;
    const std::size_t end = DigitsFrom(digits);
    return end > digits ? end : index;
  }

  TokenKind Number() {
    if (StartsWith(at_, "0x") && IsHex(At(at_ + 2))) {
      at_ += 2;
      while (IsHex(At(at_))) ++at_;
      return IntOrUint();
    }
    const std::size_t whole = DigitsFrom(at_);
    std::size_t end = whole;
    if (At(end) == '.' && IsDigit(At(end + 1))) end = DigitsFrom(end + 1);
    end = ExponentFrom(end);
    at_ = end;
    return end > whole ? TokenKind::kFloat : IntOrUint();
  }

  TokenKind IntOrUint() {
    if (At(at_) != 'u' && At(at_) != 'U') return TokenKind::kInt;
    ++at_;
    return TokenKind::kUint;
  }

  std::optional<TokenKind> EscapedIdentifier() {
    std::size_t end = at_ + 1;
    while (IsIdentifierPart(At(end)) ||
           (At(end) != '\0' && std::string_view(".-/ ").contains(At(end)))) {
      ++end;
    }
    looked_at_ = end;
    if (end == at_ + 1 || At(end) != '`') return kNone;
    at_ = end + 1;
    return TokenKind::kEscapedIdentifier;
  }

  enum class Raw : std::uint8_t { kNo, kYes };

  // Whether a string begins at the quote `begin`; its end goes to token_end_. Three quotes that are
  // not closed are an empty string and the beginning of another one.
  bool QuotedFrom(std::size_t begin, Raw raw) {
    const char quote = text_[begin];
    const std::string triple(3, quote);
    if (StartsWith(begin, triple)) {
      if (Closed(begin + 3, triple, raw)) return true;
      token_end_ = begin + 2;
      return true;
    }
    return Closed(begin + 1, std::string_view(&text_[begin], 1), raw);
  }

  bool Closed(std::size_t index, std::string_view quotes, Raw raw) {
    const bool one_line = quotes.size() == 1;
    while (index < text_.size()) {
      if (StartsWith(index, quotes)) {
        token_end_ = index + quotes.size();
        return true;
      }
      const char c = text_[index];
      if (one_line && (c == '\n' || c == '\r')) break;
      if (c == '\\' && raw == Raw::kNo) {
        const std::size_t size = EscapeSize(index);
        if (size == 0) return false;
        index += size;
      } else {
        ++index;
      }
    }
    looked_at_ = std::max(looked_at_, index);
    return false;
  }

  // The bytes of the escape sequence at `index`; 0 when it is none (looked_at_ says where).
  std::size_t EscapeSize(std::size_t index) {
    const char c = At(index + 1);
    const auto hex = [&](std::size_t count) -> std::size_t {
      for (std::size_t i = 0; i < count; ++i) {
        if (!IsHex(At(index + 2 + i))) return Bad(index + 2 + i);
      }
      return 2 + count;
    };
    if (c != '\0' && std::string_view("abfnrtv\"'\\?`").contains(c)) return 2;
    if (c == 'x' || c == 'X') return hex(2);
    if (c == 'u') return hex(4);
    if (c == 'U') return hex(8);
    if (c >= '0' && c <= '3') {
      if (!IsOctal(At(index + 2))) return Bad(index + 2);
      if (!IsOctal(At(index + 3))) return Bad(index + 3);
      return 4;
    }
    return Bad(index + 1);
  }

  std::size_t Bad(std::size_t index) {
    looked_at_ = std::max(looked_at_, index);
    return 0;
  }

  static constexpr std::optional<TokenKind> kNone = std::nullopt;

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t token_end_ = 0;
  std::size_t looked_at_ = 0;  // the first character that no token could go on with
  Tokens result_;
};

}  // namespace

Tokens Tokenize(std::string_view text) { return Lexer(text).Run(); }

}  // namespace drachma::cel
