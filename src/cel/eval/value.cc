#include "cel/eval/value.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>

#include "cel/eval/format.h"
#include "cel/eval/number.h"
#include "cel/syntax/source.h"

namespace drachma::cel {
namespace {

constexpr std::uint32_t kIndexFrom = 8;  // smaller maps are searched one by one

const Value* FindExact(const MapData& map, const Value& key) {
  if (map.buffer == nullptr || map.buffer->index == nullptr) {
    for (const MapEntry& entry : map.all()) {
      if (SameMapKey(entry.key, key)) return &entry.value;
    }
    return nullptr;
  }
  const MapBuffer& buffer = *map.buffer;
  for (std::uint32_t slot = HashMapKey(key) & buffer.index_mask;;
       slot = (slot + 1) & buffer.index_mask) {
    const std::uint32_t number = buffer.index[slot];
    if (number == 0) return nullptr;
    const MapEntry& entry = buffer.entries[number - 1];
    if (number <= map.size && SameMapKey(entry.key, key)) return &entry.value;
  }
}

void AddToIndex(MapBuffer& buffer, std::uint32_t number) {
  std::uint32_t slot = HashMapKey(buffer.entries[number - 1].key) & buffer.index_mask;
  while (buffer.index[slot] != 0) slot = (slot + 1) & buffer.index_mask;
  buffer.index[slot] = number;
}

// A buffer of its own for the entries of `map`, with room for more.
MapBuffer* CopyToBuffer(Arena& arena, const MapData& map, std::uint32_t capacity) {
  MapBuffer* buffer = arena.New<MapBuffer>();
  buffer->capacity = capacity;
  buffer->entries = arena.NewSpan<MapEntry>(capacity).data();
  std::ranges::copy(map.all(), buffer->entries);
  buffer->used = map.size;
  if (capacity > kIndexFrom) {
    const std::uint32_t slots = std::bit_ceil(capacity * 2);
    buffer->index = arena.NewSpan<std::uint32_t>(slots).data();
    buffer->index_mask = slots - 1;
    for (std::uint32_t i = 1; i <= buffer->used; ++i) AddToIndex(*buffer, i);
  }
  return buffer;
}

Value OrderOf(int order) { return Value::Int(order); }
template <typename T>
Value Order(const T& a, const T& b) {
  return OrderOf(a < b ? -1 : a > b ? 1 : 0);
}

bool IsNumber(const Value& value) {
  return value.kind() == ValueKind::kInt || value.kind() == ValueKind::kUint ||
         value.kind() == ValueKind::kDouble;
}
bool IsNan(const Value& value) {
  return value.kind() == ValueKind::kDouble && std::isnan(value.AsDouble());
}

// REQUIRES: two numbers, none NaN.
int CompareNumbers(const Value& a, const Value& b) {
  if (a.kind() == ValueKind::kDouble) {
    if (b.kind() == ValueKind::kDouble) return CompareDoubles(a.AsDouble(), b.AsDouble());
    return b.kind() == ValueKind::kInt ? CompareDoubleInt(a.AsDouble(), b.AsInt())
                                       : CompareDoubleUint(a.AsDouble(), b.AsUint());
  }
  if (b.kind() == ValueKind::kDouble) return -CompareNumbers(b, a);
  if (a.kind() == b.kind()) {
    if (a.kind() == ValueKind::kInt) return a.AsInt() < b.AsInt() ? -1 : a.AsInt() > b.AsInt();
    return a.AsUint() < b.AsUint() ? -1 : a.AsUint() > b.AsUint();
  }
  return a.kind() == ValueKind::kInt ? CompareIntUint(a.AsInt(), b.AsUint())
                                     : -CompareIntUint(b.AsInt(), a.AsUint());
}

// Compares values with all they hold. `left` counts down the values inside of others.
struct Comparison {
  int left = kNestedComparisonsMax;

  Value Equal(const Value& a, const Value& b);
  // Elements that cannot be compared count as equal, as cel-go has it.
  bool EqualElements(const Value& a, const Value& b) {
    return --left >= 0 && !Equal(a, b).IsFalse();
  }
  bool EqualLists(const ListData& a, const ListData& b) {
    return std::ranges::equal(a.elements(), b.elements(), [this](const Value& x, const Value& y) {
      return EqualElements(x, y);
    });
  }
  bool EqualMaps(const MapData& a, const MapData& b) {
    if (a.size != b.size) return false;
    return std::ranges::all_of(a.all(), [&](const MapEntry& entry) {
      const Value* other = FindInMap(b, entry.key);
      return other != nullptr && EqualElements(entry.value, *other);
    });
  }
};

// Values that hold one value many times over would print without an end.
constexpr std::size_t kDebugBytesMax = std::size_t{1} << 16;

std::string JoinDebug(std::span<const Value> values) {
  std::string out = "[";
  for (const Value& value : values) {
    if (out.size() > kDebugBytesMax) break;
    if (out.size() > 1) out += ", ";
    out += DebugString(value);
  }
  return out + "]";
}

}  // namespace

bool SameMapKey(const Value& a, const Value& b) {
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case ValueKind::kNull:
      return true;
    case ValueKind::kDouble:
      return a.AsDouble() == b.AsDouble();
    case ValueKind::kString:
    case ValueKind::kBytes:
    case ValueKind::kType:
    case ValueKind::kError:
      return a.AsText() == b.AsText();
    case ValueKind::kTimestamp:
      return a.seconds() == b.seconds() && a.nanos() == b.nanos() &&
             a.offset_minutes() == b.offset_minutes();
    default:
      return a.AsUint() == b.AsUint();  // scalars by value, all else by identity
  }
}

std::uint32_t HashMapKey(const Value& key) {
  std::uint64_t hash = 0;
  switch (key.kind()) {
    case ValueKind::kString:
    case ValueKind::kBytes:
    case ValueKind::kType:
    case ValueKind::kError:
      hash = std::hash<std::string_view>{}(key.AsText());
      break;
    case ValueKind::kDouble:
      hash = std::hash<double>{}(key.AsDouble());
      break;
    default:
      hash = key.AsUint();
      break;
  }
  hash = (hash + static_cast<std::uint64_t>(key.kind())) * 0x9E3779B97F4A7C15u;
  return static_cast<std::uint32_t>(hash >> 32);
}

Value Value::CountedString(std::string_view text) {
  Value value = String(text);
  value.known_ascii_ =
      std::ranges::all_of(text, [](char c) { return static_cast<signed char>(c) >= 0; });
  return value;
}

std::string_view TypeNameOf(const Value& value) {
  switch (value.kind()) {
    case ValueKind::kNull:
      return "null_type";
    case ValueKind::kBool:
      return "bool";
    case ValueKind::kInt:
      return "int";
    case ValueKind::kUint:
      return "uint";
    case ValueKind::kDouble:
      return "double";
    case ValueKind::kString:
      return "string";
    case ValueKind::kBytes:
      return "bytes";
    case ValueKind::kTimestamp:
      return "google.protobuf.Timestamp";
    case ValueKind::kDuration:
      return "google.protobuf.Duration";
    case ValueKind::kList:
      return "list";
    case ValueKind::kMap:
      return "map";
    case ValueKind::kType:
      return "type";
    case ValueKind::kOptional:
      return "optional_type";
    case ValueKind::kOpaque:
      return value.AsOpaque().type->name();
    case ValueKind::kError:
      return "error";
  }
  return "";
}

Value Comparison::Equal(const Value& a, const Value& b) {
  if (a.kind() == ValueKind::kNull || b.kind() == ValueKind::kNull) {
    return Value::Bool(a.kind() == b.kind());
  }
  if (a.kind() == ValueKind::kOpaque) return a.AsOpaque().type->Equal(a.AsOpaque(), b);
  if (IsNumber(a) && IsNumber(b)) {
    return Value::Bool(!IsNan(a) && !IsNan(b) && CompareNumbers(a, b) == 0);
  }
  if (a.kind() != b.kind()) return Value::Bool(false);
  switch (a.kind()) {
    case ValueKind::kString:
    case ValueKind::kBytes:
    case ValueKind::kType:
      return Value::Bool(a.AsText() == b.AsText());
    case ValueKind::kTimestamp:
      return Value::Bool(a.seconds() == b.seconds() && a.nanos() == b.nanos());
    case ValueKind::kList:
      return Value::Bool(EqualLists(a.AsList(), b.AsList()));
    case ValueKind::kMap:
      return Value::Bool(EqualMaps(a.AsMap(), b.AsMap()));
    case ValueKind::kOptional:
      if (!a.HasValue() || !b.HasValue()) return Value::Bool(a.HasValue() == b.HasValue());
      return Equal(a.Inner(), b.Inner());
    default:
      return Value::Bool(a.AsInt() == b.AsInt());
  }
}

Value Equals(const Value& a, const Value& b) {
  Comparison comparison;
  const Value equal = comparison.Equal(a, b);
  return comparison.left >= 0 ? equal : Value::Error(kCostExceeded);
}

Value CompareValues(const Value& a, const Value& b) {
  if (IsNumber(a) && IsNumber(b)) {
    if (IsNan(a) || IsNan(b)) return Value::Error("NaN values cannot be ordered");
    return OrderOf(CompareNumbers(a, b));
  }
  if (a.kind() == ValueKind::kDouble && IsNan(a)) {
    return Value::Error("NaN values cannot be ordered");
  }
  if (b.IsError()) return b;
  if (a.kind() != b.kind()) return NoSuchOverload();
  switch (a.kind()) {
    case ValueKind::kBool:
      return Order(a.AsInt(), b.AsInt());
    case ValueKind::kString:
    case ValueKind::kBytes: {
      const int order = a.AsText().compare(b.AsText());
      return OrderOf(order < 0 ? -1 : order > 0 ? 1 : 0);
    }
    case ValueKind::kTimestamp:
      return Order(std::pair(a.seconds(), a.nanos()), std::pair(b.seconds(), b.nanos()));
    case ValueKind::kDuration:
      return Order(a.duration_nanos(), b.duration_nanos());
    default:
      return NoSuchOverload();
  }
}

std::uint64_t CodePointsOf(const Value& text) {
  return text.known_ascii() ? text.AsText().size() : CountCodePoints(text.AsText());
}

std::uint64_t PlainSizeOf(const Value& value) {
  switch (value.kind()) {
    case ValueKind::kString:
      return CodePointsOf(value);
    case ValueKind::kBytes:
      return value.AsText().size();
    case ValueKind::kList:
      return value.AsList().size;
    case ValueKind::kMap:
      return value.AsMap().size;
    case ValueKind::kOpaque:
      return value.AsOpaque().type->Size(value.AsOpaque());
    default:
      return 1;
  }
}

std::uint64_t SizeOfValue(const Value& value) {
  if (value.IsOptional() && value.HasValue()) return SizeOfValue(value.Inner());
  return PlainSizeOf(value);
}

const Value* FindInMap(const MapData& map, const Value& key) {
  if (map.size > 0) {
    if (const Value* value = FindExact(map, key)) return value;
    switch (key.kind()) {
      case ValueKind::kDouble:
        if (const auto integer = LosslessInt(key.AsDouble())) {
          if (const Value* value = FindExact(map, Value::Int(*integer))) return value;
        }
        if (const auto unsigned_integer = LosslessUint(key.AsDouble())) {
          if (const Value* value = FindExact(map, Value::Uint(*unsigned_integer))) return value;
        }
        break;
      case ValueKind::kInt:
        if (key.AsInt() >= 0) {
          if (const Value* value = FindExact(map, Value::Uint(key.AsUint()))) return value;
        }
        break;
      case ValueKind::kUint:
        if (key.AsInt() >= 0) {
          if (const Value* value = FindExact(map, Value::Int(key.AsInt()))) return value;
        }
        break;
      default:
        break;
    }
  }
  return map.otherwise;
}

std::optional<std::int64_t> IndexOf(const Value& value) {
  switch (value.kind()) {
    case ValueKind::kInt:
      return value.AsInt();
    case ValueKind::kUint:
      if (value.AsInt() >= 0) return value.AsInt();
      return std::nullopt;
    case ValueKind::kDouble:
      return LosslessInt(value.AsDouble());
    default:
      return std::nullopt;
  }
}

Value ListGet(const ListData& list, const Value& index, Arena& arena) {
  const std::optional<std::int64_t> at = IndexOf(index);
  if (!at) {
    if (IsNumber(index)) {
      return MakeError(arena, "unsupported index value " + DebugString(index) + " in list");
    }
    return MakeError(arena,
                     "unsupported index type '" + std::string(TypeNameOf(index)) + "' in list");
  }
  if (*at < 0 || *at >= list.size) {
    return MakeError(arena, "index out of bounds: " + DebugString(index));
  }
  return list.items[*at];
}

std::string DebugString(const Value& value) {
  switch (value.kind()) {
    case ValueKind::kNull:
      return "0";
    case ValueKind::kBool:
      return value.AsBool() ? "true" : "false";
    case ValueKind::kInt:
      return std::to_string(value.AsInt());
    case ValueKind::kUint:
      return std::to_string(value.AsUint());
    case ValueKind::kDouble:
      return FormatDoubleG(value.AsDouble());
    case ValueKind::kString:
    case ValueKind::kType:
    case ValueKind::kError:
      return std::string(value.AsText());
    case ValueKind::kBytes: {
      std::string out = "[";
      for (const char c : value.AsText()) {
        if (out.size() > 1) out += ' ';
        out += std::to_string(static_cast<unsigned char>(c));
      }
      return out + "]";
    }
    case ValueKind::kTimestamp: {
      std::string text = FormatTimestamp({value.seconds(), value.nanos(), 0});
      text[10] = ' ';
      text.pop_back();
      return text + " +0000 UTC";
    }
    case ValueKind::kDuration:
      return DurationString(value.duration_nanos());
    case ValueKind::kList:
      return JoinDebug(value.AsList().elements());
    case ValueKind::kMap: {
      std::string out = "{";
      for (const MapEntry& entry : value.AsMap().all()) {
        if (out.size() > kDebugBytesMax) break;
        if (out.size() > 1) out += ", ";
        out += DebugString(entry.key) + ": " + DebugString(entry.value);
      }
      return out + "}";
    }
    case ValueKind::kOptional:
      if (!value.HasValue()) return "optional.none()";
      return "optional(" + DebugString(value.Inner()) + ")";
    case ValueKind::kOpaque:
      return value.AsOpaque().type->ToString(value.AsOpaque());
  }
  return "";
}

Value MakeError(Arena& arena, std::string_view message) {
  return Value::Error(arena.CopyString(message));
}
Value MakeString(Arena& arena, std::string_view text) {
  return Value::String(arena.CopyString(text));
}
Value MakeList(Arena& arena, std::span<const Value> items) {
  ListData* list = arena.New<ListData>();
  list->items = arena.Copy(items).data();
  list->size = static_cast<std::uint32_t>(items.size());
  return Value::List(list);
}
Value MakeOptional(Arena& arena, const Value& value) {
  return Value::Optional(arena.New<Value>(value));
}

Value Concat(Arena& arena, const ListData& a, const ListData& b) {
  if (b.size == 0) return Value::List(&a);
  if (a.size == 0 && a.buffer == nullptr) return Value::List(&b);
  if (std::size_t{a.size} + b.size > kListSizeMax) return Value::Error(kCostExceeded);
  ListBuffer* buffer = a.buffer;
  const std::uint32_t size = a.size + b.size;
  if (buffer == nullptr || buffer->used != a.size || buffer->capacity < size) {
    buffer = arena.New<ListBuffer>();
    buffer->capacity = size * 2;
    buffer->items = arena.NewSpan<Value>(buffer->capacity).data();
    std::ranges::copy(a.elements(), buffer->items);
  }
  std::ranges::copy(b.elements(), buffer->items + a.size);
  buffer->used = size;
  ListData* list = arena.New<ListData>();
  *list = {.items = buffer->items, .size = size, .buffer = buffer};
  return Value::List(list);
}

Value MapWith(Arena& arena, const MapData& map, const Value& key, const Value& value) {
  MapBuffer* buffer = map.buffer;
  if (buffer == nullptr || buffer->used != map.size || buffer->capacity == map.size) {
    buffer = CopyToBuffer(arena, map, std::max<std::uint32_t>(4, map.size * 2));
  }
  buffer->entries[buffer->used++] = {.key = key, .value = value};
  if (buffer->index != nullptr) AddToIndex(*buffer, buffer->used);
  MapData* result = arena.New<MapData>();
  *result = {
      .entries = buffer->entries, .size = buffer->used, .otherwise = nullptr, .buffer = buffer};
  return Value::Map(result);
}

Value MakeMap(Arena& arena, std::span<const MapEntry> entries) {
  MapData* map = arena.New<MapData>();
  map->entries = arena.Copy(entries).data();
  map->size = static_cast<std::uint32_t>(entries.size());
  if (map->size > kIndexFrom) {
    map->buffer = CopyToBuffer(arena, *map, map->size);
    map->entries = map->buffer->entries;
  }
  return Value::Map(map);
}

}  // namespace drachma::cel
