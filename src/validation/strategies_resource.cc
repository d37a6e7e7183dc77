#include <algorithm>
#include <string>
#include <vector>

#include "validation/drop_fields.h"
#include "validation/names.h"
#include "validation/object_meta.h"
#include "validation/resource_common.h"
#include "validation/shown_template.h"
#include "validation/strategy_tables.h"

// resource.k8s.io: pkg/registry/resource of Kubernetes.
namespace drachma::validation {
namespace {

using json::Value;

constexpr std::size_t kRuleConditionsMax = 8;

// --- Fields of features. In a template the spec of a claim stands one level deeper.

const std::vector<GatedFields>& ClaimSpecFields() {
  static const std::vector<GatedFields> rows = {
      {{"DRAPrioritizedList"}, {"devices.requests[].firstAvailable"}},
      {{"DRADeviceTaints"},
       {"devices.requests[].exactly.tolerations",
        "devices.requests[].firstAvailable[].tolerations"}},
      {{"DRAAdminAccess"}, {"devices.requests[].exactly.adminAccess"}},
      {{"DRAConsumableCapacity"},
       {"devices.constraints[].distinctAttribute", "devices.requests[].exactly.capacity",
        "devices.requests[].firstAvailable[].capacity"}},
      {{"DRADerivedAttributes"},
       {"devices.requests[].exactly.derivedAttributes",
        "devices.requests[].firstAvailable[].derivedAttributes"}},
  };
  return rows;
}

const std::vector<GatedFields>& ClaimStatusFields() {
  static const std::vector<GatedFields> rows = {
      {{"DRAResourceClaimDeviceStatus"}, {"status.devices"}},
      {{"DRAAdminAccess"},
       {"status.allocation.devices.results[].adminAccess"},
       {"spec.devices.requests[].exactly.adminAccess"}},
      {{"DRAConsumableCapacity"},
       {"status.allocation.devices.results[].shareID",
        "status.allocation.devices.results[].consumedCapacity", "status.devices[].shareID"},
       {"spec.devices.constraints[].distinctAttribute", "spec.devices.requests[].exactly.capacity",
        "spec.devices.requests[].firstAvailable[].capacity"}},
      {{"DRADeviceBindingConditions"},
       {"status.allocation.devices.results[].bindingConditions",
        "status.allocation.devices.results[].bindingFailureConditions"}},
      {{"DRAOptionalNodeOperations"}, {"status.allocation.devices.results[].skipNodeOperations"}},
  };
  return rows;
}

const std::vector<GatedFields>& SliceFields() {
  static const std::vector<GatedFields> rows = {
      {{"DRADeviceTaints"}, {"spec.devices[].taints"}},
      {{"DRAPartitionableDevices"},
       {"spec.sharedCounters", "spec.perDeviceNodeSelection", "spec.devices[].consumesCounters",
        "spec.devices[].nodeName", "spec.devices[].nodeSelector", "spec.devices[].allNodes"}},
      {{"DRADeviceBindingConditions", "DRAResourceClaimDeviceStatus"},
       {"spec.devices[].bindingConditions", "spec.devices[].bindingFailureConditions",
        "spec.devices[].bindsToNode"}},
      {{"DRAConsumableCapacity"},
       {"spec.devices[].allowMultipleAllocations", "spec.devices[].capacity{}.requestPolicy"}},
      {{"DRADeviceCompatibilityGroups"}, {"spec.devices[].consumesCounters[].compatibilityGroups"}},
      {{"DRANodeAllocatableResources"}, {"spec.devices[].nodeAllocatableResources"}},
      {{"DRAListTypeAttributes"},
       {"spec.devices[].attributes{}.bools", "spec.devices[].attributes{}.ints",
        "spec.devices[].attributes{}.strings", "spec.devices[].attributes{}.versions"}},
      {{"DRAPartitionableDevicesType"}, {"spec.partitionTypeAttribute"}},
      {{"DRAOptionalNodeOperations"}, {"spec.skipNodeOperations"}},
  };
  return rows;
}

const std::vector<GatedFields>& ClassFields() {
  static const std::vector<GatedFields> rows = {
      {{"DRAExtendedResource"}, {"spec.extendedResourceName"}}};
  return rows;
}

const std::vector<GatedFields>& PoolStatusFields() {
  static const std::vector<GatedFields> rows = {
      {{"DRAPartitionableDevicesType"}, {"spec.defaultPartitionTypeAttribute"}}};
  return rows;
}

// Drops fields of the claim spec at object[outer], or at object[outer][inner] of a template.
void DropClaimSpecFields(const Context& context, Value& object, const Value* old,
                         bool in_template) {
  const auto spec_of = [&](const Value& value) -> const Value& {
    return in_template ? value["spec"]["spec"] : value["spec"];
  };
  if (!spec_of(object).IsObject()) return;
  Value& spec = in_template ? object.Edit("spec").Edit("spec") : object.Edit("spec");
  DropDisabled(context, ClaimSpecFields(), spec, old == nullptr ? nullptr : &spec_of(*old));
}

// --- ResourceClaim

void PrepareClaimCreate(const Context& context, Value& claim) {
  // A claim without anything to tell still has a status in Go.
  claim.Set("status", Value::Object());
  DropClaimSpecFields(context, claim, nullptr, false);
}

void PrepareClaimUpdate(const Context& context, Value& claim, const Value& old) {
  KeepStatus(context, claim, old);
  DropClaimSpecFields(context, claim, &old, false);
}

ErrorList ValidateClaim(const Context& context, const Value& claim) {
  const Value& devices = claim["spec"]["devices"];
  ErrorList errors =
      AuthorizeAdminAccess(context, devices["requests"], claim["metadata"]["namespace"].AsString());
  Append(errors, ValidateCoreObjectMeta(claim["metadata"], Scope::kNamespaced, NameIsDnsSubdomain,
                                        "metadata"));
  Append(errors, ValidateDeviceClaim(context, devices, "spec.devices", Origin::kNew));
  return errors;
}

ErrorList ValidateClaimUpdate(const Context&, const Value& claim, const Value& old) {
  const Value& meta = claim["metadata"];
  ErrorList errors =
      ValidateCoreObjectMeta(meta, Scope::kNamespaced, NameIsDnsSubdomain, "metadata");
  Append(errors, ValidateCoreObjectMetaUpdate(meta, old["metadata"], "metadata"));
  Append(errors,
         Covered(WithOrigin(ValidateImmutable(claim["spec"], old["spec"], "spec"), "immutable")));
  return errors;
}

std::string ShareKey(const Value& entry) { return ShownDeviceId(entry); }

// Removes the status of devices that were allocated and are no more, so that whoever deallocates
// need not know of that status.
void DropDeallocatedDevices(const Context& context, Value& claim, const Value& old) {
  const Value& devices = claim["status"]["devices"];
  if (devices.empty()) return;
  if (!context.Enabled("DRAResourceClaimDeviceStatus") && old["status"]["devices"].empty()) return;
  std::vector<std::string> gone;
  for (const Value& result : old["status"]["allocation"]["devices"]["results"].Items()) {
    gone.push_back(ShareKey(result));
  }
  for (const Value& result : claim["status"]["allocation"]["devices"]["results"].Items()) {
    std::erase(gone, ShareKey(result));
  }
  std::vector<Value> kept;
  for (const Value& device : devices.Items()) {
    if (std::ranges::find(gone, ShareKey(device)) == gone.end()) kept.push_back(device);
  }
  if (kept.size() == devices.size()) return;
  Value& status = claim.Edit("status");
  if (kept.empty()) {
    status.Erase("devices");
  } else {
    status.Set("devices", Value::Array(std::move(kept)));
  }
}

void PrepareClaimStatusUpdate(const Context& context, Value& claim, const Value& old) {
  KeepAllButStatus(context, claim, old);
  DropDisabled(context, ClaimStatusFields(), claim, &old);
  DropDeallocatedDevices(context, claim, old);
}

ErrorList ValidateClaimStatusUpdate(const Context& context, const Value& claim, const Value& old) {
  ErrorList errors = AuthorizeClaimStatus(context, claim, old);
  Append(errors, ValidateCoreObjectMetaUpdate(claim["metadata"], old["metadata"], "metadata"));
  Append(errors, ValidateClaimStatus(context, claim, old));
  return errors;
}

// --- ResourceClaimTemplate

void PrepareTemplateCreate(const Context& context, Value& claim_template) {
  DropClaimSpecFields(context, claim_template, nullptr, true);
}
void PrepareTemplateUpdate(const Context& context, Value& claim_template, const Value& old) {
  DropClaimSpecFields(context, claim_template, &old, true);
}

ErrorList ValidateTemplateObject(const Context& context, const Value& claim_template) {
  const Value& spec = claim_template["spec"];
  ErrorList errors = ValidateCoreObjectMeta(claim_template["metadata"], Scope::kNamespaced,
                                            NameIsDnsSubdomain, "metadata");
  Append(errors, ValidateTemplateObjectMeta(spec["metadata"], "spec.metadata"));
  Append(errors,
         ValidateDeviceClaim(context, spec["spec"]["devices"], "spec.spec.devices", Origin::kNew));
  return errors;
}

ErrorList ValidateTemplate(const Context& context, const Value& claim_template) {
  ErrorList errors =
      AuthorizeAdminAccess(context, claim_template["spec"]["spec"]["devices"]["requests"],
                           claim_template["metadata"]["namespace"].AsString());
  Append(errors, ValidateTemplateObject(context, claim_template));
  return errors;
}

ErrorList ValidateTemplateUpdate(const Context& context, const Value& claim_template,
                                 const Value& old) {
  // Upstream's strategy checks the new object as if it were created, then that nothing changed.
  ErrorList errors = ValidateTemplateObject(context, claim_template);
  Append(errors,
         ValidateCoreObjectMetaUpdate(claim_template["metadata"], old["metadata"], "metadata"));
  if (!SemanticEqual(claim_template["spec"], old["spec"])) {
    errors.push_back(
        Invalid("spec", ShownTemplateSpec(claim_template["spec"]), "field is immutable"));
  }
  return errors;
}

// --- DeviceClass

void PrepareClassCreate(const Context& context, Value& device_class) {
  StartGeneration(context, device_class);
  DropDisabled(context, ClassFields(), device_class, nullptr);
}
void PrepareClassUpdate(const Context& context, Value& device_class, const Value& old) {
  DropDisabled(context, ClassFields(), device_class, &old);
  CountGeneration(context, device_class, old);
}

ErrorList ValidateClassObject(const Context& context, const Value& device_class, const Value* old) {
  const Value& meta = device_class["metadata"];
  const std::string_view name = meta["name"].AsString();
  ErrorList errors = ValidateObjectMetaWithName(
      meta, Scope::kCluster,
      Covered(InvalidEach("metadata.name", name, IsLongName(name), "format=k8s-long-name")),
      "metadata");
  Append(errors, ValidateKubeFinalizers(meta, "metadata"));
  if (old != nullptr) {
    Append(errors, ValidateCoreObjectMetaUpdate(meta, (*old)["metadata"], "metadata"));
  }
  const Value& spec = device_class["spec"];
  const auto origin_of = [&](std::string_view field) {
    return old != nullptr && SemanticEqual(spec[field], (*old)["spec"][field]) ? Origin::kStored
                                                                               : Origin::kNew;
  };
  Append(errors,
         ValidateSelectors(context, spec["selectors"], "spec.selectors", origin_of("selectors")));
  const Origin config_origin = origin_of("config");
  Append(errors, ValidateList(
                     spec["config"], kConfigMax,
                     [&](const Value& config, const std::string& at) {
                       return ValidateConfiguration(context, config, at, config_origin);
                     },
                     "spec.config", CoveredBy::kDeclarative));
  const Value& extended = spec["extendedResourceName"];
  if (!extended.IsNull() && !IsExtendedResourceName(extended.AsString())) {
    Append(errors, Covered(InvalidEach("spec.extendedResourceName", extended.AsString(),
                                       {"must be a valid extended resource name"},
                                       "format=k8s-extended-resource-name")));
  }
  return errors;
}

ErrorList ValidateClass(const Context& context, const Value& device_class) {
  return ValidateClassObject(context, device_class, nullptr);
}
ErrorList ValidateClassUpdate(const Context& context, const Value& device_class, const Value& old) {
  return ValidateClassObject(context, device_class, &old);
}

// --- ResourceSlice

void PrepareSliceCreate(const Context& context, Value& slice) {
  StartGeneration(context, slice);
  DropDisabled(context, SliceFields(), slice, nullptr);
}
void PrepareSliceUpdate(const Context& context, Value& slice, const Value& old) {
  CountGeneration(context, slice, old);
  DropDisabled(context, SliceFields(), slice, &old);
}

ErrorList ValidateSlice(const Context& context, const Value& slice) {
  ErrorList errors =
      ValidateCoreObjectMeta(slice["metadata"], Scope::kCluster, NameIsDnsSubdomain, "metadata");
  Append(errors, ValidateSliceSpec(context, slice["spec"], nullptr, "spec"));
  return errors;
}

ErrorList ValidateSliceUpdate(const Context& context, const Value& slice, const Value& old) {
  ErrorList errors = ValidateCoreObjectMetaUpdate(slice["metadata"], old["metadata"], "metadata");
  Append(errors, ValidateSliceSpec(context, slice["spec"], &old["spec"], "spec"));
  return errors;
}

std::vector<std::string> WarnSlice(const Context&, const Value& slice) {
  const std::string_view driver = slice["spec"]["driver"].AsString();
  if (AsciiLower(driver) == driver) return {};
  return {"spec.driver: driver names should be lowercase; " + ShownText(driver) +
          " contains uppercase characters"};
}
std::vector<std::string> WarnSliceUpdate(const Context& context, const Value& slice, const Value&) {
  return WarnSlice(context, slice);
}

// --- DeviceTaintRule

void PrepareRuleCreate(const Context& context, Value& rule) {
  rule.Set("status", Value::Object());
  StartGeneration(context, rule);
}

void PrepareRuleUpdate(const Context& context, Value& rule, const Value& old) {
  KeepStatus(context, rule, old);
  const Value& taint = rule["spec"]["taint"];
  const Value& old_taint = old["spec"]["taint"];
  // The time tells since when this effect holds, tolerations for a while count from it.
  if (taint["effect"].AsString() != old_taint["effect"].AsString() &&
      taint["timeAdded"] == old_taint["timeAdded"]) {
    rule.Edit("spec").Edit("taint").Set("timeAdded", context.now);
  }
  CountGeneration(context, rule, old);
}

ErrorList ValidateRuleSpec(const Value& spec, const Value* old) {
  ErrorList errors;
  const Value& filter = spec["deviceSelector"];
  const std::string path = "spec.deviceSelector";
  if (!filter["driver"].IsNull()) {
    Append(errors, ValidateDriverName(filter["driver"].AsString(), Child(path, "driver")));
  }
  if (!filter["pool"].IsNull()) {
    Append(errors, ValidatePoolName(filter["pool"].AsString(), Child(path, "pool")));
  }
  if (!filter["device"].IsNull()) {
    Append(errors, ValidateDnsLabel(filter["device"].AsString(), Child(path, "device")));
  }
  Append(errors, ValidateDeviceTaint(spec["taint"], old == nullptr ? nullptr : &(*old)["taint"],
                                     "spec.taint"));
  return errors;
}

ErrorList ValidateTaintRule(const Context&, const Value& rule) {
  ErrorList errors =
      ValidateCoreObjectMeta(rule["metadata"], Scope::kCluster, NameIsDnsSubdomain, "metadata");
  Append(errors, ValidateRuleSpec(rule["spec"], nullptr));
  return errors;
}

ErrorList ValidateTaintRuleUpdate(const Context&, const Value& rule, const Value& old) {
  ErrorList errors = ValidateCoreObjectMetaUpdate(rule["metadata"], old["metadata"], "metadata");
  Append(errors, ValidateRuleSpec(rule["spec"], &old["spec"]));
  return errors;
}

ErrorList ValidateTaintRuleStatus(const Context&, const Value& rule, const Value& old) {
  ErrorList errors = ValidateCoreObjectMetaUpdate(rule["metadata"], old["metadata"], "metadata");
  const Value& conditions = rule["status"]["conditions"];
  Append(errors, ValidateConditions(conditions, "status.conditions"));
  if (conditions.size() > kRuleConditionsMax) {
    errors.push_back(TooMany("status.conditions", conditions.size(), kRuleConditionsMax));
  }
  return errors;
}

// Older versions always allowed it.
bool RuleUnconditional(const Context& context) {
  return context.version == "v1beta2" || context.version == "v1alpha3";
}

// --- ResourcePoolStatusRequest; its fields are checked by declarative rules.

void PreparePoolStatusCreate(const Context& context, Value& request) {
  ClearStatus(context, request);
  DropDisabled(context, PoolStatusFields(), request, nullptr);
}
void PreparePoolStatusUpdate(const Context& context, Value& request, const Value& old) {
  KeepStatus(context, request, old);
  DropDisabled(context, PoolStatusFields(), request, &old);
}

ErrorList ValidatePoolStatus(const Context&, const Value& request) {
  return ValidateCoreObjectMeta(request["metadata"], Scope::kCluster, NameIsDnsSubdomain,
                                "metadata");
}
ErrorList ValidatePoolStatusUpdate(const Context&, const Value& request, const Value& old) {
  return ValidateCoreObjectMetaUpdate(request["metadata"], old["metadata"], "metadata");
}
ErrorList ValidatePoolStatusStatus(const Context&, const Value& request, const Value& old) {
  ErrorList errors = ValidateCoreObjectMetaUpdate(request["metadata"], old["metadata"], "metadata");
  const Value& status = request["status"];
  if (!old["status"].IsNull()) {
    Append(errors, ValidateImmutable(status, old["status"], "status"));
  } else {
    Append(errors, ValidateConditions(status["conditions"], "status.conditions"));
  }
  return errors;
}

constexpr std::string_view kGroup = "resource.k8s.io";
constexpr std::string_view kStatus = "status";
constexpr std::string_view kMetaAndSpec = "metadata,spec";

constexpr Strategy kRows[] = {
    {.group = kGroup,
     .kind = "ResourceClaim",
     .prepare_create = PrepareClaimCreate,
     .prepare_update = PrepareClaimUpdate,
     .validate_create = ValidateClaim,
     .validate_update = ValidateClaimUpdate,
     .reset_fields = kStatus},
    {.group = kGroup,
     .kind = "ResourceClaim",
     .subresource = kStatus,
     .prepare_update = PrepareClaimStatusUpdate,
     .validate_update = ValidateClaimStatusUpdate,
     .reset_fields = kMetaAndSpec},
    {.group = kGroup,
     .kind = "ResourceClaimTemplate",
     .prepare_create = PrepareTemplateCreate,
     .prepare_update = PrepareTemplateUpdate,
     .validate_create = ValidateTemplate,
     .validate_update = ValidateTemplateUpdate},
    {.group = kGroup,
     .kind = "DeviceClass",
     .scope = Scope::kCluster,
     .prepare_create = PrepareClassCreate,
     .prepare_update = PrepareClassUpdate,
     .validate_create = ValidateClass,
     .validate_update = ValidateClassUpdate},
    {.group = kGroup,
     .kind = "ResourceSlice",
     .scope = Scope::kCluster,
     .prepare_create = PrepareSliceCreate,
     .prepare_update = PrepareSliceUpdate,
     .validate_create = ValidateSlice,
     .validate_update = ValidateSliceUpdate,
     .warn_create = WarnSlice,
     .warn_update = WarnSliceUpdate},
    {.group = kGroup,
     .kind = "DeviceTaintRule",
     .scope = Scope::kCluster,
     .allow_unconditional_update = RuleUnconditional,
     .prepare_create = PrepareRuleCreate,
     .prepare_update = PrepareRuleUpdate,
     .validate_create = ValidateTaintRule,
     .validate_update = ValidateTaintRuleUpdate,
     .reset_fields = kStatus},
    {.group = kGroup,
     .kind = "DeviceTaintRule",
     .subresource = kStatus,
     .scope = Scope::kCluster,
     .allow_unconditional_update = RuleUnconditional,
     .prepare_update = KeepAllButStatus,
     .validate_update = ValidateTaintRuleStatus,
     .reset_fields = kMetaAndSpec},
    {.group = kGroup,
     .kind = "ResourcePoolStatusRequest",
     .scope = Scope::kCluster,
     .allow_unconditional_update = Never,
     .prepare_create = PreparePoolStatusCreate,
     .prepare_update = PreparePoolStatusUpdate,
     .validate_create = ValidatePoolStatus,
     .validate_update = ValidatePoolStatusUpdate,
     .reset_fields = kStatus},
    {.group = kGroup,
     .kind = "ResourcePoolStatusRequest",
     .subresource = kStatus,
     .scope = Scope::kCluster,
     .allow_unconditional_update = Never,
     .prepare_update = KeepAllButStatus,
     .validate_update = ValidatePoolStatusStatus,
     .reset_fields = kMetaAndSpec},
};

}  // namespace

std::span<const Strategy> ResourceStrategies() { return kRows; }

}  // namespace drachma::validation
