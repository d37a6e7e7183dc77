#include <algorithm>
#include <array>
#include <cmath>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "cel/eval/format.h"
#include "cel/ext/base64.h"
#include "cel/ext/convert.h"
#include "cel/ext/library.h"

// cel-go's ext.Encoders.

namespace drachma::cel {
namespace {

using Args = std::span<const Value>;

Value Decode(Arena& arena, Args args) {
  const auto bytes = Base64Decode(args[0].AsText());
  if (!bytes) {
    return MakeError(arena, "illegal base64 data at input byte " + std::to_string(bytes.error()));
  }
  return Value::Bytes(arena.CopyString(*bytes));
}
Value Encode(Arena& arena, Args args) { return MakeString(arena, Base64Encode(args[0].AsText())); }

// --- JSON, as protojson writes it

void WriteText(std::string_view text, std::string& out) {
  out += '"';
  for (const char c : text) {
    constexpr std::string_view kNames = "bfnrt\\\"";
    constexpr std::string_view kValues = "\b\f\n\r\t\\\"";
    const std::size_t escape = kValues.find(c);
    if (escape != std::string_view::npos) {
      out += '\\';
      out += kNames[escape];
    } else if (static_cast<unsigned char>(c) < 0x20) {
      constexpr std::string_view kHex = "0123456789abcdef";
      out += "\\u00";
      out += kHex[static_cast<unsigned char>(c) >> 4];
      out += kHex[static_cast<unsigned char>(c) & 15];
    } else {
      out += c;
    }
  }
  out += '"';
}

// Numbers that a double cannot hold exactly are texts.
constexpr std::int64_t kSafeMax = (std::int64_t{1} << 53) - 1;

void WriteNumber(const Value& value, std::string& out) {
  const std::string text = DebugString(value);
  const bool safe = value.IsInt() ? value.AsInt() <= kSafeMax && value.AsInt() >= -kSafeMax
                                  : value.AsUint() <= static_cast<std::uint64_t>(kSafeMax);
  out += safe ? text : "\"" + text + "\"";
}

std::optional<std::string> WriteJson(Arena& arena, const Value& value, std::string& out) {
  switch (value.kind()) {
    case ValueKind::kNull:
      out += "null";
      return {};
    case ValueKind::kBool:
      out += value.AsBool() ? "true" : "false";
      return {};
    case ValueKind::kInt:
    case ValueKind::kUint:
      WriteNumber(value, out);
      return {};
    case ValueKind::kDouble:
      if (!std::isfinite(value.AsDouble())) return "invalid number value";
      out += FormatDoubleG(value.AsDouble());
      return {};
    case ValueKind::kBytes:
      WriteText(Base64Encode(value.AsText()), out);
      return {};
    case ValueKind::kString:
    case ValueKind::kTimestamp:
    case ValueKind::kDuration:
      WriteText(Convert(arena, value, ValueKind::kString).AsText(), out);
      return {};
    case ValueKind::kList: {
      out += '[';
      bool first = true;
      for (const Value& element : value.AsList().elements()) {
        if (!first) out += ',';
        first = false;
        if (auto error = WriteJson(arena, element, out)) return error;
      }
      out += ']';
      return {};
    }
    case ValueKind::kMap: {
      std::vector<MapEntry> entries(value.AsMap().all().begin(), value.AsMap().all().end());
      for (MapEntry& entry : entries) entry.key = Convert(arena, entry.key, ValueKind::kString);
      std::ranges::sort(entries, {}, [](const MapEntry& entry) { return entry.key.AsText(); });
      out += '{';
      for (const MapEntry& entry : entries) {
        if (&entry != entries.data()) out += ',';
        WriteText(entry.key.AsText(), out);
        out += ':';
        if (auto error = WriteJson(arena, entry.value, out)) return error;
      }
      out += '}';
      return {};
    }
    case ValueKind::kOptional:
      if (value.HasValue()) return WriteJson(arena, value.Inner(), out);
      return "optional.none() dereference";
    default:
      return "type conversion not supported for '" + std::string(TypeNameOf(value)) + "'";
  }
}

Value JsonEncode(Arena& arena, Args args) {
  std::string out;
  if (const auto error = WriteJson(arena, args[0], out)) return MakeError(arena, *error);
  return MakeString(arena, out);
}

constexpr auto kFunctions = std::to_array<LibraryFunction>({
    {"base64.decode", "base64_decode_string", "(string) -> bytes", Decode},
    {"base64.encode", "base64_encode_bytes", "(bytes) -> string", Encode},
    {"json.encode", "json_encode_dyn", "(dyn) -> string", JsonEncode},
});

}  // namespace

void AddEncoders(Environment& env) { env.Add(kFunctions); }

}  // namespace drachma::cel
