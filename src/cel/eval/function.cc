#include "cel/eval/function.h"

#include <string>

namespace drachma::cel {
namespace {

constexpr std::uint32_t Bit(Trait trait) { return 1u << static_cast<unsigned>(trait); }

std::uint32_t TraitsOf(ValueKind kind) {
  using enum Trait;
  switch (kind) {
    case ValueKind::kBool:
      return Bit(kCompare) | Bit(kNegate);
    case ValueKind::kInt:
      return Bit(kAdd) | Bit(kCompare) | Bit(kDivide) | Bit(kModulo) | Bit(kMultiply) |
             Bit(kNegate) | Bit(kSubtract);
    case ValueKind::kUint:
      return Bit(kAdd) | Bit(kCompare) | Bit(kDivide) | Bit(kModulo) | Bit(kMultiply) |
             Bit(kSubtract);
    case ValueKind::kDouble:
      return Bit(kAdd) | Bit(kCompare) | Bit(kDivide) | Bit(kMultiply) | Bit(kNegate) |
             Bit(kSubtract);
    case ValueKind::kString:
      return Bit(kAdd) | Bit(kCompare) | Bit(kMatch) | Bit(kSize);
    case ValueKind::kBytes:
      return Bit(kAdd) | Bit(kCompare) | Bit(kSize);
    case ValueKind::kTimestamp:
      return Bit(kAdd) | Bit(kCompare) | Bit(kSubtract);
    case ValueKind::kDuration:
      return Bit(kAdd) | Bit(kCompare) | Bit(kNegate) | Bit(kSubtract);
    case ValueKind::kList:
      return Bit(kAdd) | Bit(kIndex) | Bit(kSize) | Bit(kList);
    case ValueKind::kMap:
      return Bit(kIndex) | Bit(kSize);
    default:
      return 0;
  }
}

}  // namespace

bool HasTrait(const Value& value, Trait trait) {
  return trait == Trait::kNone || (TraitsOf(value.kind()) & Bit(trait)) != 0;
}

void FunctionTable::AddSingleton(std::string_view function, FunctionBody body, Trait trait) {
  singletons_[std::string(function)] = {.body = body, .flags = kPlain, .trait = trait};
}
void FunctionTable::AddOverload(std::string_view overload, FunctionBody body, std::uint8_t flags) {
  overloads_[std::string(overload)] = {.body = body, .flags = flags, .trait = Trait::kNone};
}
const FunctionTable::Body* FunctionTable::FindSingleton(std::string_view function) const {
  const auto found = singletons_.find(function);
  if (found != singletons_.end()) return &found->second;
  return parent_ == nullptr ? nullptr : parent_->FindSingleton(function);
}
const FunctionTable::Body* FunctionTable::FindOverload(std::string_view overload) const {
  const auto found = overloads_.find(overload);
  if (found != overloads_.end()) return &found->second;
  return parent_ == nullptr ? nullptr : parent_->FindOverload(overload);
}

Value NoOverloadFor(Arena& arena, std::string_view function, std::span<const Value> args) {
  std::string types;
  for (const Value& arg : args) {
    if (arg.IsError()) return arg;
    if (!types.empty()) types += ", ";
    types += TypeNameOf(arg);
  }
  return MakeError(arena, "no such overload: " + std::string(function) + "(" + types + ")");
}

bool MatchesType(const Type* type, const Value& value) {
  if (type->nullable && value.kind() == ValueKind::kNull) return true;
  const bool dynamic = IsDyn(type) || type->kind == TypeKind::kTypeParam;
  if (!dynamic && type->name != TypeNameOf(value)) return false;
  if (type->kind == TypeKind::kList) {
    const ListData& list = value.AsList();
    return list.size == 0 || MatchesType(type->parameters[0], list.items[0]);
  }
  if (type->kind == TypeKind::kMap) {
    const MapData& map = value.AsMap();
    return map.size == 0 || (MatchesType(type->parameters[0], map.entries[0].key) &&
                             MatchesType(type->parameters[1], map.entries[0].value));
  }
  return true;
}

}  // namespace drachma::cel
