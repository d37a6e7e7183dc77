#include "cel/eval/regex.h"

#include <array>
#include <vector>

#include "cel/eval/go_pattern.h"
#include "cel/eval/pattern_size.h"
#include "cel/syntax/source.h"

namespace drachma::cel {
namespace {

// RE2 is Go's ancestor; its words for errors differ here and there.
std::string GoError(const RE2& pattern) {
  std::string_view what = "unexpected error";
  switch (pattern.error_code()) {
    case RE2::ErrorBadEscape:
      what = "invalid escape sequence";
      break;
    case RE2::ErrorBadCharClass:
      what = "invalid character class";
      break;
    case RE2::ErrorBadCharRange:
      what = "invalid character class range";
      break;
    case RE2::ErrorMissingBracket:
      what = "missing closing ]";
      break;
    case RE2::ErrorMissingParen:
      what = "missing closing )";
      break;
    case RE2::ErrorUnexpectedParen:
      what = "unexpected )";
      break;
    case RE2::ErrorTrailingBackslash:
      return "error parsing regexp: trailing backslash at end of expression: ``";
    case RE2::ErrorRepeatArgument:
      what = "missing argument to repetition operator";
      break;
    case RE2::ErrorRepeatSize:
      what = "invalid repeat count";
      break;
    case RE2::ErrorRepeatOp:
      what = "invalid nested repetition operator";
      break;
    case RE2::ErrorBadPerlOp:
      what = "invalid or unsupported Perl syntax";
      break;
    case RE2::ErrorBadUTF8:
      what = "invalid UTF-8";
      break;
    case RE2::ErrorBadNamedCapture:
      what = "invalid named capture";
      break;
    case RE2::ErrorPatternTooLarge:
      what = "expression too large";
      break;
    default:
      break;
  }
  const bool whole = pattern.error_code() == RE2::ErrorMissingParen ||
                     pattern.error_code() == RE2::ErrorUnexpectedParen;
  return "error parsing regexp: " + std::string(what) + ": `" +
         (whole ? pattern.pattern() : pattern.error_arg()) + "`";
}

RE2::Options MakeOptions() {
  RE2::Options options(RE2::Quiet);
  options.set_log_errors(false);
  return options;
}

re2::StringPiece Piece(std::string_view text) { return {text.data(), text.size()}; }

Value MatchesWith(Arena&, const RE2& pattern, std::span<const Value> args) {
  if (!args[0].IsString()) return NoSuchOverload();
  return Value::Bool(RE2::PartialMatch(Piece(args[0].AsText()), pattern));
}

Value FindWith(Arena&, const RE2& pattern, std::span<const Value> args) {
  if (!args[0].IsString()) return NoSuchOverload();
  const re2::StringPiece text = Piece(args[0].AsText());
  re2::StringPiece match;
  if (!pattern.Match(text, 0, text.size(), RE2::UNANCHORED, &match, 1)) return Value::String("");
  return Value::String({match.data(), match.size()});
}

// regexp.FindAllString: an empty match right behind the last match does not count.
Value FindAllWith(Arena& arena, const RE2& pattern, std::span<const Value> args) {
  if (!args[0].IsString()) return NoSuchOverload();
  std::int64_t count = -1;
  if (args.size() == 3) {
    if (!args[2].IsInt()) return NoSuchOverload();
    count = args[2].AsInt();
  }
  const re2::StringPiece text = Piece(args[0].AsText());
  std::vector<Value> found;
  std::size_t at = 0;
  std::size_t last_end = text.size() + 1;
  while (at <= text.size() && (count < 0 || found.size() < static_cast<std::size_t>(count))) {
    re2::StringPiece match;
    if (!pattern.Match(text, at, text.size(), RE2::UNANCHORED, &match, 1)) break;
    const auto begin = static_cast<std::size_t>(match.data() - text.data());
    const std::size_t end = begin + match.size();
    const bool again = end == begin && begin == last_end;
    if (!again) found.push_back(Value::String({match.data(), match.size()}));
    last_end = end;
    at = end;
    if (end == begin) {
      if (at >= text.size()) break;
      (void)DecodeUtf8(args[0].AsText(), &at);
    }
  }
  return MakeList(arena, found);
}

constexpr auto kFunctions = std::to_array<RegexFunction>(
    {{"matches", MatchesWith}, {"find", FindWith}, {"findAll", FindAllWith}});

Value WithPattern(Arena& arena, std::span<const Value> args, PatternNode::Body body,
                  std::string_view error_prefix) {
  if (!args[0].IsString() || !args[1].IsString()) return NoSuchOverload();
  std::string error;
  std::size_t weight = kPatternWeightMax;
  const std::unique_ptr<RE2> pattern = CompileRegex(args[1].AsText(), &weight, &error);
  if (pattern == nullptr) return MakeError(arena, std::string(error_prefix) + error);
  return body(arena, *pattern, args);
}

}  // namespace

std::unique_ptr<RE2> CompileRegex(std::string_view pattern, std::size_t* weight_left,
                                  std::string* error) {
  static const RE2::Options kOptions = MakeOptions();
  const PatternSize size = MeasurePattern(pattern);
  if (size.height > kPatternHeightMax || size.weight > *weight_left) {
    const bool deep = size.height > kPatternHeightMax;
    *error = std::string("error parsing regexp: ") +
             (deep ? "expression nests too deeply" : "expression too large") + ": `" +
             std::string(pattern) + "`";
    return nullptr;
  }
  *weight_left -= size.weight;
  const std::optional<std::string> translated = FromGoPattern(pattern);
  if (!translated) {
    *error = "error parsing regexp: invalid escape sequence: `\\C`";
    return nullptr;
  }
  auto compiled = std::make_unique<RE2>(*translated, kOptions);
  if (compiled->ok()) return compiled;
  *error = GoError(*compiled);
  return nullptr;
}

const RegexFunction* FindRegexFunction(std::string_view function) {
  for (const RegexFunction& regex : kFunctions) {
    if (regex.function == function) return &regex;
  }
  return nullptr;
}

Value RegexMatches(Arena& arena, std::span<const Value> args) {
  return WithPattern(arena, args, MatchesWith, "");
}
Value RegexFind(Arena& arena, std::span<const Value> args) {
  return WithPattern(arena, args, FindWith, "Illegal regex: ");
}
Value RegexFindAll(Arena& arena, std::span<const Value> args) {
  return WithPattern(arena, args, FindAllWith, "Illegal regex: ");
}

}  // namespace drachma::cel
