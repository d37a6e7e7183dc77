#include "apiserver/bootstrap.h"

#include <fmt/format.h>

#include <utility>

#include "apiserver/bootstrap_gates.h"
#include "apiserver/bootstrap_objects.h"
#include "json/json.h"

namespace drachma::apiserver {
namespace {

constexpr std::string_view kAutoUpdate = "rbac.authorization.kubernetes.io/autoupdate";
constexpr const char* kNamespaces[] = {"default", "kube-node-lease", "kube-public", "kube-system"};

json::Value KubernetesService() {
  return json::Value::Object(
      {{"kind", "Service"},
       {"apiVersion", "v1"},
       {"metadata",
        json::Value::Object({{"name", "kubernetes"},
                             {"namespace", "default"},
                             {"labels", json::Value::Object({{"component", "apiserver"},
                                                             {"provider", "kubernetes"}})}})},
       {"spec",
        json::Value::Object(
            {{"type", "ClusterIP"},
             {"clusterIP", "10.0.0.1"},
             {"clusterIPs", json::Value::Array({"10.0.0.1"})},
             {"ipFamilies", json::Value::Array({"IPv4"})},
             {"ipFamilyPolicy", "SingleStack"},
             {"ports", json::Value::Array({json::Value::Object({{"name", "https"},
                                                                {"protocol", "TCP"},
                                                                {"port", 443},
                                                                {"targetPort", 6443}})})}})}});
}

// Since when the use of legacy tokens is noted: the controller manager's cleaner of such tokens
// waits for it.
json::Value LegacyTokenTracking(Time now) {
  constexpr std::size_t kDate = 10;  // "2006-01-02"
  return json::Value::Object(
      {{"kind", "ConfigMap"},
       {"apiVersion", "v1"},
       {"metadata",
        json::Value::Object({{"name", "kube-apiserver-legacy-service-account-token-tracking"},
                             {"namespace", "kube-system"}})},
       {"data", json::Value::Object({{"since", FormatTime(now).substr(0, kDate)}})}});
}

// Takes the way of a create through decoding, defaults and the kind's own rules.
Status CreateMissing(Core& core, const json::Value& object) {
  const std::string_view api_version = object["apiVersion"].AsString();
  const auto parts = api::SplitGroupVersion(api_version);
  const KindPtr kind = core.kinds().FindByKind(parts.group, object["kind"].AsString());
  if (kind == nullptr) return {};
  const std::string ns(object.At({"metadata", "namespace"}).AsString());
  const std::string name(object.At({"metadata", "name"}).AsString());
  const std::string key = kind->KeyOf(ns, name);
  if (core.store().Head(key) != nullptr) return {};
  const std::string version(parts.version);
  DRA_ASSIGN(api::Decoded decoded, kind->Decode(object, version, api::StrictFields::kIgnore, {}));
  json::Value created = std::move(decoded.value);
  kind->SetDefaults(version, core.Now(), created);
  DRA_ASSIGN(created, kind->Convert(std::move(created), kind->storage_api_version()));
  ApiRequest request{.user = {.name = "system:apiserver", .groups = {kMastersGroup}},
                     .user_agent = "drachma"};
  request.call.verb = client::Verb::kCreate;
  request.call.resource = {std::string(parts.group), version, std::string(kind->plural())};
  request.call.ns = ns;
  if (Status checked =
          kind->BeforeCreate(core.ContextOf(request, "create", "", name), created, nullptr);
      !checked) {
    return Fail(Code::kInternal,
                fmt::format("bootstrap object {}: {}", key, checked.error().message));
  }
  // A failure is told by Flush's end: whoever reads the objects finds them missing and the store's
  // own error comes with the next write.
  core.store().Put(key, std::move(created), store::kMustNotExist, [](Result<store::RecordPtr>) {});
  return {};
}

// A store that was made while a gate was off lacks what the gate gives a role; people's own changes
// to it stay (upstream's reconciliation of roles marked autoupdate).
void AddMissingRules(Core& core, const json::Value& object) {
  const auto parts = api::SplitGroupVersion(object["apiVersion"].AsString());
  const KindPtr kind = core.kinds().FindByKind(parts.group, object["kind"].AsString());
  if (kind == nullptr) return;
  const std::string key = kind->KeyOf(std::string(object.At({"metadata", "namespace"}).AsString()),
                                      std::string(object.At({"metadata", "name"}).AsString()));
  const store::RecordPtr head = core.store().Head(key);
  if (head == nullptr) return;
  json::Value role = head->Object();
  const bool updates = role.At({"metadata", "annotations", kAutoUpdate}).AsString() == "true";
  if (!updates || !AddGatedRules(core.gates(), role)) return;
  core.store().Put(key, std::move(role), head->revision, [](Result<store::RecordPtr>) {});
}

}  // namespace

Status Bootstrap(Core& core) {
  for (const char* name : kNamespaces) {
    DRA_TRY(CreateMissing(
        core, json::Value::Object({{"kind", "Namespace"},
                                   {"apiVersion", "v1"},
                                   {"metadata", json::Value::Object({{"name", name}})}})));
  }
  for (const std::string_view text : BootstrapObjects()) {
    DRA_ASSIGN(json::Value object, json::Read(text));
    AddGatedRules(core.gates(), object);
    AddMissingRules(core, object);
    DRA_TRY(CreateMissing(core, object));
  }
  for (const GatedObject& gated : GatedObjects()) {
    if (!core.gates().On(gated.gate)) continue;
    DRA_ASSIGN(const json::Value object, json::Read(gated.json));
    DRA_TRY(CreateMissing(core, object));
  }
  DRA_TRY(CreateMissing(core, KubernetesService()));
  DRA_TRY(CreateMissing(core, LegacyTokenTracking(core.Now())));
  core.store().Flush();
  return {};
}

}  // namespace drachma::apiserver
