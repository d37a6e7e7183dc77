#include "cel/ext/patch_types.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "cel/ext/validators.h"

namespace drachma::cel {
namespace {

class PatchTypesTest : public testing::Test {
 protected:
  PatchTypesTest() {
    AddStandard(env_);
    AddOptional(env_);
    AddPatchTypes(env_);
  }

  // The value, or an error with why there is none.
  Value Evaluate(std::string_view text) {
    auto checked = CompileExpression(text, env_);
    if (!checked) return MakeError(arena_, checked.error().ToString());
    checked_ = *std::move(checked);
    auto plan = MakePlan(checked_, {.functions = &env_.functions, .structs = &PatchStructs()});
    if (!plan) return MakeError(arena_, plan.error());
    plan_ = *std::move(plan);
    Frame frame{.arena = arena_};
    const Value value = plan_->Eval(frame);
    cost_ = frame.cost;
    return value;
  }

  Environment env_;
  Arena arena_;
  CheckedAst checked_;
  std::unique_ptr<Plan> plan_;
  std::uint64_t cost_ = 0;
};

TEST_F(PatchTypesTest, ObjectsHaveAnyFields) {
  const auto object = ViewObject(Evaluate("Object{spec: Object.spec{a: 1}, ?b: optional.none()}"));
  ASSERT_TRUE(object);
  EXPECT_EQ(object->type, "Object");
  ASSERT_EQ(object->fields.size(), 1U);
  EXPECT_EQ(object->fields[0].name, "spec");
  EXPECT_EQ(ViewObject(object->fields[0].value)->type, "Object.spec");
}

TEST_F(PatchTypesTest, ObjectsAreEqualByTypeAndFields) {
  EXPECT_TRUE(Evaluate("Object{a: 1, b: 'x'} == Object{b: 'x', a: 1}").IsTrue());
  EXPECT_TRUE(Evaluate("Object{a: 1} == Object{a: 2}").IsFalse());
  EXPECT_TRUE(Evaluate("Object{a: 1} == Object{a: 1.0}").IsFalse());
  EXPECT_TRUE(Evaluate("dyn(Object.a{}) == dyn(Object.b{})").IsFalse());
}

TEST_F(PatchTypesTest, FieldsOfObjectsCannotBeRead) {
  EXPECT_EQ(Evaluate("Object{a: 1}.a").AsText(), "no such key: a");
}

TEST_F(PatchTypesTest, ALiteralCostsAsUpstream) {
  EXPECT_TRUE(ViewObject(Evaluate("Object{a: Object.a{}}")));
  EXPECT_EQ(cost_, 80U);
}

TEST_F(PatchTypesTest, PatchesHaveFourFields) {
  const auto patch =
      ViewPatch(Evaluate("JSONPatch{op: 'copy', path: '/a', from: '/b', value: [1]}"));
  ASSERT_TRUE(patch);
  EXPECT_EQ(patch->op, "copy");
  EXPECT_EQ(patch->path, "/a");
  EXPECT_EQ(patch->from, "/b");
  ASSERT_NE(patch->value, nullptr);
  EXPECT_EQ(patch->value->AsList().size, 1U);
  EXPECT_EQ(ViewPatch(Evaluate("JSONPatch{op: 'remove'}"))->value, nullptr);
}

TEST_F(PatchTypesTest, FieldsOfPatchesCanBeRead) {
  EXPECT_TRUE(Evaluate("JSONPatch{op: 'add'}.op == 'add'").IsTrue());
  EXPECT_TRUE(Evaluate("has(JSONPatch{op: 'add'}.from)").IsFalse());
  EXPECT_TRUE(Evaluate("JSONPatch{op: 'add'} == JSONPatch{op: 'remove'}").IsFalse());
}

TEST_F(PatchTypesTest, TheTypesOfFieldsAreChecked) {
  const Value unknown = Evaluate("JSONPatch{operation: 'add'}");
  EXPECT_NE(unknown.AsText().find("undefined field 'operation'"), std::string_view::npos);
  EXPECT_EQ(Evaluate("JSONPatch{op: dyn(1)}").AsText(),
            "unexpected type int64 for JSONPatchType 'op' field");
}

TEST_F(PatchTypesTest, KeysAreEscapedForPaths) {
  EXPECT_EQ(Evaluate("jsonpatch.escapeKey('k8s.io/my~label')").AsText(), "k8s.io~1my~0label");
}

TEST(StructLiteralsTest, NeedSomebodyWhoMakesThem) {
  Environment env;
  AddStandard(env);
  AddPatchTypes(env);
  const auto checked = CompileExpression("Object{}", env);
  ASSERT_TRUE(checked);
  EXPECT_EQ(MakePlan(*checked, {.functions = &env.functions}).error(), "unknown type: Object");
}

}  // namespace
}  // namespace drachma::cel
