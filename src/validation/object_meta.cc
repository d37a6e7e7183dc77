#include "validation/object_meta.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>

namespace drachma::validation {
namespace {

using json::Value;

constexpr std::size_t kAnnotationBytesMax = 256 * 1024;
constexpr std::size_t kFieldManagerMax = 128;
constexpr std::size_t kSubresourceMax = 256;
constexpr std::size_t kReasonMax = 1024;
constexpr std::size_t kMessageMax = 32 * 1024;
constexpr std::string_view kOrphan = "orphan";
constexpr std::string_view kForeground = "foregroundDeletion";
constexpr std::string_view kImmutable = "field is immutable";

FieldError CoveredOne(FieldError error) {
  error.source = Source::kCovered;
  return error;
}

// "group/version" or "version" split; nothing when it is neither (schema.ParseGroupVersion).
bool ParseGroupVersion(std::string_view text, std::string_view* group, std::string_view* version) {
  const auto parts = Split(text, '/');
  if (parts.size() > 2) return false;
  *group = parts.size() == 2 ? parts[0] : std::string_view();
  *version = parts.back();
  return true;
}

ErrorList ValidateOwnerReference(const Value& owner, std::string_view path) {
  ErrorList errors;
  const std::string_view api_version = owner["apiVersion"].AsString();
  std::string_view group;
  std::string_view version;
  const bool parsed = ParseGroupVersion(api_version, &group, &version);
  if (api_version.empty()) {
    errors.push_back(CoveredOne(Required(Child(path, "apiVersion"), "must not be empty")));
  } else if (!parsed || version.empty()) {
    errors.push_back(Invalid(Child(path, "apiVersion"), ShownText(api_version),
                             "must be <group>/<version> or <version>"));
  }
  for (const std::string_view name : {"kind", "name", "uid"}) {
    if (owner[name].AsString().empty()) {
      errors.push_back(CoveredOne(Required(Child(path, name), "must not be empty")));
    }
  }
  if (parsed && group.empty() && version == "v1" && owner["kind"].AsString() == "Event") {
    errors.push_back(Invalid(std::string(path), Shown(owner),
                             "/v1, Kind=Event is disallowed from being an owner"));
  }
  return errors;
}

ErrorList ValidateOwnerReferences(const Value& owners, std::string_view path) {
  ErrorList errors;
  std::string first_controller;
  for (std::size_t i = 0; i < owners.size(); ++i) {
    const Value& owner = owners.Items()[i];
    Append(errors, ValidateOwnerReference(owner, Index(path, i)));
    if (!owner["controller"].AsBool()) continue;
    std::string name = fmt::format("{}/{}", owner["kind"].AsString(), owner["name"].AsString());
    if (first_controller.empty()) {
      first_controller = std::move(name);
    } else {
      errors.push_back(Invalid(std::string(path), Shown(owners),
                               fmt::format("Only one reference can have Controller set to true. "
                                           "Found \"true\" in references for {} and {}",
                                           first_controller, name)));
    }
  }
  return errors;
}

ErrorList ValidateFinalizers(const Value& finalizers, std::string_view path) {
  ErrorList errors;
  bool orphan = false;
  bool foreground = false;
  for (const Value& finalizer : finalizers.Items()) {
    const std::string_view name = finalizer.AsString();
    Append(errors, InvalidEach(path, name, IsLabelKey(name)));
    orphan = orphan || name == kOrphan;
    foreground = foreground || name == kForeground;
  }
  if (orphan && foreground) {
    errors.push_back(
        Invalid(std::string(path), Shown(finalizers),
                fmt::format("finalizer {} and {} cannot be both set", kOrphan, kForeground)));
  }
  return errors;
}

ErrorList ValidateNoNewFinalizers(const Value& now, const Value& old, std::string_view path) {
  std::set<std::string_view> extra;
  for (const Value& finalizer : now.Items()) extra.insert(finalizer.AsString());
  for (const Value& finalizer : old.Items()) extra.erase(finalizer.AsString());
  if (extra.empty()) return {};
  std::string list;
  for (const std::string_view name : extra) {
    if (!list.empty()) list += ", ";
    list += ShownText(name);
  }
  return {Forbidden(std::string(path),
                    fmt::format("no new finalizers can be added if the object is being deleted, "
                                "found new finalizers []string{{{}}}",
                                list))};
}

ErrorList ValidateMetaCommon(const Value& meta, Scope scope, std::string_view path) {
  ErrorList errors;
  const std::string_view ns = meta["namespace"].AsString();
  const std::string ns_path = Child(path, "namespace");
  if (scope == Scope::kCluster) {
    if (!ns.empty()) errors.push_back(Forbidden(ns_path, "not allowed on this type"));
  } else if (ns.empty()) {
    errors.push_back(Required(ns_path));
  } else {
    Append(errors, InvalidEach(ns_path, ns, NameIsDnsLabel(ns, NamePart::kWhole)));
  }
  Append(errors, ValidateNonNegative(meta["generation"].AsInt(), Child(path, "generation")));
  Append(errors, ValidateLabels(meta["labels"], Child(path, "labels")));
  Append(errors, ValidateAnnotations(meta["annotations"], Child(path, "annotations")));
  Append(errors, ValidateOwnerReferences(meta["ownerReferences"], Child(path, "ownerReferences")));
  Append(errors, ValidateFinalizers(meta["finalizers"], Child(path, "finalizers")));
  Append(errors, ValidateManagedFields(meta["managedFields"], Child(path, "managedFields")));
  return errors;
}

ErrorList ValidateCondition(const Value& condition, std::string_view path) {
  ErrorList errors;
  const std::string_view type = condition["type"].AsString();
  if (type.empty()) {
    errors.push_back(Required(Child(path, "type"), "is required"));
  } else {
    Append(errors, ValidateLabelName(type, Child(path, "type")));
  }
  static constexpr std::array<std::string_view, 3> kStatuses = {"False", "True", "Unknown"};
  const std::string_view status = condition["status"].AsString();
  if (status.empty()) {
    errors.push_back(Required(Child(path, "status")));
  } else if (std::ranges::find(kStatuses, status) == kStatuses.end()) {
    errors.push_back(NotSupported(Child(path, "status"), ShownNamed(status), kStatuses));
  }
  const std::int64_t generation = condition["observedGeneration"].AsInt();
  if (generation < 0) {
    errors.push_back(Invalid(Child(path, "observedGeneration"), ShownInt(generation),
                             "must be greater than or equal to zero"));
  }
  if (condition["lastTransitionTime"].AsString().empty()) {
    errors.push_back(Required(Child(path, "lastTransitionTime")));
  }
  const std::string_view reason = condition["reason"].AsString();
  const std::string reason_path = Child(path, "reason");
  if (reason.empty()) {
    errors.push_back(Required(reason_path));
  } else {
    const auto word = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    };
    const char first = reason.front();
    const bool letter = (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z');
    const bool inside =
        std::ranges::all_of(reason, [&](char c) { return word(c) || c == ',' || c == ':'; });
    if (!letter || !inside || !word(reason.back())) {
      errors.push_back(Invalid(
          reason_path, ShownText(reason),
          "a condition reason must start with alphabetic character, optionally followed by a "
          "string of alphanumeric characters or '_,:', and must end with an alphanumeric character "
          "or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or "
          "'ReasonA:ReasonB', regex used for validation is "
          "'[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')"));
    }
    if (reason.size() > kReasonMax) errors.push_back(TooLong(reason_path, kReasonMax));
  }
  if (condition["message"].AsString().size() > kMessageMax) {
    errors.push_back(TooLong(Child(path, "message"), kMessageMax));
  }
  return errors;
}

ErrorList ValidateSelectorRequirement(const Value& requirement, std::string_view path) {
  ErrorList errors;
  const std::string_view op = requirement["operator"].AsString();
  const Value& values = requirement["values"];
  if (op == "In" || op == "NotIn") {
    if (values.empty()) {
      errors.push_back(
          Required(Child(path, "values"), "must be specified when `operator` is 'In' or 'NotIn'"));
    }
  } else if (op == "Exists" || op == "DoesNotExist") {
    if (!values.empty()) {
      errors.push_back(Forbidden(Child(path, "values"),
                                 "may not be specified when `operator` is 'Exists' or "
                                 "'DoesNotExist'"));
    }
  } else {
    errors.push_back(
        Invalid(Child(path, "operator"), ShownNamed(op), "not a valid selector operator"));
  }
  Append(errors, ValidateLabelName(requirement["key"].AsString(), Child(path, "key")));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string_view value = values.Items()[i].AsString();
    Append(errors, InvalidEach(Index(Child(path, "values"), i), value, IsLabelValue(value)));
  }
  return errors;
}

bool IsEmptyList(const Value* value) {
  return value == nullptr || value->IsNull() || (value->IsArray() && value->empty());
}

// The members of ObjectMeta in Go's order, by the names that errors show.
struct MetaField {
  std::string_view name;
  std::string_view shown;
};
constexpr std::array<MetaField, 13> kTemplateForbidden = {{
    {"name", "name"},
    {"generateName", "generateName"},
    {"namespace", "namespace"},
    {"selfLink", "selfLink"},
    {"uid", "uID"},
    {"resourceVersion", "resourceVersion"},
    {"generation", "generation"},
    {"creationTimestamp", "creationTimestamp"},
    {"deletionTimestamp", "deletionTimestamp"},
    {"deletionGracePeriodSeconds", "deletionGracePeriodSeconds"},
    {"ownerReferences", "ownerReferences"},
    {"finalizers", "finalizers"},
    {"managedFields", "managedFields"},
}};

}  // namespace

bool SemanticEqual(const Value& a, const Value& b) {
  if (a.SharesWith(b)) return true;
  if (IsEmptyList(&a) && IsEmptyList(&b)) return true;
  if (a.kind() != b.kind()) return a == b;
  if (a.IsArray()) {
    return std::ranges::equal(a.Items(), b.Items(), SemanticEqual);
  }
  if (!a.IsObject()) return a == b;
  for (const json::Member& member : a.Members()) {
    const Value* other = b.Find(member.key());
    if (other == nullptr ? !IsEmptyList(&member.value) : !SemanticEqual(member.value, *other)) {
      return false;
    }
  }
  return std::ranges::all_of(b.Members(), [&](const json::Member& member) {
    return a.Has(member.key()) || IsEmptyList(&member.value);
  });
}

ErrorList ValidateImmutable(const Value& now, const Value& old, std::string path) {
  if (SemanticEqual(now, old)) return {};
  return {Invalid(std::move(path), Shown(now), std::string(kImmutable))};
}

ErrorList ValidateNonNegative(std::int64_t number, std::string path) {
  if (number >= 0) return {};
  FieldError error =
      Invalid(std::move(path), ShownInt(number), "must be greater than or equal to 0");
  error.origin = "minimum";
  return {error};
}

ErrorList ValidateLabelName(std::string_view name, std::string_view path) {
  return InvalidEach(path, name, IsLabelKey(name), "format=k8s-label-key");
}

ErrorList ValidateLabels(const Value& labels, std::string_view path) {
  ErrorList errors;
  for (const json::Member& label : labels.Members()) {
    Append(errors, ValidateLabelName(label.key(), path));
    const std::string_view value = label.value.AsString();
    Append(errors, InvalidEach(path, value, IsLabelValue(value), "format=k8s-label-value"));
  }
  return errors;
}

ErrorList ValidateAnnotations(const Value& annotations, std::string_view path) {
  ErrorList errors;
  std::size_t bytes = 0;
  for (const json::Member& annotation : annotations.Members()) {
    Append(errors, InvalidEach(path, annotation.key(), IsLabelKey(AsciiLower(annotation.key())),
                               "format=k8s-label-key"));
    bytes += annotation.key().size() + annotation.value.AsString().size();
  }
  if (bytes > kAnnotationBytesMax) {
    errors.push_back(TooLong(std::string(path), kAnnotationBytesMax));
  }
  return errors;
}

ErrorList ValidateManagedFields(const Value& entries, std::string_view path) {
  static constexpr std::array<std::string_view, 2> kOperations = {"Apply", "Update"};
  ErrorList errors;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Value& entry = entries.Items()[i];
    const std::string entry_path = Index(path, i);
    const std::string_view operation = entry["operation"].AsString();
    if (operation.empty()) {
      errors.push_back(Required(Child(entry_path, "operation"), "must not be empty"));
    } else if (std::ranges::find(kOperations, operation) == kOperations.end()) {
      errors.push_back(
          NotSupported(Child(entry_path, "operation"), ShownNamed(operation), kOperations));
    }
    const std::string_view type = entry["fieldsType"].AsString();
    if (!type.empty() && type != "FieldsV1") {
      errors.push_back(
          Invalid(Child(entry_path, "fieldsType"), ShownText(type), "must be `FieldsV1`"));
    }
    if (entry["manager"].AsString().size() > kFieldManagerMax) {
      errors.push_back(TooLong(Child(entry_path, "manager"), kFieldManagerMax));
    }
    if (entry["subresource"].AsString().size() > kSubresourceMax) {
      errors.push_back(TooLong(Child(entry_path, "subresource"), kSubresourceMax));
    }
  }
  return errors;
}

ErrorList ValidateConditions(const Value& conditions, std::string_view path) {
  ErrorList errors;
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    const Value& condition = conditions.Items()[i];
    const std::string_view type = condition["type"].AsString();
    if (!seen.insert(type).second) {
      errors.push_back(Duplicate(Index(path, i), ShownText(type)));
    }
    Append(errors, ValidateCondition(condition, Index(path, i)));
  }
  return errors;
}

ErrorList ValidateLabelSelector(const Value& selector, std::string_view path) {
  ErrorList errors = ValidateLabels(selector["matchLabels"], Child(path, "matchLabels"));
  const auto requirements = selector["matchExpressions"].Items();
  for (std::size_t i = 0; i < requirements.size(); ++i) {
    Append(errors,
           ValidateSelectorRequirement(requirements[i], Index(Child(path, "matchExpressions"), i)));
  }
  return errors;
}

ErrorList ValidateObjectMeta(const Value& meta, Scope scope, NameRule name_rule,
                             std::string_view path) {
  ErrorList errors;
  const std::string_view prefix = meta["generateName"].AsString();
  if (!prefix.empty()) {
    Append(errors,
           InvalidEach(Child(path, "generateName"), prefix, name_rule(prefix, NamePart::kPrefix)));
  }
  const std::string_view name = meta["name"].AsString();
  if (name.empty()) {
    errors.push_back(Required(Child(path, "name"), "name or generateName is required"));
  } else {
    Append(errors, InvalidEach(Child(path, "name"), name, name_rule(name, NamePart::kWhole)));
  }
  Append(errors, ValidateMetaCommon(meta, scope, path));
  return errors;
}

ErrorList ValidateObjectMetaWithName(const Value& meta, Scope scope, ErrorList name_errors,
                                     std::string_view path) {
  ErrorList errors;
  if (meta["name"].AsString().empty()) {
    errors.push_back(Required(Child(path, "name"), "name or generateName is required"));
  } else {
    errors = std::move(name_errors);
  }
  Append(errors, ValidateMetaCommon(meta, scope, path));
  return errors;
}

ErrorList ValidateKubeFinalizers(const Value& meta, std::string_view path) {
  static constexpr std::array<std::string_view, 3> kStandard = {"kubernetes", kOrphan, kForeground};
  ErrorList errors;
  const auto finalizers = meta["finalizers"].Items();
  for (std::size_t i = 0; i < finalizers.size(); ++i) {
    const std::string_view name = finalizers[i].AsString();
    if (name.contains('/') || std::ranges::find(kStandard, name) != kStandard.end()) continue;
    errors.push_back(
        Invalid(Index(Child(path, "finalizers"), i), ShownText(name),
                "name is neither a standard finalizer name nor is it fully qualified"));
  }
  return errors;
}

ErrorList ValidateCoreObjectMeta(const Value& meta, Scope scope, NameRule name_rule,
                                 std::string_view path) {
  ErrorList errors = ValidateObjectMeta(meta, scope, name_rule, path);
  Append(errors, ValidateKubeFinalizers(meta, path));
  return errors;
}

ErrorList ValidateObjectMetaUpdate(const Value& meta, const Value& old, std::string_view path) {
  ErrorList errors;
  if (!old["deletionTimestamp"].IsNull()) {
    Append(errors, ValidateNoNewFinalizers(meta["finalizers"], old["finalizers"],
                                           Child(path, "finalizers")));
  }
  if (meta["resourceVersion"].AsString().empty()) {
    errors.push_back(
        Invalid(Child(path, "resourceVersion"), "\"\"", "must be specified for an update"));
  }
  const std::int64_t generation = meta["generation"].AsInt();
  Append(errors, ValidateNonNegative(generation, Child(path, "generation")));
  if (generation < old["generation"].AsInt()) {
    errors.push_back(
        Invalid(Child(path, "generation"), ShownInt(generation), "must not be decremented"));
  }
  for (const std::string_view name : {"name", "namespace", "uid"}) {
    if (meta[name].AsString() == old[name].AsString()) continue;
    const std::string_view text = meta[name].AsString();
    errors.push_back(Invalid(Child(path, name), name == "uid" ? ShownNamed(text) : ShownText(text),
                             std::string(kImmutable)));
  }
  for (const std::string_view name :
       {"creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"}) {
    Append(errors, ValidateImmutable(meta[name], old[name], Child(path, name)));
  }
  Append(errors, ValidateLabels(meta["labels"], Child(path, "labels")));
  Append(errors, ValidateAnnotations(meta["annotations"], Child(path, "annotations")));
  Append(errors, ValidateOwnerReferences(meta["ownerReferences"], Child(path, "ownerReferences")));
  Append(errors, ValidateManagedFields(meta["managedFields"], Child(path, "managedFields")));
  return errors;
}

ErrorList ValidateCoreObjectMetaUpdate(const Value& meta, const Value& old, std::string_view path) {
  ErrorList errors = ValidateObjectMetaUpdate(meta, old, path);
  Append(errors, ValidateKubeFinalizers(meta, path));
  return errors;
}

ErrorList ValidateTemplateObjectMeta(const Value& meta, std::string_view path) {
  ErrorList errors = ValidateAnnotations(meta["annotations"], Child(path, "annotations"));
  Append(errors, ValidateLabels(meta["labels"], Child(path, "labels")));
  for (const MetaField& field : kTemplateForbidden) {
    const Value& value = meta[field.name];
    const bool unset = value.IsNull() || (value.IsString() && value.AsString().empty()) ||
                       (value.IsInt() && value.AsInt() == 0 && field.name == "generation");
    if (!unset) errors.push_back(Forbidden(Child(path, field.shown), "cannot be set"));
  }
  return errors;
}

}  // namespace drachma::validation
