#include "json/yaml_scalar.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <vector>

#include "json/utf8.h"

namespace drachma::json {

namespace {

constexpr std::string_view kTagPrefix = "tag:yaml.org,2002:";

struct Word {
  std::string_view text;
  std::string_view tag;
  double number = 0;
};
constexpr double kInfinity = HUGE_VAL;
constexpr Word kWords[] = {
    {"y", "bool", 1},
    {"Y", "bool", 1},
    {"yes", "bool", 1},
    {"Yes", "bool", 1},
    {"YES", "bool", 1},
    {"true", "bool", 1},
    {"True", "bool", 1},
    {"TRUE", "bool", 1},
    {"on", "bool", 1},
    {"On", "bool", 1},
    {"ON", "bool", 1},
    {"n", "bool", 0},
    {"N", "bool", 0},
    {"no", "bool", 0},
    {"No", "bool", 0},
    {"NO", "bool", 0},
    {"false", "bool", 0},
    {"False", "bool", 0},
    {"FALSE", "bool", 0},
    {"off", "bool", 0},
    {"Off", "bool", 0},
    {"OFF", "bool", 0},
    {"", "null", 0},
    {"~", "null", 0},
    {"null", "null", 0},
    {"Null", "null", 0},
    {"NULL", "null", 0},
    {".nan", "float", NAN},
    {".NaN", "float", NAN},
    {".NAN", "float", NAN},
    {".inf", "float", kInfinity},
    {".Inf", "float", kInfinity},
    {".INF", "float", kInfinity},
    {"+.inf", "float", kInfinity},
    {"+.Inf", "float", kInfinity},
    {"+.INF", "float", kInfinity},
    {"-.inf", "float", -kInfinity},
    {"-.Inf", "float", -kInfinity},
    {"-.INF", "float", -kInfinity},
    {"<<", "merge", 0},
};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Go's strconv.ParseInt and ParseUint with base 0, of text without underscores; numbers beyond
// int64 come back as doubles, which is how they end after the way through JSON.
std::optional<Value> ParseWhole(std::string_view text) {
  bool negative = false;
  if (text.starts_with('+') || text.starts_with('-')) {
    negative = text.front() == '-';
    text.remove_prefix(1);
  }
  int base = 10;
  if (text.size() > 1 && text[0] == '0') {
    const char mark = static_cast<char>(text[1] | 0x20);
    base = mark == 'x' ? 16 : mark == 'b' ? 2 : 8;
    text.remove_prefix(mark == 'x' || mark == 'b' || mark == 'o' ? 2 : 1);
  }
  if (text.empty()) return std::nullopt;
  std::uint64_t size = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), size, base);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) return std::nullopt;
  constexpr std::uint64_t kIntMax = INT64_MAX;
  if (negative) {
    if (size > kIntMax + 1) return std::nullopt;
    return Value(static_cast<std::int64_t>(-size));
  }
  if (size > kIntMax) return Value(static_cast<double>(size));
  return Value(static_cast<std::int64_t>(size));
}

// ^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$
bool LooksLikeFloat(std::string_view text) {
  std::size_t at = 0;
  const auto digits = [&] {
    const std::size_t start = at;
    while (at < text.size() && IsDigit(text[at])) ++at;
    return at - start;
  };
  const auto sign = [&] {
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
  };
  sign();
  const std::size_t whole = digits();
  std::size_t fraction = 0;
  if (at < text.size() && text[at] == '.') {
    ++at;
    fraction = digits();
  }
  if (whole == 0 && fraction == 0) return false;
  if (at < text.size() && (text[at] | 0x20) == 'e') {
    ++at;
    sign();
    if (digits() == 0) return false;
  }
  return at == text.size();
}

Value FromDouble(double number) {
  if (number == std::trunc(number) && std::fabs(number) < 9.2e18) {
    return Value(static_cast<std::int64_t>(number));
  }
  return Value(number);
}

// ^[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?$: YAML 1.1's numbers of base 60. They are read as
// strings but written with quotes for other readers.
bool IsBase60(std::string_view text) {
  std::size_t at = 0;
  if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
  if (at == text.size() || !IsDigit(text[at])) return false;
  while (at < text.size() && (IsDigit(text[at]) || text[at] == '_')) ++at;
  int parts = 0;
  while (at < text.size() && text[at] == ':') {
    ++at;
    std::size_t digits = 0;
    while (at + digits < text.size() && digits < 2 && IsDigit(text[at + digits])) ++digits;
    if (digits == 0 || (digits == 2 && text[at] > '5')) return false;
    at += digits;
    ++parts;
  }
  if (parts == 0) return false;
  if (at < text.size() && text[at] == '.') {
    ++at;
    while (at < text.size() && (IsDigit(text[at]) || text[at] == '_')) ++at;
  }
  return at == text.size();
}

// A number of at most `digits_max` digits at the begin of text, which is moved on; -1 when none.
int TakeNumber(std::string_view& text, int digits_min, int digits_max) {
  int value = 0;
  int digits = 0;
  while (digits < digits_max && !text.empty() && IsDigit(text.front())) {
    value = value * 10 + (text.front() - '0');
    text.remove_prefix(1);
    ++digits;
  }
  return digits < digits_min ? -1 : value;
}

bool TakeChar(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

bool TakeZone(std::string_view& text) {
  if (TakeChar(text, 'Z')) return true;
  if (!TakeChar(text, '+') && !TakeChar(text, '-')) return false;
  const int hours = TakeNumber(text, 2, 2);
  return hours >= 0 && hours <= 24 && TakeChar(text, ':') && TakeNumber(text, 2, 2) >= 0;
}

// The four forms that yaml.v2 takes for a time.
bool IsTimestamp(std::string_view text) {
  const int year = TakeNumber(text, 4, 4);
  if (year < 0 || !TakeChar(text, '-')) return false;
  const int month = TakeNumber(text, 1, 2);
  if (month < 1 || month > 12 || !TakeChar(text, '-')) return false;
  const int day = TakeNumber(text, 1, 2);
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  if (day < 1 || day > kDays[month - 1] + (month == 2 && leap ? 1 : 0)) return false;
  if (text.empty()) return true;
  const char between = text.front();
  text.remove_prefix(1);
  if (between != 'T' && between != 't' && between != ' ') return false;
  const int hour = TakeNumber(text, 1, 2);
  if (hour < 0 || hour > 23 || !TakeChar(text, ':')) return false;
  const int minute = TakeNumber(text, 1, 2);
  if (minute < 0 || minute > 59 || !TakeChar(text, ':')) return false;
  const int second = TakeNumber(text, 1, 2);
  if (second < 0 || second > 59) return false;
  if ((text.starts_with('.') || text.starts_with(',')) && text.size() > 1 && IsDigit(text[1])) {
    text.remove_prefix(1);
    while (!text.empty() && IsDigit(text.front())) text.remove_prefix(1);
  }
  if (between != ' ' && !TakeZone(text)) return false;
  return text.empty();
}

struct Resolved {
  std::string_view tag;  // without prefix
  Value value;
};

Resolved ResolveWord(const Word& word, std::string_view text) {
  if (word.tag == "bool") return {word.tag, Value(word.number != 0)};
  if (word.tag == "null") return {word.tag, Value()};
  if (word.tag == "float") return {word.tag, Value(word.number)};
  return {word.tag, Value(text)};
}

Resolved ResolvePlain(std::string_view text) {
  for (const Word& word : kWords) {
    if (word.text == text) return ResolveWord(word, text);
  }
  const char first = text.front();
  if (first != '.' && first != '+' && first != '-' && !IsDigit(first)) return {"str", Value(text)};
  std::string plain(text);
  if (first != '.') std::erase(plain, '_');
  if (first != '.') {
    if (auto whole = ParseWhole(plain)) return {"int", std::move(*whole)};
  }
  if (LooksLikeFloat(plain)) return {"float", FromDouble(std::strtod(plain.c_str(), nullptr))};
  return {"str", Value(text)};
}

bool IsLetter(char32_t code) {
  return (code >= 'a' && code <= 'z') || (code >= 'A' && code <= 'Z') || code >= 0xC0;
}

std::vector<char32_t> Runes(std::string_view text) {
  std::vector<char32_t> runes;
  while (!text.empty()) {
    const Rune rune = DecodeRune(text);
    runes.push_back(rune.code);
    text.remove_prefix(rune.size);
  }
  return runes;
}

bool IsDigitRune(char32_t code) { return code >= '0' && code <= '9'; }

// The digits of runes from `from`: their value (saturating is not needed for an order) and end.
std::pair<std::uint64_t, std::size_t> Digits(const std::vector<char32_t>& runes, std::size_t from,
                                             std::uint64_t start) {
  while (from < runes.size() && IsDigitRune(runes[from])) {
    start = start * 10 + (runes[from++] - '0');
  }
  return {start, from};
}

}  // namespace

Result<Value> ResolveScalar(std::string_view tag, std::string_view text) {
  const bool is_core = tag.starts_with(kTagPrefix);
  const std::string_view name = is_core ? tag.substr(kTagPrefix.size()) : tag;
  static constexpr std::string_view kResolvable[] = {"",      "str",  "bool",     "int",
                                                     "float", "null", "timestamp"};
  if ((!is_core && !tag.empty()) || std::ranges::find(kResolvable, name) == std::end(kResolvable) ||
      name == "str") {
    return Value(text);
  }
  Resolved resolved = ResolvePlain(text);
  if (resolved.tag == "float" && !std::isfinite(resolved.value.AsDouble())) {
    return BadInput("json: unsupported value: " +
                    std::string(std::isnan(resolved.value.AsDouble()) ? "NaN"
                                : resolved.value.AsDouble() > 0       ? "+Inf"
                                                                      : "-Inf"));
  }
  const bool fits = name.empty() || name == resolved.tag ||
                    (name == "float" && resolved.tag == "int") ||
                    (name == "timestamp" && IsTimestamp(text));
  if (!fits) {
    return BadInput(
        fmt::format("yaml: cannot decode !!{} `{}` as a !!{}", resolved.tag, text, name));
  }
  return std::move(resolved.value);
}

bool NeedsQuotes(std::string_view text) {
  if (text.empty()) return true;
  return ResolvePlain(text).tag != "str" || IsTimestamp(text) || IsBase60(text);
}

bool YamlKeyLess(std::string_view a, std::string_view b) {
  const std::vector<char32_t> ar = Runes(a);
  const std::vector<char32_t> br = Runes(b);
  for (std::size_t i = 0; i < ar.size() && i < br.size(); ++i) {
    if (ar[i] == br[i]) continue;
    const bool al = IsLetter(ar[i]);
    const bool bl = IsLetter(br[i]);
    if (al && bl) return ar[i] < br[i];
    if (al || bl) return bl;
    // A zero within a number counts by what stands before it.
    std::uint64_t before = 0;
    if (ar[i] == '0' || br[i] == '0') {
      for (std::size_t j = i; j > 0 && IsDigitRune(ar[j - 1]); --j) {
        if (ar[j - 1] != '0') {
          before = 1;
          break;
        }
      }
    }
    const auto [an, ai] = Digits(ar, i, before);
    const auto [bn, bi] = Digits(br, i, before);
    if (an != bn) return an < bn;
    if (ai != bi) return ai < bi;
    return ar[i] < br[i];
  }
  return ar.size() < br.size();
}

}  // namespace drachma::json
