#include "apiserver/node_authorizer.h"

#include <gtest/gtest.h>

#include "apiserver/bootstrap_objects.h"
#include "apiserver/core.h"
#include "apiserver/fake_object_reader.h"
#include "client/objects.h"

namespace drachma::apiserver {
namespace {

class NodeTest : public testing::Test {
 protected:
  NodeTest() {
    for (const std::string_view text : BootstrapObjects()) {
      if (text.find(R"("kind":"ClusterRole","metadata")") != std::string_view::npos)
        objects_.Add("clusterroles", text);
    }
    objects_.Add("pods", R"({"metadata":{"namespace":"a","name":"p","uid":"u"},
        "spec":{"nodeName":"n1","resourceClaims":[{"name":"x","resourceClaimName":"c1"},
          {"name":"y","resourceClaimTemplateName":"t"}],
          "containers":[{"envFrom":[{"secretRef":{"name":"s1"}}]}],
          "volumes":[{"projected":{"sources":[{"configMap":{"name":"m1"}}]}}]},
        "status":{"resourceClaimStatuses":[{"name":"y","resourceClaimName":"c2"}]}})");
    objects_.Add("resourceslices", R"({"metadata":{"name":"s"},"spec":{"nodeName":"n1"}})");
  }

  // "allow", or the reason of the refusal.
  std::string Ask(std::string node, std::string verb, std::string group, std::string resource,
                  std::string name, std::string ns = "", std::string field_selector = "") {
    NodeAuthorizer authorizer(objects_);
    std::string reason;
    const Decision decision = authorizer.Authorize({.user = NodeUser(node),
                                                    .verb = std::move(verb),
                                                    .group = std::move(group),
                                                    .resource = std::move(resource),
                                                    .ns = std::move(ns),
                                                    .name = std::move(name),
                                                    .field_selector = std::move(field_selector)},
                                                   reason);
    return decision == Decision::kAllow ? "allow" : reason;
  }

  FakeObjectReader objects_;
};

constexpr const char* kDra = "resource.k8s.io";

TEST_F(NodeTest, ANodeReadsWhatItsPodsReferTo) {
  EXPECT_EQ(Ask("n1", "get", kDra, "resourceclaims", "c1", "a"), "allow");
  EXPECT_EQ(Ask("n1", "get", kDra, "resourceclaims", "c2", "a"), "allow");
  EXPECT_EQ(Ask("n1", "get", "", "secrets", "s1", "a"), "allow");
  EXPECT_EQ(Ask("n1", "watch", "", "configmaps", "m1", "a"), "allow");
  EXPECT_EQ(Ask("n2", "get", kDra, "resourceclaims", "c1", "a"),
            "node: no relationship found between node 'n2' and this object");
  EXPECT_EQ(Ask("n1", "list", kDra, "resourceclaims", "", "a"),
            "node: can only get individual resources of this type");
}

TEST_F(NodeTest, ANodeSeesItsOwnSlices) {
  EXPECT_EQ(Ask("n1", "update", kDra, "resourceslices", "s"), "allow");
  EXPECT_NE(Ask("n2", "update", kDra, "resourceslices", "s"), "allow");
  EXPECT_EQ(Ask("n1", "list", kDra, "resourceslices", "", "", "spec.driver=d,spec.nodeName=n1"),
            "allow");
  EXPECT_EQ(
      Ask("n1", "list", kDra, "resourceslices", ""),
      "node: can only list/watch/deletecollection resourceslices with nodeName field selector");
}

TEST_F(NodeTest, TheRestIsTheRoleOfNodes) {
  EXPECT_EQ(Ask("n1", "create", "", "events", "", "a"), "allow");
  EXPECT_EQ(Ask("n1", "list", "", "services", ""), "allow");
  EXPECT_NE(Ask("n1", "create", "apps", "deployments", "", "a"), "allow");
}

TEST_F(NodeTest, OthersAreNobodysBusiness) {
  NodeAuthorizer authorizer(objects_);
  std::string reason;
  EXPECT_EQ(authorizer.Authorize({.user = AdminUser(), .verb = "get", .resource = "pods"}, reason),
            Decision::kNoOpinion);
  EXPECT_TRUE(reason.empty());
}

// The message of NodeRestriction's refusal; empty when it admits.
std::string Restricted(AdmissionRequest request, const FakeObjectReader& objects) {
  const Status status = NodeRestriction().Admit(request, objects);
  return status ? "" : status.error().message;
}

TEST_F(NodeTest, ASliceMustBeOfTheNode) {
  AdmissionRequest request{
      .group = kDra, .resource = "resourceslices", .name = "s", .user = NodeUser("n1")};
  request.object = json::Read(R"({"spec":{"nodeName":"n2"}})").value();
  EXPECT_EQ(Restricted(request, objects_),
            "resourceslices.resource.k8s.io \"s\" is forbidden: can only create ResourceSlice with "
            "the same NodeName as the requesting node");
  request.object = json::Read(R"({"spec":{"nodeName":"n1"}})").value();
  EXPECT_EQ(Restricted(request, objects_), "");
}

TEST_F(NodeTest, AKubeletLeavesClaimStatusesAlone) {
  const json::Value pod = objects_.Get("", "pods", "a", "p");
  AdmissionRequest request{.operation = Operation::kUpdate,
                           .resource = "pods",
                           .subresource = "status",
                           .ns = "a",
                           .name = "p",
                           .user = NodeUser("n1"),
                           .object = pod,
                           .old_object = pod};
  request.object.Edit("status").Set("phase", "Running");
  EXPECT_EQ(Restricted(request, objects_), "");
  request.object.Edit("status").Erase("resourceClaimStatuses");
  EXPECT_EQ(Restricted(request, objects_),
            "pods \"p\" is forbidden: node \"n1\" cannot update resource claim statues");
}

TEST_F(NodeTest, ANodeDoesNotLabelItselfIntoTrust) {
  AdmissionRequest request{.operation = Operation::kUpdate,
                           .resource = "nodes",
                           .name = "n1",
                           .user = NodeUser("n1"),
                           .object = json::Read(R"({"metadata":{"labels":{
                               "node-restriction.kubernetes.io/fips":"yes",
                               "kubernetes.io/hostname":"n1","zone":"a"}}})")
                                         .value()};
  EXPECT_EQ(Restricted(request, objects_),
            "nodes \"n1\" is forbidden: is not allowed to modify labels: "
            "node-restriction.kubernetes.io/fips");
}

TEST(AttributesTest, AListThatSelectsOneNameIsAboutThatObject) {
  const auto name_of = [](client::Verb verb, std::string field_selector) {
    ApiRequest request;
    request.call = {.verb = verb,
                    .resource = client::resources::kNodes,
                    .field_selector = std::move(field_selector)};
    return Core::AttributesOf(request).name;
  };
  EXPECT_EQ(name_of(client::Verb::kWatch, "metadata.name=n1"), "n1");
  EXPECT_EQ(name_of(client::Verb::kList, "spec.unschedulable=false,metadata.name=n1"), "n1");
  EXPECT_EQ(name_of(client::Verb::kList, "metadata.name!=n1"), "");
  EXPECT_EQ(name_of(client::Verb::kList, "metadata.name=n1/status"), "");
  EXPECT_EQ(name_of(client::Verb::kDeleteCollection, "metadata.name=n1"), "");
}

}  // namespace
}  // namespace drachma::apiserver
