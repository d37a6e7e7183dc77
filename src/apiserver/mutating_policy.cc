#include "apiserver/mutating_policy.h"

#include <array>
#include <utility>

namespace drachma::apiserver {

using json::Value;
using Returns = PolicyCompiler::Returns;
using MayAsk = PolicyCompiler::MayAsk;

MutatingPolicy::MutatingPolicy(Value policy) : policy_(std::move(policy)) {
  PolicyCompiler compiler({.params = spec()["paramKind"].IsObject(), .variables = true});
  for (const Value& variable : spec()["variables"].Items()) {
    variables_.push_back(
        compiler.CompileVariable(variable["name"].AsString(), variable["expression"].AsString()));
  }
  for (const Value& condition : spec()["matchConditions"].Items()) {
    conditions_.push_back(
        compiler.Compile(condition["expression"].AsString(), Returns::kBool, MayAsk::kYes));
  }
  for (const Value& mutation : spec()["mutations"].Items()) {
    const bool patch = mutation["patchType"].AsString() == "JSONPatch";
    const Value& source = mutation[patch ? "jsonPatch" : "applyConfiguration"];
    mutations_.push_back({.form = patch ? Mutation::Form::kJsonPatch : Mutation::Form::kApply,
                          .expression = compiler.Compile(
                              source["expression"].AsString(),
                              patch ? Returns::kPatches : Returns::kObject, MayAsk::kYes)});
  }
}

std::string_view MutatingPolicy::name() const { return policy_["metadata"]["name"].AsString(); }

bool MutatingPolicy::fails_open() const { return spec()["failurePolicy"].AsString() == "Ignore"; }

bool MutatingPolicy::may_run_again() const {
  return spec()["reinvocationPolicy"].AsString() == "IfNeeded";
}

std::expected<bool, std::string> MutatingPolicy::Applies(const PolicyInputs& matching,
                                                         cel::Arena& arena) const {
  auto applies = EvaluateConditions(conditions_, variables_, matching, arena);
  if (!applies && fails_open()) return false;
  return applies;
}

std::expected<cel::Value, std::string> MutatingPolicy::Evaluate(const Mutation& mutation,
                                                                const PolicyInputs& inputs,
                                                                cel::Arena& arena) const {
  if (!mutation.expression.program) return std::unexpected(mutation.expression.fault);
  const std::array<const PolicyExpression*, 1> expressions = {&mutation.expression};
  const PolicyResults results =
      EvaluatePolicy(expressions, variables_, inputs, kPolicyBudget, arena);
  if (!results.error.empty()) return std::unexpected(results.error);
  const PolicyResults::One& one = results.results.front();
  if (!one.error.empty()) return std::unexpected(one.error);
  return one.value;
}

}  // namespace drachma::apiserver
