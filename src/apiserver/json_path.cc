#include "apiserver/json_path.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "json/json.h"

namespace drachma::apiserver {
namespace {

using json::Value;

std::unexpected<Error> NoPath(std::string_view text) {
  return Fail(Code::kInvalid, fmt::format("\"{}\" is no JSONPath", text));
}

std::string_view Trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

// The text between equal quotes, or the text as it is.
std::string_view Unquoted(std::string_view text) {
  text = Trimmed(text);
  const bool quoted = text.size() >= 2 && text.front() == text.back() &&
                      (text.front() == '\'' || text.front() == '"');
  return quoted ? text.substr(1, text.size() - 2) : text;
}

std::string AsText(const Value& value) {
  return value.IsString() ? std::string(value.AsString()) : json::Write(value);
}

}  // namespace

Result<JsonPath::Step> JsonPath::ParseBracket(std::string_view inside) {
  inside = Trimmed(inside);
  if (inside == "*") return Step{.type = Step::Type::kAll};
  if (inside.starts_with("?(") && inside.ends_with(')')) {
    const std::string_view filter = inside.substr(2, inside.size() - 3);
    const std::size_t equals = filter.find("==");
    const std::string_view left = Trimmed(filter.substr(0, equals));
    if (equals == std::string_view::npos || !left.starts_with("@.")) return NoPath(inside);
    return Step{.type = Step::Type::kFilter,
                .name = std::string(left.substr(2)),
                .wanted = std::string(Unquoted(filter.substr(equals + 2)))};
  }
  const std::string_view name = Unquoted(inside);
  if (name.size() != inside.size()) return Step{.name = std::string(name)};
  Step step{.type = Step::Type::kIndex};
  const auto [end, error] =
      std::from_chars(inside.data(), inside.data() + inside.size(), step.index);
  if (error != std::errc() || end != inside.data() + inside.size()) return NoPath(inside);
  return step;
}

Result<JsonPath> JsonPath::Parse(std::string_view text) {
  JsonPath path;
  std::string_view rest = Trimmed(text);
  if (rest.starts_with('$')) rest.remove_prefix(1);
  while (!rest.empty()) {
    if (path.steps_.size() == kStepsMax) return NoPath(text);
    if (rest.front() == '[') {
      const std::size_t close = rest.find(']');
      if (close == std::string_view::npos) return NoPath(text);
      DRA_ASSIGN(Step step, ParseBracket(rest.substr(1, close - 1)));
      path.steps_.push_back(std::move(step));
      rest.remove_prefix(close + 1);
      continue;
    }
    if (rest.front() != '.') return NoPath(text);
    rest.remove_prefix(1);
    // A dot in a name is written "\.".
    std::string name;
    while (!rest.empty() && rest.front() != '.' && rest.front() != '[') {
      if (rest.starts_with("\\.")) rest.remove_prefix(1);
      name += rest.front();
      rest.remove_prefix(1);
    }
    if (name.empty()) return NoPath(text);
    path.steps_.push_back(name == "*" ? Step{.type = Step::Type::kAll}
                                      : Step{.name = std::move(name)});
  }
  return path;
}

bool JsonPath::Matches(const Step& filter, const Value& item) {
  const Value* at = &item;
  std::string_view rest = filter.name;
  while (!rest.empty()) {
    const std::string_view name = rest.substr(0, rest.find('.'));
    at = at->Find(name);
    if (at == nullptr) return false;
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
  }
  return AsText(*at) == filter.wanted;
}

std::vector<Value> JsonPath::Find(const Value& root) const {
  std::vector<Value> at = {root};
  for (const Step& step : steps_) {
    std::vector<Value> next;
    for (const Value& value : at) {
      switch (step.type) {
        case Step::Type::kMember:
          if (const Value* member = value.Find(step.name)) next.push_back(*member);
          break;
        case Step::Type::kIndex: {
          const auto size = static_cast<std::int64_t>(value.Items().size());
          const std::int64_t index = step.index < 0 ? size + step.index : step.index;
          if (index >= 0 && index < size) {
            next.push_back(value.Items()[static_cast<std::size_t>(index)]);
          }
          break;
        }
        case Step::Type::kAll:
          for (const Value& item : value.Items()) next.push_back(item);
          for (const json::Member& member : value.Members()) next.push_back(member.value);
          break;
        case Step::Type::kFilter:
          for (const Value& item : value.Items()) {
            if (Matches(step, item)) next.push_back(item);
          }
          break;
      }
    }
    at = std::move(next);
  }
  return at;
}

std::vector<std::string> JsonPath::Members() const {
  std::vector<std::string> members;
  for (const Step& step : steps_) {
    if (step.type != Step::Type::kMember) return {};
    members.push_back(step.name);
  }
  return members;
}

}  // namespace drachma::apiserver
