#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "cluster/fleet.h"
#include "cluster/manifests.h"
#include "json/value.h"
#include "scheduler/scheduler.h"

namespace drachma::cluster {

struct PlannedDevice {
  std::string request;
  std::string driver;
  std::string pool;
  std::string device;
  std::string share_id;
  json::Value consumed_capacity;  // null without
  json::Value tolerations;        // null without

  friend bool operator==(const PlannedDevice&, const PlannedDevice&) = default;
};

struct PlannedClaim {
  std::string name;
  std::string
      pod_claim;  // entry of pod.spec.resourceClaims; empty for an extended resource's claim
  std::vector<PlannedDevice> devices;

  friend bool operator==(const PlannedClaim&, const PlannedClaim&) = default;
};

struct PlannedPod {
  std::string ns;
  std::string name;
  std::string phase;  // "Scheduled", "Pending", "Evicted"
  std::string node;
  std::vector<PlannedClaim> claims;
  // Why it waits, why it was evicted, or why its node's driver does not let it start.
  std::string reason;
  bool started = false;  // its node runs it
};

struct PlannedEvent {
  std::string type;
  std::string reason;
  std::string object;  // "Pod/default/p", "Node/n1"
  std::string message;
};

// Where everything went.
struct Plan {
  std::vector<PlannedPod> pods;
  std::vector<PlannedEvent> events;
  std::vector<std::string> warnings;
};

// What is tried once the plan has come to rest.
struct WhatIf {
  std::vector<Manifest> apply;
  std::vector<std::string> remove;                 // "KIND/NAME" or "KIND/NAMESPACE/NAME"
  std::map<std::string, std::int64_t> priorities;  // of pods, "NAME" or "NAMESPACE/NAME"

  [[nodiscard]] bool empty() const { return apply.empty() && remove.empty() && priorities.empty(); }
};

struct PlanOptions {
  std::vector<Manifest> manifests;
  // Unset: the default fleet, unless the manifests hold a Node.
  std::optional<Fleet> fleet;
  std::map<std::string, bool> feature_gates;
  scheduler::SelectorErrors selector_errors = scheduler::SelectorErrors::kSkip;
  scheduler::DeviceOrder device_order = scheduler::DeviceOrder::kBestFit;
  std::uint64_t seed = 1;
  Time start;  // when the virtual time begins
  // After everything has come to rest, time goes on by this: for tolerations that end.
  Duration horizon = std::chrono::seconds(60);
  WhatIf what_if;
};

struct PlanOutcome {
  Plan plan;
  std::optional<Plan> what_if;  // after the changes
};

// Runs the whole control plane over the manifests, in this thread, in memory, under virtual time,
// until nothing is left to do. No pod ends. The same input gives the same plan.
// ERRORS: kInvalid with file and line when an object is refused.
[[nodiscard]] Result<PlanOutcome> MakePlan(PlanOptions options);

// The plan in the form of `plan -o json`.
[[nodiscard]] json::Value ToJson(const Plan& plan);

}  // namespace drachma::cluster
