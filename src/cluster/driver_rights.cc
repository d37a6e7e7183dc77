#include "cluster/driver_rights.h"

#include "apiserver/fleet_authorizer.h"
#include "base/log.h"
#include "client/objects.h"
#include "json/json.h"

namespace drachma::cluster {
namespace {

using json::Value;

const client::Resource kClusterRoles = {"rbac.authorization.k8s.io", "v1", "clusterroles"};
const client::Resource kClusterRoleBindings = {"rbac.authorization.k8s.io", "v1",
                                               "clusterrolebindings"};

Value Rule(std::string_view group, std::string_view resource,
           std::initializer_list<std::string_view> verbs) {
  Value list = Value::Array();
  for (const std::string_view verb : verbs) list.Append(verb);
  return Value::Object({{"apiGroups", Value::Array({group})},
                        {"resources", Value::Array({resource})},
                        {"verbs", std::move(list)}});
}

Value Named(std::string_view api_version, std::string_view kind) {
  return Value::Object({{"apiVersion", api_version},
                        {"kind", kind},
                        {"metadata", Value::Object({{"name", apiserver::kDriverAccount}})}});
}

}  // namespace

void GrantDriverRights(client::Client& client) {
  const auto create = [&client](const client::Resource& resource, std::string_view ns,
                                Value object) {
    client.Call(client::CreateRequest(resource, ns, std::move(object)),
                [plural = resource.plural](const Result<Value>& answer) {
                  if (answer || answer.error().code == Code::kAlreadyExists) return;
                  Log(LogLevel::kDebug, "node", "{} of the drivers: {}", plural,
                      answer.error().message);
                });
  };
  create(client::resources::kServiceAccounts, "kube-system", Named("v1", "ServiceAccount"));
  Value role = Named("rbac.authorization.k8s.io/v1", "ClusterRole");
  role.Set(
      "rules",
      Value::Array({Rule("resource.k8s.io", "resourceclaims", {"get"}), Rule("", "nodes", {"get"}),
                    Rule("resource.k8s.io", "resourceslices",
                         {"get", "list", "watch", "create", "update", "patch", "delete"})}));
  create(kClusterRoles, "", std::move(role));
  Value binding = Named("rbac.authorization.k8s.io/v1", "ClusterRoleBinding");
  binding.Set("roleRef", Value::Object({{"apiGroup", "rbac.authorization.k8s.io"},
                                        {"kind", "ClusterRole"},
                                        {"name", apiserver::kDriverAccount}}));
  binding.Set("subjects", Value::Array({Value::Object({{"kind", "ServiceAccount"},
                                                       {"name", apiserver::kDriverAccount},
                                                       {"namespace", "kube-system"}})}));
  create(kClusterRoleBindings, "", std::move(binding));
}

}  // namespace drachma::cluster
