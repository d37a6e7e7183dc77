#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cel/check/checker.h"
#include "json/value.h"
#include "validation/field_error.h"

namespace drachma::apiserver {

// What the rules in CEL of a schema may cost, as estimated when a definition is written
// (apiextensions' validation and apiserver's pkg/cel/common). Pure; any thread.

// How many values of a schema an object may hold; nothing where nothing bounds it.
using Cardinality = std::optional<std::uint64_t>;

// Of the parts below a schema that stands `around` times.
[[nodiscard]] Cardinality CardinalityBelow(const json::Value& schema, Cardinality around);

// At most, of one evaluation of an expression about `schema` (with the fields of a resource's root
// where it is one).
[[nodiscard]] std::uint64_t ExpressionCost(const cel::CheckedAst& checked,
                                           const json::Value& schema);
// Of all evaluations of a rule that costs `cost` and whose schema stands `times` times.
[[nodiscard]] std::uint64_t RuleCost(std::uint64_t cost, const json::Value& schema,
                                     Cardinality times);

// Whether single expressions are held against their limit: those of schemas that stay as they are
// are not.
enum class CostLimits : std::uint8_t { kEach, kTotal };

// The costs of all rules of one version of a definition.
class RuleCosts {
 public:
  static constexpr std::uint64_t kEachMax = 10'000'000;
  static constexpr std::uint64_t kTotalMax = 100'000'000;

  explicit RuleCosts(CostLimits limits) : limits_(limits) {}

  // Counts an expression; `name` is what faults call its cost ("estimated rule cost").
  void Add(const std::string& path, std::string_view name, std::uint64_t cost,
           validation::ErrorList& errors);
  // What is wrong with the sum, for the schema at `path`.
  [[nodiscard]] validation::ErrorList TotalFaults(const std::string& path) const;

 private:
  struct Expensive {
    std::string path;
    std::uint64_t cost;
  };

  CostLimits limits_;
  std::uint64_t total_ = 0;
  std::vector<Expensive> most_expensive_;
};

}  // namespace drachma::apiserver
