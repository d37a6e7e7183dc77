#include "apiserver/schema_validator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>

#include "apiserver/cel_formats.h"
#include "apiserver/go_print.h"
#include "apiserver/structural_schema.h"
#include "base/clock.h"
#include "json/json.h"

namespace drachma::apiserver {
namespace {

using json::Value;

std::string ChildPath(const std::string& path, std::string_view key) {
  return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
}

// From here on doubles stand for no whole number in JSON (2^53).
constexpr double kWholeMax = 9007199254740992.0;

const char* TypeOf(const Value& value) {
  switch (value.kind()) {
    case json::Kind::kNull:
      return "null";
    case json::Kind::kBool:
      return "boolean";
    case json::Kind::kInt:
      return "integer";
    case json::Kind::kDouble:
      return std::abs(value.AsDouble()) < kWholeMax &&
                     std::floor(value.AsDouble()) == value.AsDouble()
                 ? "integer"
                 : "number";
    case json::Kind::kString:
      return "string";
    case json::Kind::kArray:
      return "array";
    case json::Kind::kObject:
      return "object";
  }
  return "";
}

std::size_t CodePoints(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

// "1" for 1.0: numbers in messages are printed as Go's %v does.
std::string Number(const Value& value) {
  return value.IsInt() ? fmt::format("{}", value.AsInt()) : fmt::format("{:g}", value.AsDouble());
}

// The value itself has no name: upstream's texts then begin with a space.
std::string Subject(const std::string& path) { return fmt::format("{} in body", path); }

bool IsFormat(std::string_view format, std::string_view text) {
  if (format == "date-time") return ParseTime(text).has_value();
  if (format == "duration") return ParseOpenApiDuration(text).has_value();
  static const RE2 kDate(R"(\d{4}-\d{2}-\d{2})");
  static const RE2 kUuid(R"((?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12})");
  static const RE2 kByte(R"((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)");
  const re2::StringPiece piece(text.data(), text.size());
  if (format == "date") return RE2::FullMatch(piece, kDate);
  if (format == "uuid") return RE2::FullMatch(piece, kUuid);
  if (format == "byte") return RE2::FullMatch(piece, kByte);
  return true;
}

}  // namespace

const Value* PastOfItem(const Value& item, const Value& old, const Value& schema) {
  const Value& keys = schema["x-kubernetes-list-map-keys"];
  if (schema["x-kubernetes-list-type"].AsString() != "map" || keys.empty()) return nullptr;
  for (const Value& other : old.Items()) {
    const bool same = std::ranges::all_of(keys.Items(), [&](const Value& key) {
      return item[key.AsString()] == other[key.AsString()];
    });
    if (same) return &other;
  }
  return nullptr;
}

namespace {

bool ListIsUnchanged(const Value& value, const Value& old, const Value& schema) {
  if (value.size() != old.size()) return false;
  if (schema["x-kubernetes-list-type"].AsString() != "map") return value == old;
  return std::ranges::all_of(value.Items(), [&](const Value& item) {
    const Value* past = PastOfItem(item, old, schema);
    return past != nullptr && IsUnchanged(item, *past, schema["items"]);
  });
}

bool ObjectIsUnchanged(const Value& value, const Value& old, const Value& schema) {
  if (value.size() != old.size()) return false;
  return std::ranges::all_of(value.Members(), [&](const json::Member& member) {
    const Value* past = old.Find(member.key());
    const Value* inner = schema["properties"].Find(member.key());
    if (inner == nullptr) inner = &schema["additionalProperties"];
    return past != nullptr && inner->IsObject() && IsUnchanged(member.value, *past, *inner);
  });
}

}  // namespace

bool IsUnchanged(const Value& value, const Value& old, const Value& schema) {
  if (value.IsArray() && old.IsArray()) return ListIsUnchanged(value, old, schema);
  if (value.IsObject() && old.IsObject()) return ObjectIsUnchanged(value, old, schema);
  return value == old;
}

validation::ErrorList SchemaValidator::Validate(const Value& value, const Value& schema,
                                                const Value* old) {
  Check(value, schema, "", 0, old);
  validation::ErrorList errors = std::move(errors_);
  const auto is_duplicate = [](const validation::FieldError& error) {
    return error.type == validation::ErrorType::kDuplicate;
  };
  // Lists that break their type are left alone altogether once the object has such.
  if (old != nullptr && std::ranges::any_of(errors, is_duplicate)) {
    const validation::ErrorList before = SchemaValidator(patterns_).Validate(*old, schema);
    if (std::ranges::any_of(before, is_duplicate)) std::erase_if(errors, is_duplicate);
  }
  return errors;
}

void SchemaValidator::Bad(const std::string& path, const Value& value, const std::string& detail) {
  errors_.push_back(validation::Invalid(path.empty() ? "<nil>" : path, validation::Shown(value),
                                        fmt::format("{} {}", Subject(path), detail)));
}

void SchemaValidator::Check(const Value& value, const Value& schema, const std::string& path,
                            int depth, const Value* old) {
  const std::size_t before = errors_.size();
  CheckParts(value, schema, path, depth, old);
  if (errors_.size() > before && old != nullptr && IsUnchanged(value, *old, schema)) {
    errors_.resize(before);
  }
}

void SchemaValidator::CheckParts(const Value& value, const Value& schema, const std::string& path,
                                 int depth, const Value* old) {
  if (depth > StructuralSchema::kDepthMax) {
    return Bad(path, Value(), "is nested too deep");
  }
  if (!schema.IsObject()) return;
  if (value.IsNull() && schema["nullable"].AsBool()) return;
  CheckType(value, schema, path);
  if (const Value* allowed = schema.Find("enum")) {
    const auto items = allowed->Items();
    if (std::ranges::none_of(items, [&](const Value& item) { return item == value; })) {
      std::vector<std::string> shown;
      for (const Value& item : items) {
        shown.push_back(item.IsString() ? std::string(item.AsString()) : json::Write(item));
      }
      const std::vector<std::string_view> views(shown.begin(), shown.end());
      errors_.push_back(validation::NotSupported(path, validation::Shown(value), views));
    }
  }
  CheckNumber(value, schema, path);
  CheckString(value, schema, path);
  CheckList(value, schema, path, depth, old);
  CheckObject(value, schema, path, depth, old);
  CheckCombinations(value, schema, path, depth);
}

void SchemaValidator::CheckType(const Value& value, const Value& schema, const std::string& path) {
  const std::string_view is = TypeOf(value);
  std::string wanted(schema["type"].AsString());
  if (schema["x-kubernetes-int-or-string"].AsBool()) {
    if (is == "integer" || is == "string") return;
    wanted = "integer,string";
  }
  if (wanted.empty() || wanted == is || (wanted == "number" && is == "integer")) return;
  errors_.push_back(
      {.type = validation::ErrorType::kTypeInvalid,
       .path = path.empty() ? "<nil>" : path,
       .bad_value = validation::ShownText(is),
       .detail = fmt::format("{} must be of type {}: \"{}\"", Subject(path), wanted, is)});
}

void SchemaValidator::CheckNumber(const Value& value, const Value& schema,
                                  const std::string& path) {
  if (!value.IsNumber()) return;
  CheckRange(value, schema, path);
  const double number = value.AsDouble();
  if (const Value* max = schema.Find("maximum")) {
    const bool exclusive = schema["exclusiveMaximum"].AsBool();
    if (exclusive ? number >= max->AsDouble() : number > max->AsDouble()) {
      Bad(path, value,
          fmt::format("should be less than {}{}", exclusive ? "" : "or equal to ", Number(*max)));
    }
  }
  if (const Value* min = schema.Find("minimum")) {
    const bool exclusive = schema["exclusiveMinimum"].AsBool();
    if (exclusive ? number <= min->AsDouble() : number < min->AsDouble()) {
      Bad(path, value,
          fmt::format("should be greater than {}{}", exclusive ? "" : "or equal to ",
                      Number(*min)));
    }
  }
  if (const Value* factor = schema.Find("multipleOf")) CheckMultiple(value, *factor, path);
}

void SchemaValidator::CheckRange(const Value& value, const Value& schema, const std::string& path) {
  if (schema["type"].AsString() != "integer") return;
  const std::string_view format = schema["format"].AsString();
  const double number = value.AsDouble();
  constexpr double kInt64End = 9223372036854775808.0;
  bool fits = value.IsInt() || (std::floor(number) == number && std::abs(number) < kInt64End);
  if (format == "int32")
    fits &= number >= std::numeric_limits<std::int32_t>::min() &&
            number <= std::numeric_limits<std::int32_t>::max();
  if (format == "uint32")
    fits &= number >= 0 && number <= std::numeric_limits<std::uint32_t>::max();
  if (fits) return;
  errors_.push_back(validation::Invalid(
      "<nil>", "\"\"",
      fmt::format("Checked value must be of type integer {} in {}",
                  format.empty() ? "(default format)" : fmt::format("with format {}", format),
                  path)));
}

void SchemaValidator::CheckMultiple(const Value& value, const Value& factor,
                                    const std::string& path) {
  // The factor is a float64 to upstream; whole numbers of integers are compared as such.
  const double by = value.IsInt() ? std::trunc(factor.AsDouble()) : factor.AsDouble();
  if (by <= 0) {
    errors_.push_back(
        validation::Invalid(path, GoText(Value(by)),
                            fmt::format("factor MultipleOf declared for {} must be positive: {}",
                                        path, GoText(Value(by)))));
    return;
  }
  const double times = value.AsDouble() / by;
  if (std::floor(times) != times) {
    Bad(path, value, fmt::format("should be a multiple of {}", Number(factor)));
  }
}

void SchemaValidator::CheckString(const Value& value, const Value& schema,
                                  const std::string& path) {
  if (!value.IsString()) return;
  const std::string_view text = value.AsString();
  const auto length = static_cast<std::int64_t>(CodePoints(text));
  // The first of these is told.
  if (const Value* max = schema.Find("maxLength"); max != nullptr && length > max->AsInt()) {
    errors_.push_back(validation::TooLong(path, max->AsInt()));
  } else if (const Value* min = schema.Find("minLength"); min != nullptr && length < min->AsInt()) {
    Bad(path, value, fmt::format("should be at least {} chars long", min->AsInt()));
  } else if (const Value* pattern = schema.Find("pattern")) {
    const auto compiled = patterns_.find(pattern->AsString());
    if (compiled != patterns_.end() &&
        !RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *compiled->second)) {
      Bad(path, value, fmt::format("should match '{}'", pattern->AsString()));
    }
  }
  const std::string_view format = schema["format"].AsString();
  if (!IsFormat(format, text)) {
    Bad(path, value, fmt::format("must be of type {}: {}", format, validation::ShownText(text)));
    errors_.back().type = validation::ErrorType::kTypeInvalid;
  }
}

void SchemaValidator::CheckList(const Value& value, const Value& schema, const std::string& path,
                                int depth, const Value* old) {
  if (!value.IsArray()) return;
  const auto size = static_cast<std::int64_t>(value.size());
  if (const Value* max = schema.Find("maxItems"); max != nullptr && size > max->AsInt()) {
    errors_.push_back(
        validation::TooMany(path, value.size(), static_cast<std::size_t>(max->AsInt())));
  }
  if (const Value* min = schema.Find("minItems"); min != nullptr && size < min->AsInt()) {
    Bad(path, Value(size), fmt::format("should have at least {} items", min->AsInt()));
  }
  CheckListType(value, schema, path);
  for (std::size_t i = 0; i < value.size(); ++i) {
    const Value& item = value.Items()[i];
    const Value* past = old == nullptr ? nullptr : PastOfItem(item, *old, schema);
    Check(item, schema["items"], fmt::format("{}[{}]", path, i), depth + 1, past);
  }
}

// x-kubernetes-list-type: items of a set and keys of a map are unique.
void SchemaValidator::CheckListType(const Value& value, const Value& schema,
                                    const std::string& path) {
  const std::string_view type = schema["x-kubernetes-list-type"].AsString();
  const bool set = type == "set" || schema["uniqueItems"].AsBool();
  if (!set && type != "map") return;
  if (!set) {
    const auto items = value.Items();
    const auto bad = std::ranges::find_if(
        items, [](const Value& item) { return !item.IsObject() && !item.IsNull(); });
    if (bad != items.end()) {
      errors_.push_back(validation::Invalid(fmt::format("{}[{}]", path, bad - items.begin()),
                                            validation::Shown(*bad),
                                            "must be an object for an array of list-type map"));
      return;
    }
  }
  std::map<std::string, int> seen;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const Value& item = value.Items()[i];
    Value key = item;
    if (!set) {
      key = Value::Object();
      for (const Value& name : schema["x-kubernetes-list-map-keys"].Items()) {
        if (const Value* part = item.Find(name.AsString())) key.Set(name.AsString(), *part);
      }
    }
    // Only the second of its kind is told.
    if (++seen[json::Write(key)] == 2) {
      errors_.push_back(
          validation::Duplicate(fmt::format("{}[{}]", path, i), validation::Shown(key)));
    }
  }
}

void SchemaValidator::CheckObject(const Value& value, const Value& schema, const std::string& path,
                                  int depth, const Value* old) {
  if (!value.IsObject()) return;
  const auto size = static_cast<std::int64_t>(value.size());
  if (const Value* max = schema.Find("maxProperties"); max != nullptr && size > max->AsInt()) {
    errors_.push_back(
        validation::TooMany(path, value.size(), static_cast<std::size_t>(max->AsInt())));
  }
  if (const Value* min = schema.Find("minProperties"); min != nullptr && size < min->AsInt()) {
    Bad(path, Value(size), fmt::format("should have at least {} properties", min->AsInt()));
  }
  for (const Value& required : schema["required"].Items()) {
    if (!value.Has(required.AsString())) {
      errors_.push_back(validation::Required(ChildPath(path, required.AsString())));
    }
  }
  for (const json::Member& member : value.Members()) {
    const Value* property = schema["properties"].Find(member.key());
    if (property == nullptr) property = &schema["additionalProperties"];
    // What the type of an object is does not show in its past: both are made one version.
    const bool type = path.empty() && (member.key() == "apiVersion" || member.key() == "kind");
    const Value* past = old == nullptr || type ? nullptr : old->Find(member.key());
    Check(member.value, *property, ChildPath(path, member.key()), depth + 1, past);
  }
}

bool SchemaValidator::Fits(const Value& value, const Value& schema, const std::string& path,
                           int depth) {
  const std::size_t before = errors_.size();
  Check(value, schema, path, depth + 1);
  const bool fits = errors_.size() == before;
  errors_.resize(before);
  return fits;
}

void SchemaValidator::CheckCombinations(const Value& value, const Value& schema,
                                        const std::string& path, int depth) {
  const auto fitting = [&](const Value& alternatives) {
    return std::ranges::count_if(alternatives.Items(), [&](const Value& alternative) {
      return Fits(value, alternative, path, depth);
    });
  };
  // The error of none stands at no field, and what the first alternative lacks follows it.
  const auto bad = [&](std::string_view detail) {
    errors_.push_back(validation::Invalid("<nil>", "\"\"", fmt::format("\"{}\" {}", path, detail)));
  };
  const auto first = [&](const Value& alternatives) {
    Check(value, alternatives.Items().front(), path, depth + 1);
  };
  for (const Value& each : schema["allOf"].Items()) Check(value, each, path, depth + 1);
  // What is no list, or an empty one, asks for nothing.
  const Value& any = schema["anyOf"];
  if (!any.Items().empty() && fitting(any) == 0) {
    bad("must validate at least one schema (anyOf)");
    first(any);
  }
  if (const Value& one = schema["oneOf"]; !one.Items().empty()) {
    const auto count = fitting(one);
    if (count == 0) {
      bad("must validate one and only one schema (oneOf). Found none valid");
      first(one);
    }
    if (count > 1) {
      bad(fmt::format("must validate one and only one schema (oneOf). Found {} valid alternatives",
                      count));
    }
  }
  if (const Value* no = schema.Find("not"); no != nullptr && Fits(value, *no, path, depth)) {
    bad("must not validate the schema (not)");
  }
}

}  // namespace drachma::apiserver
