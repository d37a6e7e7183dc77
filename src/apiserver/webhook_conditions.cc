#include "apiserver/webhook_conditions.h"

#include <fmt/format.h>

#include <memory>
#include <string>

#include "apiserver/cel_objects.h"

namespace drachma::apiserver {
namespace {

using json::Value;

std::shared_ptr<const cel::Environment> ConditionEnvironment() {
  static const std::shared_ptr<const cel::Environment> kEnvironment = [] {
    auto env = std::make_shared<cel::Environment>();
    AddKubernetesLibraries(*env);
    for (const char* name : {"object", "oldObject", "request"}) {
      env->check.AddVariable(name, &cel::types::kDyn);
    }
    return env;
  }();
  return kEnvironment;
}

// True, false, or why there is no answer.
Result<bool> Holds(std::string_view expression, const CelVariables& variables, cel::Arena& arena) {
  const auto program =
      CompileCel(expression, ConditionEnvironment(), cel::TypeKind::kBool, "must evaluate to bool");
  if (!program) return BadInput(program.error());
  cel::Frame frame{.arena = arena, .activation = &variables};
  frame.cost_limit = kCelCallCostMax;
  const cel::Value result = program->plan->Eval(frame);
  if (result.IsError()) return BadInput(std::string(result.AsText()));
  if (!result.IsBool()) return BadInput("must evaluate to bool");
  return result.AsBool();
}

}  // namespace

Result<bool> MatchConditionsHold(const Value& hook, const Value& review_request) {
  static const Value kAny;
  const auto conditions = hook["matchConditions"].Items();
  if (conditions.empty()) return true;
  cel::Arena arena;
  CelVariables variables;
  variables.Set("object", ValueOfJson(arena, review_request["object"], kAny));
  variables.Set("oldObject", ValueOfJson(arena, review_request["oldObject"], kAny));
  variables.Set("request", ValueOfJson(arena, review_request, kAny));
  std::string failures;
  for (const Value& condition : conditions) {
    const Result<bool> holds = Holds(condition["expression"].AsString(), variables, arena);
    if (holds && !*holds) return false;
    if (holds) continue;
    failures += fmt::format("{}expression '{}' resulted in error: {}", failures.empty() ? "" : ", ",
                            condition["expression"].AsString(), holds.error().message);
  }
  if (failures.empty()) return true;
  if (hook["failurePolicy"].AsString("Fail") == "Ignore") return false;
  return Fail(Code::kForbidden, failures);
}

}  // namespace drachma::apiserver
