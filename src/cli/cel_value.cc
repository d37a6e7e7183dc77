#include "cli/cel_value.h"

#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>
#include <vector>

#include "cel/eval/format.h"
#include "cel/ext/base64.h"

namespace drachma::cli {
namespace {

using cel::Value;
using cel::ValueKind;

Result<Value> Bad(std::string_view kind, std::string_view text) {
  return Fail(Code::kBadRequest, std::string(kind) + ": " + std::string(text));
}

std::string DoubleText(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return cel::FormatDoubleG(value);
}

std::optional<double> ReadDouble(std::string_view text) {
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (text == "Infinity") return std::numeric_limits<double>::infinity();
  if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
  return cel::ParseDouble(text);
}

// Seconds with up to nine decimals and an "s".
std::string DurationText(std::int64_t nanos) {
  const std::uint64_t size =
      nanos < 0 ? 0 - static_cast<std::uint64_t>(nanos) : static_cast<std::uint64_t>(nanos);
  std::string text = nanos < 0 ? "-" : "";
  text += std::to_string(size / 1'000'000'000);
  std::string decimals = std::to_string(1'000'000'000 + size % 1'000'000'000);
  decimals[0] = '.';
  while (decimals.ends_with('0')) decimals.pop_back();
  if (decimals != ".") text += decimals;
  return text + "s";
}

std::string_view LongTypeName(std::string_view name) {
  if (name == "timestamp") return "google.protobuf.Timestamp";
  if (name == "duration") return "google.protobuf.Duration";
  if (name == "null") return "null_type";
  if (name == "optional") return "optional_type";
  return name;
}

Result<Value> ReadList(const json::Value& items, cel::Arena& arena) {
  std::vector<Value> elements;
  for (const json::Value& item : items.Items()) {
    DRA_ASSIGN(const Value element, ReadCelValue(item, arena));
    elements.push_back(element);
  }
  return cel::MakeList(arena, elements);
}

Result<Value> ReadMap(const json::Value& items, cel::Arena& arena) {
  std::vector<cel::MapEntry> entries;
  for (const json::Value& item : items.Items()) {
    if (item.size() != 2) return Bad("map", "an entry needs a key and a value");
    DRA_ASSIGN(const Value key, ReadCelValue(item.Items()[0], arena));
    DRA_ASSIGN(const Value value, ReadCelValue(item.Items()[1], arena));
    entries.push_back({key, value});
  }
  return cel::MakeMap(arena, entries);
}

Result<Value> ReadText(std::string_view kind, std::string_view text, cel::Arena& arena) {
  if (kind == "string") return cel::MakeString(arena, text);
  if (kind == "int") {
    if (const auto number = cel::ParseInt(text)) return Value::Int(*number);
  } else if (kind == "uint") {
    if (const auto number = cel::ParseUint(text)) return Value::Uint(*number);
  } else if (kind == "double") {
    if (const auto number = ReadDouble(text)) return Value::Double(*number);
  } else if (kind == "bytes") {
    if (const auto bytes = cel::Base64Decode(text)) return Value::Bytes(arena.CopyString(*bytes));
  } else if (kind == "type") {
    return Value::Type(arena.CopyString(LongTypeName(text)));
  } else if (kind == "timestamp") {
    if (const auto at = cel::ParseTimestamp(text)) {
      return Value::Timestamp(at->seconds, at->nanos, at->offset_minutes);
    }
  } else if (kind == "duration") {
    if (const auto nanos = cel::ParseDuration(text)) return Value::Duration(*nanos);
  }
  return Bad(kind, text);
}

Result<json::Value> WriteList(const cel::ListData& list) {
  json::Value items = json::Value::Array();
  for (const Value& element : list.elements()) {
    DRA_ASSIGN(json::Value item, WriteCelValue(element));
    items.Append(std::move(item));
  }
  return json::Value::Object({{"list", std::move(items)}});
}

Result<json::Value> WriteMap(const cel::MapData& map) {
  json::Value items = json::Value::Array();
  for (const cel::MapEntry& entry : map.all()) {
    DRA_ASSIGN(json::Value key, WriteCelValue(entry.key));
    DRA_ASSIGN(json::Value value, WriteCelValue(entry.value));
    items.Append(json::Value::Array({std::move(key), std::move(value)}));
  }
  return json::Value::Object({{"map", std::move(items)}});
}

}  // namespace

Result<Value> ReadCelValue(const json::Value& value, cel::Arena& arena) {
  if (value.size() != 1 || !value.IsObject()) {
    return Fail(Code::kBadRequest, "a value needs exactly one key");
  }
  const json::Member& member = value.Members()[0];
  const std::string_view kind = member.key();
  if (kind == "null") return Value::Null();
  if (kind == "bool") return Value::Bool(member.value.AsBool());
  if (kind == "list") return ReadList(member.value, arena);
  if (kind == "map") return ReadMap(member.value, arena);
  if (kind == "optional") {
    if (member.value.IsNull()) return Value::Optional(nullptr);
    DRA_ASSIGN(const Value inner, ReadCelValue(member.value, arena));
    return cel::MakeOptional(arena, inner);
  }
  return ReadText(kind, member.value.AsString(), arena);
}

Result<json::Value> WriteCelValue(const Value& value) {
  const auto one = [](std::string_view kind, json::Value data) -> Result<json::Value> {
    return json::Value::Object({{kind, std::move(data)}});
  };
  switch (value.kind()) {
    case ValueKind::kNull:
      return one("null", true);
    case ValueKind::kBool:
      return one("bool", value.AsBool());
    case ValueKind::kInt:
      return one("int", std::to_string(value.AsInt()));
    case ValueKind::kUint:
      return one("uint", std::to_string(value.AsUint()));
    case ValueKind::kDouble:
      return one("double", DoubleText(value.AsDouble()));
    case ValueKind::kString:
      return one("string", value.AsText());
    case ValueKind::kBytes:
      return one("bytes", cel::Base64Encode(value.AsText()));
    case ValueKind::kTimestamp:
      return one("timestamp",
                 cel::FormatTimestamp({.seconds = value.seconds(), .nanos = value.nanos()}));
    case ValueKind::kDuration:
      return one("duration", DurationText(value.duration_nanos()));
    case ValueKind::kList:
      return WriteList(value.AsList());
    case ValueKind::kMap:
      return WriteMap(value.AsMap());
    case ValueKind::kType:
      return one("type", value.AsText());
    case ValueKind::kOptional: {
      if (!value.HasValue()) return one("optional", nullptr);
      DRA_ASSIGN(json::Value inner, WriteCelValue(value.Inner()));
      return one("optional", std::move(inner));
    }
    case ValueKind::kOpaque:
      return one("other", std::string(cel::TypeNameOf(value)) + ": " +
                              value.AsOpaque().type->ToString(value.AsOpaque()));
    case ValueKind::kError:
      break;
  }
  return Fail(Code::kInvalid, std::string(value.AsText()));
}

}  // namespace drachma::cli
