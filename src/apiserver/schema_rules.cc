#include "apiserver/schema_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "apiserver/cel_objects.h"
#include "apiserver/schema_validator.h"
#include "apiserver/structural_schema.h"

namespace drachma::apiserver {
namespace {

using json::Member;
using json::Value;
using validation::Child;
using validation::ErrorList;
using validation::FieldError;

constexpr std::string_view kRules = "x-kubernetes-validations";
constexpr std::size_t kMessageBytesMax = 5 * 1024;

std::string Trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n\v\f";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(kSpace) - first + 1));
}

bool HasNewlines(std::string_view text) { return text.find_first_of("\r\n") != text.npos; }

// A text of at most `bytes_max`, or fewer where `declared` says so.
Value ShortText(const Value& declared, std::int64_t bytes_max) {
  const std::int64_t most = declared["maxLength"].AsInt(bytes_max);
  return Value::Object({{"type", "string"}, {"maxLength", std::min(most, bytes_max)}});
}

// The root of a resource also has these, whatever its schema says of them.
Value WithTypeAndMeta(const Value& schema) {
  constexpr std::int64_t kNameMax = 253;
  static const Value kText = Value::Object({{"type", "string"}});
  const Value& declared = schema["properties"];
  const Value& metadata = declared["metadata"]["properties"];
  const auto is = [](const Value& part, std::string_view type) {
    return part["type"].AsString() == type;
  };
  if (is(declared["kind"], "string") && is(declared["apiVersion"], "string") &&
      is(declared["metadata"], "object") && is(metadata["name"], "string") &&
      is(metadata["generateName"], "string")) {
    return schema;
  }
  Value typed = schema;
  Value& properties = typed.Edit("properties");
  properties.Set("kind", kText);
  properties.Set("apiVersion", kText);
  properties.Set("metadata",
                 Value::Object({{"type", "object"},
                                {"properties",
                                 Value::Object({{"name", ShortText(metadata["name"], kNameMax)},
                                                {"generateName", ShortText(metadata["generateName"],
                                                                           kNameMax - 1)}})}}));
  return typed;
}

enum class OldSelf : std::uint8_t { kNone, kValue, kOptional };

// The environments of the rules of one schema, made when they are needed.
class RuleEnvironments {
 public:
  explicit RuleEnvironments(const Value& schema) : schema_(schema) {}

  std::shared_ptr<const cel::Environment> With(OldSelf old_self) {
    auto& made = made_[static_cast<std::size_t>(old_self)];
    if (made != nullptr) return made;
    auto env = std::make_shared<cel::Environment>();
    AddKubernetesLibraries(*env);
    const cel::Type* type = TypeOfSchema(env->check, schema_, "selfType");
    env->check.AddVariable("self", type);
    if (old_self == OldSelf::kValue) env->check.AddVariable("oldSelf", type);
    if (old_self == OldSelf::kOptional) {
      env->check.AddVariable("oldSelf", cel::OptionalOf(env->check.arena(), type));
    }
    made = std::move(env);
    return made;
  }

 private:
  const Value& schema_;
  std::array<std::shared_ptr<const cel::Environment>, 3> made_;
};

// A `fieldPath` (".spec.a", ".spec['x.y']") in the spelling of field errors.
std::string NormalizedPath(std::string_view path) {
  std::string normalized;
  while (!path.empty()) {
    if (path.starts_with("['")) {
      const std::size_t end = path.find("']");
      if (end == std::string_view::npos) return normalized;
      normalized += fmt::format("[{}]", path.substr(2, end - 2));
      path.remove_prefix(end + 2);
      continue;
    }
    if (path.starts_with('.')) path.remove_prefix(1);
    const std::string_view name = path.substr(0, path.find_first_of(".["));
    if (name.empty()) return normalized;
    normalized += (normalized.empty() ? "" : ".") + std::string(name);
    path.remove_prefix(name.size());
  }
  return normalized;
}

struct Rule {
  std::string text;
  std::string message;
  std::string message_expression;
  std::string reason;
  std::string field_path;
  bool optional_old_self = false;
  bool uses_old_self = false;
  std::optional<CelProgram> program;
  std::optional<CelProgram> message_program;
  std::string fault;          // of the rule; empty when it compiles
  std::string message_fault;  // of the expression of its message

  // What errors call the rule.
  [[nodiscard]] std::string Name() const { return Trimmed(message.empty() ? text : message); }
};

Rule CompileRule(const Value& source, RuleEnvironments& environments) {
  Rule rule{.text = std::string(source["rule"].AsString()),
            .message = std::string(source["message"].AsString()),
            .message_expression = std::string(source["messageExpression"].AsString()),
            .reason = std::string(source["reason"].AsString()),
            .field_path = NormalizedPath(source["fieldPath"].AsString()),
            .optional_old_self = source["optionalOldSelf"].AsBool()};
  constexpr std::string_view kNoBool = "cel expression must evaluate to a bool";
  auto env = environments.With(OldSelf::kNone);
  auto program = CompileCel(rule.text, env, cel::TypeKind::kBool, kNoBool);
  if (!program && rule.text.contains("oldSelf")) {
    env = environments.With(rule.optional_old_self ? OldSelf::kOptional : OldSelf::kValue);
    program = CompileCel(rule.text, env, cel::TypeKind::kBool, kNoBool);
    rule.uses_old_self = program.has_value();
  }
  if (program) {
    rule.program = *std::move(program);
  } else {
    rule.fault = std::move(program.error());
  }
  if (Trimmed(rule.message_expression).empty()) return rule;
  auto text = CompileCel(rule.message_expression, env, cel::TypeKind::kString,
                         "messageExpression must evaluate to a string");
  if (text) {
    rule.message_program = *std::move(text);
  } else {
    rule.message_fault = "messageExpression compilation failed: " + text.error();
  }
  return rule;
}

}  // namespace

// A schema with rules of its own or below it.
struct SchemaRules::Node {
  Value schema;
  std::vector<Rule> rules;
  std::map<std::string, std::unique_ptr<Node>, std::less<>> properties;
  std::unique_ptr<Node> additional;
  std::unique_ptr<Node> items;
};

SchemaRules::SchemaRules(std::unique_ptr<Node> root) : root_(std::move(root)) {}
SchemaRules::~SchemaRules() = default;

std::unique_ptr<SchemaRules::Node> SchemaRules::Compile(const Value& schema, bool root, int depth) {
  if (!schema.IsObject() || depth > StructuralSchema::kDepthMax) return nullptr;
  auto node = std::make_unique<Node>();
  const bool resource = root || schema["x-kubernetes-embedded-resource"].AsBool();
  node->schema = resource ? WithTypeAndMeta(schema) : schema;
  RuleEnvironments environments(node->schema);
  for (const Value& source : schema[kRules].Items()) {
    if (Trimmed(source["rule"].AsString()).empty()) continue;
    node->rules.push_back(CompileRule(source, environments));
  }
  for (const Member& property : schema["properties"].Members()) {
    if (auto inner = Compile(property.value, false, depth + 1)) {
      node->properties.emplace(property.key(), std::move(inner));
    }
  }
  node->additional = Compile(schema["additionalProperties"], false, depth + 1);
  node->items = Compile(schema["items"], false, depth + 1);
  const bool used = !node->rules.empty() || !node->properties.empty() ||
                    node->additional != nullptr || node->items != nullptr;
  return used ? std::move(node) : nullptr;
}

std::shared_ptr<const SchemaRules> SchemaRules::Parse(const Value& schema) {
  std::unique_ptr<Node> root = Compile(schema, true, 0);
  if (root == nullptr) return nullptr;
  return std::shared_ptr<const SchemaRules>(new SchemaRules(std::move(root)));
}

// One validation: walks the object, keeps the budget.
class SchemaRules::Run {
 public:
  // What a value was, as far as that decides whether its faults are tolerated: the value itself
  // where it can be told, else the nearest one around it.
  struct Past {
    const Value* own = nullptr;
    const Value* outer_now = nullptr;
    const Value* outer = nullptr;
    const Value* outer_schema = nullptr;
  };

  // `ratcheted` null: nothing is tolerated.
  explicit Run(std::vector<std::string>* ratcheted) : ratcheted_(ratcheted) {}

  ErrorList Take() { return std::move(errors_); }

  void Check(const Node& node, const Value& value, const Value& old, const std::string& path,
             const Past& past) {
    if (value.IsNull() || stopped_) return;
    CheckRules(node, value, old, path, past);
    if (value.IsObject()) CheckMembers(node, value, old, path, past);
    if (value.IsArray() && node.items != nullptr) CheckItems(node, value, old, path, past);
  }

 private:
  static Past Inside(const Past& past, const Value& value, const Value& schema, const Value* own) {
    if (past.own == nullptr) return past;
    return {.own = own, .outer_now = &value, .outer = past.own, .outer_schema = &schema};
  }

  void CheckMembers(const Node& node, const Value& value, const Value& old, const std::string& path,
                    const Past& past) {
    for (const Member& member : value.Members()) {
      const std::string_view key = member.key();
      // What the type of an object is does not show in its past: both are made one version.
      const bool type =
          past.own != nullptr && past.outer == nullptr && (key == "apiVersion" || key == "kind");
      const Value* own = past.own == nullptr ? nullptr : past.own->Find(key);
      const Past inner = type ? Past() : Inside(past, value, node.schema, own);
      const auto property = node.properties.find(key);
      if (property != node.properties.end()) {
        Check(*property->second, member.value, old[key], Child(path, key), inner);
      } else if (node.additional != nullptr) {
        Check(*node.additional, member.value, old[key], validation::Key(path, key), inner);
      }
    }
  }

  // Items of lists that are maps have a past, found by their keys; others have none.
  void CheckItems(const Node& node, const Value& value, const Value& old, const std::string& path,
                  const Past& past) {
    static const Value kNone;
    for (std::size_t i = 0; i < value.size(); ++i) {
      const Value& item = value.Items()[i];
      const Value* before = PastOfItem(item, old, node.schema);
      const Value* own = past.own == nullptr ? nullptr : PastOfItem(item, *past.own, node.schema);
      Check(*node.items, item, before == nullptr ? kNone : *before, validation::Index(path, i),
            Inside(past, value, node.schema, own));
    }
  }

  [[nodiscard]] bool IsTolerated(const Value& value, const Value& schema, const Past& past) const {
    if (ratcheted_ == nullptr) return false;
    if (past.own != nullptr) return IsUnchanged(value, *past.own, schema);
    return past.outer != nullptr && IsUnchanged(*past.outer_now, *past.outer, *past.outer_schema);
  }

  void CheckRules(const Node& node, const Value& value, const Value& old, const std::string& path,
                  const Past& past) {
    if (node.rules.empty()) return;
    cel::Arena arena;
    CelVariables variables;
    variables.Set("self", ValueOfJson(arena, value, node.schema));
    const std::string type = validation::ShownText(node.schema["type"].AsString());
    for (const Rule& rule : node.rules) {
      if (stopped_) return;
      if (!rule.program) {
        errors_.push_back(validation::Invalid(path, type, "rule compile error: " + rule.fault));
        continue;
      }
      if (rule.uses_old_self) {
        if (old.IsNull() && !rule.optional_old_self) continue;
        const cel::Value before = ValueOfJson(arena, old, node.schema);
        variables.Set("oldSelf", !rule.optional_old_self ? before
                                 : old.IsNull()          ? cel::Value::Optional(nullptr)
                                                         : cel::MakeOptional(arena, before));
      }
      CheckRule(rule, variables, arena, node, value, path, past);
    }
  }

  // The value of an expression; stops everything when the budget is used up.
  cel::Value Eval(const CelProgram& program, const CelVariables& variables, cel::Arena& arena) {
    cel::Frame frame{.arena = arena, .activation = &variables};
    frame.cost_limit = kCelCallCostMax;
    const cel::Value result = program.plan->Eval(frame);
    spent_ += frame.cost;
    return result;
  }

  void Stop(const std::string& path, const std::string& type, std::string text) {
    errors_.push_back(validation::Invalid(path, type, std::move(text)));
    stopped_ = true;
  }

  void CheckRule(const Rule& rule, const CelVariables& variables, cel::Arena& arena,
                 const Node& node, const Value& value, const std::string& path, const Past& past) {
    const std::string type = validation::ShownText(node.schema["type"].AsString());
    const cel::Value result = Eval(*rule.program, variables, arena);
    if (spent_ > kBudget) {
      return Stop(path, type,
                  "validation failed due to running out of cost budget, no further validation "
                  "rules will be run");
    }
    if (result.IsError()) {
      const std::string_view text = result.AsText();
      if (text.starts_with(cel::kCostExceeded)) {
        return Stop(path, type,
                    fmt::format("'{}': no further validation rules will be run due to call cost "
                                "exceeds limit for rule: {}",
                                text, rule.Name()));
      }
      errors_.push_back(validation::Invalid(
          path, type,
          text.starts_with(cel::kNoSuchOverload)
              ? fmt::format("'{}': call arguments did not match a supported operator, function or "
                            "macro signature for rule: {}",
                            text, rule.Name())
              : fmt::format("{} evaluating rule: {}", text, rule.Name())));
      return;
    }
    if (result.IsTrue()) return;
    std::string at = path;
    if (!rule.field_path.empty()) at = Child(path, rule.field_path);
    const bool composed = value.IsObject() || value.IsArray();
    FieldError error = ErrorOf(rule, at, composed ? std::string() : validation::Shown(value),
                               Message(rule, variables, arena));
    if (!rule.uses_old_self && IsTolerated(value, node.schema, past)) {
      ratcheted_->push_back(error.Text());
    } else {
      errors_.push_back(std::move(error));
    }
  }

  std::string Message(const Rule& rule, const CelVariables& variables, cel::Arena& arena) {
    if (rule.message_program) {
      const cel::Value made = Eval(*rule.message_program, variables, arena);
      if (made.IsString()) {
        std::string text = Trimmed(made.AsText());
        if (!text.empty() && !HasNewlines(text) && text.size() <= kMessageBytesMax) return text;
      }
    }
    return rule.message.empty() ? "failed rule: " + rule.Name() : rule.Name();
  }

  static FieldError ErrorOf(const Rule& rule, const std::string& path, std::string shown,
                            std::string detail) {
    if (rule.reason == "FieldValueForbidden") return validation::Forbidden(path, detail);
    if (rule.reason == "FieldValueRequired") return validation::Required(path, detail);
    if (rule.reason == "FieldValueDuplicate") return validation::Duplicate(path, std::move(shown));
    return validation::Invalid(path, std::move(shown), std::move(detail));
  }

  std::vector<std::string>* const ratcheted_;
  ErrorList errors_;
  std::uint64_t spent_ = 0;
  bool stopped_ = false;
};

ErrorList SchemaRules::Validate(const Value& object, const Value& old,
                                std::vector<std::string>* ratcheted) const {
  Run run(ratcheted);
  run.Check(*root_, object, old, "", {.own = old.IsNull() ? nullptr : &old});
  return run.Take();
}

void AddRuleErrors(const SchemaRules* rules, const Value& object, const Value& old,
                   ErrorList& errors, std::vector<std::string>* warnings) {
  if (rules == nullptr) return;
  using validation::ErrorType;
  static constexpr std::array<ErrorType, 5> kBlocking = {
      ErrorType::kNotSupported, ErrorType::kRequired, ErrorType::kTooLong, ErrorType::kTooMany,
      ErrorType::kTypeInvalid};
  for (const FieldError& error : errors) {
    if (std::ranges::find(kBlocking, error.type) == kBlocking.end()) continue;
    errors.push_back(
        validation::Invalid("<nil>", "null",
                            "some validation rules were not checked because the object was "
                            "invalid; correct the existing errors to complete validation"));
    return;
  }
  std::vector<std::string> tolerated;
  validation::Append(errors, rules->Validate(object, old, &tolerated));
  if (warnings != nullptr) std::ranges::move(tolerated, std::back_inserter(*warnings));
}

ErrorList RuleTextFaults(const Value& rule, const std::string& at) {
  ErrorList errors;
  static constexpr std::array<std::string_view, 4> kReasons = {
      "FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"};
  const std::string text = Trimmed(rule["rule"].AsString());
  const std::string_view message = rule["message"].AsString();
  const std::string trimmed = Trimmed(message);
  if (text.empty()) {
    errors.push_back(validation::Required(Child(at, "rule"), "rule is not specified"));
  } else if (!message.empty() && trimmed.empty()) {
    errors.push_back(validation::Invalid(Child(at, "message"), validation::ShownText(message),
                                         "must be non-empty if specified"));
  } else if (HasNewlines(trimmed)) {
    errors.push_back(validation::Invalid(Child(at, "message"), validation::ShownText(message),
                                         "must not contain line breaks"));
  } else if (HasNewlines(text) && trimmed.empty()) {
    errors.push_back(validation::Required(
        Child(at, "message"), "message must be specified if rule contains line breaks"));
  }
  const std::string_view expression = rule["messageExpression"].AsString();
  if (!expression.empty() && Trimmed(expression).empty()) {
    errors.push_back(validation::Required(Child(at, "messageExpression"),
                                          "messageExpression must be non-empty if specified"));
  }
  const Value& reason = rule["reason"];
  if (!reason.IsNull() && std::ranges::find(kReasons, reason.AsString()) == kReasons.end()) {
    errors.push_back(validation::NotSupported(Child(at, "reason"),
                                              validation::ShownNamed(reason.AsString()), kReasons));
  }
  return errors;
}

namespace {

// The rule as upstream's internal type shows itself.
std::string ShownRule(const Value& rule) {
  Value shown = Value::Object({{"Rule", rule["rule"].AsString()},
                               {"Message", rule["message"].AsString()},
                               {"MessageExpression", rule["messageExpression"].AsString()},
                               {"Reason", rule["reason"]},
                               {"FieldPath", rule["fieldPath"].AsString()},
                               {"OptionalOldSelf", rule["optionalOldSelf"]}});
  return validation::Shown(shown);
}

}  // namespace

ErrorList RuleFaults(const Value& schema, bool root, const std::string& path, Cardinality times,
                     RuleCosts& costs) {
  ErrorList errors;
  const Value& rules = schema[kRules];
  const Value typed =
      root || schema["x-kubernetes-embedded-resource"].AsBool() ? WithTypeAndMeta(schema) : schema;
  RuleEnvironments environments(typed);
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const Value& source = rules.Items()[i];
    const std::string at = validation::Index(Child(path, kRules), i);
    const Rule rule = CompileRule(source, environments);
    if (rule.program) {
      const std::uint64_t cost = ExpressionCost(rule.program->checked, typed);
      costs.Add(Child(at, "rule"), "estimated rule cost", RuleCost(cost, typed, times), errors);
    } else {
      errors.push_back(validation::Invalid(Child(at, "rule"), ShownRule(source), rule.fault));
    }
    const std::string message = Child(at, "messageExpression");
    if (!rule.message_fault.empty()) {
      errors.push_back(validation::Invalid(message, ShownRule(source), rule.message_fault));
    } else if (rule.program && rule.message_program) {
      costs.Add(message, "estimated messageExpression cost",
                ExpressionCost(rule.message_program->checked, typed), errors);
    }
    if (rule.fault.empty() && !rule.uses_old_self && source.Has("optionalOldSelf")) {
      errors.push_back(validation::Invalid(Child(at, "optionalOldSelf"),
                                           validation::Shown(source["optionalOldSelf"]),
                                           "may not be set if oldSelf is not used in rule"));
    }
  }
  return errors;
}

}  // namespace drachma::apiserver
