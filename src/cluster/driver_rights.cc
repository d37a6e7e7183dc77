#include "cluster/driver_rights.h"

#include "apiserver/fleet_authorizer.h"
#include "base/log.h"
#include "client/objects.h"
#include "gpu/driver.h"
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
                         {"get", "list", "watch", "create", "update", "patch", "delete"}),
                    Rule("resource.k8s.io", "resourceclaims/status", {"patch"}),
                    Rule("resource.k8s.io", "resourceclaims/driver", {"arbitrary-node:patch"})}));
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

DriverClasses::DriverClasses(client::Client& client, Executor& executor)
    : client_(client), executor_(executor), alive_(std::make_shared<DriverClasses*>(this)) {}

DriverClasses::~DriverClasses() { *alive_ = nullptr; }

void DriverClasses::Start() {
  for (const Value& device_class : gpu::DeviceClasses()) Make(device_class);
}

void DriverClasses::Make(const Value& device_class) {
  client_.Call(client::CreateRequest(client::resources::kDeviceClasses, "", device_class),
               [alive = alive_, device_class](const Result<Value>& answer) {
                 if (*alive != nullptr) (*alive)->OnAnswer(device_class, answer);
               });
}

void DriverClasses::OnAnswer(const Value& device_class, const Result<Value>& answer) {
  if (answer || answer.error().code == Code::kAlreadyExists) return;
  const Code code = answer.error().code;
  if (code == Code::kForbidden || code == Code::kNotFound || code == Code::kInvalid) {
    Log(LogLevel::kWarning, "node", "cannot make DeviceClass {}: {}", client::NameOf(device_class),
        answer.error().message);
    return;
  }
  executor_.PostAfter(kRetry, [alive = alive_, device_class] {
    if (*alive != nullptr) (*alive)->Make(device_class);
  });
}

}  // namespace drachma::cluster
