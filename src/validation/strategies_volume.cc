#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "num/quantity.h"
#include "validation/names.h"
#include "validation/object_meta.h"
#include "validation/pod_rules.h"
#include "validation/strategy_tables.h"
#include "validation/text_diff.h"

// PersistentVolumeClaims: pkg/registry/core/persistentvolumeclaim of Kubernetes.
namespace drachma::validation {
namespace {

using json::Value;

constexpr std::string_view kStatus = "status";

ErrorList MetaOf(const Value& object, Scope scope, NameRule rule) {
  return ValidateCoreObjectMeta(object["metadata"], scope, rule, "metadata");
}
ErrorList MetaUpdateOf(const Value& object, const Value& old) {
  return ValidateCoreObjectMetaUpdate(object["metadata"], old["metadata"], "metadata");
}

ErrorList ValidateSource(const Value& source, const std::string& path) {
  if (source.IsNull()) return {};
  ErrorList errors;
  for (const std::string_view field : {"name", "kind"}) {
    if (source[field].AsString().empty()) errors.push_back(Required(Child(path, field)));
  }
  const std::string_view group = source["apiGroup"].AsString();
  const std::string_view kind = source["kind"].AsString();
  if (group.empty() && kind != "PersistentVolumeClaim") {
    errors.push_back(
        Invalid(path, ShownText(kind),
                "must be 'PersistentVolumeClaim' when referencing the default apiGroup"));
  }
  if (!group.empty()) {
    Append(errors, InvalidEach(Child(path, "apiGroup"), group, IsDns1123Subdomain(group)));
  }
  const std::string_view ns = source["namespace"].AsString();
  if (!ns.empty()) {
    Append(errors, InvalidEach(Child(path, "namespace"), ns, NameIsDnsLabel(ns, NamePart::kWhole)));
  }
  return errors;
}

ErrorList ValidateAccessModes(const Value& modes) {
  static constexpr std::array<std::string_view, 4> kModes = {"ReadOnlyMany", "ReadWriteMany",
                                                             "ReadWriteOnce", "ReadWriteOncePod"};
  const std::string path = "spec.accessModes";
  ErrorList errors;
  bool alone = false;
  bool shared = false;
  for (const Value& item : modes.Items()) {
    const std::string_view mode = item.AsString();
    const bool known = std::ranges::find(kModes, mode) != kModes.end();
    if (!known) errors.push_back(NotSupported(path, ShownNamed(mode), kModes));
    alone = alone || mode == "ReadWriteOncePod";
    shared = shared || (known && mode != "ReadWriteOncePod");
  }
  if (alone && shared) {
    errors.push_back(Forbidden(path, "may not use ReadWriteOncePod with other access modes"));
  }
  return errors;
}

ErrorList ValidateStorage(const Value& requests) {
  const std::string path = "spec.resources[storage]";
  const Value* storage = requests.Find("storage");
  if (storage == nullptr) return {Required(path)};
  const auto quantity = Quantity::Parse(storage->AsString());
  if (quantity && quantity->Sign() <= 0) {
    return {Invalid(path, Shown(*storage), "must be greater than zero")};
  }
  return ValidateResourceQuantity("storage", *storage, path);
}

ErrorList ClaimSpecErrors(const Value& spec) {
  static constexpr std::array<std::string_view, 2> kModes = {"Block", "Filesystem"};
  ErrorList errors;
  if (spec["accessModes"].empty()) {
    errors.push_back(Required("spec.accessModes", "at least 1 access mode is required"));
  }
  if (!spec["selector"].IsNull()) {
    Append(errors, ValidateLabelSelector(spec["selector"], "spec.selector"));
  }
  Append(errors, ValidateAccessModes(spec["accessModes"]));
  Append(errors, ValidateStorage(spec["resources"]["requests"]));
  const auto check_class = [&](std::string_view field) {
    const std::string_view name = spec[field].AsString();
    if (name.empty()) return;
    Append(errors,
           InvalidEach(Child("spec", field), name, NameIsDnsSubdomain(name, NamePart::kWhole)));
  };
  check_class("storageClassName");
  const Value& mode = spec["volumeMode"];
  if (!mode.IsNull() && std::ranges::find(kModes, mode.AsString()) == kModes.end()) {
    errors.push_back(NotSupported("spec.volumeMode", ShownNamed(mode.AsString()), kModes));
  }
  const Value& source = spec["dataSource"];
  const Value& reference = spec["dataSourceRef"];
  Append(errors, ValidateSource(source, "spec.dataSource"));
  Append(errors, ValidateSource(reference, "spec.dataSourceRef"));
  if (!source.IsNull() && !reference.IsNull()) {
    const bool same = source["kind"] == reference["kind"] && source["name"] == reference["name"] &&
                      source["apiGroup"] == reference["apiGroup"];
    if (!reference["namespace"].AsString().empty()) {
      errors.push_back(
          Invalid("spec", "{}", "may not be specified when dataSourceRef.namespace is specified"));
    } else if (!same) {
      errors.push_back(Invalid("spec", "{}", "must match dataSourceRef"));
    }
  }
  check_class("volumeAttributesClassName");
  return errors;
}

// A source that is given in one of the two ways stands in both (NormalizeDataSources).
void NormalizeSources(Value& claim) {
  const Value spec = claim["spec"];
  const auto copy = [&](std::string_view from, std::string_view to, bool group_always) {
    Value made = Value::Object();
    const Value& source = spec[from];
    if (group_always || !source["apiGroup"].IsNull()) made.Set("apiGroup", source["apiGroup"]);
    made.Set("kind", source["kind"].AsString());
    made.Set("name", source["name"].AsString());
    claim.Edit("spec").Set(to, std::move(made));
  };
  if (!spec["dataSource"].IsNull() && spec["dataSourceRef"].IsNull()) {
    copy("dataSource", "dataSourceRef", true);
  } else if (spec["dataSource"].IsNull() && !spec["dataSourceRef"].IsNull() &&
             spec["dataSourceRef"]["namespace"].AsString().empty()) {
    copy("dataSourceRef", "dataSource", true);
  }
}

// Sources that only dataSourceRef may name are dropped here
// (EnforceDataSourceBackwardsCompatibility).
void DropOtherSources(Value& claim) {
  const Value& source = claim["spec"]["dataSource"];
  if (source.IsNull()) return;
  const std::string_view group = source["apiGroup"].AsString();
  const std::string_view kind = source["kind"].AsString();
  if (group.empty() && kind == "PersistentVolumeClaim") return;
  if (group == "snapshot.storage.k8s.io" && kind == "VolumeSnapshot") return;
  claim.Edit("spec").Erase("dataSource");
}

void PrepareClaimCreate(const Context&, Value& claim) {
  claim.Set("status", Value::Object({{"phase", "Pending"}}));
  DropOtherSources(claim);
  NormalizeSources(claim);
}

void PrepareClaimUpdate(const Context& context, Value& claim, const Value& old) {
  KeepStatus(context, claim, old);
  NormalizeSources(claim);
}

ErrorList ValidateClaim(const Context&, const Value& claim) {
  ErrorList errors = MetaOf(claim, Scope::kNamespaced, NameIsDnsSubdomain);
  Append(errors, ClaimSpecErrors(claim["spec"]));
  return errors;
}

ErrorList ValidateClaimUpdate(const Context& context, const Value& claim, const Value& old) {
  ErrorList errors = MetaUpdateOf(claim, old);
  Append(errors, ValidateClaim(context, claim));
  Value now = claim["spec"];
  Value before = old["spec"];
  // The volume is set once, and bound claims may grow.
  if (before["volumeName"].AsString().empty()) TakeOver(before, now, "volumeName");
  if (claim["status"]["phase"].AsString() == "Bound") {
    if (!now["resources"]["requests"].IsNull()) {
      TakeOver(now.Edit("resources").Edit("requests"), before["resources"]["requests"], "storage");
    }
    TakeOver(now, before, "volumeAttributesClassName");
  }
  if (!SemanticEqual(now, before)) {
    errors.push_back(
        Forbidden("spec",
                  "spec is immutable after creation except resources.requests and "
                  "volumeAttributesClassName for bound claims\n" +
                      InternalDiff(before, now, "k8s.io/api/core/v1.PersistentVolumeClaimSpec")));
  }
  const auto size = [](const Value& amounts) {
    const auto quantity = Quantity::Parse(amounts["storage"].AsString("0"));
    return quantity ? *quantity : *Quantity::Parse("0");
  };
  const Quantity wanted = size(claim["spec"]["resources"]["requests"]);
  if (wanted < size(old["spec"]["resources"]["requests"]) &&
      !(size(old["status"]["capacity"]) < wanted)) {
    errors.push_back(
        Forbidden("spec.resources.requests.storage", "field can not be less than status.capacity"));
  }
  Append(errors,
         ValidateImmutable(claim["spec"]["volumeMode"], old["spec"]["volumeMode"], "volumeMode"));
  return errors;
}

ErrorList ValidateClaimStatus(const Context&, const Value& claim, const Value& old) {
  ErrorList errors = MetaUpdateOf(claim, old);
  if (claim["spec"]["accessModes"].empty()) errors.push_back(Required("Spec.accessModes"));
  for (const json::Member& amount : claim["status"]["capacity"].Members()) {
    const auto quantity = Quantity::Parse(amount.value.AsString());
    if (!quantity || quantity->Sign() >= 0) continue;
    errors.push_back(Invalid(Key("status.capacity", amount.key()), Shown(amount.value),
                             "must be a valid resource quantity"));
  }
  return errors;
}

constexpr Strategy kRows[] = {
    {.kind = "PersistentVolumeClaim",
     .prepare_create = PrepareClaimCreate,
     .prepare_update = PrepareClaimUpdate,
     .validate_create = ValidateClaim,
     .validate_update = ValidateClaimUpdate,
     .reset_fields = kStatus},
    {.kind = "PersistentVolumeClaim",
     .subresource = kStatus,
     .prepare_update = KeepSpec,
     .validate_update = ValidateClaimStatus,
     .reset_fields = "spec"},
};

}  // namespace

ErrorList ValidateVolumeClaimSpec(const Value& spec, const std::string& path) {
  ErrorList errors = ClaimSpecErrors(spec);
  for (FieldError& error : errors) error.path = path + error.path.substr(std::size("spec") - 1);
  return errors;
}

std::span<const Strategy> VolumeStrategies() { return kRows; }

}  // namespace drachma::validation
