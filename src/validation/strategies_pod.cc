#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "num/quantity.h"
#include "validation/drop_fields.h"
#include "validation/names.h"
#include "validation/object_meta.h"
#include "validation/pod_rules.h"
#include "validation/pod_warnings.h"
#include "validation/strategy_tables.h"

// Pods: pkg/registry/core/pod of Kubernetes.
namespace drachma::validation {
namespace {

using json::Value;

const std::vector<GatedFields>& PodFields() {
  static const std::vector<GatedFields> rows = {
      {{"GenericWorkload"}, {"spec.schedulingGroup"}},
      {{"EvictionRequestAPI"}, {"spec.evictionResponders"}},
      {{"DRAExtendedResource"}, {"status.extendedResourceClaimStatus"}},
      {{"DRANodeAllocatableResources"}, {"status.nodeAllocatableResourceClaimStatuses"}},
      {{"ResourceHealthStatus"},
       {"status.containerStatuses[].allocatedResourcesStatus",
        "status.initContainerStatuses[].allocatedResourcesStatus"}},
  };
  return rows;
}

// --- Quality of service

Quantity AmountOf(const Value& amounts, std::string_view name) {
  return Quantity::Parse(amounts[name].AsString("0")).value_or(Quantity());
}

std::string_view QosOfResources(const Value& resources) {
  std::string_view qos;
  for (const std::string_view name : {"cpu", "memory"}) {
    const Quantity request = AmountOf(resources["requests"], name);
    if (request != AmountOf(resources["limits"], name)) return "Burstable";
    const std::string_view one = request.IsZero() ? "BestEffort" : "Guaranteed";
    if (!qos.empty() && qos != one) return "Burstable";
    qos = one;
  }
  return qos;
}

std::string_view QosOf(const Value& spec) {
  if (!spec["resources"].empty()) return QosOfResources(spec["resources"]);
  std::string_view qos;
  for (const std::string_view list : {"initContainers", "containers"}) {
    for (const Value& container : spec[list].Items()) {
      const std::string_view one = QosOfResources(container["resources"]);
      if (one == "Burstable" || (!qos.empty() && qos != one)) return "Burstable";
      qos = one;
    }
  }
  return qos.empty() ? "BestEffort" : qos;
}

// --- matchLabelKeys become requirements with the values of the pod's own labels.

void ApplyLabelKeys(Value& term, std::string_view keys, std::string_view op, const Value& labels) {
  const Value list = term[keys];
  for (const Value& key : list.Items()) {
    const Value* value = labels.Find(key.AsString());
    if (value == nullptr) continue;
    term.Edit("labelSelector")
        .Edit("matchExpressions")
        .Append(
            Value::Object({{"key", key}, {"operator", op}, {"values", Value::Array({*value})}}));
  }
}

void ApplyMatchLabelKeys(Value& term, const Value& labels) {
  if (term["labelSelector"].IsNull()) return;
  ApplyLabelKeys(term, "matchLabelKeys", "In", labels);
  ApplyLabelKeys(term, "mismatchLabelKeys", "NotIn", labels);
}

void ApplyAllMatchLabelKeys(Value& pod) {
  const Value labels = pod["metadata"]["labels"];
  const auto has_keys = [](const Value& term) {
    return !term["matchLabelKeys"].empty() || !term["mismatchLabelKeys"].empty();
  };
  for (const std::string_view kind : {"podAffinity", "podAntiAffinity"}) {
    for (const std::string_view list : {"preferredDuringSchedulingIgnoredDuringExecution",
                                        "requiredDuringSchedulingIgnoredDuringExecution"}) {
      const Value terms = pod["spec"]["affinity"][kind][list];
      const bool weighted = list.starts_with("preferred");
      for (std::size_t i = 0; i < terms.size(); ++i) {
        const Value& term = terms.Items()[i];
        if (!has_keys(weighted ? term["podAffinityTerm"] : term)) continue;
        Value& item = pod.Edit("spec").Edit("affinity").Edit(kind).Edit(list).EditItem(i);
        ApplyMatchLabelKeys(weighted ? item.Edit("podAffinityTerm") : item, labels);
      }
    }
  }
  const Value constraints = pod["spec"]["topologySpreadConstraints"];
  for (std::size_t i = 0; i < constraints.size(); ++i) {
    if (!has_keys(constraints.Items()[i])) continue;
    ApplyMatchLabelKeys(pod.Edit("spec").Edit("topologySpreadConstraints").EditItem(i), labels);
  }
}

// --- Strategies

void PrepareCreate(const Context& context, Value& pod) {
  StartGeneration(context, pod);
  pod.Set("status", Value::Object({{"phase", "Pending"}}));
  DropDisabled(context, PodFields(), pod, nullptr);
  if (!pod["spec"]["schedulingGates"].empty()) {
    pod.Edit("status")
        .Edit("conditions")
        .Append(Value::Object(
            {{"type", "PodScheduled"},
             {"status", "False"},
             {"lastProbeTime", Value()},
             {"lastTransitionTime", context.now},
             {"reason", "SchedulingGated"},
             {"message", "Scheduling is blocked due to non-empty scheduling gates"}}));
  }
  ApplyAllMatchLabelKeys(pod);
  pod.Edit("status").Set("qosClass", QosOf(pod["spec"]));
}

void PrepareUpdate(const Context& context, Value& pod, const Value& old) {
  KeepStatus(context, pod, old);
  DropDisabled(context, PodFields(), pod, &old);
  CountGeneration(context, pod, old);
}

ErrorList ValidateCreate(const Context&, const Value& pod) {
  ErrorList errors = ValidatePodMetadataAndSpec(pod);
  const Value& spec = pod["spec"];
  if (!spec["ephemeralContainers"].empty()) {
    errors.push_back(Forbidden("spec.ephemeralContainers", "cannot be set on create"));
  }
  if (!spec["nodeName"].AsString().empty() && !spec["schedulingGates"].empty()) {
    errors.push_back(
        Forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared"));
  }
  return errors;
}

ErrorList ValidateUpdate(const Context&, const Value& pod, const Value& old) {
  return ValidatePodUpdate(pod, old);
}

std::vector<std::string> WarnCreate(const Context&, const Value& pod) {
  std::vector<std::string> warnings;
  const Faults faults = IsDns1123Label(pod["metadata"]["name"].AsString());
  if (!faults.empty()) {
    warnings.push_back(
        fmt::format("metadata.name: this is used in the Pod's hostname, which can "
                    "result in surprising behavior; a DNS label is recommended: [{}]",
                    fmt::join(faults, " ")));
  }
  std::ranges::move(WarningsOfPod(pod["spec"], pod["metadata"], ""), std::back_inserter(warnings));
  return warnings;
}

// Conditions and the status keep the generation they were observed at when a client that does not
// know the field leaves it out.
void KeepObservedGenerations(Value& pod, const Value& old) {
  const std::int64_t before = old["status"]["observedGeneration"].AsInt();
  if (pod["status"]["observedGeneration"].AsInt() == 0 && before != 0) {
    pod.Edit("status").Set("observedGeneration", before);
  }
  const Value conditions = pod["status"]["conditions"];
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    const Value& condition = conditions.Items()[i];
    if (condition["observedGeneration"].AsInt() != 0) continue;
    for (const Value& other : old["status"]["conditions"].Items()) {
      if (other["type"] != condition["type"]) continue;
      if (const std::int64_t seen = other["observedGeneration"].AsInt(); seen != 0) {
        pod.Edit("status").Edit("conditions").EditItem(i).Set("observedGeneration", seen);
      }
      break;
    }
  }
}

void PrepareStatusUpdate(const Context& context, Value& pod, const Value& old) {
  TakeOver(pod, old, "spec");
  Value& meta = pod.Edit("metadata");
  TakeOver(meta, old["metadata"], "ownerReferences");
  // What clients that are older than the fields do not send back stays.
  for (const std::string_view field :
       {"qosClass", "resourceClaimStatuses", "extendedResourceClaimStatus",
        "nodeAllocatableResourceClaimStatuses"}) {
    const Value& before = old["status"][field];
    const bool emptied = context.sent["status"][field].IsArray();
    if (pod["status"][field].IsNull() && !before.IsNull() && !emptied) {
      pod.Edit("status").Set(field, before);
    }
  }
  KeepObservedGenerations(pod, old);
  DropDisabled(context, PodFields(), pod, &old);
}

ErrorList ValidateStatusUpdate(const Context&, const Value& pod, const Value& old) {
  return ValidatePodStatus(pod, old);
}

// Only some of the spec may come through these subresources.
void KeepAllButSpecField(Value& pod, const Value& old, std::string_view field) {
  const Value kept = pod["spec"][field];
  const Context none;
  Value status = old["status"];
  KeepAllButStatus(none, pod, old);
  pod.Set("status", std::move(status));
  if (kept.IsNull()) {
    pod.Edit("spec").Erase(field);
  } else {
    pod.Edit("spec").Set(field, kept);
  }
}

void PrepareEphemeralUpdate(const Context& context, Value& pod, const Value& old) {
  KeepAllButSpecField(pod, old, "ephemeralContainers");
  CountGeneration(context, pod, old);
}

ErrorList ValidateEphemeralUpdate(const Context&, const Value& pod, const Value& old) {
  return ValidateEphemeralContainersUpdate(pod, old);
}

// A resize changes resources and nothing else: fields of containers that it names are taken from
// the stored pod.
void PrepareResize(const Context& context, Value& pod, const Value& old) {
  const Value wanted = pod["spec"];
  Value status = old["status"];
  KeepAllButStatus(context, pod, old);
  pod.Set("status", std::move(status));
  for (const std::string_view list : {"containers", "initContainers"}) {
    const auto stored = old["spec"][list].Items();
    for (std::size_t i = 0; i < stored.size(); ++i) {
      for (const Value& container : wanted[list].Items()) {
        if (container["name"] != stored[i]["name"]) continue;
        Value& target = pod.Edit("spec").Edit(list).EditItem(i);
        for (const std::string_view field : {"resources", "resizePolicy"}) {
          TakeOver(target, container, field);
        }
      }
    }
  }
  CountGeneration(context, pod, old);
}

ErrorList ValidateResize(const Context&, const Value& pod, const Value& old) {
  return ValidatePodResize(pod, old);
}

ErrorList ValidateBinding(const Context&, const Value& binding) {
  return ValidatePodBinding(binding);
}

constexpr Strategy kRows[] = {
    {.kind = "Pod",
     .prepare_create = PrepareCreate,
     .prepare_update = PrepareUpdate,
     .validate_create = ValidateCreate,
     .validate_update = ValidateUpdate,
     .warn_create = WarnCreate,
     .reset_fields = "status"},
    {.kind = "Pod",
     .subresource = "status",
     .prepare_update = PrepareStatusUpdate,
     .validate_update = ValidateStatusUpdate,
     .reset_fields = "spec,metadata.deletionTimestamp,metadata.ownerReferences"},
    {.kind = "Pod",
     .subresource = "ephemeralcontainers",
     .prepare_update = PrepareEphemeralUpdate,
     .validate_update = ValidateEphemeralUpdate},
    {.kind = "Pod",
     .subresource = "resize",
     .prepare_update = PrepareResize,
     .validate_update = ValidateResize},
    {.kind = "Pod", .subresource = "binding", .validate_create = ValidateBinding},
};

}  // namespace

std::span<const Strategy> PodStrategies() { return kRows; }

}  // namespace drachma::validation
