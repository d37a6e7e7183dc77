#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "apiserver/core.h"
#include "apiserver/node_authorizer.h"
#include "json/value.h"

namespace drachma::apiserver {
namespace {

using json::Value;

constexpr std::string_view kMirrorAnnotation = "kubernetes.io/config.mirror";
constexpr std::string_view kRestrictedLabels = "node-restriction.kubernetes.io";

// Labels under kubernetes.io and k8s.io that a kubelet may set (kubelet/pkg/apis).
constexpr auto kKubeletLabels = std::to_array<std::string_view>(
    {"kubernetes.io/hostname", "topology.kubernetes.io/zone", "topology.kubernetes.io/region",
     "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region",
     "node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type", "kubernetes.io/os",
     "kubernetes.io/arch", "beta.kubernetes.io/os", "beta.kubernetes.io/arch",
     "node.kubernetes.io/windows-build"});
constexpr auto kKubeletLabelDomains =
    std::to_array<std::string_view>({"kubelet.kubernetes.io", "node.kubernetes.io"});

// Fields of a pod's status that are not the kubelet's to change, and the words of the refusal.
struct ProtectedStatus {
  std::string_view field;
  std::string_view words;
};
constexpr auto kProtectedStatuses = std::to_array<ProtectedStatus>({
    {"resourceClaimStatuses", "resource claim statues"},
    {"extendedResourceClaimStatus", "extended resource claim status"},
    {"nodeAllocatableResourceClaimStatuses", "node allocatable resource claim statuses"},
});

std::unexpected<Error> Forbidden(const AdmissionRequest& request, std::string_view why) {
  const std::string resource = request.group.empty()
                                   ? request.resource
                                   : fmt::format("{}.{}", request.resource, request.group);
  const std::string name = request.name.empty() ? "Unknown" : request.name;
  return std::unexpected(
      Error{.code = Code::kForbidden,
            .message = fmt::format("{} \"{}\" is forbidden: {}", resource, name, why),
            .group = request.group,
            .kind = request.resource,
            .name = request.name});
}

bool DomainIs(std::string_view domain, std::string_view wanted) {
  return domain == wanted || (domain.ends_with(wanted) && domain.size() > wanted.size() &&
                              domain[domain.size() - wanted.size() - 1] == '.');
}

bool IsForbiddenLabel(std::string_view key) {
  const std::size_t slash = key.find('/');
  if (slash == std::string_view::npos) return false;
  const std::string_view domain = key.substr(0, slash);
  if (DomainIs(domain, kRestrictedLabels)) return true;
  if (!DomainIs(domain, "kubernetes.io") && !DomainIs(domain, "k8s.io")) return false;
  return std::ranges::find(kKubeletLabels, key) == kKubeletLabels.end() &&
         std::ranges::none_of(kKubeletLabelDomains,
                              [&](std::string_view allowed) { return DomainIs(domain, allowed); });
}

// Forbidden labels that differ between two objects, sorted.
std::set<std::string> ForbiddenChanges(const Value& object, const Value& old) {
  std::set<std::string> forbidden;
  const Value& now = object["metadata"]["labels"];
  const Value& before = old["metadata"]["labels"];
  for (const auto& [one, other] : {std::pair(&now, &before), std::pair(&before, &now)}) {
    for (const json::Member& label : one->Members()) {
      if (!(label.value == (*other)[label.key()]) && IsForbiddenLabel(label.key())) {
        forbidden.emplace(label.key());
      }
    }
  }
  return forbidden;
}

Status CheckMirrorOwner(const AdmissionRequest& request, const std::string& node,
                        const ObjectReader& objects) {
  const Value& owners = request.object["metadata"]["ownerReferences"];
  const auto refuse = [&](std::string_view why) {
    return Forbidden(request, fmt::format("node \"{}\" {}", node, why));
  };
  if (owners.size() > 1) {
    return refuse("can only create pods with a single owner reference set to itself");
  }
  const Value owner = owners.empty() ? Value() : owners.Items()[0];
  if (owner["apiVersion"].AsString() != "v1" || owner["kind"].AsString() != "Node" ||
      owner["name"].AsString() != node) {
    return refuse("can only create pods with an owner reference set to itself");
  }
  if (!owner["controller"].AsBool()) {
    return refuse("can only create pods with a controller owner reference set to itself");
  }
  if (owner["blockOwnerDeletion"].AsBool()) {
    return refuse("must not set blockOwnerDeletion on an owner reference");
  }
  const Value uid = objects.Get("", "nodes", "", node)["metadata"]["uid"];
  if (!(owner["uid"] == uid)) {
    return Forbidden(request, fmt::format("node {} UID mismatch: expected {} got {}", node,
                                          owner["uid"].AsString(), uid.AsString()));
  }
  return {};
}

Status CheckPod(const AdmissionRequest& request, const std::string& node,
                const ObjectReader& objects) {
  const auto refuse = [&](std::string_view why) {
    return Forbidden(request, fmt::format("node \"{}\" {}", node, why));
  };
  if (request.operation == Operation::kDelete) {
    const bool own = request.old_object["spec"]["nodeName"].AsString() == node;
    if (own) return {};
    return refuse("can only delete pods with spec.nodeName set to itself");
  }
  if (request.operation != Operation::kCreate) {
    return Forbidden(request,
                     fmt::format("unexpected operation \"UPDATE\", node \"{}\" can only create and "
                                 "delete mirror pods",
                                 node));
  }
  if (!request.object["metadata"]["annotations"].Has(kMirrorAnnotation)) {
    return Forbidden(request, fmt::format("pod does not have \"{}\" annotation, node \"{}\" can "
                                          "only create mirror pods",
                                          kMirrorAnnotation, node));
  }
  if (request.object["spec"]["nodeName"].AsString() != node) {
    return refuse("can only create pods with spec.nodeName set to itself");
  }
  DRA_TRY(CheckMirrorOwner(request, node, objects));
  if (!request.object["spec"]["resourceClaims"].empty()) {
    return refuse("can not create pods that reference resourceclaims");
  }
  return {};
}

Status CheckPodStatus(const AdmissionRequest& request, const std::string& node) {
  const auto refuse = [&](std::string_view why) {
    return Forbidden(request, fmt::format("node \"{}\" {}", node, why));
  };
  if (request.old_object["spec"]["nodeName"].AsString() != node) {
    return refuse("can only update pod status for pods with spec.nodeName set to itself");
  }
  if (!(request.old_object["metadata"]["labels"] == request.object["metadata"]["labels"])) {
    return refuse("cannot update labels through pod status");
  }
  for (const ProtectedStatus& row : kProtectedStatuses) {
    if (!(request.old_object["status"][row.field] == request.object["status"][row.field])) {
      return refuse(fmt::format("cannot update {}", row.words));
    }
  }
  return {};
}

Status CheckEviction(const AdmissionRequest& request, const std::string& node,
                     const ObjectReader& objects) {
  const Value pod = objects.Get("", "pods", request.ns, request.name);
  if (pod.IsNull() || pod["spec"]["nodeName"].AsString() == node) return {};
  return Forbidden(
      request, fmt::format("node {} can only evict pods with spec.nodeName set to itself", node));
}

Status CheckNode(const AdmissionRequest& request, const std::string& node, const ObjectReader&) {
  if (request.name != node) {
    return Forbidden(request, fmt::format("node \"{}\" is not allowed to modify node \"{}\"", node,
                                          request.name));
  }
  const std::set<std::string> labels = ForbiddenChanges(request.object, request.old_object);
  if (request.operation == Operation::kCreate && !labels.empty()) {
    return Forbidden(request,
                     fmt::format("node \"{}\" is not allowed to set the following labels: {}", node,
                                 fmt::join(labels, ", ")));
  }
  if (request.operation != Operation::kUpdate) return {};
  const auto changed = [&](std::string_view part, std::string_view field) {
    return !(request.object[part][field] == request.old_object[part][field]);
  };
  if (changed("spec", "taints")) {
    return Forbidden(request, fmt::format("node \"{}\" is not allowed to modify taints", node));
  }
  if (changed("metadata", "ownerReferences")) {
    return Forbidden(request,
                     fmt::format("node \"{}\" is not allowed to modify ownerReferences", node));
  }
  if (!labels.empty()) {
    return Forbidden(request,
                     fmt::format("is not allowed to modify labels: {}", fmt::join(labels, ", ")));
  }
  return {};
}

// A pod's tokens are for the audiences that its volumes name
// (ServiceAccountNodeAudienceRestriction), or that the node has been given by the verb
// request-serviceaccounts-token-audience.
Status CheckAudience(const AdmissionRequest& request, const Value& pod, const Core* core) {
  const auto audiences = request.object["spec"]["audiences"].Items();
  if (audiences.size() > 1) return Forbidden(request, "node may only request 0 or 1 audiences");
  const std::string audience(audiences.empty() ? "" : audiences[0].AsString());
  for (const Value& volume : pod["spec"]["volumes"].Items()) {
    for (const Value& source : volume["projected"]["sources"].Items()) {
      const Value& token = source["serviceAccountToken"];
      if (token.IsObject() && token["audience"].AsString() == audience) return {};
    }
  }
  std::string reason;
  const bool granted =
      core != nullptr && core->Ask({.user = request.user,
                                    .verb = "request-serviceaccounts-token-audience",
                                    .version = "v1",
                                    .resource = audience,
                                    .ns = request.ns,
                                    .name = request.name},
                                   reason) == Decision::kAllow;
  if (granted) return {};
  return Forbidden(request,
                   fmt::format("{} is not authorized to request tokens for audience \"{}\"",
                               request.user.name, audience));
}

Status CheckToken(const AdmissionRequest& request, const std::string& node,
                  const ObjectReader& objects, const Core* core) {
  if (request.operation != Operation::kCreate || request.subresource != "token") return {};
  const Value& bound = request.object["spec"]["boundObjectRef"];
  if (bound["apiVersion"].AsString() != "v1" || bound["kind"].AsString() != "Pod" ||
      bound["name"].AsString().empty()) {
    return Forbidden(request, "node requested token not bound to a pod");
  }
  if (bound["uid"].AsString().empty()) {
    return Forbidden(request, "node requested token with a pod binding without a uid");
  }
  const Value pod = objects.Get("", "pods", request.ns, bound["name"].AsString());
  if (pod["spec"]["nodeName"].AsString() != node) {
    return Forbidden(request, "node requested token bound to a pod scheduled on a different node");
  }
  return CheckAudience(request, pod, core);
}

Status CheckLease(const AdmissionRequest& request, const std::string& node, const ObjectReader&) {
  const std::string_view name =
      request.name.empty() ? request.object["metadata"]["name"].AsString() : request.name;
  if (name == node) return {};
  return Forbidden(request, "can only access node lease with the same name as the requesting node");
}

Status CheckSlice(const AdmissionRequest& request, const std::string& node, const ObjectReader&) {
  const bool create = request.operation == Operation::kCreate;
  if (!create && request.operation != Operation::kDelete) return {};
  const Value& slice = create ? request.object : request.old_object;
  if (slice["spec"]["nodeName"].AsString() == node) return {};
  return Forbidden(request,
                   fmt::format("can only {} ResourceSlice with the same NodeName as the requesting "
                               "node",
                               create ? "create" : "delete"));
}

Status CheckPods(const AdmissionRequest& request, const std::string& node,
                 const ObjectReader& objects) {
  if (request.subresource.empty()) return CheckPod(request, node, objects);
  if (request.subresource == "status") return CheckPodStatus(request, node);
  if (request.subresource == "eviction") return CheckEviction(request, node, objects);
  return Forbidden(request, fmt::format("unexpected pod subresource \"{}\", only 'status' and "
                                        "'eviction' are allowed",
                                        request.subresource));
}

struct RestrictionRow {
  std::string_view group;
  std::string_view resource;
  Status (*check)(const AdmissionRequest&, const std::string& node, const ObjectReader&);
};
constexpr auto kRestrictions = std::to_array<RestrictionRow>({
    {"", "pods", CheckPods},
    {"", "nodes", CheckNode},
    {"coordination.k8s.io", "leases", CheckLease},
    {"storage.k8s.io", "csinodes", CheckLease},
    {"resource.k8s.io", "resourceslices", CheckSlice},
});

}  // namespace

Status NodeRestriction::Admit(AdmissionRequest& request, const ObjectReader& objects) {
  if (!request.user.InGroup("system:nodes")) return {};
  const std::string node = NodeNameOf(request.user);
  if (node.empty()) {
    return Forbidden(request,
                     fmt::format("could not determine node from user \"{}\"", request.user.name));
  }
  if (request.group.empty() && request.resource == "serviceaccounts") {
    return CheckToken(request, node, objects, core_);
  }
  for (const RestrictionRow& row : kRestrictions) {
    if (request.group == row.group && request.resource == row.resource) {
      return row.check(request, node, objects);
    }
  }
  return {};
}

}  // namespace drachma::apiserver
