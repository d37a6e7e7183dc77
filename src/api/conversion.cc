#include "api/conversion.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "api/decode.h"
#include "api/kinds.h"
#include "api/selectors.h"
#include "json/json.h"

namespace drachma::api {

namespace {

using json::Member;
using json::Value;

// Takes a member out of `from` and puts it into `to` under another name; nothing when missing.
void Move(Value& from, std::string_view name, Value& to, std::string_view new_name) {
  const Value* found = from.Find(name);
  if (found == nullptr) return;
  Value value = *found;
  from.Erase(name);
  if (!value.IsNull()) to.Set(new_name, std::move(value));
}

void Rename(Value& object, std::string_view name, std::string_view new_name) {
  Move(object, name, object, new_name);
}

// --- resource.k8s.io/v1beta1: requests are flat, devices lie in "basic", two fields of a slice are
// no pointers.

constexpr std::string_view kExactFields[] = {
    "deviceClassName", "selectors",   "allocationMode", "count",
    "adminAccess",     "tolerations", "capacity",       "derivedAttributes"};

bool IsZero(const Value& value) {
  return value.IsNull() || value == Value("") || value == Value(0);
}

void NestRequest(Value& request) {
  Value exact = Value::Object();
  bool any = false;
  for (const std::string_view field : kExactFields) {
    any = any || !IsZero(request[field]);
    Move(request, field, exact, field);
  }
  if (any) request.Set("exactly", std::move(exact));
}

void FlattenRequest(Value& request) {
  Value exact = request["exactly"];
  request.Erase("exactly");
  for (const Member& member : exact.Members()) request.Set(member.key(), member.value);
}

void NestDevice(Value& device) {
  Value basic = Value::Object();
  for (const Member& member : Value(device).Members()) {
    if (member.key() != "name") Move(device, member.key(), basic, member.key());
  }
  device.Set("basic", std::move(basic));
}

void FlattenDevice(Value& device) {
  const Value basic = device["basic"];
  device.Erase("basic");
  for (const Member& member : basic.Members()) device.Set(member.key(), member.value);
}

template <typename Change>
void EachItem(Value& owner, std::string_view list, Change change) {
  const std::size_t size = owner[list].size();
  if (size == 0) return;
  Value& items = owner.Edit(list);
  for (std::size_t i = 0; i < size; ++i) change(items.EditItem(i));
}

void ChangeClaimSpec(Value& spec, void (*change)(Value&)) {
  if (!spec["devices"]["requests"].empty()) EachItem(spec.Edit("devices"), "requests", change);
}

void SliceToBeta1(Value& slice) {
  Value& spec = slice.Edit("spec");
  EachItem(spec, "devices", NestDevice);
}

void SliceFromBeta1(Value& slice) {
  Value& spec = slice.Edit("spec");
  EachItem(spec, "devices", FlattenDevice);
  // Zero there is what a missing pointer is here.
  if (IsZero(spec["nodeName"])) spec.Erase("nodeName");
  if (!spec["allNodes"].AsBool()) spec.Erase("allNodes");
}

void ChangeResource(Value& object, bool to_beta1) {
  const std::string_view kind = object["kind"].AsString();
  auto* const change = to_beta1 ? FlattenRequest : NestRequest;
  if (kind == "ResourceClaim") {
    ChangeClaimSpec(object.Edit("spec"), change);
  } else if (kind == "ResourceClaimTemplate") {
    ChangeClaimSpec(object.Edit("spec").Edit("spec"), change);
  } else if (kind == "ResourceSlice") {
    to_beta1 ? SliceToBeta1(object) : SliceFromBeta1(object);
  }
}

// --- Events: core/v1 and events.k8s.io/v1 hold the same under other names.

constexpr std::pair<std::string_view, std::string_view> kEventFields[] = {
    {"involvedObject", "regarding"},
    {"message", "note"},
    {"source", "deprecatedSource"},
    {"firstTimestamp", "deprecatedFirstTimestamp"},
    {"lastTimestamp", "deprecatedLastTimestamp"},
    {"count", "deprecatedCount"},
    {"reportingComponent", "reportingController"},
};

void ChangeEvent(Value& event, bool to_core) {
  for (const auto& [core, events] : kEventFields) {
    to_core ? Rename(event, events, core) : Rename(event, core, events);
  }
}

// --- autoscaling: v1 knows only the target of CPU; the rest travels in annotations.

constexpr std::string_view kMetricsAnnotation = "autoscaling.alpha.kubernetes.io/metrics";
constexpr std::string_view kBehaviorAnnotation = "autoscaling.alpha.kubernetes.io/behavior";
constexpr std::string_view kConditionsAnnotation = "autoscaling.alpha.kubernetes.io/conditions";
constexpr std::string_view kCurrentAnnotation = "autoscaling.alpha.kubernetes.io/current-metrics";

bool IsCpuTarget(const Value& metric) {
  return metric["type"].AsString() == "Resource" &&
         metric["resource"]["name"].AsString() == "cpu" &&
         !metric["resource"]["target"]["averageUtilization"].IsNull();
}

void Annotate(Value& object, std::string_view name, const Value& value) {
  if (!value.IsNull() && !value.empty()) {
    object.Edit("metadata").Edit("annotations").Set(name, Value(json::Write(value)));
  }
}

Value TakeAnnotation(Value& object, std::string_view name) {
  const Value text = object["metadata"]["annotations"][name];
  if (text.IsNull()) return {};
  Value& metadata = object.Edit("metadata");
  metadata.Edit("annotations").Erase(name);
  if (metadata["annotations"].empty()) metadata.Erase("annotations");
  return json::Read(text.AsString()).value_or(Value());
}

void AutoscalerToV1(Value& object) {
  Value rest = Value::Array();
  Value& spec = object.Edit("spec");
  for (const Value& metric : spec["metrics"].Items()) {
    if (IsCpuTarget(metric) && !spec.Has("targetCPUUtilizationPercentage")) {
      const Value target = metric["resource"]["target"]["averageUtilization"];
      spec.Set("targetCPUUtilizationPercentage", target);
    } else {
      rest.Append(metric);
    }
  }
  const Value behavior = spec["behavior"];
  Annotate(object, kMetricsAnnotation, rest);
  Annotate(object, kBehaviorAnnotation, behavior);
  Annotate(object, kConditionsAnnotation, Value(object["status"]["conditions"]));
  Value current_rest = Value::Array();
  for (const Value& metric : Value(object["status"]["currentMetrics"]).Items()) {
    const Value& cpu = metric["resource"]["current"]["averageUtilization"];
    if (metric["resource"]["name"].AsString() == "cpu" && !cpu.IsNull()) {
      object.Edit("status").Set("currentCPUUtilizationPercentage", cpu);
    }
    current_rest.Append(metric);
  }
  Annotate(object, kCurrentAnnotation, current_rest);
}

void AutoscalerFromV1(Value& object) {
  Value metrics = Value::Array();
  const Value target = object["spec"]["targetCPUUtilizationPercentage"];
  if (!target.IsNull()) {
    metrics.Append(Value::Object(
        {{"type", "Resource"},
         {"resource",
          Value::Object({{"name", "cpu"},
                         {"target", Value::Object({{"type", "Utilization"},
                                                   {"averageUtilization", target}})}})}}));
  }
  for (const Value& metric : TakeAnnotation(object, kMetricsAnnotation).Items()) {
    metrics.Append(metric);
  }
  if (!metrics.empty()) object.Edit("spec").Set("metrics", std::move(metrics));
  const auto restore = [&object](std::string_view name, std::string_view part,
                                 std::string_view field) {
    Value value = TakeAnnotation(object, name);
    if (!value.IsNull()) object.Edit(part).Set(field, std::move(value));
  };
  restore(kBehaviorAnnotation, "spec", "behavior");
  restore(kConditionsAnnotation, "status", "conditions");
  restore(kCurrentAnnotation, "status", "currentMetrics");
}

}  // namespace

Result<Value> Convert(Value object, std::string_view target) {
  const std::string source(object["apiVersion"].AsString());
  if (source == target) return object;
  const std::string kind(object["kind"].AsString());
  const TypeInfo* type = FindTypeOfKind(target, kind);
  if (type == nullptr) {
    return BadInput(
        fmt::format("no kind \"{}\" is registered for version \"{}\" in scheme "
                    "\"pkg/api/legacyscheme/scheme.go:30\"",
                    kind, target));
  }
  object.Set("apiVersion", Value(target));
  const std::string_view group = SplitGroupVersion(source).group;
  const std::string_view target_group = SplitGroupVersion(target).group;
  if (kind == "Event" && group != target_group) {
    ChangeEvent(object, target_group.empty());
    return Canonical(object, *type);
  }
  constexpr std::string_view kBeta1 = "resource.k8s.io/v1beta1";
  if (source == kBeta1 || target == kBeta1) {
    ChangeResource(object, target == kBeta1);
    return Canonical(object, *type);
  }
  if (kind == "HorizontalPodAutoscaler") {
    target == "autoscaling/v1" ? AutoscalerToV1(object) : AutoscalerFromV1(object);
    return Canonical(object, *type);
  }
  // All other versions of a kind are alike.
  return object;
}

Value ScaleOf(const Value& workload) {
  const Value& metadata = workload["metadata"];
  Value scale_metadata = Value::Object();
  for (const std::string_view field :
       {"name", "namespace", "uid", "resourceVersion", "creationTimestamp"}) {
    if (metadata.Has(field)) scale_metadata.Set(field, metadata[field]);
  }
  Value spec = Value::Object();
  if (workload["spec"]["replicas"].AsInt() != 0) spec.Set("replicas", workload["spec"]["replicas"]);
  Value status = Value::Object({{"replicas", workload["status"]["replicas"].AsInt()}});
  const Value& selector = workload["spec"]["selector"];
  const bool plain = workload["kind"].AsString() == "ReplicationController";
  const auto parsed = plain ? Result<LabelSelector>(LabelSelector::FromMap(selector))
                            : LabelSelector::FromObject(selector);
  if (parsed && !parsed->empty()) status.Set("selector", Value(parsed->ToString()));
  return Value::Object({{"kind", "Scale"},
                        {"apiVersion", "autoscaling/v1"},
                        {"metadata", std::move(scale_metadata)},
                        {"spec", std::move(spec)},
                        {"status", std::move(status)}});
}

}  // namespace drachma::api
