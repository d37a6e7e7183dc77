#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"

namespace drachma::api {

// One requirement of a node selector term (v1.NodeSelectorRequirement).
struct NodeSelectorRequirement {
  std::string key;
  std::string op;  // "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"
  std::vector<std::string> values;

  friend bool operator==(const NodeSelectorRequirement&, const NodeSelectorRequirement&) = default;
};

struct NodeSelectorTerm {
  std::vector<NodeSelectorRequirement> match_expressions;  // on labels
  std::vector<NodeSelectorRequirement> match_fields;       // on metadata.name

  [[nodiscard]] bool empty() const { return match_expressions.empty() && match_fields.empty(); }
  friend bool operator==(const NodeSelectorTerm&, const NodeSelectorTerm&) = default;
};

// v1.NodeSelector: terms are ORed, the requirements of a term ANDed; an empty term matches nothing.
struct NodeSelector {
  std::vector<NodeSelectorTerm> terms;

  // ERRORS: kBadRequest for members of a wrong kind.
  [[nodiscard]] static Result<NodeSelector> FromJson(const json::Value& value);
  [[nodiscard]] json::Value ToJson() const;

  // The faults of component-helpers' nodeaffinity.NewNodeSelector: unknown operators, wrong numbers
  // of values, values and keys that are no labels, Gt and Lt of what is no integer.
  // ERRORS: kInvalid with the aggregated text.
  [[nodiscard]] Status Validate() const;

  friend bool operator==(const NodeSelector&, const NodeSelector&) = default;
};

using Labels = std::map<std::string, std::string, std::less<>>;

// Whether one requirement holds for a set of labels (apimachinery's labels.Requirement.Matches);
// a requirement that Validate refuses does not.
[[nodiscard]] bool Matches(const NodeSelectorRequirement& requirement, const Labels& labels);
// Whether the term holds for a node with this name and these labels.
[[nodiscard]] bool Matches(const NodeSelectorTerm& term, std::string_view node_name,
                           const Labels& labels);
// Whether any term holds.
[[nodiscard]] bool Matches(const NodeSelector& selector, std::string_view node_name,
                           const Labels& labels);

// spec.nodeSelector and the required node affinity of a pod's spec, as
// nodeaffinity.GetRequiredNodeAffinity(pod).Match(node): parse errors count only when no term
// matches. ERRORS: kInvalid with upstream's text.
[[nodiscard]] Result<bool> MatchesPodAffinity(const json::Value& pod_spec,
                                              std::string_view node_name, const Labels& labels);
// The sum of the weights of the preferred terms that hold (NewPreferredSchedulingTerms, Score).
// ERRORS: kInvalid when a term with a weight cannot be parsed.
[[nodiscard]] Result<std::int64_t> PreferredAffinityScore(const json::Value& pod_spec,
                                                          std::string_view node_name,
                                                          const Labels& labels);

// metadata.labels of an object.
[[nodiscard]] Labels LabelsOf(const json::Value& object);

}  // namespace drachma::api
