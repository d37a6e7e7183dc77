#include <algorithm>
#include <array>
#include <cmath>

#include "cel/ext/costs.h"

namespace drachma::cel {
namespace {

constexpr double kFormatRegexMax = 128;       // cel.MaxNameFormatRegexSize
constexpr std::uint64_t kFormatSizeMax = 64;  // cel.MaxFormatSize
constexpr std::uint64_t kCheckCost = 350'000;

Estimate Traversal(const Estimate& size) { return size.Scale(kStringFactor); }
CallEstimate Fixed(std::uint64_t cost) {
  return {.cost = Estimate::Fixed(cost), .result_size = {}};
}
CallEstimate Only(const Estimate& cost) { return {.cost = cost, .result_size = {}}; }

template <std::size_t kSize>
bool Among(const std::array<std::string_view, kSize>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

constexpr auto kNominal = std::to_array<std::string_view>({"serviceAccount",
                                                           "path",
                                                           "group",
                                                           "resource",
                                                           "subresource",
                                                           "namespace",
                                                           "name",
                                                           "allowed",
                                                           "reason",
                                                           "error",
                                                           "errored",
                                                           "masked",
                                                           "prefixLength",
                                                           "family",
                                                           "isUnspecified",
                                                           "isLoopback",
                                                           "isLinkLocalMulticast",
                                                           "isLinkLocalUnicast",
                                                           "isGlobalUnicast",
                                                           "format.named",
                                                           "sign",
                                                           "asInteger",
                                                           "isInteger",
                                                           "asApproximateFloat",
                                                           "isGreaterThan",
                                                           "isLessThan",
                                                           "compareTo",
                                                           "add",
                                                           "sub",
                                                           "major",
                                                           "minor",
                                                           "patch",
                                                           "getScheme",
                                                           "getHostname",
                                                           "getHost",
                                                           "getPort",
                                                           "getEscapedPath",
                                                           "getQuery"});
constexpr auto kListTraversals = std::to_array<std::string_view>(
    {"isSorted", "sum", "max", "min", "indexOf", "lastIndexOf", "includes"});
constexpr auto kTextParsers = std::to_array<std::string_view>(
    {"cidr", "isIP", "isCIDR", "quantity", "isQuantity", "semver", "isSemver"});
constexpr auto kTextShapers =
    std::to_array<std::string_view>({"lowerAscii", "upperAscii", "substring", "trim"});

// An integer literal as a size; negative ones are 0.
std::uint64_t LiteralOr(const CostNode& node, std::uint64_t otherwise) {
  if (node.expr == nullptr || node.expr->kind != ExprKind::kLiteral ||
      node.expr->literal.kind != LiteralKind::kInt) {
    return otherwise;
  }
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, node.expr->literal.integer));
}

CallEstimate AllocatedList(double factor, const Estimate& size) {
  return {.cost = size.Scale(factor) + Estimate::Fixed(1) + Estimate::Fixed(kListCost),
          .result_size = size};
}

bool IsText(const Type* type) {
  return type->kind == TypeKind::kString || type->kind == TypeKind::kBytes;
}

CallEstimate SelectorCost(const Estimate& size) {
  const Estimate requirements = size.Scale(0.5).Scale(kListCost + kStructCost);
  return Only(Estimate::Fixed(kListCost) + Traversal(size) + requirements);
}

// Equality of Kubernetes' own types; nothing for others.
std::optional<CallEstimate> EqualCost(std::span<const CostNode> args) {
  if (args.size() != 2 || args[0].type->name != args[1].type->name ||
      args[0].type->kind != args[1].type->kind) {
    return std::nullopt;
  }
  const std::string_view name = args[0].type->name;
  if (args[0].type->kind == TypeKind::kOpaque) {
    if (name == "net.IP" || name == "net.CIDR") return Fixed(1);
    return std::nullopt;
  }
  if (args[0].type->kind != TypeKind::kStruct) return std::nullopt;
  if (name == "kubernetes.NamedFormat") {
    return Only(Estimate{1, kFormatSizeMax}.Scale(kStringFactor));
  }
  if (name == "kubernetes.URL") {
    // Only the right side is looked at, twice.
    const std::uint64_t max = args[1].computed_size ? args[1].computed_size->max : 1;
    return Only(Estimate{1, max}.Scale(kStringFactor));
  }
  if (name == "kubernetes.Quantity" || name == "kubernetes.Semver" ||
      name.starts_with("kubernetes.authorization.")) {
    return Fixed(1);
  }
  return std::nullopt;
}

}  // namespace

std::optional<CostNode> KubernetesCostHints::ElementOf(const CostNode& list) const {
  if (list.type->parameters.empty()) return std::nullopt;
  CostNode node{
      .path = list.path, .type = list.type->parameters[0], .expr = nullptr, .computed_size = {}};
  if (!node.path.empty()) node.path.emplace_back("@items");
  return node;
}

CallEstimate KubernetesCostHints::ListCall(std::string_view function,
                                           const CostNode& target) const {
  Estimate element = Estimate::Fixed(1);
  if (const auto node = ElementOf(target)) {
    if (IsText(node->type)) element = element + Traversal(SizeOf(*node));
    return Only(SizeOf(target) * element);
  }
  if (function == "includes") return Only(SizeOf(target) * element);
  return Only(Traversal(SizeOf(target)));
}

CallEstimate KubernetesCostHints::ReplaceCall(const CostNode& target,
                                              std::span<const CostNode> args) const {
  const Estimate size = SizeOf(target);
  const Estimate old_size = SizeOf(args[0]);
  const Estimate new_size = SizeOf(args[1]);
  const auto around = [](std::uint64_t n) { return n < kCostInfinite ? n + 1 : n; };
  const auto divided = [](std::uint64_t a, std::uint64_t b) {
    const double quotient = std::ceil(static_cast<double>(a) / static_cast<double>(b));
    return quotient >= 18446744073709551616.0 ? std::uint64_t{1} << 63
                                              : static_cast<std::uint64_t>(quotient);
  };
  Estimate count;
  Estimate kept;
  if (old_size.min == 0) {
    count.max = around(size.max);
    kept.max = size.max;
  } else if (new_size.max <= old_size.min) {
    kept.max = size.max;
  } else {
    count.max = divided(size.max, old_size.min);
  }
  if (old_size.max == 0) {
    count.min = around(size.min);
    kept.min = size.min;
  } else if (old_size.max <= new_size.min) {
    kept.min = size.min;
  } else {
    count.min = divided(size.min, old_size.max);
  }
  return {.cost = size.Scale(2 * kStringFactor), .result_size = count * new_size + kept};
}

CallEstimate KubernetesCostHints::SplitCall(const CostNode& target,
                                            std::span<const CostNode> args) const {
  const Estimate size = SizeOf(target);
  std::uint64_t max = size.max;
  if (args.size() > 1 && args[1].expr != nullptr && args[1].expr->kind == ExprKind::kLiteral &&
      args[1].expr->literal.kind == LiteralKind::kInt) {
    max = static_cast<std::uint64_t>(args[1].expr->literal.integer);
  }
  return {.cost = size.Scale(2 * kStringFactor), .result_size = Estimate{0, max}};
}

CallEstimate KubernetesCostHints::JoinCall(const CostNode& target,
                                           std::span<const CostNode> args) const {
  Estimate size;
  const Estimate list = SizeOf(target);
  if (const auto element = ElementOf(target)) size = list * SizeOf(*element);
  if (!args.empty()) {
    const Estimate separators{list.min > 0 ? list.min - 1 : 0, list.max > 0 ? list.max - 1 : 0};
    size = size + SizeOf(args[0]) * separators;
  }
  return {.cost = Traversal(size), .result_size = size};
}

// cel-go's sets and lists.
std::optional<CallEstimate> KubernetesCostHints::LibraryCall(std::string_view overload,
                                                             const CostNode* target,
                                                             std::span<const CostNode> args) const {
  if (overload.starts_with("list_sets_") && args.size() == 2) {
    const double factor = overload == "list_sets_equivalent_list" ? 2 : 1;
    return Only((SizeOf(args[0]) * SizeOf(args[1])).Scale(factor) + Estimate::Fixed(1));
  }
  if (overload == "lists_range" && target == nullptr && args.size() == 1) {
    return AllocatedList(1, Estimate::Fixed(LiteralOr(args[0], kCostInfinite)));
  }
  if (target == nullptr) return std::nullopt;
  if (overload == "list_slice" && args.size() == 2) {
    const std::uint64_t start = LiteralOr(args[0], 0);
    const std::uint64_t end = LiteralOr(args[1], SizeOf(*target).max);
    return AllocatedList(1, Estimate::Fixed(end - start));
  }
  if (overload == "list_reverse" && args.empty()) return AllocatedList(1, SizeOf(*target));
  if ((overload == "list_flatten" || overload == "list_flatten_int") && args.size() <= 1) {
    const std::uint64_t depth = args.empty() ? 1 : LiteralOr(args[0], kCostInfinite);
    return AllocatedList(static_cast<double>(depth), SizeOf(*target));
  }
  const auto self_compared = [this](const CostNode& node, double factor) {
    const Estimate size = SizeOf(node);
    return AllocatedList(factor, size * size);
  };
  if (overload == "list_distinct" && args.empty()) return self_compared(*target, 2);
  const bool text = overload.starts_with("list_string_") || overload.starts_with("list_bytes_");
  const double sort_factor = text ? 2 + kStringFactor : 2;
  if (overload.ends_with("_sort") && args.empty()) return self_compared(*target, sort_factor);
  if (overload.ends_with("_sortByAssociatedKeys") && args.size() == 1) {
    return self_compared(args[0], sort_factor);
  }
  return std::nullopt;
}

std::optional<CallEstimate> KubernetesCostHints::Call(std::string_view function,
                                                      std::string_view overload,
                                                      const CostNode* target,
                                                      std::span<const CostNode> args) const {
  if (auto estimate = LibraryCall(overload, target, args)) return estimate;
  if (function == "check") return Fixed(kCheckCost);
  if (Among(kNominal, function)) return Fixed(1);
  if (function == "_==_") return EqualCost(args);
  if ((function == "fieldSelector" || function == "labelSelector") && args.size() == 1) {
    return SelectorCost(SizeOf(args[0]));
  }
  if (target != nullptr) {
    if (Among(kListTraversals, function)) return ListCall(function, *target);
    if (Among(kTextShapers, function)) {
      const Estimate size = SizeOf(*target);
      return CallEstimate{.cost = Traversal(size), .result_size = size};
    }
    if (function == "replace" && args.size() >= 2) return ReplaceCall(*target, args);
    if (function == "split") return SplitCall(*target, args);
    if (function == "join") return JoinCall(*target, args);
    if ((function == "find" || function == "findAll") && !args.empty()) {
      const Estimate size = SizeOf(*target);
      const Estimate text = Traversal(size + Estimate::Fixed(1));
      return CallEstimate{.cost = text * SizeOf(args[0]).Scale(kRegexFactor),
                          .result_size = Estimate{0, size.max}};
    }
  }
  if (function == "ip" && overload == "cidr_ip") return Fixed(1);
  if (args.empty()) return std::nullopt;
  const Estimate first = SizeOf(args[0]);
  if (function == "url" && args.size() == 1) {
    return CallEstimate{.cost = Traversal(first), .result_size = first};
  }
  if (function == "ip" || Among(kTextParsers, function)) return Only(Traversal(first));
  if (function == "ip.isCanonical") return Only(first.Scale(2 * kStringFactor));
  if (function == "validate") {
    return Only(Traversal(first).Scale(kFormatRegexMax * kRegexFactor));
  }
  constexpr Estimate kAddress{4, 16};  // bytes
  if (function == "containsIP") {
    Estimate cost = Traversal(kAddress + kAddress);
    if (overload == "cidr_contains_ip_string") cost = cost + Traversal(first);
    return Only(cost);
  }
  if (function == "containsCIDR") {
    Estimate cost = Traversal(kAddress + kAddress) + Traversal(kAddress) + Estimate::Fixed(1);
    if (overload == "cidr_contains_cidr_string") cost = cost + Traversal(first);
    return Only(cost);
  }
  return std::nullopt;
}

}  // namespace drachma::cel
