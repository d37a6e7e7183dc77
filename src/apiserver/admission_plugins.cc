#include "apiserver/admission_plugins.h"

#include <fmt/format.h>

#include <algorithm>

#include "apiserver/admission_basic.h"
#include "apiserver/admission_limits.h"
#include "apiserver/admission_owners.h"
#include "apiserver/admission_pod_security.h"
#include "apiserver/admission_quota.h"
#include "apiserver/mutating_policies.h"
#include "apiserver/node_authorizer.h"
#include "apiserver/validating_policies.h"

namespace drachma::apiserver {

std::span<const PluginEntry> BuiltInPlugins() {
  static constexpr PluginEntry kPlugins[] = {
      {"NamespaceLifecycle", true,
       [](Core&) -> std::shared_ptr<AdmissionPlugin> {
         return std::make_shared<NamespaceLifecycle>();
       }},
      {"LimitRanger", true,
       [](Core&) -> std::shared_ptr<AdmissionPlugin> { return std::make_shared<LimitRanger>(); }},
      {"ServiceAccount", false,
       [](Core& core) -> std::shared_ptr<AdmissionPlugin> {
         return std::make_shared<ServiceAccount>(core.random());
       }},
      {"NodeRestriction", true,
       [](Core& core) -> std::shared_ptr<AdmissionPlugin> {
         return std::make_shared<NodeRestriction>(&core);
       }},
      {"TaintNodesByCondition", true,
       [](Core&) -> std::shared_ptr<AdmissionPlugin> {
         return std::make_shared<TaintNodesByCondition>();
       }},
      {"PodSecurity", true,
       [](Core&) -> std::shared_ptr<AdmissionPlugin> { return std::make_shared<PodSecurity>(); }},
      {"Priority", true,
       [](Core& core) -> std::shared_ptr<AdmissionPlugin> {
         return std::make_shared<Priority>(core.gates());
       }},
      {"DefaultTolerationSeconds", true,
       [](Core&) -> std::shared_ptr<AdmissionPlugin> {
         return std::make_shared<DefaultTolerationSeconds>();
       }},
      {"StorageObjectInUseProtection", true,
       [](Core&) -> std::shared_ptr<AdmissionPlugin> {
         return std::make_shared<StorageObjectInUseProtection>();
       }},
      {"PodGroupProtection", true,
       [](Core&) -> std::shared_ptr<AdmissionPlugin> {
         return std::make_shared<PodGroupProtection>();
       }},
      {"OwnerReferencesPermissionEnforcement", false,
       [](Core& core) -> std::shared_ptr<AdmissionPlugin> {
         return std::make_shared<OwnerReferences>(core);
       }},
      {"MutatingAdmissionPolicy", true,
       [](Core& core) -> std::shared_ptr<AdmissionPlugin> {
         return std::make_shared<MutatingPolicies>(core);
       }},
      {"ValidatingAdmissionPolicy", true,
       [](Core& core) -> std::shared_ptr<AdmissionPlugin> {
         return std::make_shared<ValidatingPolicies>(core);
       }},
      {"ResourceQuota", true,
       [](Core& core) -> std::shared_ptr<AdmissionPlugin> {
         return std::make_shared<ResourceQuota>(core);
       }},
  };
  return kPlugins;
}

namespace {

// Plugins of upstream that have nothing to do here: naming them in a flag is no error.
bool IsKnownUpstream(std::string_view name) {
  static constexpr std::string_view kNames[] = {
      "AlwaysAdmit",
      "AlwaysDeny",
      "AlwaysPullImages",
      "CertificateApproval",
      "CertificateSigning",
      "CertificateSubjectRestriction",
      "ClusterTrustBundleAttest",
      "DefaultIngressClass",
      "DefaultStorageClass",
      "DenyServiceExternalIPs",
      "EventRateLimit",
      "ExtendedResourceToleration",
      "ImagePolicyWebhook",
      "LimitPodHardAntiAffinityTopology",
      "MutatingAdmissionWebhook",
      "NamespaceAutoProvision",
      "NamespaceExists",
      "PersistentVolumeClaimResize",
      "PodNodeSelector",
      "PodTolerationRestriction",
      "PodTopologyLabels",
      "RuntimeClass",
      "ValidatingAdmissionWebhook",
  };
  return std::ranges::find(kNames, name) != std::end(kNames);
}

Status CheckNames(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const bool built_in = std::ranges::any_of(
        BuiltInPlugins(), [&](const PluginEntry& entry) { return entry.name == name; });
    if (!built_in && !IsKnownUpstream(name)) {
      return Fail(Code::kInvalid, fmt::format("admission plugin \"{}\" is unknown", name));
    }
  }
  return {};
}

bool Contains(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

Status AddPlugins(Core& core, const std::vector<std::string>& enable,
                  const std::vector<std::string>& disable,
                  const std::vector<std::shared_ptr<AdmissionPlugin>>& further) {
  DRA_TRY(CheckNames(enable));
  DRA_TRY(CheckNames(disable));
  for (const PluginEntry& entry : BuiltInPlugins()) {
    if (entry.name == "ResourceQuota") {
      for (const auto& plugin : further) core.AddAdmission(plugin);
    }
    const bool on =
        (entry.default_on || Contains(enable, entry.name)) && !Contains(disable, entry.name);
    if (on) core.AddAdmission(entry.make(core));
  }
  return {};
}

}  // namespace drachma::apiserver
