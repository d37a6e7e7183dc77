#include "controllers/disruption.h"

#include <gtest/gtest.h>

#include "controllers/test_cluster.h"

namespace drachma::controllers {
namespace {

using json::Value;

const client::Resource kBudgets = {"policy", "v1", "poddisruptionbudgets"};

class DisruptionTest : public testing::Test {
 protected:
  void Create(const std::string& rule) {
    cluster_.api().Apply(R"(
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: r, namespace: default, uid: r}
spec: {replicas: 3}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: b, namespace: default, generation: 1}
spec: {selector: {matchLabels: {app: a}}, )" +
                         rule + "}\n");
    const std::string uid(client::UidOf(cluster_.Get(client::resources::kReplicaSets, "r")));
    for (const char* name : {"p1", "p2", "p3"}) {
      cluster_.api().Apply(std::string(R"(
apiVersion: v1
kind: Pod
metadata:
  namespace: default
  labels: {app: a}
  ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: r, controller: true, uid: )") +
                           uid + "}]\n  name: " + name + "\n");
    }
    cluster_.MakeAllReady();
    cluster_.Run();
  }
  std::int64_t Status(std::string_view field) const {
    return cluster_.Get(kBudgets, "b")["status"][field].AsInt(-1);
  }

  TestCluster cluster_{{"disruption-controller"}};
};

TEST_F(DisruptionTest, WhatIsAboveTheMinimumMayGo) {
  Create("minAvailable: 2");
  EXPECT_EQ(Status("disruptionsAllowed"), 1);
  EXPECT_EQ(Status("currentHealthy"), 3);
  cluster_.api().Remove(client::resources::kPods, "default", "p1");
  cluster_.Run();
  EXPECT_EQ(Status("disruptionsAllowed"), 0);
}

TEST_F(DisruptionTest, SharesCountTheReplicasAskedFor) {
  Create("maxUnavailable: 50%");
  EXPECT_EQ(Status("expectedPods"), 3);
  EXPECT_EQ(Status("disruptionsAllowed"), 2);
}

TEST_F(DisruptionTest, AGrantedEvictionCountsUntilItTimesOut) {
  Create("minAvailable: 2");
  cluster_.api().Change(kBudgets, "default", "b", [](Value& budget) {
    budget.Edit("status").Edit("disruptedPods").Set("p1", "2026-11-30T10:00:00Z");
  });
  cluster_.Run();
  EXPECT_EQ(Status("disruptionsAllowed"), 0);
  cluster_.Run(std::chrono::minutes(3));
  EXPECT_EQ(Status("disruptionsAllowed"), 1);
}

}  // namespace
}  // namespace drachma::controllers
