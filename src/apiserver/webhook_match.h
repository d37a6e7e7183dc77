#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/admission.h"
#include "base/result.h"
#include "json/value.h"

namespace drachma::apiserver {

// A resource with its kind, in one version.
struct ResourceKind {
  std::string group;
  std::string version;
  std::string resource;
  std::string kind;
  // The group and version of `kind` where they are not those of the resource ("autoscaling/v1" of
  // a Scale).
  std::string kind_group_version = {};
};

// A webhook that is to be called for a request.
struct WebhookInvocation {
  json::Value hook;  // the entry of `webhooks` of its configuration
  ResourceKind as;   // the form of the resource that its rules ask for
};

// Other resources and versions that hold the same objects (EquivalentResourceMapper), without the
// request's own.
using Equivalents = std::function<std::vector<ResourceKind>(
    std::string_view group, std::string_view version, std::string_view resource)>;

// What the request is about as webhooks see it: a Namespace counts as inside itself, and a create
// has the name of its object.
struct WebhookSubject {
  std::string ns;
  std::string name;
};
[[nodiscard]] WebhookSubject SubjectOf(const AdmissionRequest& request);

// The request in its own form; the kind of a subresource that speaks another one (Scale, Binding).
[[nodiscard]] ResourceKind FormOf(const AdmissionRequest& request);

// Whether a webhook may see the request at all: configurations of admission are exempt, so that a
// broken webhook can be removed.
[[nodiscard]] bool IsExemptFromWebhooks(const AdmissionRequest& request);

// Whether a rule of a webhook or a policy is about the request in the form `as`.
[[nodiscard]] bool RuleMatches(const json::Value& rule, const AdmissionRequest& request,
                               const ResourceKind& as);
// Whether the `namespaceSelector` and the `objectSelector` of `criteria` fit; null ones do.
// ERRORS: kNotFound for a namespace that does not exist, kInternal for a selector that is none.
[[nodiscard]] Result<bool> NamespaceMatches(const json::Value& criteria,
                                            const AdmissionRequest& request,
                                            const ObjectReader& objects);
[[nodiscard]] Result<bool> ObjectMatches(const json::Value& criteria,
                                         const AdmissionRequest& request);
// "CREATE", "UPDATE", "DELETE" or "CONNECT".
[[nodiscard]] std::string_view OperationName(Operation operation);

// Whether `hook` is called for the request: namespaceSelector, objectSelector, rules and, with
// matchPolicy Equivalent, rules for another version of the resource. Nothing when it is not.
// ERRORS: kNotFound for a namespace that does not exist, kInternal for a selector that is none.
[[nodiscard]] Result<std::optional<WebhookInvocation>> MatchWebhook(const json::Value& hook,
                                                                    const AdmissionRequest& request,
                                                                    const ObjectReader& objects,
                                                                    const Equivalents& equivalents);

}  // namespace drachma::apiserver
