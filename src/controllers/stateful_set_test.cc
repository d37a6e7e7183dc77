#include "controllers/stateful_set.h"

#include <gtest/gtest.h>

#include "controllers/test_cluster.h"

namespace drachma::controllers {
namespace {

using json::Value;
namespace resources = client::resources;

const client::Resource kStatefulSets = {"apps", "v1", "statefulsets"};
using Names = std::vector<std::string>;

class StatefulSetTest : public testing::Test {
 protected:
  void Create(const std::string& policy) {
    cluster_.api().Apply(R"(
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: s, namespace: default, generation: 1}
spec:
  replicas: 3
  podManagementPolicy: )" +
                         policy +
                         R"(
  selector: {matchLabels: {app: s}}
  template:
    metadata: {labels: {app: s}}
    spec: {containers: [{name: c, image: "a:1"}]}
)");
    cluster_.Run();
  }
  Names Pods() const { return cluster_.NamesOf(resources::kPods); }
  void Step() {
    cluster_.MakeAllReady();
    cluster_.Run();
  }
  void Change(const std::function<void(Value&)>& change) {
    cluster_.api().Change(kStatefulSets, "default", "s", change);
    cluster_.Run();
  }

  TestCluster cluster_{{"statefulset-controller"}};
};

TEST_F(StatefulSetTest, PodsComeOneByOneWhenTheOneBeforeIsReady) {
  Create("OrderedReady");
  EXPECT_EQ(Pods(), (Names{"s-0"}));
  Step();
  EXPECT_EQ(Pods(), (Names{"s-0", "s-1"}));
  Step();
  Step();
  EXPECT_EQ(Pods(), (Names{"s-0", "s-1", "s-2"}));
  EXPECT_EQ(cluster_.Get(kStatefulSets, "s")["status"]["readyReplicas"].AsInt(), 3);
}

TEST_F(StatefulSetTest, ParallelPodsComeAtOnce) {
  Create("Parallel");
  EXPECT_EQ(Pods(), (Names{"s-0", "s-1", "s-2"}));
}

TEST_F(StatefulSetTest, TheHighestOrdinalGoesFirst) {
  Create("Parallel");
  Step();
  Change([](Value& set) { set.Edit("spec").Set("replicas", 1); });
  EXPECT_EQ(Pods(), (Names{"s-0"}));
}

TEST_F(StatefulSetTest, AnUpdateStopsAtThePartition) {
  Create("Parallel");
  Step();
  Change([](Value& set) {
    set.Edit("spec").Edit("updateStrategy").Edit("rollingUpdate").Set("partition", 2);
  });
  cluster_.SetImage(kStatefulSets, "s", "a:2");
  Step();
  const auto image = [&](std::string_view pod) {
    return std::string(
        cluster_.Get(resources::kPods, pod)["spec"]["containers"].Items()[0]["image"].AsString());
  };
  EXPECT_EQ(image("s-2"), "a:2");
  EXPECT_EQ(image("s-1"), "a:1");
  EXPECT_EQ(cluster_.Get(kStatefulSets, "s")["status"]["updatedReplicas"].AsInt(), 1);
}

}  // namespace
}  // namespace drachma::controllers
