#include "apiserver/policy_expression.h"

#include <gtest/gtest.h>

#include <vector>

#include "json/json.h"

namespace drachma::apiserver {
namespace {

using Returns = PolicyCompiler::Returns;
using MayAsk = PolicyCompiler::MayAsk;

// One policy's expressions over an object.
class Policy {
 public:
  Policy& Variable(std::string_view name, std::string_view text) {
    variables_.push_back(compiler_.CompileVariable(name, text));
    return *this;
  }
  PolicyExpression Compile(std::string_view text) {
    return compiler_.Compile(text, Returns::kBool, MayAsk::kYes);
  }
  PolicyResults Evaluate(std::string_view text, std::uint64_t budget = kPolicyBudget) {
    static const json::Value kAny;
    const PolicyExpression expression = Compile(text);
    const PolicyExpression* all[] = {&expression};
    PolicyInputs inputs;
    inputs.object = ValueOfJson(arena_, object_, kAny);
    return EvaluatePolicy(all, variables_, inputs, budget, arena_);
  }

 private:
  PolicyCompiler compiler_{{.params = false, .variables = true}};
  std::vector<PolicyVariable> variables_;
  cel::Arena arena_;
  const json::Value object_ = json::Read(R"({"metadata":{"name":"x"},"spec":{"n":3}})").value();
};

TEST(PolicyExpression, VariablesBuildOnEachOther) {
  Policy policy;
  policy.Variable("n", "object.spec.n").Variable("twice", "variables.n * 2");
  const PolicyResults results = policy.Evaluate("variables.twice == 6 && has(variables.n)");
  ASSERT_EQ(results.error, "");
  EXPECT_TRUE(results.results[0].value.IsTrue());
}

TEST(PolicyExpression, AVariableThatNobodyReadsDoesNotFail) {
  Policy policy;
  policy.Variable("broken", "object.none.x");
  EXPECT_TRUE(policy.Evaluate("true || variables.broken == 1").results[0].value.IsTrue());
  EXPECT_EQ(policy.Evaluate("variables.broken == 1").results[0].error,
            "expression 'variables.broken == 1' resulted in error: composited variable \"broken\" "
            "fails to evaluate: no such key: none");
}

TEST(PolicyExpression, WhatVariablesCostCounts) {
  Policy policy;
  policy.Variable("n", "[1, 2, 3].map(x, x * object.spec.n)");
  const std::uint64_t without = kPolicyBudget - policy.Evaluate("1 == 1").budget;
  const std::uint64_t with = kPolicyBudget - policy.Evaluate("variables.n == [3]").budget;
  EXPECT_GT(with, without + 20);
  EXPECT_EQ(policy.Evaluate("variables.n == [3]", with - 1).error,
            "validation failed due to running out of cost budget, no further validation rules will "
            "be run");
}

TEST(PolicyExpression, NamesAndTypesAreChecked) {
  Policy policy;
  policy.Variable("text", "'a'");
  EXPECT_NE(policy.Compile("variables.other == 1").fault.find("undefined field 'other'"),
            std::string::npos);
  EXPECT_NE(policy.Compile("variables.text == 1").fault.find("no matching overload"),
            std::string::npos);
  EXPECT_EQ(policy.Compile("object.spec").fault, "must evaluate to bool but got dyn");
}

}  // namespace
}  // namespace drachma::apiserver
