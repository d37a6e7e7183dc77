#include "client/objects.h"

#include <algorithm>
#include <utility>

namespace drachma::client {
namespace {

using json::Value;

bool Contains(const Value& list, std::string_view text) {
  return std::ranges::any_of(list.Items(), [&](const Value& v) { return v.AsString() == text; });
}

bool MatchesExpression(const Value& expression, const Value& labels) {
  const std::string_view op = expression["operator"].AsString();
  const Value* label = labels.Find(expression["key"].AsString());
  if (op == "Exists") return label != nullptr;
  if (op == "DoesNotExist") return label == nullptr;
  if (op == "In") return label != nullptr && Contains(expression["values"], label->AsString());
  if (op == "NotIn") return label == nullptr || !Contains(expression["values"], label->AsString());
  return false;
}

}  // namespace

std::string_view NameOf(const Value& object) { return object["metadata"]["name"].AsString(); }
std::string_view NamespaceOf(const Value& object) {
  return object["metadata"]["namespace"].AsString();
}
std::string_view UidOf(const Value& object) { return object["metadata"]["uid"].AsString(); }
std::string_view ResourceVersionOf(const Value& object) {
  return object["metadata"]["resourceVersion"].AsString();
}
std::string_view LabelOf(const Value& object, std::string_view key) {
  return object["metadata"]["labels"][key].AsString();
}
std::string_view AnnotationOf(const Value& object, std::string_view key) {
  return object["metadata"]["annotations"][key].AsString();
}

bool IsBeingDeleted(const Value& object) {
  return !object["metadata"]["deletionTimestamp"].IsNull();
}

bool HasFinalizer(const Value& object, std::string_view finalizer) {
  return Contains(object["metadata"]["finalizers"], finalizer);
}

const Value* ControllerOf(const Value& object) {
  for (const Value& owner : object["metadata"]["ownerReferences"].Items()) {
    if (owner["controller"].AsBool()) return &owner;
  }
  return nullptr;
}

const Value* ConditionOf(const Value& object, std::string_view type) {
  for (const Value& condition : object["status"]["conditions"].Items()) {
    if (condition["type"].AsString() == type) return &condition;
  }
  return nullptr;
}

bool IsConditionTrue(const Value& object, std::string_view type) {
  const Value* condition = ConditionOf(object, type);
  return condition != nullptr && (*condition)["status"].AsString() == "True";
}

Time CreatedAt(const Value& object) {
  const auto time = ParseTime(object["metadata"]["creationTimestamp"].AsString());
  return time ? *time : Time();
}

bool IsPodTerminal(const Value& pod) {
  const std::string_view phase = pod["status"]["phase"].AsString();
  return phase == "Succeeded" || phase == "Failed";
}

std::string_view ClaimNameOf(const Value& pod, const Value& pod_claim) {
  if (const Value* name = pod_claim.Find("resourceClaimName")) return name->AsString();
  for (const Value& status : pod["status"]["resourceClaimStatuses"].Items()) {
    if (status["name"].AsString() == pod_claim["name"].AsString()) {
      return status["resourceClaimName"].AsString();
    }
  }
  return {};
}

bool MatchesSelector(const Value& selector, const Value& labels) {
  if (selector.IsNull()) return false;
  for (const json::Member& member : selector["matchLabels"].Members()) {
    const Value* label = labels.Find(member.key());
    if (label == nullptr || label->AsString() != member.value.AsString()) return false;
  }
  return std::ranges::all_of(selector["matchExpressions"].Items(), [&](const Value& expression) {
    return MatchesExpression(expression, labels);
  });
}

std::string ApiVersionOf(const Resource& resource) {
  return resource.group.empty() ? resource.version : resource.group + "/" + resource.version;
}

Value OwnerReference(std::string_view api_version, std::string_view kind, const Value& owner) {
  return Value::Object({{"apiVersion", api_version},
                        {"kind", kind},
                        {"name", NameOf(owner)},
                        {"uid", UidOf(owner)},
                        {"controller", true}});
}

Request GetRequest(Resource resource, std::string_view ns, std::string_view name) {
  return {.verb = Verb::kGet,
          .resource = std::move(resource),
          .ns = std::string(ns),
          .name = std::string(name)};
}

Request CreateRequest(Resource resource, std::string_view ns, Value object) {
  return {.verb = Verb::kCreate,
          .resource = std::move(resource),
          .ns = std::string(ns),
          .body = std::move(object)};
}

Request UpdateRequest(Resource resource, Value object, std::string_view subresource) {
  return {.verb = Verb::kUpdate,
          .resource = std::move(resource),
          .ns = std::string(NamespaceOf(object)),
          .name = std::string(NameOf(object)),
          .subresource = std::string(subresource),
          .body = std::move(object)};
}

Request PatchRequest(Resource resource, std::string_view ns, std::string_view name, PatchType type,
                     Value patch, std::string_view subresource) {
  return {.verb = Verb::kPatch,
          .resource = std::move(resource),
          .ns = std::string(ns),
          .name = std::string(name),
          .subresource = std::string(subresource),
          .body = std::move(patch),
          .patch = type};
}

Request DeleteRequest(Resource resource, const Value& object) {
  return {.verb = Verb::kDelete,
          .resource = std::move(resource),
          .ns = std::string(NamespaceOf(object)),
          .name = std::string(NameOf(object)),
          .body = Value::Object({{"apiVersion", "v1"},
                                 {"kind", "DeleteOptions"},
                                 {"preconditions", Value::Object({{"uid", UidOf(object)}})}})};
}

}  // namespace drachma::client
