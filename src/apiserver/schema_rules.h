#pragma once

#include <memory>
#include <string>
#include <vector>

#include "apiserver/rule_costs.h"
#include "json/value.h"
#include "validation/field_error.h"

namespace drachma::apiserver {

// The rules of x-kubernetes-validations in the schema of a custom resource
// (apiextensions-apiserver's pkg/apiserver/schema/cel): compiled once, checked with every write.
// Immutable; any thread.
class SchemaRules {
 public:
  // What one write may cost (apiserver's celconfig.RuntimeCELCostBudget).
  static constexpr std::uint64_t kBudget = 10'000'000;

  // Null when the schema has no rules. Rules that do not compile fail when they are checked.
  [[nodiscard]] static std::shared_ptr<const SchemaRules> Parse(const json::Value& schema);
  ~SchemaRules();

  // The faults of an object; rules of transitions (oldSelf) are checked where `old`, null for a
  // create, has a value at the same place. With `ratcheted`, rules of the present alone that are
  // broken where nothing has changed are no faults: their texts are appended there.
  [[nodiscard]] validation::ErrorList Validate(const json::Value& object, const json::Value& old,
                                               std::vector<std::string>* ratcheted = nullptr) const;

 private:
  struct Node;
  class Run;
  explicit SchemaRules(std::unique_ptr<Node> root);
  static std::unique_ptr<Node> Compile(const json::Value& schema, bool root, int depth);

  std::unique_ptr<Node> root_;
};

// Whether errors of the schema itself keep the rules from being checked; upstream says so with one
// more error. What is tolerated becomes a warning.
void AddRuleErrors(const SchemaRules* rules, const json::Value& object, const json::Value& old,
                   validation::ErrorList& errors, std::vector<std::string>* warnings);

// What is wrong with the texts of one rule, whatever its expression says.
[[nodiscard]] validation::ErrorList RuleTextFaults(const json::Value& rule, const std::string& at);

// What is wrong with the expressions of the rules of one schema (not of those below it) as part of
// a definition. What they cost, standing `times` times, is added to `costs`.
// REQUIRES: their texts have no faults.
[[nodiscard]] validation::ErrorList RuleFaults(const json::Value& schema, bool root,
                                               const std::string& path, Cardinality times,
                                               RuleCosts& costs);

}  // namespace drachma::apiserver
