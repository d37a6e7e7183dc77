#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <vector>

#include "cel/ext/arithmetic.h"
#include "cel/ext/library.h"

// cel-go's ext.Lists and ext.Sets, and Kubernetes' list library.

namespace drachma::cel {
namespace {

using Args = std::span<const Value>;

constexpr std::int64_t kRangeMax = 1'000'000;

Value Slice(Arena& arena, Args args) {
  const ListData& list = args[0].AsList();
  const std::int64_t start = args[1].AsInt();
  const std::int64_t end = args[2].AsInt();
  const std::string call =
      "cannot slice(" + std::to_string(start) + ", " + std::to_string(end) + "), ";
  if (start < 0 || end < 0) return MakeError(arena, call + "negative indexes not supported");
  if (start > end) {
    return MakeError(arena, call + "start index must be less than or equal to end index");
  }
  if (end > list.size) {
    return MakeError(arena, call + "list is length " + std::to_string(list.size));
  }
  return MakeList(arena, list.elements().subspan(start, end - start));
}

void FlattenInto(const ListData& list, std::int64_t depth, std::vector<Value>& out) {
  for (const Value& element : list.elements()) {
    if (element.IsList() && depth > 0) {
      FlattenInto(element.AsList(), depth - 1, out);
    } else {
      out.push_back(element);
    }
  }
}

// The type of a value as cel-go prints it: without what is in it.
std::string GenericTypeName(const Value& value) {
  if (value.IsList()) return "list(dyn)";
  if (value.IsMap()) return "map(dyn, dyn)";
  if (value.IsOptional()) return "optional_type(dyn)";
  return std::string(TypeNameOf(value));
}

Value Flatten(Arena& arena, Args args) {
  const bool with_depth = args.size() == 2;
  if (!args[0].IsList() || (with_depth && !args[1].IsInt())) {
    std::string call = "no such overload: " + GenericTypeName(args[0]) + ".flatten(";
    if (with_depth) call += GenericTypeName(args[1]);
    return MakeError(arena, call + ")");
  }
  const std::int64_t depth = with_depth ? args[1].AsInt() : 1;
  if (depth < 0) return Value::Error("level must be non-negative");
  std::vector<Value> flat;
  FlattenInto(args[0].AsList(), depth, flat);
  return MakeList(arena, flat);
}

bool IsComparable(const Value& value) {
  switch (value.kind()) {
    case ValueKind::kBool:
    case ValueKind::kInt:
    case ValueKind::kUint:
    case ValueKind::kDouble:
    case ValueKind::kString:
    case ValueKind::kBytes:
    case ValueKind::kTimestamp:
    case ValueKind::kDuration:
      return true;
    default:
      return false;
  }
}

Value SortBy(Arena& arena, Args args) {
  const ListData& list = args[0].AsList();
  const ListData& keys = args[1].AsList();
  if (list.size != keys.size) {
    return MakeError(arena,
                     "@sortByAssociatedKeys() expected a list of the same size as the associated "
                     "keys list, but got " +
                         std::to_string(list.size) + " and " + std::to_string(keys.size) +
                         " elements respectively");
  }
  if (list.size == 0) return args[0];
  const Value& first = keys.items[0];
  if (!IsComparable(first)) return Value::Error("list elements must be comparable");
  const bool same_kind = std::ranges::all_of(
      keys.elements(), [&](const Value& key) { return key.kind() == first.kind(); });
  if (!same_kind) return Value::Error("list elements must have the same type");
  std::vector<std::size_t> order(list.size);
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    const Value result = CompareValues(keys.items[a], keys.items[b]);
    return result.IsInt() && result.AsInt() < 0;
  });
  std::vector<Value> sorted;
  sorted.reserve(order.size());
  for (const std::size_t index : order) sorted.push_back(list.items[index]);
  return MakeList(arena, sorted);
}

Value Sort(Arena& arena, Args args) {
  const std::array<Value, 2> both = {args[0], args[0]};
  return SortBy(arena, both);
}

Value Range(Arena& arena, Args args) {
  const std::int64_t size = args[0].AsInt();
  if (size < 0) {
    return MakeError(arena, "lists.range: size must be non-negative, got " + std::to_string(size));
  }
  if (size > kRangeMax) {
    return MakeError(arena, "lists.range: size " + std::to_string(size) +
                                " exceeds maximum allowed (" + std::to_string(kRangeMax) + ")");
  }
  std::vector<Value> numbers;
  numbers.reserve(static_cast<std::size_t>(size));
  for (std::int64_t i = 0; i < size; ++i) numbers.push_back(Value::Int(i));
  return MakeList(arena, numbers);
}

Value ReverseList(Arena& arena, Args args) {
  std::vector<Value> reversed(args[0].AsList().elements().begin(),
                              args[0].AsList().elements().end());
  std::ranges::reverse(reversed);
  return MakeList(arena, reversed);
}

Value Distinct(Arena& arena, Args args) {
  std::vector<Value> unique;
  for (const Value& value : args[0].AsList().elements()) {
    const bool seen = std::ranges::any_of(
        unique, [&](const Value& other) { return Equals(value, other).IsTrue(); });
    if (!seen) unique.push_back(value);
  }
  return MakeList(arena, unique);
}

// --- Sets

bool ContainsValue(const ListData& list, const Value& value) {
  return std::ranges::any_of(list.elements(),
                             [&](const Value& element) { return Equals(value, element).IsTrue(); });
}
bool ContainsAll(const ListData& list, const ListData& wanted) {
  return std::ranges::all_of(wanted.elements(),
                             [&](const Value& value) { return ContainsValue(list, value); });
}

Value SetsContains(Arena&, Args args) {
  return Value::Bool(ContainsAll(args[0].AsList(), args[1].AsList()));
}
Value SetsEquivalent(Arena&, Args args) {
  return Value::Bool(ContainsAll(args[0].AsList(), args[1].AsList()) &&
                     ContainsAll(args[1].AsList(), args[0].AsList()));
}
Value SetsIntersects(Arena&, Args args) {
  return Value::Bool(std::ranges::any_of(args[0].AsList().elements(), [&](const Value& value) {
    return ContainsValue(args[1].AsList(), value);
  }));
}

// --- Kubernetes' lists

Value IsSorted(Arena&, Args args) {
  const std::span<const Value> elements = args[0].AsList().elements();
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (!IsComparable(elements[i])) return NoSuchOverload();
    if (i == 0) continue;
    const Value order = CompareValues(elements[i - 1], elements[i]);
    if (order.IsInt() && order.AsInt() > 0) return Value::Bool(false);
  }
  return Value::Bool(true);
}

Value ZeroOf(ValueKind kind) {
  switch (kind) {
    case ValueKind::kUint:
      return Value::Uint(0);
    case ValueKind::kDouble:
      return Value::Double(0);
    case ValueKind::kDuration:
      return Value::Duration(0);
    default:
      return Value::Int(0);
  }
}

template <ValueKind kKind>
Value Sum(Arena& arena, Args args) {
  Value sum = ZeroOf(kKind);
  for (const Value& element : args[0].AsList().elements()) {
    const std::array<Value, 2> terms = {sum, element};
    sum = Add(arena, terms);
    if (sum.IsError()) return sum;
  }
  return sum;
}

// The first element that no other precedes (-1) or follows (1).
template <int kLoses>
Value Extreme(Arena&, Args args) {
  const std::span<const Value> elements = args[0].AsList().elements();
  if (elements.empty()) {
    return Value::Error(kLoses > 0 ? "min called on empty list" : "max called on empty list");
  }
  const Value* best = nullptr;
  for (const Value& element : elements) {
    if (!IsComparable(element)) return NoSuchOverload();
    if (best != nullptr) {
      const Value order = CompareValues(*best, element);
      if (!order.IsInt() || order.AsInt() != kLoses) continue;
    }
    best = &element;
  }
  return *best;
}

Value IndexOfElement(Arena&, Args args) {
  const std::span<const Value> elements = args[0].AsList().elements();
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (Equals(elements[i], args[1]).IsTrue()) return Value::Int(static_cast<std::int64_t>(i));
  }
  return Value::Int(-1);
}
Value LastIndexOfElement(Arena&, Args args) {
  const std::span<const Value> elements = args[0].AsList().elements();
  for (std::size_t i = elements.size(); i > 0; --i) {
    if (Equals(elements[i - 1], args[1]).IsTrue()) {
      return Value::Int(static_cast<std::int64_t>(i) - 1);
    }
  }
  return Value::Int(-1);
}

Value Includes(Arena&, Args args) {
  if (!args[0].IsList()) return Value::Bool(Equals(args[0], args[1]).IsTrue());
  return Value::Bool(std::ranges::any_of(args[0].AsList().elements(), [&](const Value& element) {
    return Equals(element, args[1]).IsTrue();
  }));
}

constexpr auto kLists = std::to_array<LibraryFunction>({
    {"slice", "list_slice", "list(T).(int, int) -> list(T)", Slice},
    {"flatten", "list_flatten", "list(list(T)).() -> list(T)", Flatten, kNoTypeGuard},
    {"flatten", "list_flatten_int", "list(dyn).(int) -> list(dyn)", Flatten, kNoTypeGuard},
    {"lists.range", "lists_range", "(int) -> list(int)", Range},
    {"reverse", "list_reverse", "list(T).() -> list(T)", ReverseList},
    {"distinct", "list_distinct", "list(T).() -> list(T)", Distinct},
});
constexpr auto kListSingletons = std::to_array<LibrarySingleton>({
    {"sort", Sort, Trait::kList},
    {"@sortByAssociatedKeys", SortBy, Trait::kList},
});

// Overloads for every comparable type: the declaration's type and its run-time name.
struct Comparable {
  const char* type;
  const char* name;
  const char* kubernetes_name;
};
constexpr auto kComparable = std::to_array<Comparable>({
    {"int", "int", "int"},
    {"uint", "uint", "uint"},
    {"double", "double", "double"},
    {"bool", "bool", "bool"},
    {"duration", "google.protobuf.Duration", "duration"},
    {"timestamp", "google.protobuf.Timestamp", "timestamp"},
    {"string", "string", "string"},
    {"bytes", "bytes", "bytes"},
});

constexpr auto kSets = std::to_array<LibraryFunction>({
    {"sets.contains", "list_sets_contains_list", "(list(T), list(T)) -> bool", SetsContains},
    {"sets.equivalent", "list_sets_equivalent_list", "(list(T), list(T)) -> bool", SetsEquivalent},
    {"sets.intersects", "list_sets_intersects_list", "(list(T), list(T)) -> bool", SetsIntersects},
});

constexpr auto kSums = std::to_array<LibraryFunction>({
    {"sum", "list_int_sum_int", "list(int).() -> int", Sum<ValueKind::kInt>},
    {"sum", "list_uint_sum_uint", "list(uint).() -> uint", Sum<ValueKind::kUint>},
    {"sum", "list_double_sum_double", "list(double).() -> double", Sum<ValueKind::kDouble>},
    {"sum", "list_duration_sum_duration", "list(duration).() -> duration",
     Sum<ValueKind::kDuration>},
});
constexpr auto kIndexes = std::to_array<LibraryFunction>({
    {"indexOf", "list_a_index_of_int", "list(A).(A) -> int", IndexOfElement},
    {"lastIndexOf", "list_a_last_index_of_int", "list(A).(A) -> int", LastIndexOfElement},
});
constexpr auto kIncludes = std::to_array<LibraryFunction>({
    {"includes", "list_includes_dyn_dyn", "dyn.(dyn) -> bool", Includes},
});

// A declaration whose texts are made here and kept by the environment.
void AddMade(Environment& env, std::string_view function, const std::string& overload,
             const std::string& signature, FunctionBody body) {
  const std::string_view id = env.check.arena().CopyString(overload);
  env.check.AddFunction(function, id, signature);
  if (body != nullptr) env.functions.AddOverload(id, body);
}

}  // namespace

void AddLists(Environment& env) {
  env.Add(kLists);
  env.Add(kListSingletons);
  env.check.macros.Add(ListMacros());
  for (const Comparable& entry : kComparable) {
    const std::string list = "list(" + std::string(entry.type) + ")";
    const std::string name = "list_" + std::string(entry.name);
    AddMade(env, "sort", name + "_sort", list + ".() -> " + list, nullptr);
    AddMade(env, "@sortByAssociatedKeys", name + "_sortByAssociatedKeys",
            "list(T).(" + list + ") -> list(T)", nullptr);
  }
}

void AddSets(Environment& env) { env.Add(kSets); }

void AddKubernetesLists(Environment& env) {
  for (const Comparable& entry : kComparable) {
    const std::string type(entry.type);
    const std::string list = "list(" + type + ")";
    const std::string name(entry.kubernetes_name);
    AddMade(env, "isSorted", "list_" + name + "_is_sorted_bool", list + ".() -> bool", IsSorted);
    AddMade(env, "max", "list_" + name + "_max_" + name, list + ".() -> " + type, Extreme<-1>);
    AddMade(env, "min", "list_" + name + "_min_" + name, list + ".() -> " + type, Extreme<1>);
  }
  env.Add(kSums);
  env.Add(kIndexes);
}

void AddIncludes(Environment& env) { env.Add(kIncludes); }

}  // namespace drachma::cel
