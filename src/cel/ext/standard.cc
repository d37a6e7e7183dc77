#include <array>

#include "cel/eval/format.h"
#include "cel/eval/regex.h"
#include "cel/ext/arithmetic.h"
#include "cel/ext/convert.h"
#include "cel/ext/library.h"

// The standard library of the CEL specification, with cel-go's names of overloads.

namespace drachma::cel {
namespace {

using Args = std::span<const Value>;

Value Not(Arena&, Args args) {
  return args[0].IsBool() ? Value::Bool(!args[0].AsBool()) : NoSuchOverload();
}
Value NotStrictlyFalse(Arena&, Args args) { return args[0].IsBool() ? args[0] : Value::Bool(true); }

enum class Wanted : std::uint8_t { kLess, kLessEquals, kGreater, kGreaterEquals };

template <Wanted kWanted>
Value Compare(Arena&, Args args) {
  const Value order = CompareValues(args[0], args[1]);
  if (!order.IsInt()) return order;
  switch (kWanted) {
    case Wanted::kLess:
      return Value::Bool(order.AsInt() < 0);
    case Wanted::kLessEquals:
      return Value::Bool(order.AsInt() <= 0);
    case Wanted::kGreater:
      return Value::Bool(order.AsInt() > 0);
    case Wanted::kGreaterEquals:
      return Value::Bool(order.AsInt() >= 0);
  }
  return {};
}

Value In(Arena&, Args args) {
  if (args[1].IsMap()) {
    if (args[0].kind() == ValueKind::kBytes && args[1].AsMap().size > 0) {
      return Value::Error("internal error: runtime error: hash of unhashable type types.Bytes");
    }
    // What a map gives for keys that are not there does not put them in.
    MapData map = args[1].AsMap();
    map.otherwise = nullptr;
    return Value::Bool(FindInMap(map, args[0]) != nullptr);
  }
  if (!args[1].IsList()) return NoSuchOverload();
  for (const Value& element : args[1].AsList().elements()) {
    if (Equals(args[0], element).IsTrue()) return Value::Bool(true);
  }
  return Value::Bool(false);
}

Value Index(Arena& arena, Args args) {
  if (args[0].IsList()) return ListGet(args[0].AsList(), args[1], arena);
  const Value* found = FindInMap(args[0].AsMap(), args[1]);
  return found != nullptr ? *found : MakeError(arena, "no such key: " + DebugString(args[1]));
}

Value Size(Arena&, Args args) {
  return Value::Int(static_cast<std::int64_t>(PlainSizeOf(args[0])));
}
Value TypeOfValue(Arena&, Args args) { return Value::Type(TypeNameOf(args[0])); }
Value Identity(Arena&, Args args) { return args[0]; }

template <ValueKind kTo>
Value ConvertTo(Arena& arena, Args args) {
  return Convert(arena, args[0], kTo);
}

Value Contains(Arena&, Args args) {
  if (!args[0].IsString() || !args[1].IsString()) return NoSuchOverload();
  return Value::Bool(args[0].AsText().contains(args[1].AsText()));
}
Value StartsWith(Arena&, Args args) {
  if (!args[0].IsString() || !args[1].IsString()) return NoSuchOverload();
  return Value::Bool(args[0].AsText().starts_with(args[1].AsText()));
}
Value EndsWith(Arena&, Args args) {
  if (!args[0].IsString() || !args[1].IsString()) return NoSuchOverload();
  return Value::Bool(args[0].AsText().ends_with(args[1].AsText()));
}

// A field of a timestamp in UTC, or in the zone of the second argument.
using CivilField = std::int64_t (*)(const CivilTime&);

template <CivilField kField>
Value TimestampField(Arena& arena, Args args) {
  std::int64_t offset = 0;
  if (args.size() == 2) {
    std::string error;
    const auto zone = ZoneOffset(args[1].AsText(), args[0].seconds(), &error);
    if (!zone) return MakeError(arena, error);
    offset = *zone;
  }
  return Value::Int(kField(ToCivil(args[0].seconds() + offset)));
}

std::int64_t Year(const CivilTime& time) { return time.year; }
std::int64_t Month(const CivilTime& time) { return time.month - 1; }
std::int64_t DayOfYear(const CivilTime& time) { return time.day_of_year - 1; }
std::int64_t DayOfMonth(const CivilTime& time) { return time.day - 1; }
std::int64_t Date(const CivilTime& time) { return time.day; }
std::int64_t DayOfWeek(const CivilTime& time) { return time.day_of_week; }
std::int64_t Hours(const CivilTime& time) { return time.hour; }
std::int64_t Minutes(const CivilTime& time) { return time.minute; }
std::int64_t Seconds(const CivilTime& time) { return time.second; }

Value TimestampMilliseconds(Arena& arena, Args args) {
  if (args.size() == 2) {
    std::string error;
    if (!ZoneOffset(args[1].AsText(), args[0].seconds(), &error)) return MakeError(arena, error);
  }
  return Value::Int(args[0].nanos() / 1'000'000);
}

// A duration in whole units, cut off towards zero.
template <std::int64_t kNanos>
Value DurationIn(Arena&, Args args) {
  return Value::Int(args[0].duration_nanos() / kNanos);
}
constexpr std::int64_t kMillisecond = 1'000'000;
constexpr std::int64_t kSecond = 1000 * kMillisecond;

constexpr auto kFunctions = std::to_array<LibraryFunction>({
    {"_?_:_", "conditional", "(bool, A, A) -> A"},
    {"_&&_", "logical_and", "(bool, bool) -> bool"},
    {"_||_", "logical_or", "(bool, bool) -> bool"},
    {"!_", "logical_not", "(bool) -> bool"},
    {"@not_strictly_false", "not_strictly_false", "(bool) -> bool", NotStrictlyFalse, kNonStrict},
    {"_==_", "equals", "(A, A) -> bool"},
    {"_!=_", "not_equals", "(A, A) -> bool"},
    {"_+_", "add_bytes", "(bytes, bytes) -> bytes"},
    {"_+_", "add_double", "(double, double) -> double"},
    {"_+_", "add_duration_duration", "(duration, duration) -> duration"},
    {"_+_", "add_duration_timestamp", "(duration, timestamp) -> timestamp"},
    {"_+_", "add_timestamp_duration", "(timestamp, duration) -> timestamp"},
    {"_+_", "add_int64", "(int, int) -> int"},
    {"_+_", "add_list", "(list(A), list(A)) -> list(A)"},
    {"_+_", "add_string", "(string, string) -> string"},
    {"_+_", "add_uint64", "(uint, uint) -> uint"},
    {"_/_", "divide_double", "(double, double) -> double"},
    {"_/_", "divide_int64", "(int, int) -> int"},
    {"_/_", "divide_uint64", "(uint, uint) -> uint"},
    {"_%_", "modulo_int64", "(int, int) -> int"},
    {"_%_", "modulo_uint64", "(uint, uint) -> uint"},
    {"_*_", "multiply_double", "(double, double) -> double"},
    {"_*_", "multiply_int64", "(int, int) -> int"},
    {"_*_", "multiply_uint64", "(uint, uint) -> uint"},
    {"-_", "negate_double", "(double) -> double"},
    {"-_", "negate_int64", "(int) -> int"},
    {"_-_", "subtract_double", "(double, double) -> double"},
    {"_-_", "subtract_duration_duration", "(duration, duration) -> duration"},
    {"_-_", "subtract_int64", "(int, int) -> int"},
    {"_-_", "subtract_timestamp_duration", "(timestamp, duration) -> timestamp"},
    {"_-_", "subtract_timestamp_timestamp", "(timestamp, timestamp) -> duration"},
    {"_-_", "subtract_uint64", "(uint, uint) -> uint"},
    {"_<_", "less_bool", "(bool, bool) -> bool"},
    {"_<_", "less_int64", "(int, int) -> bool"},
    {"_<_", "less_int64_double", "(int, double) -> bool"},
    {"_<_", "less_int64_uint64", "(int, uint) -> bool"},
    {"_<_", "less_uint64", "(uint, uint) -> bool"},
    {"_<_", "less_uint64_double", "(uint, double) -> bool"},
    {"_<_", "less_uint64_int64", "(uint, int) -> bool"},
    {"_<_", "less_double", "(double, double) -> bool"},
    {"_<_", "less_double_int64", "(double, int) -> bool"},
    {"_<_", "less_double_uint64", "(double, uint) -> bool"},
    {"_<_", "less_string", "(string, string) -> bool"},
    {"_<_", "less_bytes", "(bytes, bytes) -> bool"},
    {"_<_", "less_timestamp", "(timestamp, timestamp) -> bool"},
    {"_<_", "less_duration", "(duration, duration) -> bool"},
    {"_<=_", "less_equals_bool", "(bool, bool) -> bool"},
    {"_<=_", "less_equals_int64", "(int, int) -> bool"},
    {"_<=_", "less_equals_int64_double", "(int, double) -> bool"},
    {"_<=_", "less_equals_int64_uint64", "(int, uint) -> bool"},
    {"_<=_", "less_equals_uint64", "(uint, uint) -> bool"},
    {"_<=_", "less_equals_uint64_double", "(uint, double) -> bool"},
    {"_<=_", "less_equals_uint64_int64", "(uint, int) -> bool"},
    {"_<=_", "less_equals_double", "(double, double) -> bool"},
    {"_<=_", "less_equals_double_int64", "(double, int) -> bool"},
    {"_<=_", "less_equals_double_uint64", "(double, uint) -> bool"},
    {"_<=_", "less_equals_string", "(string, string) -> bool"},
    {"_<=_", "less_equals_bytes", "(bytes, bytes) -> bool"},
    {"_<=_", "less_equals_timestamp", "(timestamp, timestamp) -> bool"},
    {"_<=_", "less_equals_duration", "(duration, duration) -> bool"},
    {"_>_", "greater_bool", "(bool, bool) -> bool"},
    {"_>_", "greater_int64", "(int, int) -> bool"},
    {"_>_", "greater_int64_double", "(int, double) -> bool"},
    {"_>_", "greater_int64_uint64", "(int, uint) -> bool"},
    {"_>_", "greater_uint64", "(uint, uint) -> bool"},
    {"_>_", "greater_uint64_double", "(uint, double) -> bool"},
    {"_>_", "greater_uint64_int64", "(uint, int) -> bool"},
    {"_>_", "greater_double", "(double, double) -> bool"},
    {"_>_", "greater_double_int64", "(double, int) -> bool"},
    {"_>_", "greater_double_uint64", "(double, uint) -> bool"},
    {"_>_", "greater_string", "(string, string) -> bool"},
    {"_>_", "greater_bytes", "(bytes, bytes) -> bool"},
    {"_>_", "greater_timestamp", "(timestamp, timestamp) -> bool"},
    {"_>_", "greater_duration", "(duration, duration) -> bool"},
    {"_>=_", "greater_equals_bool", "(bool, bool) -> bool"},
    {"_>=_", "greater_equals_int64", "(int, int) -> bool"},
    {"_>=_", "greater_equals_int64_double", "(int, double) -> bool"},
    {"_>=_", "greater_equals_int64_uint64", "(int, uint) -> bool"},
    {"_>=_", "greater_equals_uint64", "(uint, uint) -> bool"},
    {"_>=_", "greater_equals_uint64_double", "(uint, double) -> bool"},
    {"_>=_", "greater_equals_uint64_int64", "(uint, int) -> bool"},
    {"_>=_", "greater_equals_double", "(double, double) -> bool"},
    {"_>=_", "greater_equals_double_int64", "(double, int) -> bool"},
    {"_>=_", "greater_equals_double_uint64", "(double, uint) -> bool"},
    {"_>=_", "greater_equals_string", "(string, string) -> bool"},
    {"_>=_", "greater_equals_bytes", "(bytes, bytes) -> bool"},
    {"_>=_", "greater_equals_timestamp", "(timestamp, timestamp) -> bool"},
    {"_>=_", "greater_equals_duration", "(duration, duration) -> bool"},
    {"_[_]", "index_list", "(list(A), int) -> A"},
    {"_[_]", "index_map", "(map(A, B), A) -> B"},
    {"@in", "in_list", "(A, list(A)) -> bool"},
    {"@in", "in_map", "(A, map(A, B)) -> bool"},
    {"size", "size_bytes", "(bytes) -> int"},
    {"size", "bytes_size", "bytes.() -> int"},
    {"size", "size_list", "(list(A)) -> int"},
    {"size", "list_size", "list(A).() -> int"},
    {"size", "size_map", "(map(A, B)) -> int"},
    {"size", "map_size", "map(A, B).() -> int"},
    {"size", "size_string", "(string) -> int"},
    {"size", "string_size", "string.() -> int"},
    {"type", "type", "(A) -> type(A)"},
    {"bool", "bool_to_bool", "(bool) -> bool", Identity},
    {"bool", "string_to_bool", "(string) -> bool", ConvertTo<ValueKind::kBool>},
    {"bytes", "bytes_to_bytes", "(bytes) -> bytes", Identity},
    {"bytes", "string_to_bytes", "(string) -> bytes", ConvertTo<ValueKind::kBytes>},
    {"double", "double_to_double", "(double) -> double", Identity},
    {"double", "int64_to_double", "(int) -> double", ConvertTo<ValueKind::kDouble>},
    {"double", "string_to_double", "(string) -> double", ConvertTo<ValueKind::kDouble>},
    {"double", "uint64_to_double", "(uint) -> double", ConvertTo<ValueKind::kDouble>},
    {"duration", "duration_to_duration", "(duration) -> duration", Identity},
    {"duration", "string_to_duration", "(string) -> duration", ConvertTo<ValueKind::kDuration>},
    {"int", "int64_to_int64", "(int) -> int", Identity},
    {"int", "double_to_int64", "(double) -> int", ConvertTo<ValueKind::kInt>},
    {"int", "duration_to_int64", "(duration) -> int", ConvertTo<ValueKind::kInt>},
    {"int", "string_to_int64", "(string) -> int", ConvertTo<ValueKind::kInt>},
    {"int", "timestamp_to_int64", "(timestamp) -> int", ConvertTo<ValueKind::kInt>},
    {"int", "uint64_to_int64", "(uint) -> int", ConvertTo<ValueKind::kInt>},
    {"string", "string_to_string", "(string) -> string", Identity},
    {"string", "bool_to_string", "(bool) -> string", ConvertTo<ValueKind::kString>},
    {"string", "bytes_to_string", "(bytes) -> string", ConvertTo<ValueKind::kString>},
    {"string", "double_to_string", "(double) -> string", ConvertTo<ValueKind::kString>},
    {"string", "duration_to_string", "(duration) -> string", ConvertTo<ValueKind::kString>},
    {"string", "int64_to_string", "(int) -> string", ConvertTo<ValueKind::kString>},
    {"string", "timestamp_to_string", "(timestamp) -> string", ConvertTo<ValueKind::kString>},
    {"string", "uint64_to_string", "(uint) -> string", ConvertTo<ValueKind::kString>},
    {"timestamp", "timestamp_to_timestamp", "(timestamp) -> timestamp", Identity},
    {"timestamp", "int64_to_timestamp", "(int) -> timestamp", ConvertTo<ValueKind::kTimestamp>},
    {"timestamp", "string_to_timestamp", "(string) -> timestamp", ConvertTo<ValueKind::kTimestamp>},
    {"uint", "uint64_to_uint64", "(uint) -> uint", Identity},
    {"uint", "double_to_uint64", "(double) -> uint", ConvertTo<ValueKind::kUint>},
    {"uint", "int64_to_uint64", "(int) -> uint", ConvertTo<ValueKind::kUint>},
    {"uint", "string_to_uint64", "(string) -> uint", ConvertTo<ValueKind::kUint>},
    {"dyn", "to_dyn", "(A) -> dyn"},
    {"contains", "contains_string", "string.(string) -> bool", Contains, kNoTypeGuard},
    {"endsWith", "ends_with_string", "string.(string) -> bool", EndsWith, kNoTypeGuard},
    {"startsWith", "starts_with_string", "string.(string) -> bool", StartsWith, kNoTypeGuard},
    {"matches", "matches", "(string, string) -> bool"},
    {"matches", "matches_string", "string.(string) -> bool"},
    {"getFullYear", "timestamp_to_year", "timestamp.() -> int", TimestampField<Year>},
    {"getFullYear", "timestamp_to_year_with_tz", "timestamp.(string) -> int", TimestampField<Year>},
    {"getMonth", "timestamp_to_month", "timestamp.() -> int", TimestampField<Month>},
    {"getMonth", "timestamp_to_month_with_tz", "timestamp.(string) -> int", TimestampField<Month>},
    {"getDayOfYear", "timestamp_to_day_of_year", "timestamp.() -> int", TimestampField<DayOfYear>},
    {"getDayOfYear", "timestamp_to_day_of_year_with_tz", "timestamp.(string) -> int",
     TimestampField<DayOfYear>},
    {"getDayOfMonth", "timestamp_to_day_of_month", "timestamp.() -> int",
     TimestampField<DayOfMonth>},
    {"getDayOfMonth", "timestamp_to_day_of_month_with_tz", "timestamp.(string) -> int",
     TimestampField<DayOfMonth>},
    {"getDate", "timestamp_to_day_of_month_1_based", "timestamp.() -> int", TimestampField<Date>},
    {"getDate", "timestamp_to_day_of_month_1_based_with_tz", "timestamp.(string) -> int",
     TimestampField<Date>},
    {"getDayOfWeek", "timestamp_to_day_of_week", "timestamp.() -> int", TimestampField<DayOfWeek>},
    {"getDayOfWeek", "timestamp_to_day_of_week_with_tz", "timestamp.(string) -> int",
     TimestampField<DayOfWeek>},
    {"getHours", "timestamp_to_hours", "timestamp.() -> int", TimestampField<Hours>},
    {"getHours", "timestamp_to_hours_with_tz", "timestamp.(string) -> int", TimestampField<Hours>},
    {"getMinutes", "timestamp_to_minutes", "timestamp.() -> int", TimestampField<Minutes>},
    {"getMinutes", "timestamp_to_minutes_with_tz", "timestamp.(string) -> int",
     TimestampField<Minutes>},
    {"getSeconds", "timestamp_to_seconds", "timestamp.() -> int", TimestampField<Seconds>},
    {"getSeconds", "timestamp_to_seconds_tz", "timestamp.(string) -> int", TimestampField<Seconds>},
    {"getMilliseconds", "timestamp_to_milliseconds", "timestamp.() -> int", TimestampMilliseconds},
    {"getMilliseconds", "timestamp_to_milliseconds_with_tz", "timestamp.(string) -> int",
     TimestampMilliseconds},
    {"getHours", "duration_to_hours", "duration.() -> int", DurationIn<3600 * kSecond>},
    {"getMinutes", "duration_to_minutes", "duration.() -> int", DurationIn<60 * kSecond>},
    {"getSeconds", "duration_to_seconds", "duration.() -> int", DurationIn<kSecond>},
    {"getMilliseconds", "duration_to_milliseconds", "duration.() -> int", DurationIn<kMillisecond>},
});

constexpr auto kSingletons = std::to_array<LibrarySingleton>({
    {"!_", Not},
    {"_+_", Add, Trait::kAdd},
    {"_/_", Divide, Trait::kDivide},
    {"_%_", Modulo, Trait::kModulo},
    {"_*_", Multiply, Trait::kMultiply},
    {"-_", Negate, Trait::kNegate},
    {"_-_", Subtract, Trait::kSubtract},
    {"_<_", Compare<Wanted::kLess>, Trait::kCompare},
    {"_<=_", Compare<Wanted::kLessEquals>, Trait::kCompare},
    {"_>_", Compare<Wanted::kGreater>, Trait::kCompare},
    {"_>=_", Compare<Wanted::kGreaterEquals>, Trait::kCompare},
    {"_[_]", Index, Trait::kIndex},
    {"@in", In},
    {"size", Size, Trait::kSize},
    {"type", TypeOfValue},
    {"dyn", Identity},
    {"matches", RegexMatches, Trait::kMatch},
});

}  // namespace

void AddStandard(Environment& env) {
  env.Add(kFunctions);
  env.Add(kSingletons);
  env.check.macros.Add(StandardMacros());
}

}  // namespace drachma::cel
