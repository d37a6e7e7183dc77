#include "api/protobuf.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "api/decode.h"
#include "api/scalar_codec.h"
#include "json/json.h"

namespace drachma::api {

namespace {

using json::Value;

constexpr std::string_view kMagic{"k8s\0", 4};

enum class Wire : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

// One field of a message on the wire.
struct WireField {
  std::uint32_t number = 0;
  Wire wire = Wire::kVarint;
  std::uint64_t integer = 0;  // of kVarint, kFixed64, kFixed32
  std::string_view bytes;     // of kBytes
};

std::unexpected<Error> Broken(std::string_view what) {
  return BadInput(fmt::format("proto: {}", what));
}

// Reads the fields of one message, in order.
class MessageReader {
 public:
  explicit MessageReader(std::string_view bytes) : rest_(bytes) {}

  [[nodiscard]] bool AtEnd() const { return rest_.empty(); }

  Result<WireField> Next() {
    DRA_ASSIGN(const std::uint64_t tag, Varint());
    WireField field;
    field.number = static_cast<std::uint32_t>(tag >> 3);
    if (tag >> 3 == 0 || tag >> 3 > 0x1FFFFFFF) {
      return Broken(fmt::format("illegal tag {} (wire type {})", tag >> 3, tag & 7));
    }
    field.wire = static_cast<Wire>(tag & 7);
    switch (field.wire) {
      case Wire::kVarint: {
        DRA_ASSIGN(field.integer, Varint());
        return field;
      }
      case Wire::kFixed64:
        return Fixed(field, 8);
      case Wire::kFixed32:
        return Fixed(field, 4);
      case Wire::kBytes: {
        DRA_ASSIGN(const std::uint64_t size, Varint());
        if (size > rest_.size()) return Broken("unexpected EOF");
        field.bytes = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return field;
      }
    }
    return Broken(fmt::format("illegal wireType {}", tag & 7));
  }

  Result<std::uint64_t> Varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) return Broken("unexpected EOF");
      const auto byte = static_cast<std::uint8_t>(rest_.front());
      rest_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    return Broken("integer overflow");
  }

 private:
  Result<WireField> Fixed(WireField field, std::size_t size) {
    if (rest_.size() < size) return Broken("unexpected EOF");
    std::memcpy(&field.integer, rest_.data(), size);
    rest_.remove_prefix(size);
    return field;
  }

  std::string_view rest_;
};

std::unexpected<Error> WrongWire(const WireField& wire, const FieldInfo& field) {
  return Broken(
      fmt::format("wrong wireType = {} for field {}", static_cast<int>(wire.wire), field.go_name));
}

Result<Value> AnyJson(std::string_view message) {
  MessageReader reader(message);
  Value value;
  while (!reader.AtEnd()) {
    DRA_ASSIGN(const WireField wire, reader.Next());
    if (wire.number != 1 || wire.wire != Wire::kBytes || wire.bytes.empty()) continue;
    DRA_ASSIGN(value, json::Read(wire.bytes));
  }
  return value;
}

// A Timestamp message, as RFC 3339 text.
Result<Value> TimeText(std::string_view message, Scalar scalar) {
  MessageReader reader(message);
  std::int64_t seconds = 0;
  std::int32_t nanos = 0;
  // Generated code writes nothing for the zero time.
  if (reader.AtEnd()) return Value();
  while (!reader.AtEnd()) {
    DRA_ASSIGN(const WireField wire, reader.Next());
    if (wire.number == 1) seconds = static_cast<std::int64_t>(wire.integer);
    if (wire.number == 2) nanos = static_cast<std::int32_t>(wire.integer);
  }
  constexpr std::int64_t kMin = -62135596800;  // year 1
  constexpr std::int64_t kMax = 253402300799;  // year 9999
  if (seconds < kMin || seconds > kMax || nanos < 0 || nanos > 999'999'999) {
    return Broken("timestamp out of range");
  }
  const std::string text =
      scalar == Scalar::kTime ? TimeFromUnix(seconds) : MicroTimeFromUnix(seconds, nanos);
  return text.empty() ? Value() : Value(text);
}

Result<Value> QuantityText(std::string_view message) {
  MessageReader reader(message);
  Value value = "0";
  while (!reader.AtEnd()) {
    DRA_ASSIGN(const WireField wire, reader.Next());
    if (wire.number == 1 && wire.wire == Wire::kBytes) value = Value(wire.bytes);
  }
  return value;
}

Result<Value> IntOrString(std::string_view message) {
  MessageReader reader(message);
  bool is_string = false;
  std::int32_t number = 0;
  std::string_view text;
  while (!reader.AtEnd()) {
    DRA_ASSIGN(const WireField wire, reader.Next());
    if (wire.number == 1) is_string = wire.integer != 0;
    if (wire.number == 2) number = static_cast<std::int32_t>(wire.integer);
    if (wire.number == 3) text = wire.bytes;
  }
  return is_string ? Value(text) : Value(number);
}

// The members of messages, filled in as fields arrive. Zero values stay in; making the object
// canonical drops those that Go's JSON leaves out.
class Decoder {
 public:
  Status Struct(std::string_view bytes, const TypeInfo& type, Value& object, int depth) {
    if (depth > kProtobufDepthMax) return Broken("message nested too deeply");
    if (object.IsNull()) object = Value::Object();
    MessageReader reader(bytes);
    while (!reader.AtEnd()) {
      DRA_ASSIGN(const WireField wire, reader.Next());
      const FieldInfo* field = type.FindProto(wire.number);
      if (field == nullptr) continue;
      if (field->inlined) {
        if (wire.wire != Wire::kBytes) return WrongWire(wire, *field);
        DRA_TRY(Struct(wire.bytes, *field->type, object, depth + 1));
        continue;
      }
      DRA_TRY(Field(wire, *field, object.Edit(field->json_name), depth));
    }
    return {};
  }

 private:
  Status Field(const WireField& wire, const FieldInfo& field, Value& out, int depth) {
    switch (field.shape) {
      case Shape::kOne:
        return One(wire, field, out, depth);
      case Shape::kList:
        // Named slices of strings (Verbs, ExtraValue) are messages of their own.
        if (field.scalar == Scalar::kString && !field.go_type.starts_with("[]")) {
          return StringList(wire, field, out);
        }
        return ListItem(wire, field, out, depth);
      case Shape::kMap:
      case Shape::kMapOfLists:
        return MapEntry(wire, field, out, depth);
    }
    return {};
  }

  Status ListItem(const WireField& wire, const FieldInfo& field, Value& out, int depth) {
    if (out.IsNull()) out = Value::Array();
    const bool packed = wire.wire == Wire::kBytes &&
                        (field.scalar == Scalar::kInt32 || field.scalar == Scalar::kInt64 ||
                         field.scalar == Scalar::kBool);
    if (packed) {
      MessageReader reader(wire.bytes);
      while (!reader.AtEnd()) {
        DRA_ASSIGN(const std::uint64_t integer, reader.Varint());
        Value item;
        DRA_TRY(One({.wire = Wire::kVarint, .integer = integer}, field, item, depth));
        out.Append(std::move(item));
      }
      return {};
    }
    Value item;
    DRA_TRY(One(wire, field, item, depth));
    out.Append(std::move(item));
    return {};
  }

  static Status StringList(const WireField& wire, const FieldInfo& field, Value& out) {
    if (wire.wire != Wire::kBytes) return WrongWire(wire, field);
    if (out.IsNull()) out = Value::Array();
    MessageReader reader(wire.bytes);
    while (!reader.AtEnd()) {
      DRA_ASSIGN(const WireField item, reader.Next());
      if (item.number == 1 && item.wire == Wire::kBytes) out.Append(Value(item.bytes));
    }
    return {};
  }

  Status MapEntry(const WireField& wire, const FieldInfo& field, Value& out, int depth) {
    if (wire.wire != Wire::kBytes) return WrongWire(wire, field);
    if (out.IsNull()) out = Value::Object();
    MessageReader reader(wire.bytes);
    std::string_view key;
    Value value;
    bool has_value = false;
    while (!reader.AtEnd()) {
      DRA_ASSIGN(const WireField part, reader.Next());
      if (part.number == 1) key = part.bytes;
      if (part.number != 2) continue;
      has_value = true;
      value = Value();
      if (field.shape == Shape::kMapOfLists) {
        DRA_TRY(StringList(part, field, value));
      } else {
        DRA_TRY(One(part, field, value, depth));
      }
    }
    // Upstream leaves values out that are empty bytes; what is not there is the zero of its type.
    const bool length_delimited = field.scalar == Scalar::kString || field.scalar == Scalar::kBytes;
    if (!has_value && field.shape == Shape::kMap && length_delimited) value = Value("");
    out.Set(key, std::move(value));
    return {};
  }

  Status One(const WireField& wire, const FieldInfo& field, Value& out, int depth) {
    switch (field.scalar) {
      case Scalar::kBool:
        if (wire.wire != Wire::kVarint) return WrongWire(wire, field);
        out = Value(wire.integer != 0);
        return {};
      case Scalar::kInt32:
        if (wire.wire != Wire::kVarint) return WrongWire(wire, field);
        out = Value(static_cast<int>(static_cast<std::int32_t>(wire.integer)));
        return {};
      case Scalar::kInt64:
        if (wire.wire != Wire::kVarint) return WrongWire(wire, field);
        out = Value(static_cast<std::int64_t>(wire.integer));
        return {};
      case Scalar::kDouble:
        if (wire.wire != Wire::kFixed64) return WrongWire(wire, field);
        out = Value(std::bit_cast<double>(wire.integer));
        return {};
      default:
        break;
    }
    if (wire.wire != Wire::kBytes) return WrongWire(wire, field);
    return Bytes(wire.bytes, field, out, depth);
  }

  // What is length-delimited on the wire.
  Status Bytes(std::string_view bytes, const FieldInfo& field, Value& out, int depth) {
    switch (field.scalar) {
      case Scalar::kString:
        out = Value(bytes);
        return {};
      case Scalar::kBytes:
        out = Value(EncodeBase64(bytes));
        return {};
      case Scalar::kTime:
      case Scalar::kMicroTime: {
        DRA_ASSIGN(out, TimeText(bytes, field.scalar));
        return {};
      }
      case Scalar::kQuantity: {
        DRA_ASSIGN(out, QuantityText(bytes));
        return {};
      }
      case Scalar::kIntOrString: {
        DRA_ASSIGN(out, IntOrString(bytes));
        return {};
      }
      case Scalar::kAny: {
        DRA_ASSIGN(out, AnyJson(bytes));
        return {};
      }
      case Scalar::kSchemaOrAny:
        return SchemaOrAny(bytes, field, out, depth);
      default:
        return Struct(bytes, *field.type, out, depth + 1);
    }
  }

  // JSONSchemaPropsOrBool {1 allows, 2 schema}, OrArray {1 schema, 2 schemas}, OrStringArray
  // {1 schema, 2 strings}.
  Status SchemaOrAny(std::string_view bytes, const FieldInfo& field, Value& out, int depth) {
    static const TypeInfo* const kSchema =
        FindType("k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSONSchemaProps");
    const bool or_bool = field.go_type.ends_with("OrBool");
    // The map "dependencies" has a name of its own, JSONSchemaDependencies.
    const bool or_strings = field.json_name == "dependencies";
    const std::uint32_t schema_number = or_bool ? 2 : 1;
    Value list;
    Value schema;
    Value allows = false;
    MessageReader reader(bytes);
    while (!reader.AtEnd()) {
      DRA_ASSIGN(const WireField wire, reader.Next());
      if (wire.number == schema_number && wire.wire == Wire::kBytes) {
        DRA_TRY(Struct(wire.bytes, *kSchema, schema, depth + 1));
      } else if (or_bool && wire.number == 1) {
        allows = Value(wire.integer != 0);
      } else if (wire.number == 2 && or_strings) {
        list.Append(Value(wire.bytes));
      } else if (wire.number == 2) {
        Value item;
        DRA_TRY(Struct(wire.bytes, *kSchema, item, depth + 1));
        list.Append(std::move(item));
      }
    }
    if (!list.IsNull()) {
      out = std::move(list);
    } else if (!schema.IsNull() || !or_bool) {
      out = std::move(schema);
    } else {
      out = std::move(allows);
    }
    return {};
  }
};

}  // namespace

bool IsProtobuf(std::string_view body) { return body.starts_with(kMagic); }

Result<ProtobufEnvelope> ReadEnvelope(std::string_view body) {
  if (!IsProtobuf(body)) {
    return BadInput(
        "provided data does not appear to be a protobuf message, expected prefix "
        "[107 56 115 0]");
  }
  ProtobufEnvelope envelope;
  MessageReader reader(body.substr(kMagic.size()));
  while (!reader.AtEnd()) {
    DRA_ASSIGN(const WireField wire, reader.Next());
    if (wire.wire != Wire::kBytes) continue;
    if (wire.number == 1) {
      MessageReader meta(wire.bytes);
      while (!meta.AtEnd()) {
        DRA_ASSIGN(const WireField part, meta.Next());
        if (part.number == 1) envelope.api_version = part.bytes;
        if (part.number == 2) envelope.kind = part.bytes;
      }
    }
    if (wire.number == 2) envelope.raw = wire.bytes;
    if (wire.number == 4) envelope.content_type = wire.bytes;
  }
  return envelope;
}

Result<Value> DecodeProtobufMessage(std::string_view bytes, const TypeInfo& type) {
  Value object;
  DRA_TRY(Decoder().Struct(bytes, type, object, 0));
  return Canonical(object, type);
}

Result<Value> DecodeProtobuf(std::string_view body, std::string_view default_api_version,
                             std::string_view default_kind) {
  DRA_ASSIGN(const ProtobufEnvelope envelope, ReadEnvelope(body));
  const std::string_view api_version =
      envelope.api_version.empty() ? default_api_version : envelope.api_version;
  const std::string_view kind = envelope.kind.empty() ? default_kind : envelope.kind;
  const TypeInfo* type = FindTypeOfKind(api_version, kind);
  if (type == nullptr) {
    return BadInput(
        fmt::format("no kind \"{}\" is registered for version \"{}\" in scheme "
                    "\"pkg/api/legacyscheme/scheme.go:30\"",
                    kind, api_version));
  }
  Value object = Value::Object({{"kind", Value(kind)}, {"apiVersion", Value(api_version)}});
  DRA_TRY(Decoder().Struct(envelope.raw, *type, object, 0));
  return Canonical(object, *type);
}

}  // namespace drachma::api
