#include "validation/workload_status.h"

#include <initializer_list>
#include <string>
#include <string_view>

#include "validation/object_meta.h"

namespace drachma::validation {
namespace {

using json::Value;
using Names = std::initializer_list<std::string_view>;

ErrorList NonNegative(const Value& status, Names fields) {
  ErrorList errors;
  for (const std::string_view field : fields) {
    Append(errors, ValidateNonNegative(status[field].AsInt(), Child("status", field)));
  }
  return errors;
}

void AtMost(const Value& status, std::string_view field, std::string_view limit,
            std::string_view shown_limit, ErrorList& errors) {
  const std::int64_t number = status[field].AsInt();
  if (number <= status[limit].AsInt()) return;
  errors.push_back(Invalid(Child("status", field), ShownInt(number),
                           "cannot be greater than " + std::string(shown_limit)));
}

// The pods of each kind are a part of all, and those available a part of those ready.
void PartsOfReplicas(const Value& status, Names fields, std::string_view ready, ErrorList& errors) {
  for (const std::string_view field : fields) {
    AtMost(status, field, "replicas", "status.replicas", errors);
  }
  AtMost(status, "availableReplicas", "readyReplicas", ready, errors);
}

void NeverLess(const Value& status, const Value& old, ErrorList& errors) {
  const Value& before = old["collisionCount"];
  const Value& count = status["collisionCount"];
  if (before.IsNull() || (!count.IsNull() && count.AsInt() >= before.AsInt())) return;
  errors.push_back(
      Invalid("status.collisionCount", ShownInt(count.AsInt()), "cannot be decremented"));
}

}  // namespace

ErrorList ValidateDeploymentStatus(const Value& status, const Value& old) {
  ErrorList errors =
      NonNegative(status, {"observedGeneration", "replicas", "updatedReplicas", "readyReplicas",
                           "availableReplicas", "unavailableReplicas", "terminatingReplicas",
                           "collisionCount"});
  PartsOfReplicas(status, {"updatedReplicas", "readyReplicas", "availableReplicas"},
                  "readyReplicas", errors);
  NeverLess(status, old, errors);
  return errors;
}

ErrorList ValidateReplicaSetStatus(const Value& status, const Value&) {
  ErrorList errors =
      NonNegative(status, {"replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas",
                           "observedGeneration", "terminatingReplicas"});
  PartsOfReplicas(status, {"fullyLabeledReplicas", "readyReplicas", "availableReplicas"},
                  "readyReplicas", errors);
  return errors;
}

ErrorList ValidateStatefulSetStatus(const Value& status, const Value& old) {
  ErrorList errors =
      NonNegative(status, {"replicas", "readyReplicas", "currentReplicas", "updatedReplicas",
                           "availableReplicas", "observedGeneration", "collisionCount"});
  PartsOfReplicas(status,
                  {"readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"},
                  "status.readyReplicas", errors);
  NeverLess(status, old, errors);
  return errors;
}

ErrorList ValidateDaemonSetStatus(const Value& status, const Value& old) {
  ErrorList errors =
      NonNegative(status, {"currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled",
                           "numberReady", "observedGeneration", "updatedNumberScheduled",
                           "numberAvailable", "numberUnavailable", "collisionCount"});
  NeverLess(status, old, errors);
  return errors;
}

}  // namespace drachma::validation
