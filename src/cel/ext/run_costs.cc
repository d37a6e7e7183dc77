#include <array>
#include <cmath>
#include <string>

#include "cel/ext/costs.h"
#include "cel/ext/named_format.h"

// Actual costs. Sizes are counted with types that fold may have lost, so no size is taken from the
// checker.

namespace drachma::cel {
namespace {

using Args = std::span<const Value>;

constexpr std::uint64_t Ceil(double value) {
  return static_cast<std::uint64_t>(value) +
         (value > static_cast<double>(static_cast<std::uint64_t>(value)) ? 1 : 0);
}
std::uint64_t Scaled(std::uint64_t size, double factor = kStringFactor) {
  return Ceil(static_cast<double>(size) * factor);
}

// --- cel-go's standard rules

std::uint64_t SecondText(Args args, const Value&) { return Scaled(SizeOfValue(args[1])); }
std::uint64_t FirstText(Args args, const Value&) { return Scaled(SizeOfValue(args[0])); }
std::uint64_t SecondSize(Args args, const Value&) { return SizeOfValue(args[1]); }
std::uint64_t ShorterText(Args args, const Value&) {
  const std::uint64_t left = SizeOfValue(args[0]);
  const std::uint64_t right = SizeOfValue(args[1]);
  return Scaled(left < right ? left : right);
}
std::uint64_t BothTexts(Args args, const Value&) {
  return Scaled(SizeOfValue(args[0]) + SizeOfValue(args[1]));
}
std::uint64_t PatternOn(std::uint64_t text, std::uint64_t pattern) {
  return Ceil((1.0 + static_cast<double>(text)) * kStringFactor) * Scaled(pattern, kRegexFactor);
}
std::uint64_t Matches(Args args, const Value&) {
  return PatternOn(SizeOfValue(args[0]), SizeOfValue(args[1]));
}
std::uint64_t Contains(Args args, const Value&) {
  return Scaled(SizeOfValue(args[0])) * Scaled(SizeOfValue(args[1]));
}

// --- cel-go's libraries

std::uint64_t AllocatedList(double factor, std::uint64_t size) {
  if (factor < 0) factor = 1;
  const double cost = static_cast<double>(size) * factor;
  // What Go's conversion gives for numbers out of range.
  constexpr std::uint64_t kOutOfRange = std::uint64_t{1} << 63;
  const std::uint64_t whole =
      cost >= 18446744073709551616.0 ? kOutOfRange : static_cast<std::uint64_t>(cost);
  return CostAdd(CostAdd(whole, 1), kListCost);
}
template <int kFactor>
std::uint64_t SetsCost(Args args, const Value&) {
  const std::uint64_t product = PlainSizeOf(args[0]) * PlainSizeOf(args[1]);
  return CostAdd(1, product * kFactor);
}
std::uint64_t ResultList(Args, const Value& result) {
  return AllocatedList(1, PlainSizeOf(result));
}
std::uint64_t FlattenedList(Args args, const Value&) {
  const double depth =
      args.size() == 2 && args[1].IsInt() ? static_cast<double>(args[1].AsInt()) : 1.0;
  return AllocatedList(depth, PlainSizeOf(args[0]));
}
template <int kArg>
std::uint64_t SelfCompared(Args args, const Value&) {
  const Value& list = args[kArg];
  const std::uint64_t size = PlainSizeOf(list);
  if (!list.IsList() || size == 0) return AllocatedList(2, 0);
  const ValueKind kind = list.AsList().items[0].kind();
  const bool text = kind == ValueKind::kString || kind == ValueKind::kBytes;
  return AllocatedList(text ? 2.0 + kStringFactor : 2.0, CostMultiply(size, size));
}

// --- apiserver's estimator

std::uint64_t Traversal(const Value& value) {
  switch (value.kind()) {
    case ValueKind::kString:
    case ValueKind::kBytes:
      return static_cast<std::uint64_t>(static_cast<double>(value.AsText().size()) * kStringFactor);
    case ValueKind::kList: {
      std::uint64_t cost = 0;
      for (const Value& element : value.AsList().elements()) cost += Traversal(element);
      return cost;
    }
    case ValueKind::kMap: {
      std::uint64_t cost = 0;
      for (const MapEntry& entry : value.AsMap().all()) {
        cost += Traversal(entry.key) + Traversal(entry.value);
      }
      return cost;
    }
    default:
      return 1;
  }
}
std::uint64_t FirstTraversal(Args args, const Value&) { return Traversal(args[0]); }
std::uint64_t PlainFirstText(Args args, const Value&) { return Scaled(PlainSizeOf(args[0])); }
std::uint64_t FirstTextTwice(Args args, const Value&) {
  return Ceil(static_cast<double>(PlainSizeOf(args[0])) * 2 * kStringFactor);
}
std::uint64_t ResultTextTwice(Args, const Value& result) {
  return Ceil(static_cast<double>(PlainSizeOf(result)) * 2 * kStringFactor);
}
std::uint64_t FindCost(Args args, const Value&) {
  return PatternOn(PlainSizeOf(args[0]), PlainSizeOf(args[1]));
}
std::uint64_t ContainsIp(Args args, const Value&) { return Scaled(2 * PlainSizeOf(args[0])); }
std::uint64_t ContainsIpText(Args args, const Value&) {
  return Scaled(2 * PlainSizeOf(args[0])) + Scaled(PlainSizeOf(args[1]));
}
std::uint64_t ContainsCidr(Args args, const Value&) {
  const std::uint64_t size = PlainSizeOf(args[0]);
  return Scaled(2 * size) + Scaled(size) + 1;
}
std::uint64_t ContainsCidrText(Args args, const Value& result) {
  return ContainsCidr(args, result) + Scaled(PlainSizeOf(args[1]));
}
std::uint64_t ValidateCost(Args args, const Value&) {
  const NamedFormat* format = NamedFormatOf(args[0]);
  if (format == nullptr) return 1;
  return PatternOn(PlainSizeOf(args[1]), format->regex_size_max);
}
std::uint64_t EqualCost(Args args, const Value& result) {
  // Kubernetes' own types compare for 1.
  return args[0].kind() == ValueKind::kOpaque ? 1 : ShorterText(args, result);
}
// Parsing a label or field selector.
std::uint64_t SelectorCost(Args args, const Value&) {
  const std::uint64_t size = PlainSizeOf(args[1]);
  return kListCost + Scaled(size) + Scaled(Scaled(size, 0.5), kListCost + kStructCost);
}

struct NamedCost {
  std::string_view name;
  CallCost cost;
};

constexpr auto kLibraryOverloads = std::to_array<NamedCost>({
    {"list_sets_contains_list", {0, SetsCost<1>}},
    {"list_sets_intersects_list", {0, SetsCost<1>}},
    {"list_sets_equivalent_list", {0, SetsCost<2>}},
    {"list_slice", {0, ResultList}},
    {"list_flatten", {0, FlattenedList}},
    {"list_flatten_int", {0, FlattenedList}},
    {"lists_range", {0, ResultList}},
    {"list_reverse", {0, ResultList}},
    {"list_distinct", {0, SelfCompared<0>}},
});

constexpr auto kFunctions = std::to_array<NamedCost>({
    {"check", {350000}},
    {"serviceAccount", {1}},
    {"path", {1}},
    {"group", {1}},
    {"resource", {1}},
    {"subresource", {1}},
    {"namespace", {1}},
    {"name", {1}},
    {"allowed", {1}},
    {"reason", {1}},
    {"error", {1}},
    {"errored", {1}},
    {"fieldSelector", {0, SelectorCost}},
    {"labelSelector", {0, SelectorCost}},
    {"isSorted", {0, FirstTraversal}},
    {"sum", {0, FirstTraversal}},
    {"max", {0, FirstTraversal}},
    {"min", {0, FirstTraversal}},
    {"indexOf", {0, FirstTraversal}},
    {"lastIndexOf", {0, FirstTraversal}},
    {"includes", {0, FirstTraversal}},
    {"url", {0, PlainFirstText}},
    {"lowerAscii", {0, PlainFirstText}},
    {"upperAscii", {0, PlainFirstText}},
    {"substring", {0, PlainFirstText}},
    {"trim", {0, PlainFirstText}},
    {"replace", {0, FirstTextTwice}},
    {"split", {0, FirstTextTwice}},
    {"join", {0, ResultTextTwice}},
    {"find", {0, FindCost}},
    {"findAll", {0, FindCost}},
    {"cidr", {0, PlainFirstText}},
    {"isIP", {0, PlainFirstText}},
    {"isCIDR", {0, PlainFirstText}},
    {"ip.isCanonical", {0, FirstTextTwice}},
    {"masked", {1}},
    {"prefixLength", {1}},
    {"family", {1}},
    {"isUnspecified", {1}},
    {"isLoopback", {1}},
    {"isLinkLocalMulticast", {1}},
    {"isLinkLocalUnicast", {1}},
    {"isGlobalUnicast", {1}},
    {"quantity", {0, PlainFirstText}},
    {"isQuantity", {0, PlainFirstText}},
    {"semver", {0, PlainFirstText}},
    {"isSemver", {0, PlainFirstText}},
    {"validate", {0, ValidateCost}},
    {"_==_", {0, EqualCost}},
    {"_!=_", {0, ShorterText}},
});

constexpr auto kStandardOverloads = std::to_array<NamedCost>({
    {"starts_with_string", {0, SecondText}},
    {"ends_with_string", {0, SecondText}},
    {"string_to_bytes", {0, FirstText}},
    {"bytes_to_string", {0, FirstText}},
    {"strings_quote", {0, FirstText}},
    {"string_format", {0, FirstText}},
    {"in_list", {0, SecondSize}},
    {"less_string", {0, ShorterText}},
    {"greater_string", {0, ShorterText}},
    {"less_equals_string", {0, ShorterText}},
    {"greater_equals_string", {0, ShorterText}},
    {"less_bytes", {0, ShorterText}},
    {"greater_bytes", {0, ShorterText}},
    {"less_equals_bytes", {0, ShorterText}},
    {"greater_equals_bytes", {0, ShorterText}},
    {"add_string", {0, BothTexts}},
    {"add_bytes", {0, BothTexts}},
    {"matches", {0, Matches}},
    {"matches_string", {0, Matches}},
    {"contains_string", {0, Contains}},
});

template <std::size_t kSize>
const CallCost* Find(const std::array<NamedCost, kSize>& table, std::string_view name) {
  for (const NamedCost& row : table) {
    if (row.name == name) return &row.cost;
  }
  return nullptr;
}

}  // namespace

CallCost KubernetesCallCost(std::string_view function, std::string_view overload) {
  if (const CallCost* cost = Find(kLibraryOverloads, overload)) return *cost;
  if (overload.starts_with("list_")) {
    if (overload.ends_with("_sort")) return {0, SelfCompared<0>};
    if (overload.ends_with("_sortByAssociatedKeys")) return {0, SelfCompared<1>};
  }
  if (function == "ip") return overload == "cidr_ip" ? CallCost{1} : CallCost{0, PlainFirstText};
  if (function == "containsIP") {
    return {0, overload == "cidr_contains_ip_string" ? ContainsIpText : ContainsIp};
  }
  if (function == "containsCIDR") {
    return {0, overload == "cidr_contains_cidr_string" ? ContainsCidrText : ContainsCidr};
  }
  if (const CallCost* cost = Find(kFunctions, function)) return *cost;
  if (const CallCost* cost = Find(kStandardOverloads, overload)) return *cost;
  return {1};
}

}  // namespace drachma::cel
