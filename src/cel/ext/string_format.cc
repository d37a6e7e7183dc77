#include "cel/ext/string_format.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "cel/eval/format.h"
#include "cel/ext/convert.h"

namespace drachma::cel {
namespace {

using Text = std::expected<std::string, std::string>;

constexpr int kPrecisionMax = 100;  // of the plain style; the other one has no limit

// The text of a list or map: values that hold one value many times over have texts without an end.
constexpr std::size_t kAggregateBytesMax = std::size_t{1} << 18;
std::unexpected<std::string> TooLong() { return std::unexpected(std::string(kCostExceeded)); }

std::string InBase(std::uint64_t magnitude, bool negative, int base, bool upper) {
  std::array<char, 70> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), magnitude, base);
  std::string out = (negative ? "-" : "") + std::string(buffer.data(), end.ptr);
  if (upper) {
    std::ranges::transform(out, out.begin(), [](char c) {
      return c >= 'a' && c <= 'f' ? static_cast<char>(c - 32) : c;
    });
  }
  return out;
}

std::string IntegerIn(const Value& value, int base, bool upper = false) {
  if (value.kind() == ValueKind::kUint) return InBase(value.AsUint(), false, base, upper);
  const bool negative = value.AsInt() < 0;
  const std::uint64_t magnitude = negative ? 0 - value.AsUint() : value.AsUint();
  return InBase(magnitude, negative, base, upper);
}

std::string HexBytes(std::string_view bytes, bool upper) {
  const std::string_view digits = upper ? "0123456789ABCDEF" : "0123456789abcdef";
  std::string out;
  for (const char c : bytes) {
    out += digits[static_cast<unsigned char>(c) >> 4];
    out += digits[static_cast<unsigned char>(c) & 15];
  }
  return out;
}

bool IsInteger(const Value& value) { return value.IsInt() || value.kind() == ValueKind::kUint; }

// "NaN", "∞" and the like; nothing for finite numbers.
std::optional<std::string> NotFinite(double value, std::string_view infinity) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return (value < 0 ? "-" : "") + std::string(infinity);
  return std::nullopt;
}

// Commas between groups of three digits before the point.
std::string WithCommas(const std::string& number) {
  const std::size_t first = number.starts_with('-') ? 1 : 0;
  const std::size_t point = std::min(number.find('.'), number.size());
  std::string out = number.substr(0, first);
  for (std::size_t i = first; i < point; ++i) {
    if (i > first && (point - i) % 3 == 0) out += ',';
    out += number[i];
  }
  return out + number.substr(point);
}

// "1.5e+03" as "1.5×10⁰³".
std::string WithSuperscript(const std::string& number) {
  constexpr std::array<std::string_view, 10> kDigits = {"⁰", "¹", "²", "³", "⁴",
                                                        "⁵", "⁶", "⁷", "⁸", "⁹"};
  const std::size_t e = number.find('e');
  std::string out = number.substr(0, e) + "×10";
  for (std::size_t i = e + 1; i < number.size(); ++i) {
    if (number[i] == '-') out += "⁻";
    if (number[i] >= '0') out += kDigits[number[i] - '0'];
  }
  return out;
}

class Formatter {
 public:
  Formatter(Arena& arena, FormatStyle style) : arena_(arena), style_(style) {}

  Text Clause(const Value& value, const FormatClause& clause) {
    switch (clause.verb) {
      case 's':
        return style_ == FormatStyle::kPlain ? PlainText(value) : LocaleText(value);
      case 'd':
        if (IsInteger(value)) return IntegerIn(value, 10);
        if (style_ == FormatStyle::kPlain && value.kind() == ValueKind::kDouble) {
          return PlainDouble(value.AsDouble());
        }
        break;
      case 'f':
      case 'e':
        return Number(value, clause);
      case 'b':
        if (value.IsBool()) return value.AsBool() ? "1" : "0";
        if (IsInteger(value)) return IntegerIn(value, 2);
        break;
      case 'x':
      case 'X':
        if (value.IsString() || value.kind() == ValueKind::kBytes) {
          return HexBytes(value.AsText(), clause.verb == 'X');
        }
        if (IsInteger(value)) return IntegerIn(value, 16, clause.verb == 'X');
        break;
      case 'o':
        if (IsInteger(value)) return IntegerIn(value, 8);
        break;
      default:
        break;
    }
    return Wrong(clause.verb, value);
  }

 private:
  Text Wrong(char verb, const Value& value) const {
    return std::unexpected(WrongKindFor(verb, style_, TypeNameOf(value)));
  }

  static std::string PlainDouble(double value) {
    return NotFinite(value, "Infinity").value_or(FormatDoubleShort(value));
  }

  Text Number(const Value& value, const FormatClause& clause) {
    const bool fixed = clause.verb == 'f';
    double number = 0;
    if (value.kind() == ValueKind::kDouble) {
      number = value.AsDouble();
    } else if (style_ == FormatStyle::kPlain && value.IsInt()) {
      number = static_cast<double>(value.AsInt());
    } else if (style_ == FormatStyle::kPlain && value.kind() == ValueKind::kUint) {
      number = static_cast<double>(value.AsUint());
    } else if (style_ == FormatStyle::kLocale && value.IsString() &&
               (value.AsText() == "NaN" || value.AsText() == "Infinity" ||
                value.AsText() == "-Infinity")) {
      number = *ParseDouble(value.AsText());
    } else {
      return Wrong(clause.verb, value);
    }
    const bool plain = style_ == FormatStyle::kPlain;
    if (const auto special = NotFinite(number, plain ? "Infinity" : "∞")) return *special;
    std::string text = fixed ? FormatDoubleFixed(number, clause.precision)
                             : FormatDoubleScientific(number, clause.precision);
    if (plain) return text;
    return fixed ? WithCommas(text) : WithSuperscript(text);
  }

  // --- %s of the plain style

  Text PlainText(const Value& value) {
    switch (value.kind()) {
      case ValueKind::kDouble:
        return PlainDouble(value.AsDouble());
      case ValueKind::kBytes:
        return std::string(value.AsText());
      case ValueKind::kTimestamp:
        return FormatTimestamp({value.seconds(), value.nanos(), 0});
      case ValueKind::kList: {
        std::string out = "[";
        for (const Value& element : value.AsList().elements()) {
          const Text text = PlainText(element);
          if (!text) return text;
          if (out.size() + text->size() > kAggregateBytesMax) return TooLong();
          if (out.size() > 1) out += ", ";
          out += *text;
        }
        return out + "]";
      }
      case ValueKind::kMap:
        return PlainMap(value.AsMap());
      case ValueKind::kOptional:
      case ValueKind::kOpaque:
      case ValueKind::kError:
        return Wrong('s', value);
      default:
        return std::string(Convert(arena_, value, ValueKind::kString).AsText());
    }
  }

  Text PlainMap(const MapData& map) {
    std::size_t size = 0;
    std::vector<std::pair<std::string, std::string>> entries;
    for (const MapEntry& entry : map.all()) {
      const Text key = PlainText(entry.key);
      if (!key) return key;
      const Text value = PlainText(entry.value);
      if (!value) return value;
      if ((size += key->size() + value->size()) > kAggregateBytesMax) return TooLong();
      entries.emplace_back(*key, *value);
    }
    return JoinEntries(entries, ": ");
  }

  static std::string JoinEntries(std::vector<std::pair<std::string, std::string>>& entries,
                                 std::string_view colon) {
    std::ranges::stable_sort(entries, {}, &std::pair<std::string, std::string>::first);
    std::string out = "{";
    for (const auto& [key, value] : entries) {
      if (out.size() > 1) out += ", ";
      out += key + std::string(colon) + value;
    }
    return out + "}";
  }

  // --- %s of the locale style: nested strings are quoted, nested doubles have six digits

  Text LocaleText(const Value& value) {
    switch (value.kind()) {
      case ValueKind::kList:
        return LocaleList(value.AsList());
      case ValueKind::kMap:
        return LocaleMap(value.AsMap());
      case ValueKind::kOptional:
      case ValueKind::kOpaque:
      case ValueKind::kError:
        return Wrong('s', value);
      default: {
        const Value text = Convert(arena_, value, ValueKind::kString);
        if (text.IsError()) {
          return std::unexpected("could not convert argument " + QuoteGo(text.AsText()) +
                                 " to string");
        }
        return std::string(text.AsText());
      }
    }
  }

  Text LocaleElement(const Value& value) {
    switch (value.kind()) {
      case ValueKind::kString:
        return QuoteGo(value.AsText());
      case ValueKind::kBytes: {
        const Text text = LocaleText(value);
        if (!text) return text;
        return "b" + QuoteGo(*text);
      }
      case ValueKind::kTimestamp:
      case ValueKind::kDuration: {
        const std::string text(Convert(arena_, value, ValueKind::kString).AsText());
        const bool timestamp = value.kind() == ValueKind::kTimestamp;
        return (timestamp ? "timestamp(" : "duration(") + QuoteGo(text) + ")";
      }
      case ValueKind::kDouble:
        if (!std::isfinite(value.AsDouble())) return QuoteGo(FormatDoubleG(value.AsDouble()));
        return FormatDoubleFixed(value.AsDouble(), 6);
      case ValueKind::kOptional:
      case ValueKind::kOpaque:
      case ValueKind::kError:
        return std::unexpected("no formatting function for " + std::string(TypeNameOf(value)));
      default:
        return LocaleText(value);
    }
  }

  Text LocaleList(const ListData& list) {
    std::string out = "[";
    for (const Value& element : list.elements()) {
      const Text text = LocaleElement(element);
      if (!text) return text;
      if (out.size() + text->size() > kAggregateBytesMax) return TooLong();
      if (out.size() > 1) out += ", ";
      out += *text;
    }
    return out + "]";
  }

  Text LocaleMap(const MapData& map) {
    std::size_t size = 0;
    std::vector<std::pair<std::string, std::string>> entries;
    for (const MapEntry& entry : map.all()) {
      switch (entry.key.kind()) {
        case ValueKind::kString:
        case ValueKind::kBool:
        case ValueKind::kInt:
        case ValueKind::kUint:
          break;
        default:
          return std::unexpected("no formatting function for map key of type " +
                                 std::string(TypeNameOf(entry.key)));
      }
      const Text key = LocaleElement(entry.key);
      if (!key) return key;
      const Text value = LocaleElement(entry.value);
      if (!value) return value;
      if ((size += key->size() + value->size()) > kAggregateBytesMax) return TooLong();
      entries.emplace_back(*key, *value);
    }
    return JoinEntries(entries, ":");
  }

  Arena& arena_;
  FormatStyle style_;
};

// Takes the arguments of a call of format() as they are asked for.
class ValueClauses final : public FormatVisitor {
 public:
  ValueClauses(Formatter& formatter, const ListData& args, std::string& out)
      : formatter_(formatter), args_(args), out_(out) {}

  void OnText(char c) override { out_ += c; }
  std::expected<void, std::string> OnArgument(std::int64_t index) override {
    if (index < args_.size) return {};
    return std::unexpected("index " + std::to_string(index) + " out of range");
  }
  std::expected<void, std::string> OnClause(std::int64_t index,
                                            const FormatClause& clause) override {
    Text text = formatter_.Clause(args_.items[index], clause);
    if (!text) return std::unexpected(text.error());
    if (out_.size() + text->size() > kTextBytesMax) return TooLong();
    out_ += *text;
    return {};
  }

 private:
  Formatter& formatter_;
  const ListData& args_;
  std::string& out_;
};

// The clause behind a '%', and how many bytes it takes.
std::expected<FormatClause, std::string> ParseFormatClause(std::string_view format,
                                                           FormatStyle style, std::size_t* size) {
  FormatClause clause;
  std::size_t at = 0;
  if (format[0] == '.') {
    at = 1;
    while (at < format.size() && format[at] >= '0' && format[at] <= '9') ++at;
    constexpr const char* kWhile = "error while parsing precision: ";
    if (at >= format.size()) {
      return std::unexpected(std::string(kWhile) + "could not find end of precision specifier");
    }
    const std::string_view digits = format.substr(1, at - 1);
    const auto precision = ParseInt(digits);
    if (!precision || *precision > 1'000'000'000) {
      const bool syntax = digits.empty();
      return std::unexpected(std::string(kWhile) +
                             "error while converting precision to integer: strconv.Atoi: parsing " +
                             QuoteGo(digits) +
                             (syntax ? ": invalid syntax" : ": value out of range"));
    }
    if (style == FormatStyle::kPlain && *precision > kPrecisionMax) {
      return std::unexpected(std::string(kWhile) + "precision " + std::to_string(*precision) +
                             " exceeds maximum allowed precision " + std::to_string(kPrecisionMax));
    }
    clause.precision = static_cast<int>(std::min<std::int64_t>(*precision, 1000));
  }
  clause.verb = format[at];
  *size = at + 1;
  if (std::string_view("sdfebxXo").contains(clause.verb)) return clause;
  std::string verb;
  // A byte is shown as the code point of its number.
  const auto byte = static_cast<unsigned char>(clause.verb);
  if (byte < 0x80) {
    verb += clause.verb;
  } else {
    verb += static_cast<char>(0xC0 | (byte >> 6));
    verb += static_cast<char>(0x80 | (byte & 0x3F));
  }
  return std::unexpected("unrecognized formatting clause \"" + verb + "\"");
}

}  // namespace

std::expected<void, std::string> WalkFormat(std::string_view format, std::int64_t arg_count,
                                            FormatStyle style, FormatVisitor& visitor) {
  std::int64_t next = 0;
  for (std::size_t i = 0; i < format.size();) {
    if (format[i] != '%') {
      visitor.OnText(format[i++]);
      continue;
    }
    if (i + 1 < format.size() && format[i + 1] == '%') {
      visitor.OnText('%');
      i += 2;
      continue;
    }
    if (auto asked = visitor.OnArgument(next); !asked) return asked;
    if (i + 1 >= format.size()) return std::unexpected("unexpected end of string");
    if (next >= arg_count) {
      return std::unexpected("index " + std::to_string(next) + " out of range");
    }
    std::size_t size = 0;
    const auto clause = ParseFormatClause(format.substr(i + 1), style, &size);
    if (!clause) {
      return std::unexpected("could not parse formatting clause: " + clause.error());
    }
    if (auto done = visitor.OnClause(next, *clause); !done) {
      return std::unexpected("error during formatting: " + done.error());
    }
    i += 1 + size;
    ++next;
  }
  return {};
}

std::string WrongKindFor(char verb, FormatStyle style, std::string_view type) {
  const bool plain = style == FormatStyle::kPlain;
  std::string_view what;
  switch (verb) {
    case 'd':
      what = plain ? "decimal clause can only be used on ints, uints, and doubles"
                   : "decimal clause can only be used on integers";
      break;
    case 'f':
      what = plain ? "fixed-point clause can only be used on ints, uints, and doubles"
                   : "fixed-point clause can only be used on doubles";
      break;
    case 'e':
      what = plain ? "scientific clause can only be used on ints, uints, and doubles"
                   : "scientific clause can only be used on doubles";
      break;
    case 'b':
      what = plain ? "only ints, uints, and bools can be formatted as binary"
                   : "only integers and bools can be formatted as binary";
      break;
    case 'x':
    case 'X':
      what = plain ? "only ints, uints, bytes, and strings can be formatted as hex"
                   : "only integers, byte buffers, and strings can be formatted as hex";
      break;
    case 'o':
      what = plain ? "octal clause can only be used on ints and uints"
                   : "octal clause can only be used on integers";
      break;
    default:
      what =
          "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, "
          "types, durations, and timestamps";
      break;
  }
  return std::string(what) + ", was given " + std::string(type);
}

Value FormatString(Arena& arena, std::string_view format, const ListData& args, FormatStyle style) {
  Formatter formatter(arena, style);
  std::string out;
  ValueClauses clauses(formatter, args, out);
  const auto done = WalkFormat(format, args.size, style, clauses);
  if (!done) return MakeError(arena, done.error());
  return MakeString(arena, out);
}

}  // namespace drachma::cel
