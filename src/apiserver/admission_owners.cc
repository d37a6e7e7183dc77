#include "apiserver/admission_owners.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/kinds.h"
#include "apiserver/admission_refusal.h"

namespace drachma::apiserver {
namespace {

using json::Value;

const Value& OwnersOf(const Value& object) { return object["metadata"]["ownerReferences"]; }

bool ChangesOwners(const AdmissionRequest& request) {
  const auto now = OwnersOf(request.object).Items();
  const auto before = OwnersOf(request.old_object).Items();
  return !std::ranges::equal(now, before);
}

// References that hold up their owner's deletion and did not before.
std::vector<Value> NewBlockers(const AdmissionRequest& request) {
  std::vector<Value> blockers;
  const auto before = OwnersOf(request.old_object).Items();
  for (const Value& reference : OwnersOf(request.object).Items()) {
    if (!reference["blockOwnerDeletion"].AsBool()) continue;
    const bool old = std::ranges::any_of(before, [&](const Value& other) {
      return other["uid"] == reference["uid"] && other["blockOwnerDeletion"].AsBool();
    });
    if (!old) blockers.push_back(reference);
  }
  return blockers;
}

}  // namespace

std::optional<std::string> OwnerReferences::Refusal(const AdmissionRequest& request,
                                                    Attributes attributes) const {
  attributes.user = request.user;
  std::string reason;
  if (core_.Ask(attributes, reason) == Decision::kAllow) return std::nullopt;
  return reason + ", <nil>";
}

Status OwnerReferences::CheckOwner(const AdmissionRequest& request, const Value& reference) const {
  const std::string_view version = reference["apiVersion"].AsString();
  const std::string_view name = reference["kind"].AsString();
  const api::GroupVersionParts parts = api::SplitGroupVersion(version);
  const KindPtr kind = core_.kinds().FindByKind(parts.group, name);
  if (kind == nullptr || kind->info().FindVersion(parts.version) == nullptr) {
    return std::unexpected(AdmissionRefusal(
        request,
        fmt::format(
            "cannot set blockOwnerDeletion in this case because cannot find RESTMapping for "
            "APIVersion {} Kind {}: no matches for kind \"{}\" in version \"{}\"",
            version, name, name, version)));
  }
  const auto refusal =
      Refusal(request, {.verb = "update",
                        .group = std::string(kind->group()),
                        .version = std::string(parts.version),
                        .resource = std::string(kind->plural()),
                        .subresource = "finalizers",
                        .ns = kind->info().namespaced() ? request.ns : std::string(),
                        .name = std::string(reference["name"].AsString())});
  if (!refusal) return {};
  return std::unexpected(AdmissionRefusal(
      request,
      fmt::format("cannot set blockOwnerDeletion if an ownerReference refers to a resource "
                  "you can't set finalizers on: {}",
                  *refusal)));
}

Status OwnerReferences::Validate(AdmissionRequest& request, const ObjectReader& /*objects*/) {
  const bool creates = request.operation == Operation::kCreate;
  if (!creates && request.operation != Operation::kUpdate) return {};
  const bool pod_status =
      request.group.empty() && request.resource == "pods" && request.subresource == "status";
  if (pod_status || !ChangesOwners(request)) return {};
  // Who creates an object could as well have left it.
  if (!creates) {
    const auto refusal = Refusal(request, {.verb = "delete",
                                           .group = request.group,
                                           .version = request.version,
                                           .resource = request.resource,
                                           .subresource = request.subresource,
                                           .ns = request.ns,
                                           .name = request.name});
    if (refusal) {
      return std::unexpected(AdmissionRefusal(
          request,
          fmt::format("cannot set an ownerRef on a resource you can't delete: {}", *refusal)));
    }
  }
  const std::vector<Value> blockers = NewBlockers(request);
  if (blockers.empty()) return {};
  const bool any = !Refusal(request, {.verb = "update",
                                      .group = "*",
                                      .version = "*",
                                      .resource = "*",
                                      .subresource = "finalizers",
                                      .name = "*"});
  if (any) return {};
  for (const Value& reference : blockers) DRA_TRY(CheckOwner(request, reference));
  return {};
}

}  // namespace drachma::apiserver
