#include "apiserver/policy_patches.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "cel/eval/format.h"
#include "cel/ext/base64.h"
#include "cel/ext/patch_types.h"
#include "json/json.h"

namespace drachma::apiserver {
namespace {

using cel::ValueKind;
using json::Value;
using Converted = std::expected<Value, std::string>;

// Numbers beyond it are texts in JSON, as Protobuf writes them.
constexpr std::int64_t kExactNumberMax = std::int64_t{1} << 53;

std::string CannotConvert(const cel::Value& value) {
  std::string_view name = cel::TypeNameOf(value);
  name = name.substr(name.rfind('.') + 1);
  return fmt::format("type conversion error from '{}' to '*structpb.Value'", name);
}

Converted JsonOf(const cel::Value& value);

Converted JsonOfList(const cel::ListData& list) {
  Value items = Value::Array();
  for (const cel::Value& element : list.elements()) {
    DRA_ASSIGN(Value item, JsonOf(element));
    items.Append(std::move(item));
  }
  return items;
}

Converted JsonOfMap(const cel::MapData& map) {
  Value members = Value::Object();
  for (const cel::MapEntry& entry : map.all()) {
    if (!entry.key.IsString()) {
      return std::unexpected(fmt::format("unsupported type conversion from '{}' to string",
                                         cel::TypeNameOf(entry.key)));
    }
    DRA_ASSIGN(Value member, JsonOf(entry.value));
    members.Set(entry.key.AsText(), std::move(member));
  }
  return members;
}

Converted JsonOfObject(const cel::ObjectView& object) {
  Value members = Value::Object();
  for (const auto& field : object.fields) {
    DRA_ASSIGN(Value member, JsonOf(field.value));
    members.Set(field.name, std::move(member));
  }
  return members;
}

Converted JsonOf(const cel::Value& value) {
  switch (value.kind()) {
    case ValueKind::kNull:
      return Value();
    case ValueKind::kBool:
      return Value(value.AsBool());
    case ValueKind::kInt:
      if (std::abs(value.AsInt()) > kExactNumberMax) return Value(std::to_string(value.AsInt()));
      return Value(value.AsInt());
    case ValueKind::kUint:
      if (value.AsUint() > static_cast<std::uint64_t>(kExactNumberMax)) {
        return Value(std::to_string(value.AsUint()));
      }
      return Value(static_cast<std::int64_t>(value.AsUint()));
    case ValueKind::kDouble:
      // Whole numbers are written without a point.
      if (std::trunc(value.AsDouble()) == value.AsDouble() &&
          std::abs(value.AsDouble()) <= static_cast<double>(kExactNumberMax)) {
        return Value(static_cast<std::int64_t>(value.AsDouble()));
      }
      return Value(value.AsDouble());
    case ValueKind::kString:
      return Value(value.AsText());
    case ValueKind::kBytes:
      return Value(cel::Base64Encode(value.AsText()));
    case ValueKind::kTimestamp:
      return Value(cel::FormatTimestamp({.seconds = value.seconds(),
                                         .nanos = value.nanos(),
                                         .offset_minutes = value.offset_minutes()}));
    case ValueKind::kDuration:
      return Value(cel::DurationSeconds(value.duration_nanos()));
    case ValueKind::kList:
      return JsonOfList(value.AsList());
    case ValueKind::kMap:
      return JsonOfMap(value.AsMap());
    case ValueKind::kOptional:
      if (value.HasValue()) return JsonOf(value.Inner());
      return std::unexpected("optional.none() dereference");
    default:
      if (const auto object = cel::ViewObject(value)) return JsonOfObject(*object);
      return std::unexpected(CannotConvert(value));
  }
}

// Names of types must be the paths to where their values stand ("Object.spec.containers"). Literals
// of lists and maps on the way have no name of their own.
void CheckTypeNames(const cel::Value& value, const std::string& path,
                    std::vector<std::string>& errors) {
  if (const auto object = cel::ViewObject(value)) {
    if (object->type != path) {
      errors.push_back(
          fmt::format("unexpected type name \"{}\", expected \"{}\", which matches field name path "
                      "from root Object type",
                      object->type, path));
    }
    for (const auto& field : object->fields) {
      CheckTypeNames(field.value, fmt::format("{}.{}", path, field.name), errors);
    }
  } else if (value.IsList()) {
    for (const cel::Value& item : value.AsList().elements()) CheckTypeNames(item, path, errors);
  } else if (value.IsMap()) {
    for (const auto& entry : value.AsMap().all()) CheckTypeNames(entry.value, path, errors);
  }
}

std::optional<std::string> TypeMismatch(const cel::Value& value, std::string_view root) {
  std::vector<std::string> errors;
  CheckTypeNames(value, std::string(root), errors);
  if (errors.empty()) return std::nullopt;
  return fmt::format("type mismatch: {}", fmt::join(errors, "\n"));
}

// Paths of what has one owner as a whole.
void FindAtomics(const Value& value, const Shape& shape, const std::string& path,
                 std::vector<std::string>& found) {
  using Form = Shape::Form;
  if (value.IsObject()) {
    if (shape.atomic) found.push_back(path);
    for (const json::Member& member : value.Members()) {
      const bool known = shape.form == Form::kDeduced || shape.Declares(member.key());
      if (!known) continue;
      FindAtomics(member.value, *shape.Field(member.key()),
                  fmt::format("{}.{}", path, member.key()), found);
    }
  } else if (value.IsArray()) {
    const bool whole = shape.form == Form::kList || shape.form == Form::kDeduced;
    if (whole) found.push_back(path);
    if (shape.form == Form::kDeduced || shape.source == nullptr) return;
    const Shape item = shape.Item();
    for (std::size_t i = 0; i < value.size(); ++i) {
      FindAtomics(value.Items()[i], item, fmt::format("{}[{}]", path, i), found);
    }
  }
}

}  // namespace

std::expected<Value, std::string> ApplyConfiguration(const Value& object, const cel::Value& config,
                                                     const Shape& shape) {
  if (const auto mismatch = TypeMismatch(config, "Object")) return std::unexpected(*mismatch);
  DRA_ASSIGN(Value patch, JsonOf(config));
  for (const std::string_view field : {"apiVersion", "kind"}) patch.Set(field, object[field]);
  const std::vector<std::string> faults = ShapeErrors(patch, shape, Duplicates::kRefused);
  if (!faults.empty()) {
    return std::unexpected(
        fmt::format("error applying patch: failed to convert patch object to typed object: {}{}",
                    faults.size() == 1 ? "" : "errors:\n  ", fmt::join(faults, "\n  ")));
  }
  std::vector<std::string> atomics;
  FindAtomics(patch, shape, "", atomics);
  if (!atomics.empty()) {
    return std::unexpected(
        fmt::format("error applying patch: invalid ApplyConfiguration: may not mutate atomic "
                    "arrays, maps or structs: {}",
                    fmt::join(atomics, ", ")));
  }
  Result<Value> merged = MergeConfig(object, patch, shape);
  if (merged) return *std::move(merged);
  return std::unexpected("error applying patch: failed to merge patch: " + merged.error().message);
}

std::expected<Value, std::string> ApplyJsonPatches(const Value& object, const cel::Value& patches) {
  Value operations = Value::Array();
  for (const cel::Value& patch : patches.AsList().elements()) {
    const auto view = cel::ViewPatch(patch);
    if (!view) return std::unexpected("type mismatch: expression should evaluate to JSONPatches");
    Value operation = Value::Object({{"op", view->op}, {"path", view->path}});
    if (!view->from.empty()) operation.Set("from", view->from);
    if (view->value != nullptr) {
      if (const auto root = cel::ViewObject(*view->value)) {
        if (const auto mismatch = TypeMismatch(*view->value, root->type)) {
          return std::unexpected(*mismatch);
        }
      }
      Converted value = JsonOf(*view->value);
      if (!value) {
        return std::unexpected(
            "JSONPath valueExpression evaluated to a type that could not marshal to JSON: " +
            value.error());
      }
      operation.Set("value", *std::move(value));
    }
    operations.Append(std::move(operation));
  }
  Result<Value> patched = json::JsonPatch(object, operations);
  if (patched) return *std::move(patched);
  // A patch that fails a test is not applied.
  if (patched.error().message.ends_with(": test failed")) return object;
  return std::unexpected("JSON Patch: " + patched.error().message);
}

}  // namespace drachma::apiserver
