#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "cel/check/checker.h"

namespace drachma::cel {

// CEL's cost units (cel-go's common/cost.go).
inline constexpr std::uint64_t kIdentCost = 1;
inline constexpr std::uint64_t kListCost = 10;
inline constexpr std::uint64_t kMapCost = 30;
inline constexpr std::uint64_t kStructCost = 40;
inline constexpr double kStringFactor = 0.1;  // of traversing a string once, per character
inline constexpr double kRegexFactor = 0.25;  // of applying a pattern, per character of it
inline constexpr std::uint64_t kCostInfinite = std::numeric_limits<std::uint64_t>::max();

// Sums and products stop at kCostInfinite.
[[nodiscard]] std::uint64_t CostAdd(std::uint64_t a, std::uint64_t b);
[[nodiscard]] std::uint64_t CostMultiply(std::uint64_t a, std::uint64_t b);
// Rounded up.
[[nodiscard]] std::uint64_t CostScale(std::uint64_t a, double factor);

// A range of sizes or of costs.
struct Estimate {
  std::uint64_t min = 0;
  std::uint64_t max = 0;

  [[nodiscard]] static Estimate Fixed(std::uint64_t value) { return {value, value}; }
  [[nodiscard]] static Estimate Unknown() { return {0, kCostInfinite}; }
  [[nodiscard]] Estimate operator+(const Estimate& other) const {
    return {CostAdd(min, other.min), CostAdd(max, other.max)};
  }
  [[nodiscard]] Estimate operator*(const Estimate& other) const {
    return {CostMultiply(min, other.min), CostMultiply(max, other.max)};
  }
  [[nodiscard]] Estimate Scale(double factor) const {
    return {CostScale(min, factor), CostScale(max, factor)};
  }
  [[nodiscard]] Estimate Union(const Estimate& other) const {
    return {min < other.min ? min : other.min, max > other.max ? max : other.max};
  }
};

// An argument as the estimators of functions see it.
struct CostNode {
  // How the value is reached from a variable: its name, then fields, "@items", "@keys", "@values",
  // "@indices". Empty when it is not.
  std::vector<std::string_view> path;
  const Type* type = nullptr;
  const Expr* expr = nullptr;  // null for the elements of a list
  std::optional<Estimate> computed_size;
};

struct CallEstimate {
  Estimate cost;
  std::optional<Estimate> result_size;
};

// What a host knows about sizes and about its functions (cel-go's CostEstimator).
class CostHints {
 public:
  virtual ~CostHints() = default;
  // The size of what `node`'s path reaches; nothing when unknown.
  [[nodiscard]] virtual std::optional<Estimate> Size(const CostNode& node) const = 0;
  // The cost of a call without that of its arguments; nothing for the standard's rules.
  // `target` is null for functions that are no members.
  [[nodiscard]] virtual std::optional<CallEstimate> Call(std::string_view function,
                                                         std::string_view overload,
                                                         const CostNode* target,
                                                         std::span<const CostNode> args) const = 0;

  // The computed size, else the size by path, else unknown.
  [[nodiscard]] Estimate SizeOf(const CostNode& node) const;
};

// The cost of an evaluation at least and at most, exactly as cel-go's checker estimates it with
// presence tests free.
[[nodiscard]] Estimate EstimateCost(const CheckedAst& checked, const CostHints& hints);

}  // namespace drachma::cel
