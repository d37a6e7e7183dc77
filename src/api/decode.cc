#include "api/decode.h"

#include <fmt/format.h>

#include <algorithm>
#include <bitset>

#include "api/decode_report.h"
#include "api/flat_type.h"
#include "api/json_kind.h"
#include "api/scalar_codec.h"
#include "base/check.h"
#include "json/part.h"
#include "num/quantity.h"

namespace drachma::api {

namespace {

using json::Kind;
using json::Member;
using json::Value;

constexpr std::size_t kFieldsMax = 96;  // of one struct; the largest has 50

std::string NumberText(const Value& value, std::string_view sent) {
  if (!sent.empty()) return std::string(sent);
  std::string text = json::Write(value);
  // A whole number that came as a double was written with a point or an exponent.
  if (value.kind() == Kind::kDouble && text.find_first_of(".e") == std::string::npos &&
      text.size() < 18) {
    text += ".0";
  }
  return text;
}

bool InRange(const Value& value, Scalar scalar) {
  return value.IsInt() &&
         (scalar == Scalar::kInt64 || (value.AsInt() >= INT32_MIN && value.AsInt() <= INT32_MAX));
}

// How deep structs may lie in each other (CRD schemas nest without end otherwise).
constexpr int kStructDepthMax = 500;

class Decoder : private DecodeReport {
 public:
  Decoder(StrictFields strict, std::span<const json::DuplicateKey> duplicates,
          std::string_view sent)
      : DecodeReport(strict, duplicates), sent_(sent) {}

  Result<Decoded> Run(const Value& object, const TypeInfo& type) {
    Decoded decoded;
    if (!object.IsObject() && !object.IsNull()) {
      return BadInput(fmt::format("json: cannot unmarshal {} into Go value of type {}",
                                  JsonKind(object), type.ShortName()));
    }
    DRA_TRY(Struct(object, type, decoded.value));
    if (type_error_) return BadInput(std::move(*type_error_));
    decoded.strict_errors = std::move(strict_errors_);
    return decoded;
  }

 private:
  // --- Structs.

  // `object` is an object, or null for a struct of zero values.
  Status Struct(const Value& object, const TypeInfo& type, Value& out) {
    const FlatType& flat = Flat(type);
    DRA_CHECK(flat.fields.size() <= kFieldsMax);
    if (depth_ == kStructDepthMax) return BadInput("exceeded max depth");
    ++depth_;
    std::vector<Value> values(flat.fields.size());
    std::bitset<kFieldsMax> given;
    DRA_TRY(Members(object, flat, values, given));
    --depth_;
    out = Value::Object();
    out.Reserve(object.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      const FieldInfo& field = *flat.fields[i].field;
      Value& value = values[i];
      if (!given[i]) value = Zero(field);
      if (Writes(field, value)) out.Set(field.json_name, std::move(value));
    }
    return {};
  }

  // Decodes the members in the order of the document, since errors come in it.
  Status Members(const Value& object, const FlatType& flat, std::vector<Value>& values,
                 std::bitset<kFieldsMax>& given) {
    const Duplicates* duplicates = DuplicatesHere();
    std::size_t number = 0;
    std::size_t hint = 0;
    for (const Member& member : object.Members()) {
      if (duplicates != nullptr) ReportDuplicates(*duplicates, number++, &flat);
      const int found = flat.Find(member.key(), hint);
      if (found < 0) {
        if (report_) Report("unknown field", member.key());
        continue;
      }
      const auto at = static_cast<std::size_t>(found);
      stack_.push_back({flat.type, &flat.fields[at]});
      path_.push_back({.key = member.key()});
      DRA_TRY(Field(member.value, *flat.fields[at].field, values[at]));
      path_.pop_back();
      stack_.pop_back();
      given.set(at);
      hint = at + 1;
    }
    if (duplicates != nullptr) ReportDuplicates(*duplicates, object.size(), &flat);
    return {};
  }

  // --- One field.

  Status Field(const Value& given, const FieldInfo& field, Value& out) {
    switch (field.shape) {
      case Shape::kOne:
        return One(given, field, field.go_type, out);
      case Shape::kList:
        return List(given, field, field.go_type, out);
      case Shape::kMap:
      case Shape::kMapOfLists:
        return Map(given, field, out);
    }
    return {};
  }

  Status List(const Value& given, const FieldInfo& field, std::string_view go_type, Value& out) {
    if (given.IsNull()) return {};
    if (!given.IsArray()) {
      TypeError(JsonKind(given), go_type);
      return {};
    }
    std::vector<Value> items(given.size());
    for (std::size_t i = 0; i < items.size(); ++i) {
      path_.push_back({.index = i, .is_index = true});
      DRA_TRY(Element(given.Items()[i], field, ElementType(field, go_type), items[i]));
      path_.pop_back();
    }
    out = Value::Array(std::move(items));
    return {};
  }

  Status Map(const Value& given, const FieldInfo& field, Value& out) {
    if (given.IsNull()) return {};
    if (!given.IsObject()) {
      TypeError(JsonKind(given), field.go_type);
      return {};
    }
    std::vector<const Member*> members;
    members.reserve(given.size());
    for (const Member& member : given.Members()) members.push_back(&member);
    out = Value::Object();
    out.Reserve(members.size());
    const Duplicates* duplicates = DuplicatesHere();
    std::size_t number = 0;
    std::vector<std::pair<const Member*, Value>> decoded;
    decoded.reserve(members.size());
    for (const Member* member : members) {
      if (duplicates != nullptr) ReportDuplicates(*duplicates, number++, nullptr);
      path_.push_back({.key = member->key()});
      Value value;
      if (field.shape == Shape::kMapOfLists) {
        DRA_TRY(List(member->value, field, ElementType(field, field.go_type), value));
      } else {
        DRA_TRY(Element(member->value, field, ElementType(field, field.go_type), value));
      }
      path_.pop_back();
      decoded.emplace_back(member, std::move(value));
    }
    if (duplicates != nullptr) ReportDuplicates(*duplicates, given.size(), nullptr);
    // Go writes maps sorted by key.
    std::ranges::sort(decoded, {}, [](const auto& entry) { return entry.first->key(); });
    for (auto& [member, value] : decoded) out.SetByKey(member->key_value, std::move(value));
    return {};
  }

  // An element of a list or map: never a pointer, so null leaves the zero value.
  Status Element(const Value& given, const FieldInfo& field, std::string_view go_type, Value& out) {
    DRA_TRY(One(given, field, go_type, out));
    if (given.IsNull() && out.IsNull()) out = ZeroOf(field);
    return {};
  }

  Status One(const Value& given, const FieldInfo& field, std::string_view go_type, Value& out) {
    // Null is a zero value, or for pointers, and for what keeps its JSON, null.
    if (given.IsNull()) {
      if (!field.pointer && field.shape == Shape::kOne) out = Zero(field);
      return {};
    }
    switch (field.scalar) {
      case Scalar::kStruct:
        if (given.IsObject()) return Struct(given, *field.type, out);
        break;
      case Scalar::kString:
        if (given.IsString()) {
          out = given;
          return {};
        }
        break;
      case Scalar::kBool:
        if (given.IsBool()) {
          out = given;
          return {};
        }
        break;
      case Scalar::kInt32:
      case Scalar::kInt64:
        if (!given.IsNumber()) break;
        if (InRange(given, field.scalar)) {
          out = given;
        } else {
          TypeError("number " + NumberText(given, Sent()), go_type);
        }
        return {};
      case Scalar::kDouble:
        if (given.IsNumber()) {
          out = given;
          return {};
        }
        break;
      case Scalar::kBytes:
        if (given.IsString()) return Bytes(given, out);
        if (!given.IsArray()) break;
        BytesOfNumbers(given, out);
        return {};
      case Scalar::kQuantity:
        return QuantityValue(given, out);
      case Scalar::kTime:
      case Scalar::kMicroTime:
        return Time(given, field, out);
      case Scalar::kIntOrString:
        return IntOrString(given, out);
      case Scalar::kAny:
        out = given;
        return {};
      case Scalar::kSchemaOrAny:
        return Schema(given, out);
    }
    TypeError(JsonKind(given), go_type);
    return {};
  }

  Status Bytes(const Value& given, Value& out) {
    const auto bytes = DecodeBase64(given.AsString());
    if (!bytes) {
      if (!type_error_) type_error_ = bytes.error().message;
      return {};
    }
    out = Value(EncodeBase64(*bytes));
    return {};
  }

  // Go reads bytes from a list of numbers, too.
  void BytesOfNumbers(const Value& given, Value& out) {
    constexpr std::int64_t kByteMax = 255;
    std::string bytes;
    for (const Value& item : given.Items()) {
      const bool fits =
          item.IsNull() || (item.IsInt() && item.AsInt() >= 0 && item.AsInt() <= kByteMax);
      if (!fits) {
        TypeError(
            item.IsNumber() ? "number " + NumberText(item, Sent()) : std::string(JsonKind(item)),
            "uint8");
      }
      bytes += static_cast<char>(fits ? item.AsInt() : 0);
    }
    out = Value(EncodeBase64(bytes));
  }

  // The types below have an UnmarshalJSON of their own; its error ends Go's decoding at once.

  static Status QuantityValue(const Value& given, Value& out) {
    std::string text = given.IsString() ? std::string(given.AsString()) : json::Write(given);
    const auto first = text.find_first_not_of(" \t\r\n");
    if (first != std::string::npos) {
      text = text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
    }
    DRA_ASSIGN(const Quantity quantity, Quantity::Parse(text));
    out = Value(quantity.ToString());
    return {};
  }

  Status Time(const Value& given, const FieldInfo& field, Value& out) const {
    if (!given.IsString()) return BadInput(TypeErrorText(JsonKind(given), "string"));
    DRA_ASSIGN(const std::string text, field.scalar == Scalar::kTime
                                           ? CanonicalTime(given.AsString())
                                           : CanonicalMicroTime(given.AsString()));
    out = text.empty() ? Value() : Value(text);
    return {};
  }

  Status IntOrString(const Value& given, Value& out) const {
    if (!given.IsString() && !InRange(given, Scalar::kInt32)) {
      const std::string got =
          given.IsNumber() ? "number " + NumberText(given, Sent()) : std::string(JsonKind(given));
      return BadInput(TypeErrorText(got, "int32"));
    }
    out = given;
    return {};
  }

  // JSONSchemaPropsOrBool and its like read the schema inside without looking for unknown fields.
  Status Schema(const Value& given, Value& out) {
    static const TypeInfo* const kSchema =
        FindType("k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSONSchemaProps");
    if (given.IsObject()) {
      const bool report = std::exchange(report_, false);
      DRA_TRY(Struct(given, *kSchema, out));
      report_ = report;
    } else if (given.IsArray()) {
      out = Value::Array();
      for (const Value& item : given.Items()) {
        Value schema = item;
        if (item.IsObject()) DRA_TRY(Schema(item, schema));
        out.Append(std::move(schema));
      }
    } else {
      out = given;
    }
    return {};
  }

  // --- What Go writes.

  // The zero value of one element.
  Value ZeroOf(const FieldInfo& field) {
    switch (field.scalar) {
      case Scalar::kStruct: {
        Value zero;
        // Cannot fail: nothing is given.
        (void)Struct(Value(), *field.type, zero);
        return zero;
      }
      case Scalar::kString:
        return "";
      case Scalar::kBool:
        return false;
      case Scalar::kInt32:
      case Scalar::kInt64:
      case Scalar::kDouble:
      case Scalar::kIntOrString:
        return 0;
      case Scalar::kQuantity:
        return "0";
      case Scalar::kBytes:
      case Scalar::kTime:
      case Scalar::kMicroTime:
      case Scalar::kAny:
      case Scalar::kSchemaOrAny:
        return nullptr;
    }
    return nullptr;
  }

  // The value of a field that is not given. Structs that will not be written are not made.
  Value Zero(const FieldInfo& field) {
    if (field.pointer || field.shape != Shape::kOne || field.omit_zero) return nullptr;
    return ZeroOf(field);
  }

  // Go's omitempty: structs, and what marshals itself, are never empty.
  static bool Writes(const FieldInfo& field, const Value& value) {
    if (field.omit_zero && value.IsNull()) return false;
    if (!field.omit_empty) return true;
    if (field.pointer) return !value.IsNull();
    if (field.shape != Shape::kOne) return !value.empty();
    switch (field.scalar) {
      case Scalar::kString:
      case Scalar::kBytes:
        return !value.AsString().empty();
      case Scalar::kBool:
        return value.AsBool();
      case Scalar::kInt32:
      case Scalar::kInt64:
      case Scalar::kDouble:
        return value.AsDouble() != 0;
      default:
        return true;
    }
  }

  // The text of the value where we are, as it was sent; "" when that is not known.
  std::string_view Sent() const {
    return sent_.empty() ? std::string_view() : json::SentText(sent_, Path());
  }

  std::string_view sent_;
  int depth_ = 0;
};

}  // namespace

Result<Decoded> Decode(const Value& object, const TypeInfo& type, StrictFields strict,
                       std::span<const json::DuplicateKey> duplicates, std::string_view sent) {
  return Decoder(strict, duplicates, sent).Run(object, type);
}

Result<Value> Canonical(const Value& object, const TypeInfo& type) {
  DRA_ASSIGN(Decoded decoded, Decode(object, type, StrictFields::kIgnore));
  return std::move(decoded.value);
}

std::string StrictErrorText(std::span<const std::string> strict_errors) {
  return fmt::format("strict decoding error: {}", fmt::join(strict_errors, ", "));
}

}  // namespace drachma::api
