#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controllers/garbage_collector.h"
#include "controllers/test_cluster.h"

namespace drachma::controllers {
namespace {

namespace resources = client::resources;
using json::Value;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr std::string_view kFamily = R"(
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: owner, namespace: default, uid: uid-owner}
spec: {replicas: 0}
---
apiVersion: v1
kind: Pod
metadata:
  name: child
  namespace: default
  ownerReferences:
  - {apiVersion: apps/v1, kind: ReplicaSet, name: owner, uid: uid-owner, controller: true, blockOwnerDeletion: true}
spec: {containers: [{name: c}]}
)";

TEST(GarbageCollection, DependentsGoWithTheirLastOwner) {
  TestCluster cluster({"garbage-collector-controller"});
  cluster.api().Apply(kFamily);
  cluster.Run();
  EXPECT_THAT(cluster.NamesOf(resources::kPods), ElementsAre("child"));
  cluster.api().Remove(resources::kReplicaSets, "default", "owner");
  cluster.Run();
  EXPECT_THAT(cluster.NamesOf(resources::kPods), IsEmpty());
}

TEST(GarbageCollection, AnOwnerThatIsGoneWhenItStartsCountsToo) {
  TestCluster cluster({"garbage-collector-controller"});
  cluster.api().Apply(kFamily);
  cluster.api().Remove(resources::kReplicaSets, "default", "owner");
  cluster.Run();
  EXPECT_THAT(cluster.NamesOf(resources::kPods), IsEmpty());
}

TEST(GarbageCollection, BeginsThoughAKindThatIsNotThereCouldNotBeReadAtFirst) {
  TestCluster cluster({"garbage-collector-controller"});
  const auto lists_evictions = [](const client::Request& request) {
    return request.resource.plural == "evictions";
  };
  cluster.api().FailNext(lists_evictions, {.code = Code::kTimeout, .message = "too slow"});
  cluster.api().FailNext(lists_evictions, {.code = Code::kNotFound, .message = "not there"}, 100);
  cluster.api().Apply(R"(
apiVersion: v1
kind: ConfigMap
metadata:
  name: dependent
  namespace: default
  ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: owner, uid: gone}]
)");
  cluster.Run(std::chrono::seconds(5));
  EXPECT_THAT(cluster.NamesOf(resources::kConfigMaps), IsEmpty());
}

TEST(GarbageCollection, InTheForegroundTheOwnerWaitsForItsDependents) {
  TestCluster cluster({"garbage-collector-controller"});
  cluster.api().Apply(kFamily);
  cluster.api().Change(resources::kPods, "default", "child", [](Value& pod) {
    pod.Edit("metadata").Set("finalizers", Value::Array({"example.com/slow"}));
  });
  cluster.Run();
  cluster.MarkForDeletion(resources::kReplicaSets, "owner", kForegroundFinalizer);
  cluster.Run();
  EXPECT_TRUE(client::IsBeingDeleted(cluster.Get(resources::kPods, "child")));
  EXPECT_THAT(cluster.NamesOf(resources::kReplicaSets), ElementsAre("owner"));
  cluster.api().Remove(resources::kPods, "default", "child");
  cluster.Run();
  EXPECT_THAT(cluster.NamesOf(resources::kReplicaSets), IsEmpty());
}

constexpr std::string_view kCircle = R"(
apiVersion: v1
kind: ConfigMap
metadata:
  name: a1
  namespace: default
  uid: uid-a1
  deletionTimestamp: "2026-11-30T10:00:00Z"
  finalizers: [foregroundDeletion]
  ownerReferences:
  - {apiVersion: v1, kind: ConfigMap, name: LAST, uid: uid-LAST, blockOwnerDeletion: true}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: a2
  namespace: default
  uid: uid-a2
  ownerReferences:
  - {apiVersion: v1, kind: ConfigMap, name: a1, uid: uid-a1, blockOwnerDeletion: true}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: a3
  namespace: default
  uid: uid-a3
  ownerReferences:
  - {apiVersion: v1, kind: ConfigMap, name: a2, uid: uid-a2, blockOwnerDeletion: true}
)";

// Runs the circle a1 ← a2 … ← `last` ← a1 whose a1 was deleted in the foreground.
std::vector<std::string> LeftOfCircle(const std::string& last) {
  std::string yaml(kCircle);
  for (auto at = yaml.find("LAST"); at != std::string::npos; at = yaml.find("LAST")) {
    yaml.replace(at, 4, last);
  }
  TestCluster cluster({"garbage-collector-controller"});
  // What the API server does with this policy.
  cluster.api().OnRequest([&](const client::Request& request) {
    if (request.verb != client::Verb::kDelete ||
        request.body["propagationPolicy"].AsString() != "Foreground") {
      return;
    }
    cluster.api().Change(request.resource, request.ns, request.name, [](Value& object) {
      object.Edit("metadata").Set("finalizers", Value::Array({kForegroundFinalizer}));
    });
  });
  cluster.api().Apply(yaml);
  cluster.Run();
  return cluster.NamesOf(resources::kConfigMaps);
}

TEST(GarbageCollection, InTheForegroundTwoThatOwnEachOtherGo) {
  EXPECT_THAT(LeftOfCircle("a2"), IsEmpty());
}

TEST(GarbageCollection, InTheForegroundALongerCircleGoesToo) {
  EXPECT_THAT(LeftOfCircle("a3"), IsEmpty());
}

TEST(GarbageCollection, OrphansLoseTheirOwnerAndStay) {
  TestCluster cluster({"garbage-collector-controller"});
  cluster.api().Apply(kFamily);
  cluster.Run();
  cluster.MarkForDeletion(resources::kReplicaSets, "owner", kOrphanFinalizer);
  cluster.Run();
  EXPECT_THAT(cluster.NamesOf(resources::kReplicaSets), IsEmpty());
  EXPECT_TRUE(cluster.Get(resources::kPods, "child")["metadata"]["ownerReferences"].empty());
}

TEST(GarbageCollection, AnOwnerOfAnUnknownKindKeepsItsDependents) {
  TestCluster cluster({"garbage-collector-controller"});
  cluster.api().Apply(R"(
apiVersion: v1
kind: Pod
metadata:
  name: child
  namespace: default
  ownerReferences: [{apiVersion: example.com/v1, kind: Thing, name: t, uid: uid-t}]
spec: {containers: [{name: c}]}
)");
  cluster.Run();
  EXPECT_THAT(cluster.NamesOf(resources::kPods), ElementsAre("child"));
}

constexpr std::string_view kNamespace = R"(
apiVersion: v1
kind: Namespace
metadata: {name: default, deletionTimestamp: "2026-11-30T09:00:00Z"}
spec: {finalizers: [kubernetes]}
status: {phase: Terminating}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: default}
)";

TEST(NamespaceDeletion, EmptiesTheNamespaceAndLetsItGo) {
  TestCluster cluster({"namespace-controller"});
  cluster.api().Apply(kNamespace);
  cluster.Run();
  EXPECT_THAT(cluster.NamesOf(resources::kConfigMaps), IsEmpty());
  EXPECT_TRUE(
      cluster.api().Get(resources::kNamespaces, "", "default")["spec"]["finalizers"].empty());
}

TEST(NamespaceDefaults, EveryNamespaceGetsItsServiceAccount) {
  TestCluster cluster({"serviceaccount-controller"});
  cluster.api().Apply("{apiVersion: v1, kind: Namespace, metadata: {name: default}}");
  cluster.Run();
  EXPECT_THAT(cluster.NamesOf(resources::kServiceAccounts), ElementsAre("default"));
  cluster.api().Remove(resources::kServiceAccounts, "default", "default");
  cluster.Run();
  EXPECT_THAT(cluster.NamesOf(resources::kServiceAccounts), ElementsAre("default"));
}

constexpr std::string_view kNode = R"(
apiVersion: v1
kind: Node
metadata: {name: n1, creationTimestamp: "2026-11-30T10:00:00Z"}
spec: {}
status: {conditions: [{type: Ready, status: "True", lastHeartbeatTime: "2026-11-30T10:00:00Z"}]}
)";

TEST(NodeLifecycle, ASilentNodeBecomesUnreachable) {
  TestCluster cluster({"node-lifecycle-controller"}, true);
  cluster.api().Apply(kNode);
  cluster.Run(std::chrono::seconds(45));
  EXPECT_TRUE(cluster.api().Get(resources::kNodes, "", "n1")["spec"]["taints"].empty());
  cluster.Run(std::chrono::seconds(10));
  const Value node = cluster.api().Get(resources::kNodes, "", "n1");
  EXPECT_EQ((*client::ConditionOf(node, "Ready"))["status"].AsString(), "Unknown");
  EXPECT_EQ(node["spec"]["taints"].Items()[0]["key"].AsString(), "node.kubernetes.io/unreachable");
}

TEST(NodeLifecycle, TheClockOfAKubeletMayBeOff) {
  TestCluster cluster({"node-lifecycle-controller"}, true);
  cluster.api().Apply(kNode);
  cluster.api().Apply(R"(
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: n1, namespace: kube-node-lease}
spec: {holderIdentity: n1, leaseDurationSeconds: 40, renewTime: "2026-11-30T08:00:00.000000Z"}
)");
  for (int renewed = 0; renewed < 12; ++renewed) {
    cluster.Run(std::chrono::seconds(10));
    cluster.api().Change(resources::kLeases, "kube-node-lease", "n1", [&](Value& lease) {
      lease.Edit("spec").Set("renewTime", fmt::format("2026-11-30T08:00:{}.000000Z", 10 + renewed));
    });
  }
  cluster.Run();
  EXPECT_TRUE(cluster.api().Get(resources::kNodes, "", "n1")["spec"]["taints"].empty());
}

TEST(PodCollection, PodsOfANodeThatIsGoneGoAfterAWhile) {
  TestCluster cluster({"pod-garbage-collector-controller"});
  cluster.api().Apply(R"(
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: default}
spec: {nodeName: gone, containers: [{name: c}]}
status: {phase: Running}
)");
  cluster.Run(std::chrono::seconds(30));
  EXPECT_THAT(cluster.NamesOf(resources::kPods), ElementsAre("p"));
  cluster.Run(std::chrono::seconds(30));
  EXPECT_THAT(cluster.NamesOf(resources::kPods), IsEmpty());
}

TEST(PodCollection, APodWithoutANodeFailsBeforeItGoes) {
  TestCluster cluster({"pod-garbage-collector-controller"});
  cluster.api().Apply(R"(
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: default}
spec: {containers: [{name: c}]}
status: {phase: Pending}
)");
  cluster.MarkForDeletion(resources::kPods, "p", "batch.kubernetes.io/job-tracking");
  cluster.api().Change(resources::kPods, "default", "p", [](Value& pod) {
    pod.Edit("metadata").Set("deletionGracePeriodSeconds", 0);
  });
  cluster.Run();
  EXPECT_EQ(cluster.Get(resources::kPods, "p")["status"]["phase"].AsString(), "Failed");
}

}  // namespace
}  // namespace drachma::controllers
