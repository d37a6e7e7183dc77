#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "cel/ext/library.h"
#include "cel/ext/string_format.h"
#include "cel/syntax/source.h"

// cel-go's ext.Strings. Positions count code points.

namespace drachma::cel {
namespace {

using Args = std::span<const Value>;

Value OutOfRange(Arena& arena, std::int64_t index) {
  return MakeError(arena, "index out of range: " + std::to_string(index));
}

// A text cut into code points: the byte offset of each, and of the end. In ASCII these are the
// positions themselves.
class Points {
 public:
  Points(Arena& arena, std::string_view text)
      : text_(text), size_(static_cast<std::int64_t>(CountCodePoints(text))) {
    if (static_cast<std::size_t>(size_) == text.size()) return;
    starts_ = arena.NewSpan<std::uint32_t>(text.size() + 1);
    std::size_t count = 0;
    for (std::size_t at = 0; at < text.size();) {
      starts_[count++] = static_cast<std::uint32_t>(at);
      (void)DecodeUtf8(text, &at);
    }
    starts_[count] = static_cast<std::uint32_t>(text.size());
    size_ = static_cast<std::int64_t>(count);
  }
  [[nodiscard]] std::int64_t size() const { return size_; }
  [[nodiscard]] std::string_view Slice(std::int64_t from, std::int64_t to) const {
    return text_.substr(Start(from), Start(to) - Start(from));
  }

 private:
  [[nodiscard]] std::size_t Start(std::int64_t point) const {
    return starts_.empty() ? static_cast<std::size_t>(point) : starts_[point];
  }

  std::string_view text_;
  std::int64_t size_;
  std::span<std::uint32_t> starts_;
};

Value CharAt(Arena& arena, Args args) {
  const Points points(arena, args[0].AsText());
  const std::int64_t index = args[1].AsInt();
  if (index < 0 || index > points.size()) return OutOfRange(arena, index);
  if (index == points.size()) return Value::String("");
  return Value::String(points.Slice(index, index + 1));
}

Value IndexOfString(Arena& arena, Args args) {
  const Points points(arena, args[0].AsText());
  const Points wanted(arena, args[1].AsText());
  const std::int64_t offset = args.size() == 3 ? args[2].AsInt() : 0;
  if (offset < 0) return OutOfRange(arena, offset);
  if (wanted.size() == 0) return Value::Int(std::min(offset, points.size()));
  for (std::int64_t i = offset; i <= points.size() - wanted.size(); ++i) {
    if (points.Slice(i, i + wanted.size()) == args[1].AsText()) return Value::Int(i);
  }
  return Value::Int(-1);
}

Value LastIndexOfString(Arena& arena, Args args) {
  const Points points(arena, args[0].AsText());
  const Points wanted(arena, args[1].AsText());
  std::int64_t offset = points.size() - 1;
  if (args.size() == 2) {
    if (wanted.size() == 0) return Value::Int(points.size());
    if (args[0].AsText().size() < args[1].AsText().size()) return Value::Int(-1);
  } else {
    offset = args[2].AsInt();
  }
  if (offset < 0) return OutOfRange(arena, offset);
  if (wanted.size() == 0) return Value::Int(std::min(offset, points.size()));
  if (offset >= points.size()) return Value::Int(-1);
  for (std::int64_t i = std::min(offset, points.size() - wanted.size()); i >= 0; --i) {
    if (points.Slice(i, i + wanted.size()) == args[1].AsText()) return Value::Int(i);
  }
  return Value::Int(-1);
}

template <char kFirst, char kLast, int kShift>
Value ShiftAscii(Arena& arena, Args args) {
  const std::string_view text = args[0].AsText();
  if (std::ranges::none_of(text, [](char c) { return c >= kFirst && c <= kLast; })) return args[0];
  char* copy = static_cast<char*>(arena.Allocate(text.size(), 1));
  std::ranges::transform(text, copy, [](char c) {
    return c >= kFirst && c <= kLast ? static_cast<char>(c + kShift) : c;
  });
  const std::string_view shifted(copy, text.size());
  return args[0].known_ascii() ? Value::CountedString(shifted) : Value::String(shifted);
}

// strings.Replace: the first `count` places, all when it is negative.
Value Replace(Arena& arena, Args args) {
  const std::string_view text = args[0].AsText();
  const std::string_view old_text = args[1].AsText();
  const std::string_view new_text = args[2].AsText();
  std::int64_t left = args.size() == 4 ? args[3].AsInt() : -1;
  std::string out;
  std::size_t at = 0;
  if (old_text.empty()) {
    while (left != 0) {
      if (out.size() > kTextBytesMax) return Value::Error(kCostExceeded);
      out += new_text;
      --left;
      if (at >= text.size()) break;
      const std::size_t begin = at;
      (void)DecodeUtf8(text, &at);
      out += text.substr(begin, at - begin);
    }
  } else {
    for (std::size_t found = 0;
         left != 0 && (found = text.find(old_text, at)) != std::string_view::npos; --left) {
      if (out.size() > kTextBytesMax) return Value::Error(kCostExceeded);
      out += text.substr(at, found - at);
      out += new_text;
      at = found + old_text.size();
    }
  }
  out += text.substr(at);
  return MakeString(arena, out);
}

// strings.SplitN: at most `count` parts, all when it is negative.
Value Split(Arena& arena, Args args) {
  const std::string_view text = args[0].AsText();
  const std::string_view separator = args[1].AsText();
  const std::int64_t count = args.size() == 3 ? args[2].AsInt() : -1;
  std::vector<Value> parts;
  const auto full = [&] {
    return count >= 0 && static_cast<std::int64_t>(parts.size()) + 1 >= count;
  };
  if (count == 0) return MakeList(arena, parts);
  std::size_t at = 0;
  if (separator.empty()) {
    while (at < text.size() && !full()) {
      const std::size_t begin = at;
      (void)DecodeUtf8(text, &at);
      parts.push_back(Value::String(text.substr(begin, at - begin)));
    }
    if (at < text.size()) parts.push_back(Value::String(text.substr(at)));
    return MakeList(arena, parts);
  }
  for (std::size_t found = 0;
       !full() && (found = text.find(separator, at)) != std::string_view::npos;
       at = found + separator.size()) {
    parts.push_back(Value::String(text.substr(at, found - at)));
  }
  parts.push_back(Value::String(text.substr(at)));
  return MakeList(arena, parts);
}

Value Substring(Arena& arena, Args args) {
  const Points points(arena, args[0].AsText());
  const std::int64_t start = args[1].AsInt();
  const std::int64_t end = args.size() == 3 ? args[2].AsInt() : points.size();
  if (args.size() == 3 && start > end) {
    return MakeError(arena, "invalid substring range. start: " + std::to_string(start) +
                                ", end: " + std::to_string(end));
  }
  if (start < 0 || start > points.size()) return OutOfRange(arena, start);
  if (end < 0 || end > points.size()) return OutOfRange(arena, end);
  return Value::String(points.Slice(start, end));
}

bool IsSpace(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

Value Trim(Arena&, Args args) {
  const std::string_view text = args[0].AsText();
  std::size_t begin = text.size();
  std::size_t end = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t start = at;
    if (IsSpace(DecodeUtf8(text, &at))) continue;
    begin = std::min(begin, start);
    end = at;
  }
  return Value::String(begin < end ? text.substr(begin, end - begin) : std::string_view());
}

Value Quote(Arena& arena, Args args) {
  constexpr std::string_view kNames = "abfnrtv\\\"";
  constexpr std::string_view kValues = "\a\b\f\n\r\t\v\\\"";
  std::string out = "\"";
  for (const char c : ToValidUtf8(args[0].AsText())) {
    const std::size_t escape = kValues.find(c);
    if (escape == std::string_view::npos) {
      out += c;
    } else {
      out += '\\';
      out += kNames[escape];
    }
  }
  return MakeString(arena, out + "\"");
}

Value Join(Arena& arena, Args args) {
  const std::string_view separator = args.size() == 2 ? args[1].AsText() : std::string_view();
  std::string out;
  bool first = true;
  for (const Value& element : args[0].AsList().elements()) {
    if (out.size() > kTextBytesMax) return Value::Error(kCostExceeded);
    if (!first) out += separator;
    first = false;
    if (!element.IsString()) {
      return MakeError(arena, "join: invalid input: " + DebugString(element));
    }
    out += element.AsText();
  }
  return MakeString(arena, out);
}

Value Reverse(Arena& arena, Args args) {
  const Points points(arena, args[0].AsText());
  std::string out;
  for (std::int64_t i = points.size(); i > 0; --i) out += points.Slice(i - 1, i);
  return MakeString(arena, out);
}

template <FormatStyle kStyle>
Value Format(Arena& arena, Args args) {
  return FormatString(arena, args[0].AsText(), args[1].AsList(), kStyle);
}

constexpr auto kFunctions = std::to_array<LibraryFunction>({
    {"charAt", "string_char_at_int", "string.(int) -> string", CharAt},
    {"indexOf", "string_index_of_string", "string.(string) -> int", IndexOfString},
    {"indexOf", "string_index_of_string_int", "string.(string, int) -> int", IndexOfString},
    {"lastIndexOf", "string_last_index_of_string", "string.(string) -> int", LastIndexOfString},
    {"lastIndexOf", "string_last_index_of_string_int", "string.(string, int) -> int",
     LastIndexOfString},
    {"lowerAscii", "string_lower_ascii", "string.() -> string", ShiftAscii<'A', 'Z', 32>},
    {"replace", "string_replace_string_string", "string.(string, string) -> string", Replace},
    {"replace", "string_replace_string_string_int", "string.(string, string, int) -> string",
     Replace},
    {"split", "string_split_string", "string.(string) -> list(string)", Split},
    {"split", "string_split_string_int", "string.(string, int) -> list(string)", Split},
    {"substring", "string_substring_int", "string.(int) -> string", Substring},
    {"substring", "string_substring_int_int", "string.(int, int) -> string", Substring},
    {"trim", "string_trim", "string.() -> string", Trim},
    {"upperAscii", "string_upper_ascii", "string.() -> string", ShiftAscii<'a', 'z', -32>},
});
constexpr auto kLaterFunctions = std::to_array<LibraryFunction>({
    {"strings.quote", "strings_quote", "(string) -> string", Quote},
    {"join", "list_join", "list(string).() -> string", Join},
    {"join", "list_join_string", "list(string).(string) -> string", Join},
});
constexpr auto kReverse = std::to_array<LibraryFunction>({
    {"reverse", "string_reverse", "string.() -> string", Reverse},
});
constexpr auto kFormatLocale = std::to_array<LibraryFunction>({
    {"format", "string_format", "string.(list(dyn)) -> string", Format<FormatStyle::kLocale>,
     kOneByOne},
});
constexpr auto kFormatPlain = std::to_array<LibraryFunction>({
    {"format", "string_format", "string.(list(dyn)) -> string", Format<FormatStyle::kPlain>,
     kOneByOne},
});

}  // namespace

void AddStrings(Environment& env, StringsVersion version) {
  env.Add(kFunctions);
  if (version == StringsVersion::kTwo) {
    env.Add(kFormatLocale);
    env.format = Environment::FormatVersion::kLocale;
  } else {
    env.Add(kFormatPlain);
    env.format = Environment::FormatVersion::kPlain;
  }
  env.Add(kLaterFunctions);
  if (version == StringsVersion::kNewest) env.Add(kReverse);
}

}  // namespace drachma::cel
