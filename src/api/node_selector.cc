#include "api/node_selector.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

namespace drachma::api {
namespace {

Result<std::vector<NodeSelectorRequirement>> RequirementsFromJson(const json::Value& list) {
  std::vector<NodeSelectorRequirement> requirements;
  requirements.reserve(list.size());
  for (const json::Value& item : list.Items()) {
    if (!item.IsObject()) return BadInput("node selector requirement: expected an object");
    NodeSelectorRequirement requirement{.key = std::string(item["key"].AsString()),
                                        .op = std::string(item["operator"].AsString()),
                                        .values = {}};
    for (const json::Value& value : item["values"].Items()) {
      requirement.values.emplace_back(value.AsString());
    }
    requirements.push_back(std::move(requirement));
  }
  return requirements;
}

json::Value RequirementsToJson(const std::vector<NodeSelectorRequirement>& requirements) {
  json::Value list = json::Value::Array();
  for (const NodeSelectorRequirement& requirement : requirements) {
    json::Value item =
        json::Value::Object({{"key", requirement.key}, {"operator", requirement.op}});
    if (!requirement.values.empty()) {
      json::Value values = json::Value::Array();
      for (const std::string& value : requirement.values) values.Append(value);
      item.Set("values", std::move(values));
    }
    list.Append(std::move(item));
  }
  return list;
}

Result<NodeSelectorTerm> TermFromJson(const json::Value& value) {
  NodeSelectorTerm term;
  DRA_ASSIGN(term.match_expressions, RequirementsFromJson(value["matchExpressions"]));
  DRA_ASSIGN(term.match_fields, RequirementsFromJson(value["matchFields"]));
  return term;
}

std::optional<std::int64_t> ReadInt(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool IsAlphanumeric(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

constexpr std::size_t kLabelPartMax = 63;
constexpr std::size_t kLabelPrefixMax = 253;

// Letters, digits, '-', '_', '.', beginning and ending with a letter or digit.
bool IsLabelName(std::string_view text) {
  return !text.empty() && text.size() <= kLabelPartMax && IsAlphanumeric(text.front()) &&
         IsAlphanumeric(text.back()) && std::ranges::all_of(text, [](char c) {
           return IsAlphanumeric(c) || c == '-' || c == '_' || c == '.';
         });
}

bool IsLabelPrefix(std::string_view text) {
  if (text.empty() || text.size() > kLabelPrefixMax) return false;
  char before = '.';
  for (const char c : text) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (!letter && c != '-' && c != '.') return false;
    if (before == '.' && !letter) return false;
    if (c == '.' && before == '-') return false;
    before = c;
  }
  return before != '.' && before != '-';
}

bool IsLabelKey(std::string_view key) {
  const std::size_t slash = key.find('/');
  if (slash == std::string_view::npos) return IsLabelName(key);
  return IsLabelPrefix(key.substr(0, slash)) && IsLabelName(key.substr(slash + 1));
}

bool IsLabelValue(std::string_view value) { return value.empty() || IsLabelName(value); }

using Problems = std::vector<std::string>;

std::string Quoted(std::string_view text) { return "\"" + std::string(text) + "\""; }

std::string ListText(const std::vector<std::string>& values) {
  std::string out = "[";
  for (const std::string& value : values) {
    if (out.size() > 1) out += ',';
    out += Quoted(value);
  }
  return out + "]";
}

void Invalid(Problems& problems, const std::string& path, const std::string& value,
             std::string_view detail) {
  problems.push_back(path + ": Invalid value: " + value + ": " + std::string(detail));
}

constexpr std::string_view kKeyFault =
    "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start "
    "and end with an alphanumeric character";
constexpr std::string_view kValueFault =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or "
    "'12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

// How many values an operator takes.
struct Arity {
  std::string_view op;
  std::size_t min;
  std::size_t max;
  std::string_view fault;
};
constexpr auto kLabelOperators = std::to_array<Arity>({
    {"In", 1, SIZE_MAX, "for 'in', 'notin' operators, values set can't be empty"},
    {"NotIn", 1, SIZE_MAX, "for 'in', 'notin' operators, values set can't be empty"},
    {"Exists", 0, 0, "values set must be empty for exists and does not exist"},
    {"DoesNotExist", 0, 0, "values set must be empty for exists and does not exist"},
    {"Gt", 1, 1, "for 'Gt', 'Lt' operators, exactly one value is required"},
    {"Lt", 1, 1, "for 'Gt', 'Lt' operators, exactly one value is required"},
});

void CheckExpression(const NodeSelectorRequirement& requirement, const std::string& path,
                     Problems& problems) {
  const auto arity = std::ranges::find(kLabelOperators, requirement.op, &Arity::op);
  if (arity == kLabelOperators.end()) {
    problems.push_back(path + ".operator: Unsupported value: " + Quoted(requirement.op) +
                       ": supported values: \"DoesNotExist\", \"Exists\", \"Gt\", \"In\", \"Lt\", "
                       "\"NotIn\"");
    return;
  }
  if (!IsLabelKey(requirement.key)) {
    Invalid(problems, path + ".key", Quoted(requirement.key), kKeyFault);
  }
  if (requirement.values.size() < arity->min || requirement.values.size() > arity->max) {
    Invalid(problems, path + ".values", ListText(requirement.values), arity->fault);
  }
  const bool number = requirement.op == "Gt" || requirement.op == "Lt";
  for (std::size_t i = 0; i < requirement.values.size(); ++i) {
    const std::string& value = requirement.values[i];
    if (number && !ReadInt(value)) {
      Invalid(problems, path + ".values[" + std::to_string(i) + "]", Quoted(value),
              "for 'Gt', 'Lt' operators, the value must be an integer");
    }
    if (!IsLabelValue(value)) {
      Invalid(problems, path + ".values[" + std::to_string(i) + "][" + requirement.key + "]",
              Quoted(value), kValueFault);
    }
  }
}

void CheckField(const NodeSelectorRequirement& requirement, const std::string& path,
                Problems& problems) {
  if (requirement.op != "In" && requirement.op != "NotIn") {
    problems.push_back(path + ".operator: Unsupported value: " + Quoted(requirement.op) +
                       ": supported values: \"In\", \"NotIn\"");
  } else if (requirement.values.size() != 1) {
    Invalid(problems, path + ".values", ListText(requirement.values), "must have one element");
  }
}

void CheckTerm(const NodeSelectorTerm& term, const std::string& path, Problems& problems) {
  for (std::size_t i = 0; i < term.match_expressions.size(); ++i) {
    CheckExpression(term.match_expressions[i],
                    path + ".matchExpressions[" + std::to_string(i) + "]", problems);
  }
  for (std::size_t i = 0; i < term.match_fields.size(); ++i) {
    CheckField(term.match_fields[i], path + ".matchFields[" + std::to_string(i) + "]", problems);
  }
}

// apimachinery's aggregate: one message as it is, several in brackets, none twice.
Status Aggregate(const Problems& problems) {
  if (problems.empty()) return {};
  Problems unique;
  for (const std::string& problem : problems) {
    if (std::ranges::find(unique, problem) == unique.end()) unique.push_back(problem);
  }
  if (unique.size() == 1) return Fail(Code::kInvalid, unique[0]);
  std::string text = "[";
  for (const std::string& problem : unique) {
    if (text.size() > 1) text += ", ";
    text += problem;
  }
  return Fail(Code::kInvalid, text + "]");
}

bool MatchesField(const NodeSelectorRequirement& requirement, std::string_view node_name) {
  // A field that nodes do not have reads as the empty string.
  const std::string_view actual = requirement.key == "metadata.name" ? node_name : "";
  const bool equal = requirement.values.size() == 1 && requirement.values[0] == actual;
  return requirement.op == "In" ? equal : requirement.op == "NotIn" && !equal;
}

}  // namespace

Result<NodeSelector> NodeSelector::FromJson(const json::Value& value) {
  if (!value.IsObject()) return BadInput("nodeSelector: expected an object");
  NodeSelector selector;
  for (const json::Value& item : value["nodeSelectorTerms"].Items()) {
    DRA_ASSIGN(NodeSelectorTerm term, TermFromJson(item));
    selector.terms.push_back(std::move(term));
  }
  return selector;
}

json::Value NodeSelector::ToJson() const {
  json::Value list = json::Value::Array();
  for (const NodeSelectorTerm& term : terms) {
    json::Value item = json::Value::Object();
    if (!term.match_expressions.empty()) {
      item.Set("matchExpressions", RequirementsToJson(term.match_expressions));
    }
    if (!term.match_fields.empty()) item.Set("matchFields", RequirementsToJson(term.match_fields));
    list.Append(std::move(item));
  }
  return json::Value::Object({{"nodeSelectorTerms", std::move(list)}});
}

Status NodeSelector::Validate() const {
  Problems problems;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    CheckTerm(terms[i], "nodeSelectorTerms[" + std::to_string(i) + "]", problems);
  }
  return Aggregate(problems);
}

bool Matches(const NodeSelectorRequirement& requirement, const Labels& labels) {
  const auto label = labels.find(requirement.key);
  const bool exists = label != labels.end();
  const auto among = [&] {
    return std::ranges::find(requirement.values, label->second) != requirement.values.end();
  };
  if (requirement.op == "In") return exists && among();
  if (requirement.op == "NotIn") return !exists || !among();
  if (requirement.op == "Exists") return exists;
  if (requirement.op == "DoesNotExist") return !exists;
  if ((requirement.op != "Gt" && requirement.op != "Lt") || !exists ||
      requirement.values.size() != 1) {
    return false;
  }
  const auto actual = ReadInt(label->second);
  const auto bound = ReadInt(requirement.values[0]);
  if (!actual || !bound) return false;
  return requirement.op == "Gt" ? *actual > *bound : *actual < *bound;
}

bool Matches(const NodeSelectorTerm& term, std::string_view node_name, const Labels& labels) {
  if (term.empty()) return false;
  if (!std::ranges::all_of(term.match_expressions,
                           [&](const auto& requirement) { return Matches(requirement, labels); })) {
    return false;
  }
  // A node without a name has no fields to compare.
  return node_name.empty() || std::ranges::all_of(term.match_fields, [&](const auto& requirement) {
           return MatchesField(requirement, node_name);
         });
}

bool Matches(const NodeSelector& selector, std::string_view node_name, const Labels& labels) {
  return std::ranges::any_of(selector.terms, [&](const NodeSelectorTerm& term) {
    return Matches(term, node_name, labels);
  });
}

Result<bool> MatchesPodAffinity(const json::Value& pod_spec, std::string_view node_name,
                                const Labels& labels) {
  for (const json::Member& member : pod_spec["nodeSelector"].Members()) {
    const auto label = labels.find(member.key());
    if (label == labels.end() || label->second != member.value.AsString()) return false;
  }
  const json::Value* required =
      pod_spec["affinity"]["nodeAffinity"].Find("requiredDuringSchedulingIgnoredDuringExecution");
  if (required == nullptr || required->IsNull()) return true;
  DRA_ASSIGN(const NodeSelector selector, NodeSelector::FromJson(*required));
  Problems problems;
  for (std::size_t i = 0; i < selector.terms.size(); ++i) {
    const std::size_t before = problems.size();
    CheckTerm(selector.terms[i], "nodeSelectorTerms[" + std::to_string(i) + "]", problems);
    if (problems.size() == before && Matches(selector.terms[i], node_name, labels)) return true;
  }
  DRA_TRY(Aggregate(problems));
  return false;
}

Result<std::int64_t> PreferredAffinityScore(const json::Value& pod_spec, std::string_view node_name,
                                            const Labels& labels) {
  std::int64_t score = 0;
  Problems problems;
  const json::Value& terms =
      pod_spec["affinity"]["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"];
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const json::Value& item = terms.Items()[i];
    DRA_ASSIGN(const NodeSelectorTerm term, TermFromJson(item["preference"]));
    const std::int64_t weight = item["weight"].AsInt();
    if (weight == 0 || term.empty()) continue;
    const std::size_t before = problems.size();
    CheckTerm(term, "[" + std::to_string(i) + "]", problems);
    if (problems.size() == before && Matches(term, node_name, labels)) score += weight;
  }
  DRA_TRY(Aggregate(problems));
  return score;
}

Labels LabelsOf(const json::Value& object) {
  Labels labels;
  for (const json::Member& member : object["metadata"]["labels"].Members()) {
    labels.insert_or_assign(std::string(member.key()), std::string(member.value.AsString()));
  }
  return labels;
}

}  // namespace drachma::api
