#include "scheduler/binding_conditions.h"

#include <fmt/format.h>

#include <algorithm>

namespace drachma::scheduler {
namespace {

using json::Value;

// The entry of status.devices for a result; null when the driver has written none. The shareID is
// not looked at, as upstream.
const Value& DeviceStatus(const Value& claim, const api::DeviceResult& result) {
  static const Value kNone;
  for (const Value& device : claim["status"]["devices"].Items()) {
    if (device["driver"].AsString() == result.driver && device["pool"].AsString() == result.pool &&
        device["device"].AsString() == result.device) {
      return device;
    }
  }
  return kNone;
}

const Value* TrueCondition(const Value& device, const std::string& type) {
  for (const Value& condition : device["conditions"].Items()) {
    if (condition["type"].AsString() == type && condition["status"].AsString() == "True") {
      return &condition;
    }
  }
  return nullptr;
}

}  // namespace

bool HasBindingConditions(const api::AllocationResult& allocation) {
  return std::ranges::any_of(allocation.results, [](const api::DeviceResult& result) {
    return !result.binding_conditions.empty();
  });
}

std::vector<MissingCondition> MissingConditions(const state::ClaimView& claim) {
  std::vector<MissingCondition> missing;
  for (const api::DeviceResult& result : claim.claim.allocation->results) {
    const Value& device = DeviceStatus(claim.object, result);
    for (const std::string& type : result.binding_conditions) {
      if (TrueCondition(device, type) != nullptr) continue;
      missing.push_back({fmt::format("{}/{}/{}", result.driver, result.pool, result.device), type});
    }
  }
  return missing;
}

BindingState JudgeBinding(const state::ClaimView& claim, Time now, Duration timeout) {
  if (!claim.allocated() || !HasBindingConditions(*claim.claim.allocation)) return {};
  for (const api::DeviceResult& result : claim.claim.allocation->results) {
    if (result.binding_conditions.empty()) continue;
    const Value& device = DeviceStatus(claim.object, result);
    for (const std::string& type : result.binding_failure_conditions) {
      const Value* condition = TrueCondition(device, type);
      if (condition == nullptr) continue;
      return {.phase = BindingState::Phase::kFailed,
              .message = fmt::format("device binding failed: claim={}, reason={}, message={}",
                                     claim.name, (*condition)["reason"].AsString(),
                                     (*condition)["message"].AsString()),
              .deadline = {}};
    }
  }
  if (MissingConditions(claim).empty()) return {};
  const auto since = ParseTime(claim.claim.allocation->allocation_timestamp);
  const Time deadline = since.value_or(now) + timeout;
  if (now >= deadline) {
    return {.phase = BindingState::Phase::kTimedOut,
            .message = fmt::format("device binding timeout: claim={}", claim.name),
            .deadline = {}};
  }
  return {.phase = BindingState::Phase::kPending, .message = {}, .deadline = deadline};
}

}  // namespace drachma::scheduler
