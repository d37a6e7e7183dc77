#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cel/syntax/arena.h"

namespace drachma::cel {

enum class ValueKind : std::uint8_t {
  kNull,
  kBool,
  kInt,
  kUint,
  kDouble,
  kString,
  kBytes,
  kTimestamp,
  kDuration,
  kList,
  kMap,
  kType,
  kOptional,
  kOpaque,
  kError,
};

class Value;
struct ListData;
struct MapData;
struct OpaqueData;

// A CEL value in 16 bytes, copied as such. What it points to (text, elements) belongs to an arena
// or to the host and must outlive it.
class Value {
 public:
  Value() : kind_(ValueKind::kNull) { payload_.integer = 0; }

  static Value Null() { return {}; }
  static Value Bool(bool value) {
    Value v(ValueKind::kBool);
    v.payload_.integer = value ? 1 : 0;
    return v;
  }
  static Value Int(std::int64_t value) {
    Value v(ValueKind::kInt);
    v.payload_.integer = value;
    return v;
  }
  static Value Uint(std::uint64_t value) {
    Value v(ValueKind::kUint);
    v.payload_.unsigned_integer = value;
    return v;
  }
  static Value Double(double value) {
    Value v(ValueKind::kDouble);
    v.payload_.number = value;
    return v;
  }
  // `text` is kept by reference. How many code points it has is counted when it is asked for.
  static Value String(std::string_view text) { return Text(ValueKind::kString, text); }
  // As String, counting now whether all is ASCII, so that sizes are known later.
  static Value CountedString(std::string_view text);
  static Value Bytes(std::string_view bytes) { return Text(ValueKind::kBytes, bytes); }
  // Seconds since 1970, the nanoseconds on top (0 to 999,999,999), and the offset in which it
  // prints.
  static Value Timestamp(std::int64_t seconds, std::uint32_t nanos,
                         std::int16_t offset_minutes = 0) {
    Value v(ValueKind::kTimestamp);
    v.payload_.integer = seconds;
    v.size_ = nanos;
    v.offset_minutes_ = offset_minutes;
    return v;
  }
  static Value Duration(std::int64_t nanos) {
    Value v(ValueKind::kDuration);
    v.payload_.integer = nanos;
    return v;
  }
  static Value List(const ListData* list) { return Pointer(ValueKind::kList, list); }
  static Value Map(const MapData* map) { return Pointer(ValueKind::kMap, map); }
  // A type by its run-time name, which must live for ever or as long as the value.
  static Value Type(std::string_view name) { return Text(ValueKind::kType, name); }
  // Null for optional.none().
  static Value Optional(const Value* value) { return Pointer(ValueKind::kOptional, value); }
  static Value Opaque(const OpaqueData* object) { return Pointer(ValueKind::kOpaque, object); }
  static Value Error(std::string_view message) { return Text(ValueKind::kError, message); }

  [[nodiscard]] ValueKind kind() const { return kind_; }
  [[nodiscard]] bool IsError() const { return kind_ == ValueKind::kError; }
  [[nodiscard]] bool IsBool() const { return kind_ == ValueKind::kBool; }
  [[nodiscard]] bool IsTrue() const { return IsBool() && payload_.integer != 0; }
  [[nodiscard]] bool IsFalse() const { return IsBool() && payload_.integer == 0; }
  [[nodiscard]] bool IsInt() const { return kind_ == ValueKind::kInt; }
  [[nodiscard]] bool IsString() const { return kind_ == ValueKind::kString; }
  [[nodiscard]] bool IsList() const { return kind_ == ValueKind::kList; }
  [[nodiscard]] bool IsMap() const { return kind_ == ValueKind::kMap; }
  [[nodiscard]] bool IsOptional() const { return kind_ == ValueKind::kOptional; }

  // REQUIRES of all below: the kind.
  [[nodiscard]] bool AsBool() const { return payload_.integer != 0; }
  [[nodiscard]] std::int64_t AsInt() const { return payload_.integer; }
  [[nodiscard]] std::uint64_t AsUint() const { return payload_.unsigned_integer; }
  [[nodiscard]] double AsDouble() const { return payload_.number; }
  // Of strings, bytes, types (the name) and errors (the message).
  [[nodiscard]] std::string_view AsText() const { return {payload_.text, size_}; }
  [[nodiscard]] bool known_ascii() const { return known_ascii_; }
  [[nodiscard]] std::int64_t seconds() const { return payload_.integer; }
  [[nodiscard]] std::uint32_t nanos() const { return size_; }
  [[nodiscard]] std::int16_t offset_minutes() const { return offset_minutes_; }
  [[nodiscard]] std::int64_t duration_nanos() const { return payload_.integer; }
  [[nodiscard]] const ListData& AsList() const {
    return *static_cast<const ListData*>(payload_.pointer);
  }
  [[nodiscard]] const MapData& AsMap() const {
    return *static_cast<const MapData*>(payload_.pointer);
  }
  [[nodiscard]] bool HasValue() const { return payload_.pointer != nullptr; }
  [[nodiscard]] const Value& Inner() const { return *static_cast<const Value*>(payload_.pointer); }
  [[nodiscard]] const OpaqueData& AsOpaque() const {
    return *static_cast<const OpaqueData*>(payload_.pointer);
  }

 private:
  explicit Value(ValueKind kind) : kind_(kind) { payload_.integer = 0; }
  static Value Text(ValueKind kind, std::string_view text) {
    Value v(kind);
    v.payload_.text = text.data();
    v.size_ = static_cast<std::uint32_t>(text.size());
    return v;
  }
  static Value Pointer(ValueKind kind, const void* pointer) {
    Value v(kind);
    v.payload_.pointer = pointer;
    return v;
  }

  ValueKind kind_;
  bool known_ascii_ = false;
  std::int16_t offset_minutes_ = 0;
  std::uint32_t size_ = 0;
  union {
    std::int64_t integer;
    std::uint64_t unsigned_integer;
    double number;
    const char* text;
    const void* pointer;
  } payload_;
};
static_assert(sizeof(Value) == 16);

// Elements of a list. Appending may use spare room behind the elements of the newest list of a
// buffer, so that folds that build lists take linear time; older lists keep what they see.
struct ListBuffer {
  Value* items = nullptr;
  std::uint32_t used = 0;
  std::uint32_t capacity = 0;
};
struct ListData {
  const Value* items = nullptr;
  std::uint32_t size = 0;
  ListBuffer* buffer = nullptr;

  [[nodiscard]] std::span<const Value> elements() const { return {items, size}; }
};

// Entries of a map, in order of insertion. `otherwise`, when set, is what looking up a key that is
// not there gives (and then every key counts as there).
struct MapEntry {
  Value key;
  Value value;
};
// As ListBuffer; the index is open addressing over the hashes of keys, entry numbers from 1.
struct MapBuffer {
  MapEntry* entries = nullptr;
  std::uint32_t used = 0;
  std::uint32_t capacity = 0;
  std::uint32_t* index = nullptr;
  std::uint32_t index_mask = 0;
};
struct MapData {
  const MapEntry* entries = nullptr;
  std::uint32_t size = 0;
  const Value* otherwise = nullptr;
  MapBuffer* buffer = nullptr;

  [[nodiscard]] std::span<const MapEntry> all() const { return {entries, size}; }
};

// What a library's own type does (kubernetes.Quantity, net.IP, …). One object per type.
class OpaqueClass {
 public:
  virtual ~OpaqueClass() = default;
  // The run-time name.
  [[nodiscard]] virtual std::string_view name() const = 0;
  // Go's name of the value's type, which shows in messages.
  [[nodiscard]] virtual std::string_view GoName(const OpaqueData&) const { return name(); }
  // True, false or an error; `other` may be of any kind.
  [[nodiscard]] virtual Value Equal(const OpaqueData& self, const Value& other) const = 0;
  // The size for costs; 1 for types without one.
  [[nodiscard]] virtual std::uint64_t Size(const OpaqueData&) const { return 1; }
  [[nodiscard]] virtual std::string ToString(const OpaqueData& self) const = 0;
};
struct OpaqueData {
  const OpaqueClass* type = nullptr;
};

// Sizes that values do not grow beyond. Costs bound most of them, but not what doubles for the cost
// of one operation (lists that are added, texts that are replaced or formatted, values that hold a
// value many times over); at these limits an evaluation ends as if its cost limit were reached.
inline constexpr std::size_t kTextBytesMax = std::size_t{2} << 20;
inline constexpr std::size_t kListSizeMax = std::size_t{1} << 18;
inline constexpr int kNestedComparisonsMax = 250'000;  // of values inside of values, for one ==
inline constexpr std::string_view kCostExceeded = "operation cancelled: actual cost limit exceeded";

inline constexpr std::string_view kNoSuchOverload = "no such overload";
inline Value NoSuchOverload() { return Value::Error(kNoSuchOverload); }

// The run-time name of a value's type: "int", "google.protobuf.Duration", "optional_type".
[[nodiscard]] std::string_view TypeNameOf(const Value& value);

// Equality as `==` has it, across numbers; true, false or an error (kCostExceeded among them).
[[nodiscard]] Value Equals(const Value& a, const Value& b);
// -1, 0, 1, or an error for what has no order.
[[nodiscard]] Value CompareValues(const Value& a, const Value& b);

// What size() gives for strings, bytes, lists and maps; what the cost functions count otherwise
// (1, and the size of an optional's value).
[[nodiscard]] std::uint64_t SizeOfValue(const Value& value);
// The same with 1 for optionals, as the libraries count.
[[nodiscard]] std::uint64_t PlainSizeOf(const Value& value);
[[nodiscard]] std::uint64_t CodePointsOf(const Value& text);

// Whether two keys are one: of the same kind and value, objects only with themselves. NaN never.
[[nodiscard]] bool SameMapKey(const Value& a, const Value& b);
[[nodiscard]] std::uint32_t HashMapKey(const Value& key);
// The value under a key, or null. Numbers find keys of other number kinds.
[[nodiscard]] const Value* FindInMap(const MapData& map, const Value& key);
// The element at an index, or an error with cel-go's text.
[[nodiscard]] Value ListGet(const ListData& list, const Value& index, Arena& arena);
// The index that a number means in a list; nothing for other kinds and fractions.
[[nodiscard]] std::optional<std::int64_t> IndexOf(const Value& value);

// As Go's %v prints a value inside cel-go's messages.
[[nodiscard]] std::string DebugString(const Value& value);

// An error whose message lives in `arena`.
[[nodiscard]] Value MakeError(Arena& arena, std::string_view message);
[[nodiscard]] Value MakeString(Arena& arena, std::string_view text);
[[nodiscard]] Value MakeList(Arena& arena, std::span<const Value> items);
[[nodiscard]] Value MakeOptional(Arena& arena, const Value& value);
[[nodiscard]] Value Concat(Arena& arena, const ListData& a, const ListData& b);
// A map with one more entry. REQUIRES: the key is not there.
[[nodiscard]] Value MapWith(Arena& arena, const MapData& map, const Value& key, const Value& value);
[[nodiscard]] Value MakeMap(Arena& arena, std::span<const MapEntry> entries);

}  // namespace drachma::cel
