#include "lint/editor.h"

#include <gtest/gtest.h>

namespace drachma::lint {
namespace {

using json::Value;
using Type = Change::Type;

std::string Edited(std::string_view text, const Change& change) {
  const auto documents = json::ReadYaml(text);
  EXPECT_TRUE(documents.has_value());
  const Result<std::string> edited = Apply(text, documents->at(0), change);
  EXPECT_TRUE(edited.has_value()) << (edited ? "" : edited.error().message);
  return edited.value_or("");
}

constexpr std::string_view kPod = R"(# a pod
spec:
  containers:
  - name: a   # the only one
    resources:
      requests:
        cpu: "4"
  # claims follow
  resourceClaims:
  - name: gpu
    source:
      resourceClaimTemplateName: t
status: {}
)";

TEST(Apply, AScalarKeepsItsQuotesAndComments) {
  EXPECT_EQ(Edited("a: \"x\" # why\nb: 'y'\n", {.path = "a", .value = "it's"}),
            "a: \"it's\" # why\nb: 'y'\n");
  EXPECT_EQ(Edited("a: \"x\" # why\nb: 'y'\n", {.path = "b", .value = "it's"}),
            "a: \"x\" # why\nb: 'it''s'\n");
}

TEST(Apply, NewLinesStandBehindTheCommentOfTheLastOne) {
  EXPECT_EQ(Edited("a:\n  b: 1 # why\nc: 2\n",
                   {.type = Type::kInsertMember, .path = "a", .key = "d", .value = 3}),
            "a:\n  b: 1 # why\n  d: 3\nc: 2\n");
  EXPECT_EQ(Edited("a:\n- 1 # why\n", {.type = Type::kAppendItem, .path = "a", .value = 2}),
            "a:\n- 1 # why\n- 2\n");
}

TEST(Apply, AKeyWithDotsIsRemoved) {
  EXPECT_EQ(Edited("limits:\n  cpu: 1\n  nvidia.com/gpu: 1\n",
                   {.type = Type::kRemoveMember, .path = "limits.nvidia.com/gpu"}),
            "limits:\n  cpu: 1\n");
  EXPECT_EQ(Edited("limits: {nvidia.com/gpu: 1, cpu: 1}\n",
                   {.type = Type::kRemoveMember, .path = "limits.nvidia.com/gpu"}),
            "limits: {cpu: 1}\n");
}

TEST(Apply, AMemberIsReplacedInItsPlace) {
  EXPECT_EQ(Edited(kPod, {.type = Type::kReplaceMember,
                          .path = "spec.resourceClaims[0].source",
                          .key = "resourceClaimTemplateName",
                          .value = "t"}),
            R"(# a pod
spec:
  containers:
  - name: a   # the only one
    resources:
      requests:
        cpu: "4"
  # claims follow
  resourceClaims:
  - name: gpu
    resourceClaimTemplateName: t
status: {}
)");
}

TEST(Apply, AMemberIsInsertedBehindTheLastOne) {
  EXPECT_EQ(Edited(kPod, {.type = Type::kInsertMember,
                          .path = "spec.containers[0].resources",
                          .key = "claims",
                          .value = Value::Array({Value::Object({{"name", "gpu"}})})}),
            R"(# a pod
spec:
  containers:
  - name: a   # the only one
    resources:
      requests:
        cpu: "4"
      claims:
      - name: gpu
  # claims follow
  resourceClaims:
  - name: gpu
    source:
      resourceClaimTemplateName: t
status: {}
)");
}

TEST(Apply, AMemberIsInsertedBeforeAnother) {
  EXPECT_EQ(Edited("spec:\n  replicas: 3\n  template:\n    x: 1\n",
                   {.type = Type::kInsertMember,
                    .path = "spec",
                    .key = "selector",
                    .value = Value::Object({{"app", "a"}}),
                    .before = "template"}),
            "spec:\n  replicas: 3\n  selector:\n    app: a\n  template:\n    x: 1\n");
}

TEST(Apply, AnEmptyMappingBecomesABlock) {
  EXPECT_EQ(Edited("a:\n  b:\nc: 1\n", {.type = Type::kInsertMember,
                                        .path = "a.b",
                                        .key = "x",
                                        .value = Value::Array({Value(1)})}),
            "a:\n  b:\n    x:\n    - 1\nc: 1\n");
}

TEST(Apply, ItemsAreAppendedAtTheDepthOfTheList) {
  EXPECT_EQ(Edited("a:\n  - name: x\n    k: 1\nb: 2\n",
                   {.type = Type::kAppendItem,
                    .path = "a",
                    .value = Value::Object({{"name", "z"}, {"k", 2}})}),
            "a:\n  - name: x\n    k: 1\n  - name: z\n    k: 2\nb: 2\n");
}

TEST(Apply, TheFirstMemberOfAnItemLeavesTheDash) {
  EXPECT_EQ(Edited("a:\n- x: 1\n  k: 2\n", {.type = Type::kRemoveMember, .path = "a[0].x"}),
            "a:\n- k: 2\n");
  EXPECT_EQ(Edited("a:\n- x: 1\n  k: 2\n", {.type = Type::kRemoveMember, .path = "a[0].k"}),
            "a:\n- x: 1\n");
}

TEST(Apply, FlowStyleKeepsItsSpelling) {
  EXPECT_EQ(Edited("a: {b: [1], c: x} # keep\n",
                   {.type = Type::kAppendItem, .path = "a.b", .value = Value(2)}),
            "a: {b: [1, 2], c: x} # keep\n");
  EXPECT_EQ(Edited("- {name: c, image: 'busybox' }\n",
                   {.type = Type::kInsertMember,
                    .path = "[0]",
                    .key = "resources",
                    .value = Value::Object({{"claims", Value::Array({"gpu", "a, b", "1", 1})}})}),
            "- {name: c, image: 'busybox', resources: {claims: [gpu, \"a, b\", \"1\", 1]} }\n");
  EXPECT_EQ(Edited("a: {b: 1, c: 2, d: 3}\n", {.type = Type::kRemoveMember, .path = "a.b"}),
            "a: {c: 2, d: 3}\n");
  EXPECT_EQ(Edited("a: {b: 1, c: 2, d: 3}\n", {.type = Type::kRemoveMember, .path = "a.d"}),
            "a: {b: 1, c: 2}\n");
  EXPECT_EQ(Edited("a: {b: {c: 1}, d: 3}\n", {.type = Type::kRemoveMember, .path = "a.b.c"}),
            "a: {b: {}, d: 3}\n");
  EXPECT_EQ(Edited("a: {b: {c: 1}, d: 3}\n",
                   {.type = Type::kReplaceMember, .path = "a.b", .key = "x", .value = "true"}),
            "a: {x: \"true\", d: 3}\n");
}

TEST(Apply, JsonStaysJson) {
  EXPECT_EQ(Edited(R"({"a": {"b": 1}})", {.path = "a.b", .value = Value(2)}), R"({"a": {"b": 2}})");
  EXPECT_EQ(Edited("{\"a\":{\"b\":1},\n \"c\":2}",
                   {.type = Type::kInsertMember, .path = "a", .key = "x", .value = "y"}),
            "{\"a\":{\"b\":1,\"x\":\"y\"},\n \"c\":2}");
}

TEST(Apply, ADocumentGoesWithOneSeparator) {
  const auto without = [](std::string_view text, std::size_t index) {
    const auto documents = json::ReadYaml(text);
    return Apply(text, documents->at(index), {.type = Type::kRemoveDocument}).value_or("?");
  };
  constexpr std::string_view kThree = "# one\na: 1\n---\n# two\nb: |\n  ---\n--- # three\nc: 3\n";
  EXPECT_EQ(without(kThree, 0), "# two\nb: |\n  ---\n--- # three\nc: 3\n");
  EXPECT_EQ(without(kThree, 1), "# one\na: 1\n--- # three\nc: 3\n");
  EXPECT_EQ(without(kThree, 2), "# one\na: 1\n---\n# two\nb: |\n  ---\n");
  EXPECT_EQ(without("a: 1\n", 0), "");
}

TEST(Apply, PlacesCountCodePoints) {
  EXPECT_EQ(Edited("ä: {ö: ü}\nb: \"é\"\n", {.path = "b", .value = "x"}), "ä: {ö: ü}\nb: \"x\"\n");
}

TEST(Apply, APathThatIsNotThereIsAnError) {
  const auto documents = json::ReadYaml("a: 1\n");
  EXPECT_FALSE(Apply("a: 1\n", documents->at(0), {.path = "b", .value = 1}).has_value());
}

}  // namespace
}  // namespace drachma::lint
