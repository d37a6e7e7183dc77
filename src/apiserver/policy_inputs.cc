#include "apiserver/policy_inputs.h"

#include <algorithm>
#include <array>
#include <utility>

#include "apiserver/admission_form.h"
#include "apiserver/status.h"

namespace drachma::apiserver {

using json::Value;

Value VisibleNamespace(const Value& ns) {
  static constexpr auto kMetadata = std::to_array<std::string_view>(
      {"name", "generateName", "namespace", "uid", "resourceVersion", "generation",
       "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "labels",
       "annotations", "finalizers"});
  Value metadata = Value::Object();
  for (const std::string_view field : kMetadata) {
    if (const Value* value = ns["metadata"].Find(field)) metadata.Set(field, *value);
  }
  Value visible = Value::Object({{"metadata", std::move(metadata)}});
  for (const std::string_view field : {"spec", "status"}) {
    visible.Set(field, ns[field].IsObject() ? ns[field] : Value::Object());
  }
  return visible;
}

cel::AccessDecision RequestInputs::Access::Check(const cel::AccessQuestion& question) const {
  const bool is_resource = question.path.empty();
  const User user = question.account_name.empty()
                        ? user_
                        : ServiceAccountUser(question.account_namespace, question.account_name);
  Attributes attributes{.user = user,
                        .verb = question.verb,
                        .is_resource = is_resource,
                        .group = question.group,
                        .version = is_resource ? "*" : "",
                        .resource = question.resource,
                        .subresource = question.subresource,
                        .ns = question.ns,
                        .name = question.name,
                        .path = question.path,
                        .field_selector = question.field_selector,
                        .label_selector = question.label_selector,
                        .explain = true};
  cel::AccessDecision decision;
  decision.allowed = core_.Ask(attributes, decision.reason) == Decision::kAllow;
  return decision;
}

RequestInputs::RequestInputs(Core& core, const AdmissionRequest& request)
    : core_(core), request_(request), access_(core, request.user) {}

cel::Value RequestInputs::Keep(Value value) {
  static const Value kAny;
  return ValueOfJson(arena_, kept_.emplace_back(std::move(value)), kAny);
}

// admission.k8s.io's AdmissionRequest without its objects, which are variables of their own.
Value RequestInputs::Shown(const ResourceKind& resource, const ResourceKind& kind) const {
  const ResourceKind own = FormOf(request_);
  const std::string ns = SubjectOf(request_).ns;
  Value shown = Value::Object({{"kind", ShownKind(kind)}, {"resource", ShownResource(resource)}});
  const auto set = [&](std::string_view field, std::string_view text) {
    if (!text.empty()) shown.Set(field, text);
  };
  set("subResource", request_.subresource);
  shown.Set("requestKind", ShownKind(own));
  shown.Set("requestResource", ShownResource(own));
  set("requestSubResource", request_.subresource);
  set("name", request_.name);
  set("namespace", ns);
  shown.Set("operation", OperationName(request_.operation));
  shown.Set("userInfo", ShownUser(request_.user));
  shown.Set("dryRun", request_.dry_run);
  shown.Set("options", request_.options);
  return shown;
}

Result<cel::Value> RequestInputs::NamespaceObject(const ObjectReader& objects) {
  const bool is_namespace = request_.group.empty() && request_.resource == "namespaces";
  if (request_.ns.empty() || is_namespace) return cel::Value::Null();
  if (namespace_object_) return *namespace_object_;
  const Value found = objects.Get("", "namespaces", "", request_.ns);
  if (found.IsNull()) return std::unexpected(NotFoundError("", "namespaces", request_.ns));
  namespace_object_ = Keep(VisibleNamespace(found));
  return *namespace_object_;
}

Result<const RequestInputs::Form*> RequestInputs::For(const ResourceKind& form) {
  const auto known = std::ranges::find_if(forms_, [&](const Form& other) {
    return other.kind.group == form.group && other.kind.version == form.version &&
           other.kind.resource == form.resource;
  });
  if (known != forms_.end()) return &*known;
  DRA_ASSIGN(Value object, InForm(core_.kinds(), request_, request_.object, form));
  DRA_ASSIGN(Value old_object, InForm(core_.kinds(), request_, request_.old_object, form));
  Form& made = forms_.emplace_back();
  made.kind = form;
  made.inputs.object = Keep(std::move(object));
  made.inputs.old_object = Keep(std::move(old_object));
  made.inputs.authorizer = cel::MakeAuthorizer(arena_, access_);
  made.inputs.request_resource = cel::MakeResourceCheck(arena_, access_,
                                                        {.group = request_.group,
                                                         .resource = request_.resource,
                                                         .subresource = request_.subresource,
                                                         .ns = SubjectOf(request_).ns,
                                                         .name = request_.name});
  made.matching = made.inputs;
  made.inputs.request = Keep(Shown(form, form));
  made.matching.request = Keep(Shown(FormOf(request_), form));
  return &made;
}

}  // namespace drachma::apiserver
