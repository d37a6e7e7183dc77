#include "apiserver/admission_form.h"

#include <optional>
#include <utility>

#include "api/conversion.h"
#include "api/kinds.h"
#include "apiserver/custom_kind.h"
#include "apiserver/status.h"

namespace drachma::apiserver {

using json::Value;

namespace {

// The Binding that made the pod what it is.
Value BindingOf(const Value& pod) {
  return Value::Object(
      {{"kind", "Binding"},
       {"apiVersion", "v1"},
       {"metadata", Value::Object({{"name", pod["metadata"]["name"]},
                                   {"namespace", pod["metadata"]["namespace"]}})},
       {"target", Value::Object({{"kind", "Node"}, {"name", pod["spec"]["nodeName"]}})}});
}

// Events of the two groups are the same objects.
std::optional<ResourceKind> OtherEvents(std::string_view group, std::string_view resource) {
  if (resource != "events") return std::nullopt;
  if (group.empty()) return ResourceKind{"events.k8s.io", "v1", "events", "Event"};
  if (group == "events.k8s.io") return ResourceKind{"", "v1", "events", "Event"};
  return std::nullopt;
}

}  // namespace

Equivalents EquivalentsOf(const KindTable& kinds) {
  return [&kinds](std::string_view group, std::string_view version, std::string_view resource) {
    std::vector<ResourceKind> others;
    const KindPtr kind = kinds.Find(group, resource);
    if (kind == nullptr) return others;
    for (const api::VersionInfo& other : kind->info().versions) {
      if (other.version == version) continue;
      others.push_back({std::string(group), std::string(other.version), std::string(resource),
                        std::string(kind->info().kind)});
    }
    if (auto events = OtherEvents(group, resource)) others.push_back(std::move(*events));
    return others;
  };
}

Result<Value> InForm(const KindTable& kinds, const AdmissionRequest& request, const Value& object,
                     const ResourceKind& form) {
  if (object.IsNull()) return object;
  if (request.subresource == "scale") return api::ScaleOf(object);
  if (request.subresource == "binding") return BindingOf(object);
  const KindPtr kind = kinds.Find(form.group, form.version, form.resource);
  if (kind == nullptr) return std::unexpected(NoSuchResourceError());
  return kind->Convert(object, kind->ApiVersion(form.version));
}

Result<Value> FromForm(const Core& core, const AdmissionRequest& request, const ResourceKind& form,
                       const Value& changed, api::StrictFields strict) {
  const auto internal = [](std::string_view why) { return std::unexpected(InternalError(why)); };
  if (request.subresource == "binding") return request.object;
  if (request.subresource == "scale") {
    Value scaled = request.object;
    scaled.Edit("spec").Set("replicas", changed["spec"]["replicas"].AsInt());
    return scaled;
  }
  const KindPtr kind = core.kinds().Find(form.group, form.version, form.resource);
  const KindPtr own = core.kinds().Find(request.group, request.resource);
  if (kind == nullptr || own == nullptr) return std::unexpected(NoSuchResourceError());
  // Unknown fields of custom resources are dropped in any case.
  if (dynamic_cast<const CustomKind*>(kind.get()) != nullptr) strict = api::StrictFields::kIgnore;
  Result<api::Decoded> decoded = kind->Decode(changed, form.version, strict, {});
  if (!decoded) return internal(decoded.error().message);
  if (!decoded->strict_errors.empty())
    return internal(api::StrictErrorText(decoded->strict_errors));
  kind->SetDefaults(form.version, core.Now(), decoded->value);
  return own->Convert(std::move(decoded->value), own->storage_api_version());
}

Value ShownKind(const ResourceKind& form) {
  std::string_view group = form.group;
  std::string_view version = form.version;
  if (!form.kind_group_version.empty()) {
    const api::GroupVersionParts parts = api::SplitGroupVersion(form.kind_group_version);
    group = parts.group;
    version = parts.version;
  }
  return Value::Object({{"group", group}, {"version", version}, {"kind", form.kind}});
}

Value ShownResource(const ResourceKind& form) {
  return Value::Object(
      {{"group", form.group}, {"version", form.version}, {"resource", form.resource}});
}

Value ShownUser(const User& user) {
  Value info = Value::Object({{"username", user.name}});
  if (!user.uid.empty()) info.Set("uid", user.uid);
  Value groups = Value::Array();
  for (const std::string& group : user.groups) groups.Append(group);
  if (!groups.empty()) info.Set("groups", std::move(groups));
  Value extra = Value::Object();
  for (const auto& [key, values] : user.extra) {
    Value list = Value::Array();
    for (const std::string& value : values) list.Append(value);
    extra.Set(key, std::move(list));
  }
  if (!extra.empty()) info.Set("extra", std::move(extra));
  return info;
}

}  // namespace drachma::apiserver
