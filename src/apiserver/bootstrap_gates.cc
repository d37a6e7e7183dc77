#include "apiserver/bootstrap_gates.h"

#include <algorithm>

#include "base/check.h"
#include "json/json.h"

namespace drachma::apiserver {
namespace {

using api::Gate;

struct GatedRule {
  Gate gate;
  std::string_view role;
  // The rule stands so many places before the end of what the role has without gates.
  std::size_t before_end;
  std::string_view json;
};

constexpr GatedRule kRules[] = {
    {Gate::kGenericWorkload, "system:aggregate-to-view", 0,
     R"({"apiGroups":["scheduling.k8s.io"],"resources":["podgroups","podgroups/status","workloads"],"verbs":["get","list","watch"]})"},
    {Gate::kCompositePodGroup, "system:aggregate-to-view", 0,
     R"({"apiGroups":["scheduling.k8s.io"],"resources":["compositepodgroups","compositepodgroups/status"],"verbs":["get","list","watch"]})"},
    {Gate::kGenericWorkload, "system:aggregate-to-edit", 0,
     R"({"apiGroups":["scheduling.k8s.io"],"resources":["podgroups","workloads"],"verbs":["create","delete","deletecollection","patch","update"]})"},
    {Gate::kCompositePodGroup, "system:aggregate-to-edit", 0,
     R"({"apiGroups":["scheduling.k8s.io"],"resources":["compositepodgroups"],"verbs":["create","delete","deletecollection","patch","update"]})"},
    {Gate::kGenericWorkload, "system:kube-scheduler", 0,
     R"({"apiGroups":["scheduling.k8s.io"],"resources":["podgroups"],"verbs":["get","list","watch"]})"},
    {Gate::kGenericWorkload, "system:kube-scheduler", 0,
     R"({"apiGroups":["scheduling.k8s.io"],"resources":["podgroups/status"],"verbs":["patch","update"]})"},
    {Gate::kCompositePodGroup, "system:kube-scheduler", 0,
     R"({"apiGroups":["scheduling.k8s.io"],"resources":["compositepodgroups"],"verbs":["get","list","watch"]})"},
    {Gate::kCompositePodGroup, "system:kube-scheduler", 0,
     R"({"apiGroups":["scheduling.k8s.io"],"resources":["compositepodgroups/status"],"verbs":["patch","update"]})"},
    {Gate::kDRAWorkloadResourceClaims, "system:controller:resource-claim-controller", 1,
     R"({"apiGroups":["scheduling.k8s.io"],"resources":["podgroups"],"verbs":["get","list","watch"]})"},
    {Gate::kDRAWorkloadResourceClaims, "system:controller:resource-claim-controller", 1,
     R"({"apiGroups":["scheduling.k8s.io"],"resources":["podgroups/status"],"verbs":["patch","update"]})"},
};

constexpr GatedObject kObjects[] = {
    {Gate::kGenericWorkload,
     R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"annotations":{"rbac.authorization.kubernetes.io/autoupdate":"true"},"labels":{"kubernetes.io/bootstrapping":"rbac-defaults"},"name":"system:controller:podgroup-protection-controller"},"rules":[{"apiGroups":["scheduling.k8s.io"],"resources":["podgroups"],"verbs":["get","list","update","watch"]},{"apiGroups":[""],"resources":["pods"],"verbs":["get","list","watch"]}]})"},
    {Gate::kGenericWorkload,
     R"({"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding","metadata":{"annotations":{"rbac.authorization.kubernetes.io/autoupdate":"true"},"labels":{"kubernetes.io/bootstrapping":"rbac-defaults"},"name":"system:controller:podgroup-protection-controller"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"system:controller:podgroup-protection-controller"},"subjects":[{"kind":"ServiceAccount","name":"podgroup-protection-controller","namespace":"kube-system"}]})"},
};

}  // namespace

bool AddGatedRules(const api::FeatureGates& gates, json::Value& object) {
  if (object["kind"].AsString() != "ClusterRole") return false;
  const std::string_view name = object["metadata"]["name"].AsString();
  const std::size_t before = object["rules"].size();
  for (const GatedRule& row : kRules) {
    if (row.role != name || !gates.On(row.gate)) continue;
    auto rule = json::Read(row.json);
    DRA_CHECK(rule.has_value());
    const auto present = object["rules"].Items();
    if (std::ranges::find(present, *rule) != present.end()) continue;
    json::Value rules = json::Value::Array();
    const std::size_t place = present.size() - std::min(row.before_end, present.size());
    for (std::size_t i = 0; i <= present.size(); ++i) {
      if (i == place) rules.Append(*rule);
      if (i < present.size()) rules.Append(present[i]);
    }
    object.Set("rules", std::move(rules));
  }
  return object["rules"].size() != before;
}

std::span<const GatedObject> GatedObjects() { return kObjects; }

}  // namespace drachma::apiserver
