#pragma once

#include <span>

#include "validation/strategy.h"

// The rows of StrategyFor, by the group of kinds that a file knows about; and what they share.
namespace drachma::validation {

[[nodiscard]] std::span<const Strategy> ResourceStrategies();  // resource.k8s.io
[[nodiscard]] std::span<const Strategy> PodStrategies();
[[nodiscard]] std::span<const Strategy> WorkloadStrategies();  // apps, batch
[[nodiscard]] std::span<const Strategy> CoreStrategies();      // namespaces, nodes, configuration
[[nodiscard]] std::span<const Strategy> QuotaStrategies();
[[nodiscard]] std::span<const Strategy> ServiceStrategies();
[[nodiscard]] std::span<const Strategy> VolumeStrategies();
[[nodiscard]] std::span<const Strategy> EventStrategies();
[[nodiscard]] std::span<const Strategy> AdmissionStrategies();  // policies, limit ranges
[[nodiscard]] std::span<const Strategy> ClusterStrategies();     // RBAC, policy, leases
[[nodiscard]] std::span<const Strategy> SchedulingStrategies();  // pod groups, workloads

// Steps that most strategies are made of.

// Removes `status`; sets generation 1.
void ClearStatus(const Context&, json::Value& object);
void StartGeneration(const Context&, json::Value& object);
void ClearStatusAndStartGeneration(const Context&, json::Value& object);
// The main resource: the status stays as it was; and the generation counts changes of spec.
void KeepStatus(const Context&, json::Value& object, const json::Value& old);
void CountGeneration(const Context&, json::Value& object, const json::Value& old);
void KeepStatusAndCountGeneration(const Context&, json::Value& object, const json::Value& old);
// The status subresource of older kinds: the spec stays as it was, metadata may change.
void KeepSpec(const Context&, json::Value& object, const json::Value& old);
// The status subresource: spec and all but the status of the object stay as they were
// (metav1.ResetObjectMetaForStatus keeps the client's managedFields and resourceVersion).
void KeepAllButStatus(const Context&, json::Value& object, const json::Value& old);
// Sets a member to what the old object has there, or removes it.
void TakeOver(json::Value& object, const json::Value& old, std::string_view field);

[[nodiscard]] bool Never(const Context&);

}  // namespace drachma::validation
