#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cel/syntax/arena.h"

namespace drachma::cel {

enum class TypeKind : std::uint8_t {
  kDyn,
  kAny,
  kBool,
  kBytes,
  kDouble,
  kDuration,
  kError,
  kInt,
  kList,
  kMap,
  kNull,
  kOpaque,
  kString,
  kStruct,
  kTimestamp,
  kType,
  kTypeParam,
  kUint,
};

// A CEL type: immutable, compared by structure. Lives in an arena or for ever.
struct Type {
  TypeKind kind = TypeKind::kDyn;
  bool nullable = false;  // wrapper(T)
  // The number of a type variable of the checker, or -1. Variables are named _var0, _var1, …
  std::int32_t variable = -1;
  std::string_view name;  // run-time name: "int", "google.protobuf.Timestamp", "optional_type"
  std::span<const Type* const> parameters;
};

// The types without parameters. Scalars are these very objects everywhere, so that comparing
// pointers is a fast "certainly equal".
namespace types {
extern const Type kDyn, kAny, kBool, kBytes, kDouble, kDuration, kError, kInt, kNull, kString,
    kTimestamp, kType, kUint;
}  // namespace types

[[nodiscard]] const Type* ListOf(Arena& arena, const Type* element);
[[nodiscard]] const Type* MapOf(Arena& arena, const Type* key, const Type* value);
[[nodiscard]] const Type* OptionalOf(Arena& arena, const Type* value);
[[nodiscard]] const Type* TypeOf(Arena& arena, const Type* type);
[[nodiscard]] const Type* OpaqueType(Arena& arena, std::string_view name,
                                     std::span<const Type* const> parameters = {});
[[nodiscard]] const Type* StructType(Arena& arena, std::string_view name);
[[nodiscard]] const Type* TypeParam(Arena& arena, std::string_view name);

// Same kind, name and parameters. Equivalent types may differ in the names of type parameters.
[[nodiscard]] bool IsExactType(const Type* a, const Type* b);
[[nodiscard]] bool IsEquivalentType(const Type* a, const Type* b);
// Whether a value of `from` can stand where `to` is declared (without type variables).
[[nodiscard]] bool IsAssignableType(const Type* to, const Type* from);

[[nodiscard]] inline bool IsDyn(const Type* type) {
  return type->kind == TypeKind::kDyn || type->kind == TypeKind::kAny;
}
[[nodiscard]] inline bool IsOptional(const Type* type) {
  return type->kind == TypeKind::kOpaque && type->name == "optional_type";
}

// As cel-go's messages spell types: "list(int)", "map(string, dyn)", "timestamp", "wrapper(int)".
[[nodiscard]] std::string FormatType(const Type* type);
// As cel-go's Type.String() spells them: run-time names, "<T>" for type parameters.
[[nodiscard]] std::string TypeToString(const Type* type);
// "(int, string)" or "int.(string)".
[[nodiscard]] std::string FormatSignature(std::span<const Type* const> args, bool member);

// Reads a type: "list(string)", "map(K, V)", "optional_type(T)", "wrapper(int)", another name.
// Names among `type_params` are parameters; other names are opaque types with parameters and struct
// types without (but see `opaque_names`: names of opaque types without parameters).
[[nodiscard]] const Type* ParseType(Arena& arena, std::string_view text,
                                    std::span<const std::string_view> type_params,
                                    std::span<const std::string_view> opaque_names = {});

}  // namespace drachma::cel
