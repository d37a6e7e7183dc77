#include "apiserver/fleet_authorizer.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "apiserver/rbac.h"

namespace drachma::apiserver {
namespace {

const std::string& DriverUser() {
  static const std::string name = ServiceAccountUser("kube-system", kDriverAccount).name;
  return name;
}
const std::string& ComputeDomainUser() {
  static const std::string name = ServiceAccountUser("kube-system", kComputeDomainAccount).name;
  return name;
}

Rule Allow(std::vector<std::string> verbs, std::string group, std::vector<std::string> resources) {
  return {.verbs = std::move(verbs),
          .api_groups = {std::move(group)},
          .resources = std::move(resources),
          .resource_names = {},
          .non_resource_urls = {}};
}

// Impersonating a node or the drivers needs the right to do so and, per request, the right to do
// it that way; what nodes themselves may do is asked after that.
const std::vector<Rule>& FleetRules() {
  static const std::vector<Rule> rules = {
      {.verbs = {"get", "list", "watch"},
       .api_groups = {""},
       .resources = {"nodes", "pods"},
       .resource_names = {},
       .non_resource_urls = {}},
      {.verbs = {"get", "list", "watch"},
       .api_groups = {"resource.k8s.io"},
       .resources = {"resourceslices"},
       .resource_names = {},
       .non_resource_urls = {}},
      Allow({"get", "list", "watch"}, "resource.nvidia.com",
            {"computedomains", "computedomaincliques"}),
      Allow({"get", "list", "watch", "create"}, "apiextensions.k8s.io",
            {"customresourcedefinitions"}),
      {.verbs = {"create"},
       .api_groups = {""},
       .resources = {"nodes"},
       .resource_names = {},
       .non_resource_urls = {}},
      {.verbs = {"create"},
       .api_groups = {"resource.k8s.io"},
       .resources = {"deviceclasses"},
       .resource_names = {},
       .non_resource_urls = {}},
      {.verbs = {"create", "patch", "update"},
       .api_groups = {"", "events.k8s.io"},
       .resources = {"events"},
       .resource_names = {},
       .non_resource_urls = {}},
      {.verbs = {"impersonate:arbitrary-node"},
       .api_groups = {"authentication.k8s.io"},
       .resources = {"nodes"},
       .resource_names = {},
       .non_resource_urls = {}},
      {.verbs = {"impersonate-on:arbitrary-node:get", "impersonate-on:arbitrary-node:create",
                 "impersonate-on:arbitrary-node:update", "impersonate-on:arbitrary-node:patch",
                 "impersonate-on:arbitrary-node:delete"},
       .api_groups = {"", "coordination.k8s.io", "resource.k8s.io"},
       .resources = {"nodes", "nodes/status", "pods", "pods/status", "leases", "resourceclaims"},
       .resource_names = {},
       .non_resource_urls = {}},
      {.verbs = {"impersonate:serviceaccount"},
       .api_groups = {"authentication.k8s.io"},
       .resources = {"serviceaccounts"},
       .resource_names = {kDriverAccount},
       .non_resource_urls = {}},
      {.verbs = {"impersonate-on:serviceaccount:create", "impersonate-on:serviceaccount:update",
                 "impersonate-on:serviceaccount:delete", "impersonate-on:serviceaccount:patch"},
       .api_groups = {"resource.k8s.io", "resource.nvidia.com", ""},
       .resources = {"resourceslices", "resourceclaims/status", "computedomaincliques", "nodes",
                     "pods"},
       .resource_names = {},
       .non_resource_urls = {}},
  };
  return rules;
}

// As DRA drivers' Helm charts ask for.
const std::vector<Rule>& DriverRules() {
  static const std::vector<Rule> rules = {
      {.verbs = {"get"},
       .api_groups = {"resource.k8s.io"},
       .resources = {"resourceclaims"},
       .resource_names = {},
       .non_resource_urls = {}},
      {.verbs = {"get"},
       .api_groups = {""},
       .resources = {"nodes"},
       .resource_names = {},
       .non_resource_urls = {}},
      {.verbs = {"get", "list", "watch", "create", "update", "patch", "delete"},
       .api_groups = {"resource.k8s.io"},
       .resources = {"resourceslices"},
       .resource_names = {},
       .non_resource_urls = {}},
      {.verbs = {"patch"},
       .api_groups = {"resource.k8s.io"},
       .resources = {"resourceclaims/status"},
       .resource_names = {},
       .non_resource_urls = {}},
      {.verbs = {"arbitrary-node:patch"},
       .api_groups = {"resource.k8s.io"},
       .resources = {"resourceclaims/driver"},
       .resource_names = {},
       .non_resource_urls = {}},
      Allow({"patch"}, "", {"nodes", "pods"}),
      Allow({"get", "create", "update"}, "resource.nvidia.com", {"computedomaincliques"}),
  };
  return rules;
}

// As the roles of the driver's compute-domain-controller, which also makes its namespace here.
const std::vector<Rule>& ComputeDomainRules() {
  static const std::vector<Rule> rules = {
      Allow({"get", "list", "watch", "update", "patch"}, "resource.nvidia.com", {"computedomains"}),
      Allow({"update"}, "resource.nvidia.com", {"computedomains/status", "computedomaincliques"}),
      Allow({"create", "update", "delete"}, "resource.k8s.io", {"resourceclaimtemplates"}),
      Allow({"create", "update", "delete"}, "apps", {"daemonsets"}),
      Allow({"create"}, "", {"namespaces", "serviceaccounts"}),
      Allow({"patch"}, "", {"nodes"}),
      Allow({"create", "patch", "update"}, "", {"events"}),
  };
  return rules;
}

std::span<const Rule> RulesOf(const User& user) {
  if (user.name == kFleetUser) return FleetRules();
  if (user.name == DriverUser()) return DriverRules();
  if (user.name == ComputeDomainUser()) return ComputeDomainRules();
  return {};
}

}  // namespace

Decision FleetAuthorizer::Authorize(const Attributes& attributes, std::string& /*reason*/) {
  const bool allowed = std::ranges::any_of(
      RulesOf(attributes.user), [&](const Rule& rule) { return RuleAllows(rule, attributes); });
  return allowed ? Decision::kAllow : Decision::kNoOpinion;
}

void FleetAuthorizer::Rules(const User& user, const std::string& /*ns*/, std::vector<Rule>& rules) {
  const std::span<const Rule> own = RulesOf(user);
  rules.insert(rules.end(), own.begin(), own.end());
}

}  // namespace drachma::apiserver
