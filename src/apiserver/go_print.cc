#include "apiserver/go_print.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <vector>

#include "validation/field_error.h"

namespace drachma::apiserver {
namespace {

using json::Kind;
using json::Member;
using json::Value;

// strconv.FormatFloat(number, 'g', -1, 64): an exponent below 1e-4 and from 1e6 on.
std::string Number(double number) {
  std::string digits(32, '\0');
  const auto written = std::to_chars(digits.data(), digits.data() + digits.size(), number,
                                     std::chars_format::scientific);
  digits.resize(written.ptr - digits.data());
  const int exponent = std::stoi(digits.substr(digits.find('e') + 1));
  constexpr int kExponentMin = -4;
  constexpr int kExponentEnd = 6;
  if (exponent < kExponentMin || exponent >= kExponentEnd) return digits;
  return fmt::format("{}", number).ends_with(".0") ? fmt::format("{:.0f}", number)
                                                   : fmt::format("{}", number);
}

std::vector<const Member*> SortedMembers(const Value& object) {
  std::vector<const Member*> members;
  for (const Member& member : object.Members()) members.push_back(&member);
  std::ranges::sort(members, {}, [](const Member* member) { return member->key(); });
  return members;
}

}  // namespace

std::string GoText(const Value& value) {
  switch (value.kind()) {
    case Kind::kNull:
      return "<nil>";
    case Kind::kBool:
      return value.AsBool() ? "true" : "false";
    case Kind::kInt:
      return fmt::format("{}", value.AsInt());
    case Kind::kDouble:
      return Number(value.AsDouble());
    case Kind::kString:
      return std::string(value.AsString());
    case Kind::kArray: {
      std::vector<std::string> items;
      for (const Value& item : value.Items()) items.push_back(GoText(item));
      return fmt::format("[{}]", fmt::join(items, " "));
    }
    case Kind::kObject: {
      std::vector<std::string> items;
      for (const Member* member : SortedMembers(value)) {
        items.push_back(fmt::format("{}:{}", member->key(), GoText(member->value)));
      }
      return fmt::format("map[{}]", fmt::join(items, " "));
    }
  }
  return {};
}

std::string GoSyntax(const Value& value) {
  switch (value.kind()) {
    case Kind::kNull:
      return "interface {}(nil)";
    case Kind::kString:
      return validation::ShownText(value.AsString());
    case Kind::kArray: {
      std::vector<std::string> items;
      for (const Value& item : value.Items()) items.push_back(GoSyntax(item));
      return fmt::format("[]interface {{}}{{{}}}", fmt::join(items, ", "));
    }
    case Kind::kObject: {
      std::vector<std::string> items;
      for (const Member* member : SortedMembers(value)) {
        items.push_back(
            fmt::format("{}:{}", validation::ShownText(member->key()), GoSyntax(member->value)));
      }
      return fmt::format("map[string]interface {{}}{{{}}}", fmt::join(items, ", "));
    }
    default:
      return GoText(value);
  }
}

}  // namespace drachma::apiserver
