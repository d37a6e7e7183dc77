// Rules in CEL of definitions.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apiserver/definition_rules.h"
#include "apiserver/schema_rules.h"

namespace drachma::apiserver {
namespace {

using json::Value;
using validation::Child;
using validation::ErrorList;
using validation::Invalid;
using validation::Key;
using validation::ShownText;

constexpr std::string_view kListType = "x-kubernetes-list-type";
constexpr std::string_view kMapType = "x-kubernetes-map-type";
constexpr auto kTypes =
    std::to_array<std::string_view>({"array", "boolean", "integer", "number", "object", "string"});

// Rules in CEL, part by part: what is wrong with a part or below it hides its rules, since they are
// checked against the types of the schema. Of a schema that is not structural only the texts of
// rules are looked at. REQUIRES: the schema is not too deep.
class AllRules {
 public:
  // `known` are the faults of the schema that other rules found.
  AllRules(const ErrorList& known, Structural structural, CostLimits limits)
      : structural_(structural), costs_(limits) {
    for (const validation::FieldError& error : known) faulty_.push_back(error.path);
  }

  // Of all that was checked, as the schema at `path`.
  ErrorList Take(const std::string& path) {
    validation::Append(errors_, costs_.TotalFaults(path));
    return std::move(errors_);
  }

  struct Part {
    bool root = false;
    bool types_known = true;  // of all parts around
    Cardinality times = 1;
    std::string uncorrelatable;  // the outermost list or map around whose items have no past
  };

  void Check(const Value& schema, const std::string& path, Part part) {
    if (!schema.IsObject()) return;
    Part below{.root = false,
               .types_known = part.types_known && IsKnownType(schema["type"].AsString()),
               .times = CardinalityBelow(schema, part.times),
               .uncorrelatable = part.uncorrelatable};
    Part in_map = below;
    if (schema[kMapType].AsString("granular") != "granular") Mark(in_map, path);
    Check(schema["additionalProperties"], Child(path, "additionalProperties"), in_map);
    for (const json::Member& property : schema["properties"].Members()) {
      Check(property.value, Key(Child(path, "properties"), property.key()), in_map);
    }
    if (schema[kListType].AsString() != "map") Mark(below, path);
    Check(schema["items"], Child(path, "items"), below);
    if (!schema["x-kubernetes-validations"].empty()) CheckRules(schema, path, part);
  }

 private:
  static bool IsKnownType(std::string_view type) {
    return type.empty() || std::ranges::find(kTypes, type) != kTypes.end();
  }

  static void Mark(Part& part, const std::string& path) {
    if (part.uncorrelatable.empty()) part.uncorrelatable = path;
  }

  bool IsFaulty(const std::string& path) const {
    return std::ranges::any_of(faulty_, [&](const std::string& fault) {
      return fault.starts_with(path) && (fault.size() == path.size() || fault[path.size()] == '.' ||
                                         fault[path.size()] == '[');
    });
  }

  void CheckRules(const Value& schema, const std::string& path, const Part& part) {
    const std::string rules_path = Child(path, "x-kubernetes-validations");
    const auto rules = schema["x-kubernetes-validations"].Items();
    bool faulty = IsFaulty(path);
    for (std::size_t i = 0; i < rules.size(); ++i) {
      const std::string at = validation::Index(rules_path, i);
      ErrorList texts = RuleTextFaults(rules[i], at);
      const std::string_view field = rules[i]["fieldPath"].AsString();
      if (!field.empty() && !FindSchemaPlace(schema, field, ArrayNotation::kAllowed)) {
        texts.push_back(Invalid(Child(at, "fieldPath"), ShownText(field), "must be a valid path"));
      }
      faulty |= !texts.empty();
      validation::Append(errors_, std::move(texts));
    }
    if (faulty) {
      faulty_.push_back(path);
      return;
    }
    if (structural_ == Structural::kNo) return;
    if (!part.types_known) {
      errors_.push_back(validation::InternalError(
          rules_path,
          "internal error: failed to construct type information for x-kubernetes-validations "
          "rules: unable to convert structural schema to CEL declarations"));
      return;
    }
    validation::Append(errors_, RuleFaults(schema, part.root, path, part.times, costs_));
    if (part.uncorrelatable.empty()) return;
    for (std::size_t i = 0; i < rules.size(); ++i) {
      const std::string_view rule = rules[i]["rule"].AsString();
      if (!rule.contains("oldSelf")) continue;
      errors_.push_back(
          Invalid(Child(validation::Index(rules_path, i), "rule"), ShownText(rule),
                  "oldSelf cannot be used on the uncorrelatable portion of the schema within " +
                      part.uncorrelatable));
    }
  }

  Structural structural_;
  RuleCosts costs_;
  std::vector<std::string> faulty_;
  ErrorList errors_;
};

}  // namespace

ErrorList RulesFaults(const Value& schema, const std::string& path, const ErrorList& known,
                      Structural structural, CostLimits limits) {
  AllRules rules(known, structural, limits);
  rules.Check(schema, path, {.root = true});
  return rules.Take(path);
}

}  // namespace drachma::apiserver
