#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controllers/garbage_collector.h"
#include "controllers/kinds.h"
#include "controllers/test_cluster.h"

// Kinds that CustomResourceDefinitions define while the controllers run.

namespace drachma::controllers {
namespace {

namespace resources = client::resources;
using json::Value;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const client::Resource kWidgets = {"example.com", "v1", "widgets"};

constexpr std::string_view kDefinition = R"(
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets}
  versions: [{name: v1, served: true, storage: true}]
status: {conditions: [{type: Established, status: "True"}]}
)";

// A pod owned by a widget, which a ConfigMap owns.
constexpr std::string_view kFamily = R"(
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: default, uid: uid-settings}
---
apiVersion: example.com/v1
kind: Widget
metadata:
  name: w
  namespace: default
  uid: uid-w
  ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: settings, uid: uid-settings}]
---
apiVersion: v1
kind: Pod
metadata:
  name: child
  namespace: default
  ownerReferences:
  - {apiVersion: example.com/v1, kind: Widget, name: w, uid: uid-w, blockOwnerDeletion: true}
spec: {containers: [{name: c}]}
)";

class CustomOwners : public testing::Test {
 protected:
  // The kind comes while the collector is at work.
  CustomOwners() : cluster_({"garbage-collector-controller"}) {
    cluster_.Run();
    cluster_.api().Apply(kDefinition);
    cluster_.api().Apply(kFamily);
    cluster_.Run();
  }

  TestCluster cluster_;
};

TEST_F(CustomOwners, DependentsOfEitherKindGoWithTheirOwners) {
  EXPECT_THAT(cluster_.NamesOf(kWidgets), ElementsAre("w"));
  EXPECT_THAT(cluster_.NamesOf(resources::kPods), ElementsAre("child"));
  cluster_.api().Remove(resources::kConfigMaps, "default", "settings");
  cluster_.Run();
  EXPECT_THAT(cluster_.NamesOf(kWidgets), IsEmpty());
  EXPECT_THAT(cluster_.NamesOf(resources::kPods), IsEmpty());
}

TEST_F(CustomOwners, WaitForTheirDependentsInTheForeground) {
  cluster_.api().Change(resources::kPods, "default", "child", [](Value& pod) {
    pod.Edit("metadata").Set("finalizers", Value::Array({"example.com/slow"}));
  });
  cluster_.MarkForDeletion(kWidgets, "w", kForegroundFinalizer);
  cluster_.Run();
  EXPECT_TRUE(client::IsBeingDeleted(cluster_.Get(resources::kPods, "child")));
  EXPECT_THAT(cluster_.NamesOf(kWidgets), ElementsAre("w"));
  cluster_.api().Remove(resources::kPods, "default", "child");
  cluster_.Run();
  EXPECT_THAT(cluster_.NamesOf(kWidgets), IsEmpty());
}

TEST_F(CustomOwners, LetTheirOrphansStay) {
  cluster_.MarkForDeletion(kWidgets, "w", kOrphanFinalizer);
  cluster_.Run();
  EXPECT_THAT(cluster_.NamesOf(kWidgets), IsEmpty());
  EXPECT_TRUE(cluster_.Get(resources::kPods, "child")["metadata"]["ownerReferences"].empty());
}

TEST_F(CustomOwners, TakeTheirDependentsAlongWhenTheirDefinitionGoes) {
  cluster_.api().Remove(kDefinitions, "", "widgets.example.com");
  cluster_.Run();
  EXPECT_THAT(cluster_.NamesOf(resources::kPods), IsEmpty());
}

TEST_F(CustomOwners, LiveOnWhenTheirDefinitionMovesToAnotherVersion) {
  const client::Resource later = {"example.com", "v2", "widgets"};
  Value widget = cluster_.Get(kWidgets, "w");
  widget.Set("apiVersion", "example.com/v2");
  cluster_.api().Put(widget);
  cluster_.api().Change(kDefinitions, "", "widgets.example.com", [](Value& definition) {
    definition.Edit("spec").Set(
        "versions",
        Value::Array({Value::Object({{"name", "v1"}, {"served", true}}),
                      Value::Object({{"name", "v2"}, {"served", true}, {"storage", true}})}));
  });
  cluster_.Run();
  EXPECT_THAT(cluster_.NamesOf(resources::kPods), ElementsAre("child"));
  cluster_.api().Remove(later, "default", "w");
  cluster_.Run();
  EXPECT_THAT(cluster_.NamesOf(resources::kPods), IsEmpty());
}

TEST(CustomKinds, AnOwnerThatWentBeforeItsKindWasKnownIsMissed) {
  TestCluster cluster({"garbage-collector-controller"});
  cluster.api().Apply(kFamily);
  cluster.api().Remove(kWidgets, "default", "w");
  cluster.Run();
  EXPECT_THAT(cluster.NamesOf(resources::kPods), ElementsAre("child"));
  cluster.api().Apply(kDefinition);
  cluster.Run();
  EXPECT_THAT(cluster.NamesOf(resources::kPods), IsEmpty());
}

constexpr std::string_view kNamespace = R"(
apiVersion: v1
kind: Namespace
metadata: {name: default, deletionTimestamp: "2026-11-30T09:00:00Z", finalizers: [a/stays]}
spec: {finalizers: [kubernetes]}
status: {phase: Terminating}
---
apiVersion: example.com/v1
kind: Widget
metadata: {name: w, namespace: default, finalizers: [example.com/hold]}
)";

Value NamespaceOf(TestCluster& cluster) {
  return cluster.api().Get(resources::kNamespaces, "", "default");
}
Value Condition(TestCluster& cluster, std::string_view type) {
  const Value ns = NamespaceOf(cluster);
  const Value* condition = client::ConditionOf(ns, type);
  return condition == nullptr ? Value() : *condition;
}

TEST(CustomKinds, ANamespaceWaitsForItsCustomResources) {
  TestCluster cluster({"namespace-controller"});
  cluster.api().Apply(kDefinition);
  cluster.api().Apply(kNamespace);
  cluster.Run(std::chrono::seconds(2));
  EXPECT_TRUE(client::IsBeingDeleted(cluster.Get(kWidgets, "w")));
  EXPECT_EQ(Condition(cluster, "NamespaceContentRemaining")["message"].AsString(),
            "Some resources are remaining: widgets.example.com has 1 resource instances");
  EXPECT_EQ(Condition(cluster, "NamespaceFinalizersRemaining")["message"].AsString(),
            "Some content in the namespace has finalizers remaining: example.com/hold in 1 "
            "resource instances");
  cluster.api().Remove(kWidgets, "default", "w");
  cluster.Run();
  EXPECT_TRUE(NamespaceOf(cluster)["spec"]["finalizers"].empty());
}

TEST(CustomKinds, ANamespaceStaysWhileAKindCannotBeRead) {
  TestCluster cluster({"namespace-controller"});
  cluster.api().Apply(kDefinition);
  cluster.api().Apply(kNamespace);
  cluster.api().Remove(kWidgets, "default", "w");
  cluster.api().FailNext([](const client::Request& r) { return r.resource == kWidgets; },
                         {.code = Code::kNotFound, .message = "not found"}, 3);
  cluster.Run(std::chrono::milliseconds(2500));
  EXPECT_EQ(NamespaceOf(cluster)["spec"]["finalizers"].size(), 1U);
  const Value failure = Condition(cluster, "NamespaceDeletionDiscoveryFailure");
  EXPECT_EQ(failure["status"].AsString(), "True");
  EXPECT_THAT(std::string(failure["message"].AsString()), HasSubstr("example.com/v1: the server"));
  cluster.Run(std::chrono::seconds(3));
  EXPECT_TRUE(NamespaceOf(cluster)["spec"]["finalizers"].empty());
}

TEST(CustomKinds, ANamespaceSaysWhatCouldNotBeDeleted) {
  TestCluster cluster({"namespace-controller"});
  cluster.api().Apply(kDefinition);
  cluster.api().Apply(kNamespace);
  cluster.api().FailNext(
      [](const client::Request& r) { return r.verb == client::Verb::kDeleteCollection; },
      {.code = Code::kInternal, .message = "no disk"}, 1'000);
  cluster.Run(std::chrono::seconds(2));
  const Value failure = Condition(cluster, "NamespaceDeletionContentFailure");
  EXPECT_EQ(failure["reason"].AsString(), "ContentDeletionFailed");
  EXPECT_EQ(failure["message"].AsString(),
            "Failed to delete all resource types, 1 remaining: no disk");
}

TEST(CustomKinds, AQuotaCountsThem) {
  TestCluster cluster({"resourcequota-controller"});
  cluster.api().Apply(R"(
apiVersion: v1
kind: ResourceQuota
metadata: {name: q, namespace: default}
spec: {hard: {count/widgets.example.com: "3"}}
)");
  cluster.Run();
  const auto used = [&] {
    return std::string(
        cluster.Get(resources::kResourceQuotas, "q")["status"]["used"]["count/widgets.example.com"]
            .AsString());
  };
  EXPECT_EQ(used(), "");
  cluster.api().Apply(kDefinition);
  cluster.Run();
  EXPECT_EQ(used(), "0");
  cluster.api().Apply(kFamily);
  cluster.Run();
  EXPECT_EQ(used(), "1");
  cluster.api().Remove(kDefinitions, "", "widgets.example.com");
  cluster.Run();
  EXPECT_EQ(used(), "0");
}

}  // namespace
}  // namespace drachma::controllers
