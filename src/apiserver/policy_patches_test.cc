#include "apiserver/policy_patches.h"

#include <gtest/gtest.h>

#include "api/types.h"
#include "apiserver/cel_objects.h"
#include "apiserver/kind.h"
#include "apiserver/policy_expression.h"
#include "json/json.h"

namespace drachma::apiserver {
namespace {

using json::Value;

constexpr std::string_view kPod = R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},
  "spec":{"containers":[{"name":"a","image":"i"},{"name":"b","image":"j"}]}})";

class PolicyPatchesTest : public testing::Test {
 protected:
  // The pod after a mutation, or why there is none.
  std::string Mutated(std::string_view expression, PolicyCompiler::Returns returns) {
    const Value pod = json::Read(kPod).value();
    const PolicyExpression compiled =
        compiler_.Compile(expression, returns, PolicyCompiler::MayAsk::kYes);
    if (!compiled.fault.empty()) return compiled.fault;
    static const Value kAny;
    PolicyInputs inputs;
    inputs.object = ValueOfJson(arena_, pod, kAny);
    const PolicyExpression* const one[] = {&compiled};
    const PolicyResults results = EvaluatePolicy(one, {}, inputs, kPolicyBudget, arena_);
    if (!results.results[0].error.empty()) return results.results[0].error;
    const cel::Value& made = results.results[0].value;
    const auto changed =
        returns == PolicyCompiler::Returns::kObject
            ? ApplyConfiguration(pod, made, ShapeOfType(*api::FindTypeOfKind("v1", "Pod")))
            : ApplyJsonPatches(pod, made);
    return changed ? json::Write((*changed)["spec"]) : changed.error();
  }
  std::string Applied(std::string_view expression) {
    return Mutated(expression, PolicyCompiler::Returns::kObject);
  }
  std::string Patched(std::string_view expression) {
    return Mutated(expression, PolicyCompiler::Returns::kPatches);
  }

  PolicyCompiler compiler_{{.params = false, .variables = false}};
  cel::Arena arena_;
};

TEST_F(PolicyPatchesTest, ItemsOfListsAreMergedByTheirKeys) {
  EXPECT_EQ(Applied("Object{spec: Object.spec{containers: [Object.spec.containers{name: 'b', "
                    "image: 'k'}]}}"),
            R"({"containers":[{"name":"a","image":"i"},{"name":"b","image":"k"}]})");
}

TEST_F(PolicyPatchesTest, WhatHasOneOwnerAsAWholeCannotBeApplied) {
  EXPECT_EQ(Applied("Object{spec: Object.spec{nodeSelector: {'a': 'b'}, containers: "
                    "[Object.spec.containers{name: 'a', args: ['x']}]}}"),
            "error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps "
            "or structs: .spec.nodeSelector, .spec.containers[0].args");
}

TEST_F(PolicyPatchesTest, NamesOfTypesArePaths) {
  EXPECT_EQ(Applied("Object{spec: Object.status{}}"),
            "type mismatch: unexpected type name \"Object.status\", expected \"Object.spec\", "
            "which matches field name path from root Object type");
}

TEST_F(PolicyPatchesTest, FieldsMustBeInTheSchema) {
  EXPECT_EQ(Applied("Object{spec: Object.spec{nothing: 1}}"),
            "error applying patch: failed to convert patch object to typed object: "
            ".spec.nothing: field not declared in schema");
}

TEST_F(PolicyPatchesTest, PatchesFollowEachOther) {
  EXPECT_EQ(Patched("[JSONPatch{op: 'remove', path: '/spec/containers/0'}, JSONPatch{op: "
                    "'replace', path: '/spec/containers/0/image', value: 'k'}]"),
            R"({"containers":[{"name":"b","image":"k"}]})");
}

TEST_F(PolicyPatchesTest, ATestThatFailsLeavesTheObject) {
  EXPECT_EQ(Patched("[JSONPatch{op: 'remove', path: '/spec/containers/0'}, JSONPatch{op: "
                    "'test', path: '/spec/x', value: 'k'}]"),
            R"({"containers":[{"name":"a","image":"i"},{"name":"b","image":"j"}]})");
}

TEST_F(PolicyPatchesTest, ValuesBecomeJson) {
  EXPECT_EQ(Patched("[JSONPatch{op: 'replace', path: '/spec', value: {'n': dyn(2.0), 'f': "
                    "dyn(1.5), 'b': dyn(b'abc'), 'd': dyn(duration('90s')), 'l': dyn([null]), "
                    "'big': dyn(9007199254740993), 'o': dyn(Object.spec{x: true})}}]"),
            R"({"n":2,"f":1.5,"b":"YWJj","d":"90s","l":[null],"big":"9007199254740993",)"
            R"("o":{"x":true}})");
}

TEST_F(PolicyPatchesTest, KeysOfMapsAreTexts) {
  EXPECT_EQ(Patched("[JSONPatch{op: 'add', path: '/spec/x', value: {1: 'a'}}]"),
            "JSONPath valueExpression evaluated to a type that could not marshal to JSON: "
            "unsupported type conversion from 'int' to string");
}

}  // namespace
}  // namespace drachma::apiserver
