#include "apiserver/rbac.h"

#include <gtest/gtest.h>

#include "apiserver/bootstrap_objects.h"
#include "json/json.h"

namespace drachma::apiserver {
namespace {

using json::Value;

// The bootstrap objects, and what a test adds.
class Objects final : public ObjectReader {
 public:
  Objects() {
    for (const std::string_view text : BootstrapObjects()) Add(json::Read(text).value());
  }
  void Add(Value object) { objects_.push_back(std::move(object)); }

  [[nodiscard]] Value Get(std::string_view, std::string_view plural, std::string_view ns,
                          std::string_view name) const override {
    Value found;
    ForEach("", plural, ns, [&](const Value& object) {
      if (object["metadata"]["name"].AsString() == name) found = object;
    });
    return found;
  }
  void ForEach(std::string_view, std::string_view plural, std::string_view ns,
               const std::function<void(const Value&)>& visit) const override {
    for (const Value& object : objects_) {
      std::string own = std::string(object["kind"].AsString()) + "s";
      for (char& c : own) c = static_cast<char>(std::tolower(c));
      const bool here = ns.empty() || object["metadata"]["namespace"].AsString() == ns;
      if (own == plural && here) visit(object);
    }
  }

 private:
  std::vector<Value> objects_;
};

Attributes Ask(User user, std::string verb, std::string group, std::string resource,
               std::string subresource = "", std::string ns = "") {
  return {.user = std::move(user),
          .verb = std::move(verb),
          .group = std::move(group),
          .version = "v1",
          .resource = std::move(resource),
          .subresource = std::move(subresource),
          .ns = std::move(ns)};
}

bool Allowed(RbacAuthorizer& authorizer, const Attributes& attributes) {
  std::string reason;
  return authorizer.Authorize(attributes, reason) == Decision::kAllow;
}

TEST(Rbac, TheSchedulerHasUpstreamsRights) {
  const Objects objects;
  RbacAuthorizer authorizer(objects);
  const User scheduler = ComponentUser("system:kube-scheduler");
  const std::string dra = "resource.k8s.io";
  EXPECT_TRUE(Allowed(authorizer, Ask(scheduler, "update", dra, "resourceclaims", "status", "a")));
  EXPECT_TRUE(Allowed(authorizer, Ask(scheduler, "update", dra, "resourceclaims", "binding")));
  EXPECT_TRUE(Allowed(authorizer, Ask(scheduler, "list", dra, "resourceslices")));
  EXPECT_FALSE(Allowed(authorizer, Ask(scheduler, "create", dra, "resourceslices")));
  EXPECT_FALSE(Allowed(authorizer, Ask(scheduler, "create", "apps", "deployments", "", "a")));
}

TEST(Rbac, ARoleCountsOnlyInItsNamespace) {
  Objects objects;
  objects.Add(json::Read(R"({"kind":"Role","metadata":{"namespace":"a","name":"r"},"rules":[
      {"apiGroups":[""],"resources":["pods","*/scale"],"resourceNames":["p"],"verbs":["get"]}]})")
                  .value());
  objects.Add(json::Read(R"({"kind":"RoleBinding","metadata":{"namespace":"a","name":"b"},
      "subjects":[{"kind":"ServiceAccount","name":"s"}],"roleRef":{"kind":"Role","name":"r"}})")
                  .value());
  RbacAuthorizer authorizer(objects);
  Attributes ask = Ask(ServiceAccountUser("a", "s"), "get", "", "pods", "", "a");
  EXPECT_FALSE(Allowed(authorizer, ask));  // resourceNames names another
  ask.name = "p";
  EXPECT_TRUE(Allowed(authorizer, ask));
  ask.ns = "b";
  EXPECT_FALSE(Allowed(authorizer, ask));
  ask = Ask(ServiceAccountUser("b", "s"), "get", "", "pods", "", "a");
  ask.name = "p";
  EXPECT_FALSE(Allowed(authorizer, ask));
}

TEST(Rbac, AMissingRoleIsNamed) {
  Objects objects;
  objects.Add(json::Read(R"({"kind":"ClusterRoleBinding","metadata":{"name":"b"},
      "subjects":[{"kind":"User","name":"u"}],"roleRef":{"kind":"ClusterRole","name":"gone"}})")
                  .value());
  RbacAuthorizer authorizer(objects);
  std::string reason;
  EXPECT_EQ(authorizer.Authorize(Ask({.name = "u"}, "get", "", "pods"), reason),
            Decision::kNoOpinion);
  EXPECT_EQ(reason, "RBAC: clusterrole.rbac.authorization.k8s.io \"gone\" not found");
}

TEST(Rbac, PathsMayEndInAStar) {
  const Rule rule{.verbs = {"get"}, .non_resource_urls = {"/api/*", "/version"}};
  Attributes ask{.verb = "get", .is_resource = false, .path = "/api/v1"};
  EXPECT_TRUE(RuleAllows(rule, ask));
  ask.path = "/version/x";
  EXPECT_FALSE(RuleAllows(rule, ask));
}

TEST(Rbac, ChangesCountAfterInvalidate) {
  Objects objects;
  RbacAuthorizer authorizer(objects);
  const Attributes ask = Ask({.name = "u"}, "get", "", "pods");
  EXPECT_FALSE(Allowed(authorizer, ask));
  objects.Add(json::Read(R"({"kind":"ClusterRoleBinding","metadata":{"name":"b"},
      "subjects":[{"kind":"User","name":"u"}],
      "roleRef":{"kind":"ClusterRole","name":"cluster-admin"}})")
                  .value());
  authorizer.Invalidate();
  EXPECT_TRUE(Allowed(authorizer, ask));
}

TEST(RbacEscalation, NobodyGivesAwayWhatHeDoesNotHave) {
  Objects objects;
  RbacAuthorizer authorizer(objects);
  RbacEscalation plugin(authorizer);
  AdmissionRequest request{
      .operation = Operation::kCreate,
      .group = "rbac.authorization.k8s.io",
      .version = "v1",
      .resource = "clusterroles",
      .name = "mine",
      .user = {.name = "u", .groups = {"system:authenticated"}},
      .object = json::Read(R"({"rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["get"]}]})")
                    .value()};
  const Status refused = plugin.Validate(request, objects);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().message,
            "clusterroles.rbac.authorization.k8s.io \"mine\" is forbidden: user \"u\" "
            "(groups=[\"system:authenticated\"]) is attempting to grant RBAC permissions not "
            "currently held:\n{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"get\"]}");
  request.user = AdminUser();
  EXPECT_TRUE(plugin.Validate(request, objects).has_value());
}

}  // namespace
}  // namespace drachma::apiserver
