#include "cluster/driver_rights.h"

#include <initializer_list>
#include <string_view>
#include <utility>

#include "api/kinds.h"
#include "apiserver/fleet_authorizer.h"
#include "client/objects.h"
#include "controllers/compute_domain_kinds.h"
#include "gpu/driver.h"

namespace drachma::cluster {
namespace {

using json::Value;

constexpr std::string_view kRbac = "rbac.authorization.k8s.io";
constexpr std::string_view kRbacVersion = "rbac.authorization.k8s.io/v1";

Value Rule(std::string_view group, std::initializer_list<std::string_view> resources,
           std::initializer_list<std::string_view> verbs) {
  const auto list = [](std::initializer_list<std::string_view> texts) {
    Value made = Value::Array();
    for (const std::string_view text : texts) made.Append(text);
    return made;
  };
  return Value::Object({{"apiGroups", Value::Array({group})},
                        {"resources", list(resources)},
                        {"verbs", list(verbs)}});
}

Value Named(std::string_view api_version, std::string_view kind, std::string_view name) {
  return Value::Object(
      {{"apiVersion", api_version}, {"kind", kind}, {"metadata", Value::Object({{"name", name}})}});
}

// The service account of kube-system, a ClusterRole with the rules and what binds them.
void AddRights(std::string_view account, Value rules, std::vector<Shipped>& shipped) {
  Value user = Named("v1", "ServiceAccount", account);
  user.Edit("metadata").Set("namespace", "kube-system");
  Value role = Named(kRbacVersion, "ClusterRole", account);
  role.Set("rules", std::move(rules));
  Value binding = Named(kRbacVersion, "ClusterRoleBinding", account);
  binding.Set("roleRef",
              Value::Object({{"apiGroup", kRbac}, {"kind", "ClusterRole"}, {"name", account}}));
  binding.Set("subjects",
              Value::Array({Value::Object(
                  {{"kind", "ServiceAccount"}, {"name", account}, {"namespace", "kube-system"}})}));
  for (Value* object : {&user, &role, &binding}) {
    shipped.push_back({.object = std::move(*object), .refused = LogLevel::kDebug});
  }
}

std::vector<Shipped> ShippedDefinitions() {
  std::vector<Shipped> shipped;
  for (const Value& definition : controllers::compute_domain::Definitions()) {
    shipped.push_back({.object = definition});
  }
  return shipped;
}

client::Resource ResourceOf(const Value& object) {
  const auto [group, version] = api::SplitGroupVersion(object["apiVersion"].AsString());
  const api::KindInfo* kind = api::FindKind(group, version, object["kind"].AsString());
  return {std::string(group), std::string(version), std::string(kind->plural)};
}

}  // namespace

std::vector<Shipped> ShippedWithNodes() {
  std::vector<Shipped> shipped = ShippedDefinitions();
  for (const Value& device_class : gpu::DeviceClasses())
    shipped.push_back({.object = device_class});
  AddRights(
      apiserver::kDriverAccount,
      Value::Array(
          {Rule("resource.k8s.io", {"resourceclaims"}, {"get"}),
           Rule("", {"nodes"}, {"get", "patch"}), Rule("", {"pods"}, {"patch"}),
           Rule("resource.k8s.io", {"resourceslices"},
                {"get", "list", "watch", "create", "update", "patch", "delete"}),
           Rule("resource.k8s.io", {"resourceclaims/status"}, {"patch"}),
           Rule("resource.k8s.io", {"resourceclaims/driver"}, {"arbitrary-node:patch"}),
           Rule("resource.nvidia.com", {"computedomaincliques"}, {"get", "create", "update"})}),
      shipped);
  return shipped;
}

std::vector<Shipped> ShippedWithControllers() {
  std::vector<Shipped> shipped = ShippedDefinitions();
  AddRights(
      apiserver::kComputeDomainAccount,
      Value::Array(
          {Rule("resource.nvidia.com", {"computedomains"},
                {"get", "list", "watch", "update", "patch"}),
           Rule("resource.nvidia.com", {"computedomains/status", "computedomaincliques"},
                {"update"}),
           Rule("resource.k8s.io", {"resourceclaimtemplates"}, {"create", "update", "delete"}),
           Rule("apps", {"daemonsets"}, {"create", "update", "delete"}),
           Rule("", {"namespaces", "serviceaccounts"}, {"create"}), Rule("", {"nodes"}, {"patch"}),
           Rule("", {"events"}, {"create", "patch", "update"})}),
      shipped);
  return shipped;
}

Installation::Installation(std::vector<Shipped> objects, client::Client& client, Executor& executor)
    : objects_(std::move(objects)),
      client_(client),
      executor_(executor),
      alive_(std::make_shared<Installation*>(this)) {}

Installation::~Installation() { *alive_ = nullptr; }

void Installation::Start() {
  for (const Shipped& shipped : objects_) Make(shipped);
}

void Installation::Make(const Shipped& shipped) {
  client_.Call(client::CreateRequest(ResourceOf(shipped.object),
                                     client::NamespaceOf(shipped.object), shipped.object),
               [alive = alive_, shipped](const Result<Value>& answer) {
                 if (*alive != nullptr) (*alive)->OnAnswer(shipped, answer);
               });
}

void Installation::OnAnswer(const Shipped& shipped, const Result<Value>& answer) {
  if (answer || answer.error().code == Code::kAlreadyExists) return;
  const Code code = answer.error().code;
  if (code == Code::kForbidden || code == Code::kNotFound || code == Code::kInvalid) {
    Log(shipped.refused, "installation", "cannot make {} {}: {}", shipped.object["kind"].AsString(),
        client::NameOf(shipped.object), answer.error().message);
    return;
  }
  executor_.PostAfter(kRetry, [alive = alive_, shipped] {
    if (*alive != nullptr) (*alive)->Make(shipped);
  });
}

}  // namespace drachma::cluster
