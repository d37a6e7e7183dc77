#include "api/unstructured.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "api/flat_type.h"
#include "api/json_kind.h"
#include "api/scalar_codec.h"
#include "num/quantity.h"

namespace drachma::api {
namespace {

using json::Kind;
using json::Member;
using json::Value;

// The name of Go's reflect.Kind of a decoded JSON value.
std::string_view ReflectKind(const Value& value) {
  switch (value.kind()) {
    case Kind::kBool:
      return "bool";
    case Kind::kInt:
      return "int64";
    case Kind::kDouble:
      return "float64";
    case Kind::kString:
      return "string";
    case Kind::kArray:
      return "slice";
    default:
      return "map";
  }
}

std::unexpected<Error> Unrecognized(std::string_view kind) {
  return BadInput(fmt::format("unrecognized type: {}", kind));
}

// Checks a value and brings its numbers into the form that Decode() takes.
class Restorer {
 public:
  explicit Restorer(StrictFields strict) : report_(strict == StrictFields::kReport) {}

  Status Struct(Value& value, const TypeInfo& type) {
    if (value.IsNull()) return {};
    if (!value.IsObject()) {
      return BadInput(fmt::format("cannot restore struct from: {}", ReflectKind(value)));
    }
    const FlatType& flat = Flat(type);
    for (const FlatField& field : flat.fields) {
      const std::string_view name = field.field->json_name;
      const Value* member = value.Find(name);
      if (member == nullptr || member->IsNull()) continue;
      const std::size_t size = path_.size();
      Push(name);
      Value restored = *member;
      DRA_TRY(Field(restored, *field.field));
      if (!restored.SharesWith(*member)) value.Set(name, std::move(restored));
      path_.resize(size);
    }
    if (report_) ReportUnknown(value, flat);
    return {};
  }

  std::vector<std::string> TakeUnknown() {
    std::ranges::sort(unknown_);
    return std::move(unknown_);
  }

 private:
  void Push(std::string_view key) {
    if (!report_) return;
    if (!path_.empty()) path_ += '.';
    path_ += key;
  }

  void ReportUnknown(const Value& value, const FlatType& flat) {
    for (const Member& member : value.Members()) {
      if (flat.Find(member.key(), 0) >= 0) continue;
      unknown_.push_back(
          fmt::format("unknown field \"{}{}{}\"", path_, path_.empty() ? "" : ".", member.key()));
    }
  }

  Status Field(Value& value, const FieldInfo& field) {
    switch (field.shape) {
      case Shape::kOne:
        return One(value, field, field.go_type);
      case Shape::kList:
        return List(value, field, field.go_type);
      case Shape::kMap:
      case Shape::kMapOfLists:
        return Map(value, field);
    }
    return {};
  }

  Status List(Value& value, const FieldInfo& field, std::string_view go_type) {
    if (value.IsNull()) return {};
    if (!value.IsArray()) {
      return BadInput(fmt::format("cannot restore slice from {}", ReflectKind(value)));
    }
    for (std::size_t i = 0; i < value.size(); ++i) {
      const std::size_t size = path_.size();
      if (report_) path_ += fmt::format("[{}]", i);
      Value item = value.Items()[i];
      DRA_TRY(One(item, field, ElementType(field, go_type)));
      if (!item.SharesWith(value.Items()[i])) value.EditItem(i) = std::move(item);
      path_.resize(size);
    }
    return {};
  }

  Status Map(Value& value, const FieldInfo& field) {
    if (!value.IsObject()) {
      return BadInput(fmt::format("cannot restore map from {}", ReflectKind(value)));
    }
    std::vector<std::string> keys;
    for (const Member& member : value.Members()) keys.emplace_back(member.key());
    std::ranges::sort(keys);  // Go's order is random
    for (const std::string& key : keys) {
      Value item = value[key];
      const std::string_view element = ElementType(field, field.go_type);
      DRA_TRY(field.shape == Shape::kMapOfLists ? List(item, field, element)
                                                : One(item, field, element));
      if (!item.SharesWith(value[key])) value.Set(key, std::move(item));
    }
    return {};
  }

  Status One(Value& value, const FieldInfo& field, std::string_view go_type) {
    if (value.IsNull()) return {};
    switch (field.scalar) {
      case Scalar::kStruct:
        return Struct(value, *field.type);
      case Scalar::kString:
        if (value.IsString()) return {};
        if (value.IsInt()) return BadInput(fmt::format("cannot convert int64 to {}", go_type));
        return Unrecognized("string");
      case Scalar::kBool:
        return value.IsBool() ? Status() : Unrecognized("bool");
      case Scalar::kInt32:
        return Integer(value, go_type, "int32");
      case Scalar::kInt64:
        return Integer(value, go_type, "int64");
      case Scalar::kDouble:
        return value.IsNumber() ? Status() : Unrecognized("float64");
      case Scalar::kBytes:
        return Bytes(value);
      case Scalar::kQuantity:
        return QuantityValue(value);
      case Scalar::kTime:
      case Scalar::kMicroTime:
        return Time(value, field.scalar);
      case Scalar::kIntOrString:
        return IntOrString(value);
      case Scalar::kAny:
      case Scalar::kSchemaOrAny:
        return {};
    }
    return {};
  }

  static Status Integer(Value& value, std::string_view go_type, std::string_view kind) {
    if (value.IsInt()) {
      if (kind == "int32") value = static_cast<int>(static_cast<std::int32_t>(value.AsInt()));
      return {};
    }
    if (value.kind() != Kind::kDouble) return Unrecognized(kind);
    const double number = value.AsDouble();
    constexpr double kInt64End = 9223372036854775808.0;
    if (number != std::trunc(number)) {
      return BadInput(fmt::format("cannot convert float64 to {}", go_type));
    }
    // Go leaves open what becomes of numbers beyond; on amd64 it is the smallest one.
    value =
        number >= -kInt64End && number < kInt64End ? static_cast<std::int64_t>(number) : INT64_MIN;
    if (kind == "int32") value = static_cast<int>(static_cast<std::int32_t>(value.AsInt()));
    return {};
  }

  static Status Bytes(const Value& value) {
    if (!value.IsString()) {
      return BadInput(fmt::format("cannot restore slice from {}", ReflectKind(value)));
    }
    if (const auto bytes = DecodeBase64(value.AsString()); !bytes) {
      return BadInput("error decoding from json: " + bytes.error().message);
    }
    return {};
  }

  static Status QuantityValue(const Value& value) {
    const std::string text = value.IsString() ? std::string(value.AsString()) : json::Write(value);
    const auto first = text.find_first_not_of(" \t\r\n");
    const auto last = text.find_last_not_of(" \t\r\n");
    const auto parsed =
        Quantity::Parse(first == std::string::npos ? text : text.substr(first, last - first + 1));
    return parsed ? Status() : BadInput(parsed.error().message);
  }

  static Status Time(const Value& value, Scalar scalar) {
    if (!value.IsString()) {
      return BadInput(
          fmt::format("json: cannot unmarshal {} into Go value of type string", JsonKind(value)));
    }
    const auto text = scalar == Scalar::kTime ? CanonicalTime(value.AsString())
                                              : CanonicalMicroTime(value.AsString());
    return text ? Status() : BadInput(text.error().message);
  }

  static Status IntOrString(const Value& value) {
    if (value.IsString()) return {};
    if (value.IsInt() && value.AsInt() >= INT32_MIN && value.AsInt() <= INT32_MAX) return {};
    return BadInput(fmt::format(
        "json: cannot unmarshal {} into Go value of type int32",
        value.IsNumber() ? "number " + json::Write(value) : std::string(JsonKind(value))));
  }

  bool report_;
  std::string path_;
  std::vector<std::string> unknown_;
};

}  // namespace

Result<Decoded> FromUnstructured(const Value& object, const TypeInfo& type, StrictFields strict) {
  Restorer restorer(strict);
  Value restored = object;
  DRA_TRY(restorer.Struct(restored, type));
  DRA_ASSIGN(Decoded decoded, Decode(restored, type, StrictFields::kIgnore));
  decoded.strict_errors = restorer.TakeUnknown();
  return decoded;
}

}  // namespace drachma::api
