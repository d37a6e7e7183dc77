#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "client/client.h"
#include "json/value.h"

namespace drachma::client {

// Readers of what every object has. Views are valid as long as the object lives unchanged.
[[nodiscard]] std::string_view NameOf(const json::Value& object);
[[nodiscard]] std::string_view NamespaceOf(const json::Value& object);
[[nodiscard]] std::string_view UidOf(const json::Value& object);
[[nodiscard]] std::string_view ResourceVersionOf(const json::Value& object);
[[nodiscard]] std::string_view LabelOf(const json::Value& object, std::string_view key);
[[nodiscard]] std::string_view AnnotationOf(const json::Value& object, std::string_view key);
// Whether a deletionTimestamp is set.
[[nodiscard]] bool IsBeingDeleted(const json::Value& object);
[[nodiscard]] bool HasFinalizer(const json::Value& object, std::string_view finalizer);
// The owner reference with controller=true, or null.
[[nodiscard]] const json::Value* ControllerOf(const json::Value& object);
// The entry of status.conditions of that type, or null.
[[nodiscard]] const json::Value* ConditionOf(const json::Value& object, std::string_view type);
[[nodiscard]] bool IsConditionTrue(const json::Value& object, std::string_view type);
// metadata.creationTimestamp; the epoch when it is missing.
[[nodiscard]] Time CreatedAt(const json::Value& object);

// Whether a pod's phase is Succeeded or Failed.
[[nodiscard]] bool IsPodTerminal(const json::Value& pod);
// The ResourceClaim that an entry of pod.spec.resourceClaims stands for: the named one, or the one
// generated from its template; empty when it was not generated (or needs none).
[[nodiscard]] std::string_view ClaimNameOf(const json::Value& pod, const json::Value& pod_claim);

// metav1.LabelSelector against metadata.labels. A null selector matches nothing, an empty one
// everything (LabelSelectorAsSelector).
[[nodiscard]] bool MatchesSelector(const json::Value& selector, const json::Value& labels);

// apiVersion of a resource: "v1", "apps/v1".
[[nodiscard]] std::string ApiVersionOf(const Resource& resource);
// An ownerReference to `owner`, which has kind and apiVersion given here since listed objects may
// lack them.
[[nodiscard]] json::Value OwnerReference(std::string_view api_version, std::string_view kind,
                                         const json::Value& owner);

// Requests, for the usual cases.
[[nodiscard]] Request GetRequest(Resource resource, std::string_view ns, std::string_view name);
[[nodiscard]] Request CreateRequest(Resource resource, std::string_view ns, json::Value object);
// Replaces the object that `object` names; `subresource` "" or "status".
[[nodiscard]] Request UpdateRequest(Resource resource, json::Value object,
                                    std::string_view subresource = {});
[[nodiscard]] Request PatchRequest(Resource resource, std::string_view ns, std::string_view name,
                                   PatchType type, json::Value patch,
                                   std::string_view subresource = {});
// Deletes `object`, only if it still has the same uid.
[[nodiscard]] Request DeleteRequest(Resource resource, const json::Value& object);

// The resources that several rooms speak of.
namespace resources {
inline const Resource kPods = {"", "v1", "pods"};
inline const Resource kNodes = {"", "v1", "nodes"};
inline const Resource kNamespaces = {"", "v1", "namespaces"};
inline const Resource kServiceAccounts = {"", "v1", "serviceaccounts"};
inline const Resource kConfigMaps = {"", "v1", "configmaps"};
inline const Resource kResourceQuotas = {"", "v1", "resourcequotas"};
inline const Resource kLeases = {"coordination.k8s.io", "v1", "leases"};
inline const Resource kDeployments = {"apps", "v1", "deployments"};
inline const Resource kReplicaSets = {"apps", "v1", "replicasets"};
inline const Resource kResourceClaims = {"resource.k8s.io", "v1", "resourceclaims"};
inline const Resource kResourceClaimTemplates = {"resource.k8s.io", "v1", "resourceclaimtemplates"};
inline const Resource kResourceSlices = {"resource.k8s.io", "v1", "resourceslices"};
inline const Resource kDeviceClasses = {"resource.k8s.io", "v1", "deviceclasses"};
inline const Resource kDeviceTaintRules = {"resource.k8s.io", "v1", "devicetaintrules"};
}  // namespace resources

}  // namespace drachma::client
