#include "cel/ext/quantity.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "cel/ext/library.h"

// Kubernetes' quantity and semver libraries.

namespace drachma::cel {
namespace {

using Args = std::span<const Value>;

const QuantityData& DataOf(const Value& value) {
  return static_cast<const QuantityData&>(value.AsOpaque());
}

class QuantityClass final : public OpaqueClass {
 public:
  std::string_view name() const override { return "kubernetes.Quantity"; }
  std::string_view GoName(const OpaqueData& self) const override {
    return static_cast<const QuantityData&>(self).computed ? "*cel.Quantity" : "cel.Quantity";
  }
  Value Equal(const OpaqueData& self, const Value& other) const override {
    if (other.IsError()) return other;
    if (QuantityOf(other) == nullptr || DataOf(other).computed) return NoSuchOverload();
    return Value::Bool(static_cast<const QuantityData&>(self).value == *QuantityOf(other));
  }
  std::string ToString(const OpaqueData& self) const override {
    return static_cast<const QuantityData&>(self).value.ToString();
  }
};

class SemverClass final : public OpaqueClass {
 public:
  std::string_view name() const override { return "kubernetes.Semver"; }
  std::string_view GoName(const OpaqueData&) const override { return "cel.Semver"; }
  Value Equal(const OpaqueData& self, const Value& other) const override {
    if (other.IsError()) return other;
    const Semver* version = SemverOf(other);
    if (version == nullptr) return NoSuchOverload();
    return Value::Bool(static_cast<const SemverData&>(self).value.Compare(*version) == 0);
  }
  std::string ToString(const OpaqueData& self) const override {
    return static_cast<const SemverData&>(self).value.ToString();
  }
};

const QuantityClass kQuantityClass;
const SemverClass kSemverClass;

Value ToQuantity(Arena& arena, Args args) {
  auto quantity = Quantity::Parse(args[0].AsText());
  if (!quantity) return MakeError(arena, quantity.error().message);
  return Value::Opaque(arena.Own<QuantityData>(*std::move(quantity)));
}
Value IsQuantity(Arena&, Args args) {
  return Value::Bool(Quantity::Parse(args[0].AsText()).has_value());
}
Value QuantitySign(Arena&, Args args) { return Value::Int(QuantityOf(args[0])->Sign()); }
Value QuantityGreater(Arena&, Args args) {
  return Value::Bool(QuantityOf(args[0])->Compare(*QuantityOf(args[1])) > 0);
}
Value QuantityLess(Arena&, Args args) {
  return Value::Bool(QuantityOf(args[0])->Compare(*QuantityOf(args[1])) < 0);
}
Value QuantityCompare(Arena&, Args args) {
  return Value::Int(QuantityOf(args[0])->Compare(*QuantityOf(args[1])));
}
Value QuantityDouble(Arena&, Args args) {
  return Value::Double(QuantityOf(args[0])->AsApproximateDouble());
}
Value QuantityInt(Arena&, Args args) {
  const auto value = QuantityOf(args[0])->AsInt64();
  return value ? Value::Int(*value) : Value::Error("cannot convert value to integer");
}
Value QuantityIsInt(Arena&, Args args) {
  return Value::Bool(QuantityOf(args[0])->AsInt64().has_value());
}

Quantity Operand(const Value& value) {
  if (value.IsInt()) return Quantity::FromInt(value.AsInt(), QuantityFormat::kDecimalExponent);
  return *QuantityOf(value);
}
Value QuantityAdd(Arena& arena, Args args) {
  Quantity sum = *QuantityOf(args[0]);
  sum.Add(Operand(args[1]));
  return Value::Opaque(arena.Own<QuantityData>(std::move(sum), /*is_computed=*/true));
}
Value QuantitySub(Arena& arena, Args args) {
  Quantity difference = *QuantityOf(args[0]);
  difference.Sub(Operand(args[1]));
  return Value::Opaque(arena.Own<QuantityData>(std::move(difference), /*is_computed=*/true));
}

constexpr auto kQuantity = std::to_array<LibraryFunction>({
    {"quantity", "string_to_quantity", "(string) -> kubernetes.Quantity", ToQuantity},
    {"isQuantity", "is_quantity_string", "(string) -> bool", IsQuantity},
    {"sign", "quantity_sign", "(kubernetes.Quantity) -> int", QuantitySign},
    {"isGreaterThan", "quantity_is_greater_than",
     "kubernetes.Quantity.(kubernetes.Quantity) -> bool", QuantityGreater},
    {"isLessThan", "quantity_is_less_than", "kubernetes.Quantity.(kubernetes.Quantity) -> bool",
     QuantityLess},
    {"compareTo", "quantity_compare_to", "kubernetes.Quantity.(kubernetes.Quantity) -> int",
     QuantityCompare},
    {"asApproximateFloat", "quantity_get_float", "kubernetes.Quantity.() -> double",
     QuantityDouble},
    {"asInteger", "quantity_get_int", "kubernetes.Quantity.() -> int", QuantityInt},
    {"isInteger", "quantity_is_integer", "kubernetes.Quantity.() -> bool", QuantityIsInt},
    {"add", "quantity_add", "kubernetes.Quantity.(kubernetes.Quantity) -> kubernetes.Quantity",
     QuantityAdd},
    {"add", "quantity_add_int", "kubernetes.Quantity.(int) -> kubernetes.Quantity", QuantityAdd},
    {"sub", "quantity_sub", "kubernetes.Quantity.(kubernetes.Quantity) -> kubernetes.Quantity",
     QuantitySub},
    {"sub", "quantity_sub_int", "kubernetes.Quantity.(int) -> kubernetes.Quantity", QuantitySub},
});

// --- Versions

// "v1.2" as "1.2.0", "01" as "1".
Result<Semver> ParseLoosely(std::string_view text) {
  if (text.starts_with('v')) text.remove_prefix(1);
  std::vector<std::string> parts;
  while (parts.size() < 2 && text.contains('.')) {
    parts.emplace_back(text.substr(0, text.find('.')));
    text.remove_prefix(text.find('.') + 1);
  }
  parts.emplace_back(text);
  for (std::string& part : parts) {
    if (part.size() <= 1) continue;
    part.erase(0, std::min(part.find_first_not_of('0'), part.size()));
    if (part.empty() || part[0] < '0' || part[0] > '9') part.insert(part.begin(), '0');
  }
  if (parts.size() < 3) {
    if (parts.back().find_first_of("+-") != std::string::npos) {
      return BadInput("short version cannot contain PreRelease/Build meta data");
    }
    parts.resize(3, "0");
  }
  return Semver::Parse(parts[0] + "." + parts[1] + "." + parts[2]);
}

Result<Semver> ParseVersion(Args args) {
  const bool loosely = args.size() == 2 && args[1].AsBool();
  return loosely ? ParseLoosely(args[0].AsText()) : Semver::Parse(args[0].AsText());
}

Value ToSemver(Arena& arena, Args args) {
  auto version = ParseVersion(args);
  if (!version) return MakeError(arena, version.error().message);
  return Value::Opaque(arena.Own<SemverData>(*std::move(version)));
}
Value IsSemver(Arena&, Args args) { return Value::Bool(ParseVersion(args).has_value()); }
Value SemverGreater(Arena&, Args args) {
  return Value::Bool(SemverOf(args[0])->Compare(*SemverOf(args[1])) > 0);
}
Value SemverLess(Arena&, Args args) {
  return Value::Bool(SemverOf(args[0])->Compare(*SemverOf(args[1])) < 0);
}
Value SemverCompare(Arena&, Args args) {
  return Value::Int(SemverOf(args[0])->Compare(*SemverOf(args[1])));
}
template <std::uint64_t Semver::* kPart>
Value SemverPart(Arena&, Args args) {
  return Value::Int(static_cast<std::int64_t>(SemverOf(args[0])->*kPart));
}

constexpr auto kSemver = std::to_array<LibraryFunction>({
    {"semver", "string_to_semver", "(string) -> kubernetes.Semver", ToSemver},
    {"semver", "string_bool_to_semver", "(string, bool) -> kubernetes.Semver", ToSemver},
    {"isSemver", "is_semver_string", "(string) -> bool", IsSemver},
    {"isSemver", "is_semver_string_bool", "(string, bool) -> bool", IsSemver},
    {"isGreaterThan", "semver_is_greater_than", "kubernetes.Semver.(kubernetes.Semver) -> bool",
     SemverGreater},
    {"isLessThan", "semver_is_less_than", "kubernetes.Semver.(kubernetes.Semver) -> bool",
     SemverLess},
    {"compareTo", "semver_compare_to", "kubernetes.Semver.(kubernetes.Semver) -> int",
     SemverCompare},
    {"major", "semver_major", "kubernetes.Semver.() -> int", SemverPart<&Semver::major>},
    {"minor", "semver_minor", "kubernetes.Semver.() -> int", SemverPart<&Semver::minor>},
    {"patch", "semver_patch", "kubernetes.Semver.() -> int", SemverPart<&Semver::patch>},
});

}  // namespace

QuantityData::QuantityData(Quantity quantity, bool is_computed)
    : OpaqueData{&kQuantityClass}, value(std::move(quantity)), computed(is_computed) {}
SemverData::SemverData(Semver semver) : OpaqueData{&kSemverClass}, value(std::move(semver)) {}

const Quantity* QuantityOf(const Value& value) {
  if (value.kind() != ValueKind::kOpaque || value.AsOpaque().type != &kQuantityClass) {
    return nullptr;
  }
  return &DataOf(value).value;
}
const Semver* SemverOf(const Value& value) {
  if (value.kind() != ValueKind::kOpaque || value.AsOpaque().type != &kSemverClass) return nullptr;
  return &static_cast<const SemverData&>(value.AsOpaque()).value;
}

void AddKubernetesQuantity(Environment& env) { env.Add(kQuantity); }
void AddKubernetesSemver(Environment& env) { env.Add(kSemver); }

}  // namespace drachma::cel
