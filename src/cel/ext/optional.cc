#include <array>
#include <vector>

#include "cel/eval/format.h"
#include "cel/ext/library.h"

// cel-go's optional types, bindings, blocks and two-variable comprehensions.

namespace drachma::cel {
namespace {

using Args = std::span<const Value>;

Value None() { return Value::Optional(nullptr); }

bool IsZero(const Value& value) {
  switch (value.kind()) {
    case ValueKind::kNull:
      return true;
    case ValueKind::kBool:
    case ValueKind::kInt:
    case ValueKind::kUint:
    case ValueKind::kDuration:
      return value.AsInt() == 0;
    case ValueKind::kDouble:
      return value.AsDouble() == 0;
    case ValueKind::kString:
    case ValueKind::kBytes:
      return value.AsText().empty();
    case ValueKind::kTimestamp:
      return value.seconds() == kSecondsMin && value.nanos() == 0;
    case ValueKind::kList:
      return value.AsList().size == 0;
    case ValueKind::kMap:
      return value.AsMap().size == 0;
    default:
      return false;
  }
}

Value Of(Arena& arena, Args args) { return MakeOptional(arena, args[0]); }
Value OfNonZero(Arena& arena, Args args) {
  return IsZero(args[0]) ? None() : MakeOptional(arena, args[0]);
}
Value MakeNone(Arena&, Args) { return None(); }
Value ValueOf(Arena&, Args args) {
  return args[0].HasValue() ? args[0].Inner() : Value::Error("optional.none() dereference");
}
Value HasValue(Arena&, Args args) { return Value::Bool(args[0].HasValue()); }

Value First(Arena& arena, Args args) {
  const ListData& list = args[0].AsList();
  return list.size == 0 ? None() : MakeOptional(arena, list.items[0]);
}
Value Last(Arena& arena, Args args) {
  const ListData& list = args[0].AsList();
  return list.size == 0 ? None() : MakeOptional(arena, list.items[list.size - 1]);
}

Value Unwrap(Arena& arena, Args args) {
  std::vector<Value> values;
  for (const Value& element : args[0].AsList().elements()) {
    if (!element.IsOptional()) {
      return MakeError(arena, "value " + DebugString(element) + " is not optional");
    }
    if (element.HasValue()) values.push_back(element.Inner());
  }
  return MakeList(arena, values);
}

Value Insert(Arena& arena, const MapData& map, const Value& key, const Value& value) {
  if (key.kind() == ValueKind::kBytes) {
    return Value::Error("internal error: runtime error: hash of unhashable type types.Bytes");
  }
  if (FindInMap(map, key) != nullptr) {
    return MakeError(arena, "insert failed: key " + DebugString(key) + " already exists");
  }
  return MapWith(arena, map, key, value);
}

Value InsertKeyValue(Arena& arena, Args args) {
  return Insert(arena, args[0].AsMap(), args[1], args[2]);
}
Value InsertMap(Arena& arena, Args args) {
  Value map = args[0];
  for (const MapEntry& entry : args[1].AsMap().all()) {
    map = Insert(arena, map.AsMap(), entry.key, entry.value);
    if (map.IsError()) return map;
  }
  return map;
}

constexpr auto kOptional = std::to_array<LibraryFunction>({
    {"optional.of", "optional_of", "(V) -> optional_type(V)", Of},
    {"optional.ofNonZeroValue", "optional_ofNonZeroValue", "(V) -> optional_type(V)", OfNonZero},
    {"optional.none", "optional_none", "() -> optional_type(V)", MakeNone, kOneByOne},
    {"value", "optional_value", "optional_type(V).() -> V", ValueOf},
    {"hasValue", "optional_hasValue", "optional_type(V).() -> bool", HasValue},
    {"or", "optional_or_optional", "optional_type(V).(optional_type(V)) -> optional_type(V)"},
    {"orValue", "optional_orValue_value", "optional_type(V).(V) -> V"},
    {"_?._", "select_optional_field", "(dyn, string) -> optional_type(V)"},
    {"_[?_]", "list_optindex_optional_int", "(list(V), int) -> optional_type(V)"},
    {"_[?_]", "optional_list_optindex_optional_int",
     "(optional_type(list(V)), int) -> optional_type(V)"},
    {"_[?_]", "map_optindex_optional_value", "(map(K, V), K) -> optional_type(V)"},
    {"_[?_]", "optional_map_optindex_optional_value",
     "(optional_type(map(K, V)), K) -> optional_type(V)"},
    {"_[_]", "optional_list_index_int", "(optional_type(list(V)), int) -> optional_type(V)"},
    {"_[_]", "optional_map_index_value", "(optional_type(map(K, V)), K) -> optional_type(V)"},
    {"last", "list_last", "list(V).() -> optional_type(V)", Last},
    {"first", "list_first", "list(V).() -> optional_type(V)", First},
    {"optional.unwrap", "optional_unwrap", "(list(optional_type(V))) -> list(V)", Unwrap},
    {"unwrapOpt", "optional_unwrapOpt", "list(optional_type(V)).() -> list(V)", Unwrap},
});

constexpr auto kInsert = std::to_array<LibraryFunction>({
    {"cel.@mapInsert", "@mapInsert_map_key_value", "(map(K, V), K, V) -> map(K, V)",
     InsertKeyValue},
    {"cel.@mapInsert", "@mapInsert_map_map", "(map(K, V), map(K, V)) -> map(K, V)", InsertMap},
});

constexpr auto kBlock = std::to_array<LibraryFunction>({
    {"cel.@block", "cel_block_list", "(list(dyn), T) -> T"},
});

constexpr int kBlockVariables = 40;  // as the conformance tests declare them

}  // namespace

void AddOptional(Environment& env) {
  env.Add(kOptional);
  env.check.macros.Add(OptionalMacros());
  env.check.AddTypeName("optional_type", OptionalOf(env.check.arena(), &types::kDyn));
}

void AddBindings(Environment& env) { env.check.macros.Add(BindMacros()); }

void AddBlock(Environment& env) {
  env.Add(kBlock);
  env.block = true;
  env.check.macros.Add(BlockMacros());
  for (int i = 0; i < kBlockVariables; ++i) {
    env.check.AddVariable("@index" + std::to_string(i), &types::kDyn);
  }
}

void AddTwoVariableComprehensions(Environment& env) {
  env.Add(kInsert);
  env.check.macros.Add(TwoVariableMacros());
}

}  // namespace drachma::cel
