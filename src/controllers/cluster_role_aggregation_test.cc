#include "controllers/cluster_role_aggregation.h"

#include <gtest/gtest.h>

#include "controllers/test_cluster.h"
#include "json/json.h"

namespace drachma::controllers {
namespace {

const client::Resource kClusterRoles = {"rbac.authorization.k8s.io", "v1", "clusterroles"};

class AggregationTest : public testing::Test {
 protected:
  void Put(std::string_view text) {
    cluster_.api().Put(json::Read(text).value());
    cluster_.Run();
  }
  std::string Rules(std::string_view name) {
    return json::Write(cluster_.api().Get(kClusterRoles, "", name)["rules"]);
  }

  TestCluster cluster_{{"clusterrole-aggregation-controller"}};
};

TEST_F(AggregationTest, ARoleHasTheRulesOfThoseItSelects) {
  Put(R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole",
          "metadata":{"name":"all"},"aggregationRule":{"clusterRoleSelectors":[
          {"matchLabels":{"to":"all"}}]}})");
  EXPECT_EQ(Rules("all"), "null");
  Put(R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole",
          "metadata":{"name":"b","labels":{"to":"all"}},"rules":[{"verbs":["get"]}]})");
  Put(R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole",
          "metadata":{"name":"a","labels":{"to":"all"}},"rules":[{"verbs":["list"]},
          {"verbs":["get"]}]})");
  Put(R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole",
          "metadata":{"name":"c"},"rules":[{"verbs":["delete"]}]})");
  EXPECT_EQ(Rules("all"), R"([{"verbs":["list"]},{"verbs":["get"]}])");
}

}  // namespace
}  // namespace drachma::controllers
