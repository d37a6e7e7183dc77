#include "controllers/daemon_set.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "controllers/test_cluster.h"
#include "json/json.h"

namespace drachma::controllers {
namespace {

using json::Value;
namespace resources = client::resources;

const client::Resource kDaemonSets = {"apps", "v1", "daemonsets"};

class DaemonSetTest : public testing::Test {
 protected:
  DaemonSetTest() {
    cluster_.api().Apply(R"(
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {gpu: "yes"}}
---
apiVersion: v1
kind: Node
metadata: {name: n2, labels: {gpu: "yes"}}
---
apiVersion: v1
kind: Node
metadata: {name: n3}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: d, namespace: default, generation: 1}
spec:
  selector: {matchLabels: {app: d}}
  updateStrategy: {type: RollingUpdate, rollingUpdate: {maxUnavailable: 1, maxSurge: 0}}
  template:
    metadata: {labels: {app: d}}
    spec:
      nodeSelector: {gpu: "yes"}
      containers: [{name: c, image: "a:1"}]
)");
    cluster_.Run();
  }
  // Node names of the pods, in order.
  std::vector<std::string> Nodes() const {
    std::vector<std::string> nodes;
    for (const Value& pod : cluster_.api().List(resources::kPods)) {
      const Value& terms =
          pod.At({"spec", "affinity", "nodeAffinity",
                  "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"});
      nodes.emplace_back(
          terms.Items()[0]["matchFields"].Items()[0]["values"].Items()[0].AsString());
    }
    std::ranges::sort(nodes);
    return nodes;
  }
  Value Status() const { return cluster_.Get(kDaemonSets, "d")["status"]; }

  mutable TestCluster cluster_{{"daemonset-controller"}};
};

TEST_F(DaemonSetTest, EveryNodeThatFitsGetsOnePod) {
  EXPECT_EQ(Nodes(), (std::vector<std::string>{"n1", "n2"}));
  EXPECT_EQ(Status()["desiredNumberScheduled"].AsInt(), 2);
}

TEST_F(DaemonSetTest, NodesThatComeAndChangeAreFollowed) {
  cluster_.api().Change(resources::kNodes, "", "n3", [](Value& node) {
    node.Edit("metadata").Edit("labels").Set("gpu", "yes");
  });
  cluster_.api().Change(resources::kNodes, "", "n1",
                        [](Value& node) { node.Edit("metadata").Edit("labels").Erase("gpu"); });
  cluster_.Run();
  EXPECT_EQ(Nodes(), (std::vector<std::string>{"n2", "n3"}));
}

TEST_F(DaemonSetTest, AnUpdateReplacesOneUnavailablePodAtATime) {
  cluster_.MakeAllReady();
  cluster_.Run();
  EXPECT_EQ(Status()["numberAvailable"].AsInt(), 2);
  cluster_.SetImage(kDaemonSets, "d", "a:2");
  cluster_.Run();
  EXPECT_EQ(Status()["updatedNumberScheduled"].AsInt(), 1);
  EXPECT_EQ(Nodes().size(), 2U);
  cluster_.MakeAllReady();
  cluster_.Run();
  EXPECT_EQ(Status()["updatedNumberScheduled"].AsInt(), 2);
}

}  // namespace
}  // namespace drachma::controllers
