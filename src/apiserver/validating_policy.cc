
#include "apiserver/validating_policy.h"

#include <fmt/format.h>

#include <utility>

namespace drachma::apiserver {
namespace {

using json::Value;
using Returns = PolicyCompiler::Returns;
using MayAsk = PolicyCompiler::MayAsk;

// Of the text that a messageExpression gives; a longer one is not used.
constexpr std::size_t kMessageBytesMax = 5 * 1024;

std::string Trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\n\v\f\r";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(kSpace) - first + 1));
}

}  // namespace

ValidatingPolicy::ValidatingPolicy(Value policy) : policy_(std::move(policy)) {
  const Value& spec = policy_["spec"];
  PolicyCompiler compiler({.params = spec["paramKind"].IsObject(), .variables = true});
  for (const Value& variable : spec["variables"].Items()) {
    variables_.push_back(
        compiler.CompileVariable(variable["name"].AsString(), variable["expression"].AsString()));
  }
  for (const Value& condition : spec["matchConditions"].Items()) {
    conditions_.push_back(
        compiler.Compile(condition["expression"].AsString(), Returns::kBool, MayAsk::kYes));
  }
  for (const Value& source : spec["validations"].Items()) {
    Validation& validation = validations_.emplace_back();
    validation.expression =
        compiler.Compile(source["expression"].AsString(), Returns::kBool, MayAsk::kYes);
    validation.text = source["message"].AsString();
    validation.reason = source["reason"].AsString("Invalid");
    const std::string_view message = source["messageExpression"].AsString();
    if (!message.empty()) {
      validation.message = compiler.Compile(message, Returns::kString, MayAsk::kNo);
    }
  }
  for (const Value& source : spec["auditAnnotations"].Items()) {
    annotations_.push_back({.key = std::string(source["key"].AsString()),
                            .expression = compiler.Compile(source["valueExpression"].AsString(),
                                                           Returns::kStringOrNull, MayAsk::kYes)});
  }
}

std::string_view ValidatingPolicy::name() const { return policy_["metadata"]["name"].AsString(); }

bool ValidatingPolicy::fails_open() const { return spec()["failurePolicy"].AsString() == "Ignore"; }

PolicyDecision ValidatingPolicy::Failure(std::string why) const {
  return {.allowed = fails_open(), .message = std::move(why), .reason = {}};
}

PolicyDecision ValidatingPolicy::Decide(const Validation& validation,
                                        const PolicyResults::One& result,
                                        const PolicyResults& messages, std::size_t index) const {
  if (!result.error.empty()) return Failure(result.error);
  if (!messages.error.empty()) return Failure("failed messageExpression: " + messages.error);
  if (result.value.IsTrue()) return {};
  PolicyDecision decision{.allowed = false, .message = {}, .reason = validation.reason};
  const PolicyResults::One& made = messages.results[index];
  if (made.evaluated && made.error.empty() && made.value.IsString()) {
    decision.message = Trimmed(made.value.AsText());
    if (decision.message.size() > kMessageBytesMax || decision.message.contains('\n')) {
      decision.message.clear();
    }
  }
  if (decision.message.empty()) decision.message = Trimmed(validation.text);
  if (decision.message.empty()) {
    decision.message = "failed expression: " + Trimmed(validation.expression.text);
  }
  return decision;
}

PolicyAnnotation ValidatingPolicy::Annotate(const Annotation& annotation,
                                            const PolicyResults::One& result) const {
  using Action = PolicyAnnotation::Action;
  PolicyAnnotation made{.action = Action::kLeaveOut, .key = annotation.key, .text = {}};
  if (!result.error.empty()) {
    made.action = fails_open() ? Action::kLeaveOut : Action::kRefuse;
    made.text = result.error;
  } else if (result.value.IsString()) {
    made.text = Trimmed(result.value.AsText());
    if (!made.text.empty()) made.action = Action::kPublish;
  } else if (result.value.kind() != cel::ValueKind::kNull) {
    made.action = Action::kRefuse;
    made.text = fmt::format(
        "valueExpression '{}' resulted in unsupported return type: {}. Return type must be either "
        "string or null.",
        annotation.expression.text, cel::TypeNameOf(result.value));
  }
  return made;
}

PolicyVerdict ValidatingPolicy::Evaluate(const PolicyInputs& inputs, const PolicyInputs& matching,
                                         cel::Arena& arena) const {
  const auto applies = EvaluateConditions(conditions_, variables_, matching, arena);
  if (!applies && fails_open()) return {};
  if (!applies) return {.decisions = {Failure(applies.error())}, .annotations = {}};
  if (!*applies) return {};
  std::vector<const PolicyExpression*> checks;
  std::vector<const PolicyExpression*> messages;
  for (const Validation& validation : validations_) {
    checks.push_back(&validation.expression);
    messages.push_back(validation.message ? &*validation.message : nullptr);
  }
  const PolicyResults results = EvaluatePolicy(checks, variables_, inputs, kPolicyBudget, arena);
  if (!results.error.empty()) return {.decisions = {Failure(results.error)}, .annotations = {}};
  PolicyInputs without_authorizer = inputs;
  without_authorizer.authorizer.reset();
  without_authorizer.request_resource.reset();
  const PolicyResults texts =
      EvaluatePolicy(messages, variables_, without_authorizer, results.budget, arena);
  PolicyVerdict verdict;
  for (std::size_t i = 0; i < validations_.size(); ++i) {
    verdict.decisions.push_back(Decide(validations_[i], results.results[i], texts, i));
  }
  std::vector<const PolicyExpression*> values;
  for (const Annotation& annotation : annotations_) values.push_back(&annotation.expression);
  const PolicyResults notes =
      EvaluatePolicy(values, variables_, without_authorizer, kPolicyBudget, arena);
  if (!notes.error.empty()) return {.decisions = {Failure(notes.error)}, .annotations = {}};
  for (std::size_t i = 0; i < annotations_.size(); ++i) {
    verdict.annotations.push_back(Annotate(annotations_[i], notes.results[i]));
  }
  return verdict;
}

}  // namespace drachma::apiserver
