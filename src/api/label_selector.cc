#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

#include "api/label_syntax.h"
#include "api/selectors.h"
#include "json/json.h"

namespace drachma::api {

namespace {

using json::Value;
using Operator = LabelRequirement::Operator;

enum class Token : std::uint8_t {
  kError,
  kEnd,
  kClose,
  kComma,
  kNot,
  kDoubleEquals,
  kEquals,
  kGreater,
  kIdentifier,
  kIn,
  kLess,
  kNotEquals,
  kNotIn,
  kOpen,
};

struct Item {
  Token token = Token::kEnd;
  std::string text;
};

constexpr std::pair<std::string_view, Token> kSymbols[] = {
    {")", Token::kClose},         {",", Token::kComma},  {"!", Token::kNot},
    {"==", Token::kDoubleEquals}, {"=", Token::kEquals}, {">", Token::kGreater},
    {"in", Token::kIn},           {"<", Token::kLess},   {"!=", Token::kNotEquals},
    {"notin", Token::kNotIn},     {"(", Token::kOpen},
};

std::optional<Token> FindSymbol(std::string_view text) {
  for (const auto& [symbol, token] : kSymbols) {
    if (symbol == text) return token;
  }
  return std::nullopt;
}

bool IsSpecial(char c) { return std::string_view("=!(),><").find(c) != std::string_view::npos; }
bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

std::vector<Item> Scan(std::string_view text) {
  std::vector<Item> items;
  std::size_t at = 0;
  for (;;) {
    while (at < text.size() && IsSpace(text[at])) ++at;
    if (at == text.size()) break;
    std::size_t end = at;
    if (!IsSpecial(text[at])) {
      while (end < text.size() && !IsSpecial(text[end]) && !IsSpace(text[end])) ++end;
      std::string word(text.substr(at, end - at));
      const Token token = FindSymbol(word).value_or(Token::kIdentifier);
      items.push_back({token, std::move(word)});
      at = end;
      continue;
    }
    // The longest symbol; what follows a symbol and does not prolong it is the next token.
    Item item{Token::kError, {}};
    std::string symbol;
    while (end < text.size() && IsSpecial(text[end])) {
      symbol += text[end];
      if (const auto token = FindSymbol(symbol)) {
        item = {*token, symbol};
      } else if (item.token != Token::kError) {
        break;
      }
      ++end;
    }
    if (item.token == Token::kError) {
      item.text = fmt::format("error expected: keyword found '{}'", symbol);
    }
    items.push_back(std::move(item));
    at = end;
  }
  items.push_back({Token::kEnd, ""});
  return items;
}

std::optional<std::int64_t> ParseInt(std::string_view text) {
  std::int64_t number = 0;
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) return std::nullopt;
  return number;
}

std::string Invalid(std::string_view path, std::string_view value, std::string_view detail) {
  return fmt::format("{}: Invalid value: {}: {}", path, json::Write(Value(value)), detail);
}

std::string InvalidValues(const std::vector<std::string>& values, std::string_view detail) {
  Value list = Value::Array();
  for (const std::string& value : values) list.Append(Value(value));
  return fmt::format("values: Invalid value: {}: {}", json::Write(list), detail);
}

// labels.NewRequirement.
Result<LabelRequirement> MakeRequirement(std::string key, Operator op,
                                         std::vector<std::string> values) {
  std::vector<std::string> faults;
  if (const auto key_faults = LabelKeyFaults(key); !key_faults.empty()) {
    faults.push_back(Invalid("key", key, fmt::format("{}", fmt::join(key_faults, "; "))));
  }
  switch (op) {
    case Operator::kIn:
    case Operator::kNotIn:
      if (values.empty()) {
        faults.push_back(
            InvalidValues(values, "for 'in', 'notin' operators, values set can't be empty"));
      }
      break;
    case Operator::kEquals:
    case Operator::kDoubleEquals:
    case Operator::kNotEquals:
      if (values.size() != 1) {
        faults.push_back(
            InvalidValues(values, "exact-match compatibility requires one single value"));
      }
      break;
    case Operator::kExists:
    case Operator::kDoesNotExist:
      if (!values.empty()) {
        faults.push_back(
            InvalidValues(values, "values set must be empty for exists and does not exist"));
      }
      break;
    case Operator::kGreaterThan:
    case Operator::kLessThan:
      if (values.size() != 1) {
        faults.push_back(
            InvalidValues(values, "for 'Gt', 'Lt' operators, exactly one value is required"));
      }
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (ParseInt(values[i])) continue;
        faults.push_back(Invalid(fmt::format("values[{}]", i), values[i],
                                 "for 'Gt', 'Lt' operators, the value must be an integer"));
      }
      break;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (const auto value_faults = LabelValueFaults(values[i]); !value_faults.empty()) {
      faults.push_back(Invalid(fmt::format("values[{}][{}]", i, key), values[i],
                               fmt::format("{}", fmt::join(value_faults, "; "))));
    }
  }
  if (faults.size() == 1) return BadInput(faults.front());
  if (!faults.empty()) return BadInput(fmt::format("[{}]", fmt::join(faults, ", ")));
  return LabelRequirement{std::move(key), op, std::move(values)};
}

class Parser {
 public:
  explicit Parser(std::string_view text) : items_(Scan(text)) {}

  Result<std::vector<LabelRequirement>> Run() {
    std::vector<LabelRequirement> requirements;
    for (;;) {
      const Item& first = PeekValue();
      if (first.token == Token::kEnd) return requirements;
      if (first.token != Token::kIdentifier && first.token != Token::kNot) {
        return BadInput(
            fmt::format("found '{}', expected: !, identifier, or 'end of string'", first.text));
      }
      auto requirement = Requirement();
      if (!requirement) {
        return BadInput("unable to parse requirement: " + requirement.error().message);
      }
      requirements.push_back(std::move(*requirement));
      const Item next = TakeValue();
      if (next.token == Token::kEnd) return requirements;
      if (next.token != Token::kComma) {
        return BadInput(fmt::format("found '{}', expected: ',' or 'end of string'", next.text));
      }
      const Item& after = PeekValue();
      if (after.token != Token::kIdentifier && after.token != Token::kNot) {
        return BadInput(fmt::format("found '{}', expected: identifier after ','", after.text));
      }
    }
  }

 private:
  // Where a value may stand, "in" and "notin" are words like others.
  const Item& PeekValue() {
    Item& item = items_[position_];
    as_value_ = item;
    if (item.token == Token::kIn || item.token == Token::kNotIn) {
      as_value_.token = Token::kIdentifier;
    }
    return as_value_;
  }
  Item TakeValue() {
    Item item = PeekValue();
    Advance();
    return item;
  }
  Item Take() {
    Item item = items_[position_];
    Advance();
    return item;
  }
  // The end of the text is never passed.
  void Advance() {
    if (position_ + 1 < items_.size()) ++position_;
  }

  Result<LabelRequirement> Requirement() {
    Item item = TakeValue();
    const bool negated = item.token == Token::kNot;
    if (negated) item = TakeValue();
    if (item.token != Token::kIdentifier) {
      return BadInput(fmt::format("found '{}', expected: identifier", item.text));
    }
    if (const auto faults = LabelKeyFaults(item.text); !faults.empty()) {
      return BadInput(Invalid("<nil>", item.text, fmt::format("{}", fmt::join(faults, "; "))));
    }
    if (negated) return MakeRequirement(item.text, Operator::kDoesNotExist, {});
    const Token next = PeekValue().token;
    if (next == Token::kEnd || next == Token::kComma) {
      return MakeRequirement(item.text, Operator::kExists, {});
    }
    DRA_ASSIGN(const Operator op, BinaryOperator());
    std::set<std::string> values;
    if (op == Operator::kIn || op == Operator::kNotIn) {
      DRA_ASSIGN(values, Values());
    } else {
      DRA_ASSIGN(values, ExactValue());
    }
    return MakeRequirement(item.text, op, {values.begin(), values.end()});
  }

  Result<Operator> BinaryOperator() {
    const Item item = Take();
    switch (item.token) {
      case Token::kIn:
        return Operator::kIn;
      case Token::kEquals:
        return Operator::kEquals;
      case Token::kDoubleEquals:
        return Operator::kDoubleEquals;
      case Token::kGreater:
        return Operator::kGreaterThan;
      case Token::kLess:
        return Operator::kLessThan;
      case Token::kNotIn:
        return Operator::kNotIn;
      case Token::kNotEquals:
        return Operator::kNotEquals;
      default:
        return BadInput(
            fmt::format("found '{}', expected: in, notin, =, ==, !=, gt, lt", item.text));
    }
  }

  Result<std::set<std::string>> Values() {
    const Item open = TakeValue();
    if (open.token != Token::kOpen) {
      return BadInput(fmt::format("found '{}' expected: '('", open.text));
    }
    const Item first = PeekValue();
    if (first.token == Token::kClose) {
      Advance();
      return std::set<std::string>{""};
    }
    if (first.token != Token::kIdentifier && first.token != Token::kComma) {
      return BadInput(fmt::format("found '{}', expected: ',', ')' or identifier", first.text));
    }
    DRA_ASSIGN(std::set<std::string> values, Identifiers());
    if (TakeValue().token != Token::kClose) {
      return BadInput(fmt::format("found '{}', expected: ')'", first.text));
    }
    return values;
  }

  // Between commas where nothing stands, the empty value is meant.
  Result<std::set<std::string>> Identifiers() {
    std::set<std::string> values;
    for (;;) {
      const Item item = TakeValue();
      const Item next = PeekValue();
      if (item.token == Token::kIdentifier) {
        values.insert(item.text);
        if (next.token == Token::kClose) return values;
        if (next.token != Token::kComma) {
          return BadInput(fmt::format("found '{}', expected: ',' or ')'", next.text));
        }
      } else if (item.token == Token::kComma) {
        if (values.empty()) values.insert("");
        if (next.token == Token::kClose || next.token == Token::kComma) values.insert("");
        if (next.token == Token::kClose) return values;
      } else {
        return BadInput(fmt::format("found '{}', expected: ',', or identifier", item.text));
      }
    }
  }

  Result<std::set<std::string>> ExactValue() {
    const Token next = PeekValue().token;
    if (next == Token::kEnd || next == Token::kComma) return std::set<std::string>{""};
    const Item item = TakeValue();
    if (item.token == Token::kIdentifier) return std::set<std::string>{item.text};
    return BadInput(fmt::format("found '{}', expected: identifier", item.text));
  }

  std::vector<Item> items_;
  std::size_t position_ = 0;
  Item as_value_;
};

void SortByKey(std::vector<LabelRequirement>& requirements) {
  std::ranges::stable_sort(requirements, {}, &LabelRequirement::key);
}

}  // namespace

bool LabelRequirement::Matches(const Value& labels) const {
  const Value* label = labels.Find(key);
  const auto has_value = [&] {
    return std::ranges::find(values, label->AsString()) != values.end();
  };
  switch (op) {
    case Operator::kIn:
    case Operator::kEquals:
    case Operator::kDoubleEquals:
      return label != nullptr && has_value();
    case Operator::kNotIn:
    case Operator::kNotEquals:
      return label == nullptr || !has_value();
    case Operator::kExists:
      return label != nullptr;
    case Operator::kDoesNotExist:
      return label == nullptr;
    case Operator::kGreaterThan:
    case Operator::kLessThan: {
      if (label == nullptr || values.size() != 1) return false;
      const auto have = ParseInt(label->AsString());
      const auto want = ParseInt(values.front());
      if (!have || !want) return false;
      return op == Operator::kGreaterThan ? *have > *want : *have < *want;
    }
  }
  return false;
}

std::string LabelRequirement::ToString() const {
  std::vector<std::string> sorted = values;
  std::ranges::sort(sorted);
  const std::string joined = fmt::format("{}", fmt::join(sorted, ","));
  switch (op) {
    case Operator::kIn:
      return fmt::format("{} in ({})", key, joined);
    case Operator::kNotIn:
      return fmt::format("{} notin ({})", key, joined);
    case Operator::kEquals:
      return fmt::format("{}={}", key, joined);
    case Operator::kDoubleEquals:
      return fmt::format("{}=={}", key, joined);
    case Operator::kNotEquals:
      return fmt::format("{}!={}", key, joined);
    case Operator::kExists:
      return key;
    case Operator::kDoesNotExist:
      return "!" + key;
    case Operator::kGreaterThan:
      return fmt::format("{}>{}", key, joined);
    case Operator::kLessThan:
      return fmt::format("{}<{}", key, joined);
  }
  return {};
}

Result<LabelSelector> LabelSelector::Parse(std::string_view text) {
  LabelSelector selector;
  DRA_ASSIGN(selector.requirements_, Parser(text).Run());
  SortByKey(selector.requirements_);
  return selector;
}

Result<LabelSelector> LabelSelector::FromObject(const Value& object) {
  LabelSelector selector;
  if (object.IsNull()) {
    selector.nothing_ = true;
    return selector;
  }
  for (const json::Member& label : object["matchLabels"].Members()) {
    DRA_ASSIGN(LabelRequirement requirement,
               MakeRequirement(std::string(label.key()), Operator::kEquals,
                               {std::string(label.value.AsString())}));
    selector.requirements_.push_back(std::move(requirement));
  }
  static constexpr std::pair<std::string_view, Operator> kOperators[] = {
      {"In", Operator::kIn},
      {"NotIn", Operator::kNotIn},
      {"Exists", Operator::kExists},
      {"DoesNotExist", Operator::kDoesNotExist},
  };
  for (const Value& expression : object["matchExpressions"].Items()) {
    const std::string_view name = expression["operator"].AsString();
    const auto* found =
        std::ranges::find(kOperators, name, &std::pair<std::string_view, Operator>::first);
    if (found == std::end(kOperators)) {
      return BadInput(fmt::format(
          "{} is not a valid label selector operator",
          json::Write(expression["operator"].IsNull() ? Value("") : expression["operator"])));
    }
    std::vector<std::string> values;
    for (const Value& value : expression["values"].Items()) values.emplace_back(value.AsString());
    DRA_ASSIGN(LabelRequirement requirement,
               MakeRequirement(std::string(expression["key"].AsString()), found->second,
                               std::move(values)));
    selector.requirements_.push_back(std::move(requirement));
  }
  SortByKey(selector.requirements_);
  return selector;
}

LabelSelector LabelSelector::FromMap(const Value& labels) {
  LabelSelector selector;
  for (const json::Member& label : labels.Members()) {
    selector.requirements_.push_back(
        {std::string(label.key()), Operator::kEquals, {std::string(label.value.AsString())}});
  }
  SortByKey(selector.requirements_);
  return selector;
}

bool LabelSelector::Matches(const Value& labels) const {
  return !nothing_ && std::ranges::all_of(requirements_, [&labels](const LabelRequirement& r) {
    return r.Matches(labels);
  });
}

std::string LabelSelector::ToString() const {
  std::string text;
  for (const LabelRequirement& requirement : requirements_) {
    if (!text.empty()) text += ',';
    text += requirement.ToString();
  }
  return text;
}

}  // namespace drachma::api
