// resource.k8s.io and the scheduling groups of pods that belong to it.
#include <fmt/format.h>

#include <numeric>

#include "apiserver/human.h"
#include "apiserver/printers.h"

namespace drachma::apiserver {
namespace {

std::string ClaimState(const json::Value& claim) {
  const bool deleted = claim["metadata"].Has("deletionTimestamp");
  const json::Value& status = claim["status"];
  if (status["allocation"].IsNull()) return deleted ? "deleted" : "pending";
  std::string state = deleted ? "deleted,allocated" : "allocated";
  if (!status["reservedFor"].empty()) state += ",reserved";
  return state;
}

void PrintResourceClaim(const json::Value& object, Ages& ages, Cells& cells) {
  cells.Add(NameOf(object)).Add(ClaimState(object)).Add(CreatedAgo(object, ages));
}

void PrintResourceSlice(const json::Value& object, Ages& ages, Cells& cells) {
  const json::Value& spec = object["spec"];
  cells.Add(NameOf(object))
      .Add(spec["nodeName"].AsString())
      .Add(spec["driver"].AsString())
      .Add(spec["pool"]["name"].AsString())
      .Add(CreatedAgo(object, ages));
}

void PrintDeviceTaintRule(const json::Value& object, Ages& ages, Cells& cells) {
  const json::Value& taint = object["spec"]["taint"];
  cells.Add(NameOf(object))
      .Add(taint["key"].AsString())
      .Add(taint["value"].AsString())
      .Add(taint["effect"].AsString())
      .Add(taint["timeAdded"].IsNull() ? "" : AgeOf(taint["timeAdded"], ages))
      .Add(CreatedAgo(object, ages));
}

// Complete or Failed, and since when it is complete; conditions count in their order.
struct PoolStatusState {
  std::string text = "Pending";
  bool failed = false;
  std::string completed = "<none>";
};

PoolStatusState StateOf(const json::Value& status, Ages& ages) {
  PoolStatusState state;
  for (const json::Value& condition : status["conditions"].Items()) {
    if (condition["status"].AsString() != "True") continue;
    if (condition["type"].AsString() == "Complete") {
      state.text = "Complete";
      state.completed = AgeOf(condition["lastTransitionTime"], ages);
      break;
    }
    if (condition["type"].AsString() == "Failed") {
      state.text = "Failed";
      state.failed = true;
      break;
    }
  }
  const std::int64_t pools = status["poolCount"].AsInt();
  const auto shown = static_cast<std::int64_t>(status["pools"].size());
  if (state.text == "Complete" && pools > shown) {
    state.text = fmt::format("Complete ({}/{} pools)", shown, pools);
  }
  return state;
}

std::string SumOf(const json::Value& pools, std::string_view field) {
  std::int64_t sum = 0;
  for (const json::Value& pool : pools.Items()) sum += pool[field].AsInt();
  return std::to_string(sum);
}

void PrintResourcePoolStatusRequest(const json::Value& object, Ages& ages, Cells& cells) {
  const json::Value& status = object["status"];
  const PoolStatusState state = StateOf(status, ages);
  cells.Add(NameOf(object)).Add(object["spec"]["driver"].AsString());
  const bool counted = status.IsObject() && !state.failed;
  for (const char* field :
       {"totalDevices", "availableDevices", "allocatedDevices", "unavailableDevices"}) {
    cells.Add(counted ? SumOf(status["pools"], field) : "-");
  }
  std::int64_t errors = 0;
  for (const json::Value& pool : status["pools"].Items()) errors += pool.Has("validationError");
  cells.Add(counted ? std::to_string(errors) : "-")
      .Add(status["poolCount"].AsInt())
      .Add(state.text)
      .Add(state.completed);
}

std::string PolicyOf(const json::Value& group) {
  return group["spec"]["schedulingPolicy"].Has("gang") ? "Gang" : "Basic";
}

std::string WorkloadOf(const json::Value& group) {
  const json::Value& reference = group["spec"]["workloadRef"];
  return reference.IsObject() ? std::string(reference["workloadName"].AsString()) : "<none>";
}

void PrintPodGroup(const json::Value& object, Ages& ages, Cells& cells) {
  std::string status = "Pending";
  if (const json::Value& scheduled = ConditionOf(object, "PodGroupInitiallyScheduled");
      scheduled.IsObject()) {
    status = scheduled["status"].AsString() == "True" ? "Scheduled" : "Unschedulable";
  }
  if (const json::Value& target = ConditionOf(object, "DisruptionTarget"); target.IsObject()) {
    status = target["reason"].AsString();
  }
  cells.Add(NameOf(object))
      .Add(PolicyOf(object))
      .Add(WorkloadOf(object))
      .Add(status)
      .Add(CreatedAgo(object, ages));
}

void PrintCompositePodGroup(const json::Value& object, Ages& ages, Cells& cells) {
  cells.Add(NameOf(object))
      .Add(PolicyOf(object))
      .Add(WorkloadOf(object))
      .Add(CreatedAgo(object, ages));
}

}  // namespace

const std::vector<PrinterEntry>& DevicePrinters() {
  static const std::vector<PrinterEntry> kPrinters = {
      {"resource.k8s.io", "DeviceClass", PrintNameAndAge},
      {"resource.k8s.io", "ResourceClaim", PrintResourceClaim},
      {"resource.k8s.io", "ResourceClaimTemplate", PrintNameAndAge},
      {"resource.k8s.io", "ResourceSlice", PrintResourceSlice},
      {"resource.k8s.io", "DeviceTaintRule", PrintDeviceTaintRule},
      {"resource.k8s.io", "ResourcePoolStatusRequest", PrintResourcePoolStatusRequest},
      {"scheduling.k8s.io", "Workload", PrintNameAndAge},
      {"scheduling.k8s.io", "PodGroup", PrintPodGroup},
      {"scheduling.k8s.io", "CompositePodGroup", PrintCompositePodGroup},
  };
  return kPrinters;
}

}  // namespace drachma::apiserver
