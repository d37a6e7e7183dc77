#include "cel/ext/convert.h"

#include <string>

#include "cel/eval/format.h"
#include "cel/eval/number.h"
#include "cel/syntax/source.h"

namespace drachma::cel {
namespace {

Value IntOverflow() { return Value::Error("integer overflow"); }
Value UintOverflow() { return Value::Error("unsigned integer overflow"); }
Value TimestampOverflow() { return Value::Error("timestamp overflow"); }

// The run-time name of a kind's type.
std::string_view KindName(ValueKind kind) {
  switch (kind) {
    case ValueKind::kBool:
      return "bool";
    case ValueKind::kBytes:
      return "bytes";
    case ValueKind::kDouble:
      return "double";
    case ValueKind::kDuration:
      return "google.protobuf.Duration";
    case ValueKind::kInt:
      return "int";
    case ValueKind::kString:
      return "string";
    case ValueKind::kTimestamp:
      return "google.protobuf.Timestamp";
    case ValueKind::kUint:
      return "uint";
    default:
      return "";
  }
}

// How cel-go writes the source type: aggregates with their parameters.
std::string SourceName(const Value& value) {
  if (value.IsList()) return "list(dyn)";
  if (value.IsMap()) return "map(dyn, dyn)";
  if (value.IsOptional()) return "optional_type(dyn)";
  return std::string(TypeNameOf(value));
}

Value NoConversion(Arena& arena, const Value& value, ValueKind to) {
  return MakeError(arena, "type conversion error from '" + SourceName(value) + "' to '" +
                              std::string(KindName(to)) + "'");
}

Value FromString(Arena& arena, const Value& value, ValueKind to) {
  const std::string_view text = value.AsText();
  switch (to) {
    case ValueKind::kInt:
      if (const auto number = ParseInt(text)) return Value::Int(*number);
      break;
    case ValueKind::kUint:
      if (const auto number = ParseUint(text)) return Value::Uint(*number);
      break;
    case ValueKind::kDouble:
      if (const auto number = ParseDouble(text)) return Value::Double(*number);
      break;
    case ValueKind::kBool:
      if (const auto boolean = ParseBool(text)) return Value::Bool(*boolean);
      break;
    case ValueKind::kBytes:
      return Value::Bytes(text);
    case ValueKind::kDuration:
      if (const auto nanos = ParseDuration(text)) return Value::Duration(*nanos);
      break;
    case ValueKind::kTimestamp:
      if (const auto instant = ParseTimestamp(text)) {
        if (instant->seconds < kSecondsMin || instant->seconds > kSecondsMax) {
          return TimestampOverflow();
        }
        return Value::Timestamp(instant->seconds, instant->nanos, instant->offset_minutes);
      }
      break;
    default:
      break;
  }
  return NoConversion(arena, value, to);
}

Value ToInt(Arena& arena, const Value& value) {
  switch (value.kind()) {
    case ValueKind::kUint:
      return value.AsInt() < 0 ? IntOverflow() : Value::Int(value.AsInt());
    case ValueKind::kDouble: {
      const auto integer = DoubleToInt(value.AsDouble());
      return integer ? Value::Int(*integer) : IntOverflow();
    }
    case ValueKind::kTimestamp:
      return Value::Int(value.seconds());
    case ValueKind::kDuration:
      return Value::Int(value.duration_nanos());
    default:
      return NoConversion(arena, value, ValueKind::kInt);
  }
}

Value ToUint(Arena& arena, const Value& value) {
  switch (value.kind()) {
    case ValueKind::kInt:
      return value.AsInt() < 0 ? UintOverflow() : Value::Uint(value.AsUint());
    case ValueKind::kDouble: {
      const auto integer = DoubleToUint(value.AsDouble());
      return integer ? Value::Uint(*integer) : UintOverflow();
    }
    default:
      return NoConversion(arena, value, ValueKind::kUint);
  }
}

Value ToText(Arena& arena, const Value& value) {
  switch (value.kind()) {
    case ValueKind::kNull:
      return Value::String("null");
    case ValueKind::kBool:
      return Value::String(value.AsBool() ? "true" : "false");
    case ValueKind::kInt:
    case ValueKind::kUint:
      return MakeString(arena, DebugString(value));
    case ValueKind::kDouble:
      return MakeString(arena, FormatDoubleG(value.AsDouble()));
    case ValueKind::kBytes:
      if (ToValidUtf8(value.AsText()) != value.AsText()) {
        return Value::Error("invalid UTF-8 in bytes, cannot convert to string");
      }
      return Value::String(value.AsText());
    case ValueKind::kTimestamp:
      return MakeString(arena,
                        FormatTimestamp({value.seconds(), value.nanos(), value.offset_minutes()}));
    case ValueKind::kDuration:
      return MakeString(arena, DurationSeconds(value.duration_nanos()));
    case ValueKind::kType:
      return Value::String(value.AsText());
    default:
      return NoConversion(arena, value, ValueKind::kString);
  }
}

}  // namespace

Value Convert(Arena& arena, const Value& value, ValueKind to) {
  if (value.kind() == to || value.IsError()) return value;
  if (value.IsString()) return FromString(arena, value, to);
  switch (to) {
    case ValueKind::kInt:
      return ToInt(arena, value);
    case ValueKind::kUint:
      return ToUint(arena, value);
    case ValueKind::kString:
      return ToText(arena, value);
    case ValueKind::kDouble:
      if (value.IsInt()) return Value::Double(static_cast<double>(value.AsInt()));
      if (value.kind() == ValueKind::kUint) {
        return Value::Double(static_cast<double>(value.AsUint()));
      }
      return NoConversion(arena, value, to);
    case ValueKind::kTimestamp:
      if (!value.IsInt()) return NoConversion(arena, value, to);
      if (value.AsInt() < kSecondsMin || value.AsInt() > kSecondsMax) return TimestampOverflow();
      return Value::Timestamp(value.AsInt(), 0);
    default:
      return NoConversion(arena, value, to);
  }
}

}  // namespace drachma::cel
