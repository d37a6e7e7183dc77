#include "lint/shape_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "api/types.h"
#include "base/nearest.h"
#include "json/json.h"
#include "lint/path.h"

namespace drachma::lint {
namespace {

using api::FieldInfo;
using api::Scalar;
using api::Shape;
using json::Value;

// Names that differ in more letters are different names.
constexpr std::size_t kTyposMax = 2;
// A name must be so long to be taken for the beginning of another.
constexpr std::size_t kPrefixMin = 5;

void AddNames(const api::TypeInfo& type, std::vector<std::string_view>& names) {
  for (const FieldInfo& field : type.fields) {
    if (field.inlined && field.type != nullptr) {
      AddNames(*field.type, names);
    } else {
      names.push_back(field.json_name);
    }
  }
}

// The one field that `key` can have meant; empty when none or several can.
std::string_view MeantField(const api::TypeInfo& type, const Value& owner, std::string_view key) {
  std::vector<std::string_view> names;
  AddNames(type, names);
  std::erase_if(names, [&](std::string_view name) { return name.empty() || owner.Has(name); });
  std::string_view meant;
  for (const std::string_view name : names) {
    const bool begins = key.size() >= kPrefixMin && name.starts_with(key);
    if (!begins && (key.size() < kPrefixMin || EditDistance(key, name) > kTyposMax)) continue;
    if (!meant.empty()) return {};
    meant = name;
  }
  return meant;
}

// `value` as the scalar that the field wants; nothing when it is one or cannot be read as one.
std::optional<Value> AsWanted(const Value& value, Scalar wanted) {
  switch (wanted) {
    case Scalar::kBool:
      if (value.IsString() && value.AsString() == "true") return Value(true);
      if (value.IsString() && value.AsString() == "false") return Value(false);
      return std::nullopt;
    case Scalar::kInt32:
    case Scalar::kInt64: {
      if (!value.IsString()) return std::nullopt;
      const std::string_view text = value.AsString();
      std::int64_t number = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
      if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
      return Value(number);
    }
    case Scalar::kString:
      if (value.IsBool() || value.IsNumber()) return Value(json::Write(value));
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

std::string_view NameOf(Scalar scalar) {
  if (scalar == Scalar::kBool) return "a boolean";
  return scalar == Scalar::kString ? "a string" : "a number";
}

class Walker {
 public:
  explicit Walker(std::vector<Found>& found) : found_(found) {}

  void Struct(const Value& value, const api::TypeInfo& type, const std::string& path) {
    if (!value.IsObject()) return;
    for (const json::Member& member : value.Members()) {
      const std::string at = Child(path, member.key());
      if (const FieldInfo* field = type.Find(member.key())) {
        Field(member.value, *field, at);
      } else {
        Unknown(value, type, member, at);
      }
    }
  }

 private:
  void Unknown(const Value& owner, const api::TypeInfo& type, const json::Member& member,
               const std::string& path) {
    const std::string_view meant = MeantField(type, owner, member.key());
    if (meant.empty()) return;
    Found made = MakeFound(path, "misspelled-field",
                           fmt::format("unknown field \"{}\": the field is called {}", path, meant),
                           fmt::format("{}: …", meant));
    made.finding.changes = {{.type = Change::Type::kReplaceMember,
                             .path = path,
                             .key = std::string(meant),
                             .value = member.value}};
    found_.push_back(std::move(made));
  }

  void Field(const Value& value, const FieldInfo& field, const std::string& path) {
    if (value.IsNull()) return;
    switch (field.shape) {
      case Shape::kOne:
        return One(value, field, path);
      case Shape::kList:
        if (!value.IsArray()) return Single(value, field, path);
        for (std::size_t i = 0; i < value.size(); ++i) One(value.Items()[i], field, Item(path, i));
        return;
      case Shape::kMap:
        for (const json::Member& member : value.Members()) {
          One(member.value, field, Child(path, member.key()));
        }
        return;
      case Shape::kMapOfLists:
        return;
    }
  }

  void One(const Value& value, const FieldInfo& field, const std::string& path) {
    if (field.scalar == Scalar::kStruct) {
      if (field.type != nullptr) Struct(value, *field.type, path);
      return;
    }
    const std::optional<Value> wanted = AsWanted(value, field.scalar);
    if (!wanted) return;
    const std::string text = json::Write(*wanted);
    Found made = MakeFound(
        path, "wrong-scalar",
        fmt::format("{} is {}, not {}", path, NameOf(field.scalar), json::Write(value)), text);
    made.finding.changes = {{.path = path, .value = *wanted}};
    found_.push_back(std::move(made));
  }

  // One value where the field is a list of such.
  void Single(const Value& value, const FieldInfo& field, const std::string& path) {
    const bool of_structs = field.scalar == Scalar::kStruct && value.IsObject();
    const bool of_texts = field.scalar == Scalar::kString && value.IsString();
    if (!of_structs && !of_texts) return;
    Found made = MakeFound(path, "list-wanted", fmt::format("{} is a list", path), "[…]");
    made.finding.changes = {{.path = path, .value = Value::Array({value})}};
    found_.push_back(std::move(made));
  }

  std::vector<Found>& found_;
};

}  // namespace

void ShapesOfFields(const Value& object, const RuleContext&, std::vector<Found>& found) {
  const api::TypeInfo* type =
      api::FindTypeOfKind(object["apiVersion"].AsString(), object["kind"].AsString());
  if (type != nullptr) Walker(found).Struct(object, *type, "");
}

}  // namespace drachma::lint
