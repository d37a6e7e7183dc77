#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "state/claim_table.h"

namespace drachma::scheduler {

// How far the devices of an allocated claim are that must be made ready before a pod may be bound
// (DRADeviceBindingConditions).
struct BindingState {
  enum class Phase : std::uint8_t { kReady, kPending, kFailed, kTimedOut };
  Phase phase = Phase::kReady;
  std::string message;  // for kFailed and kTimedOut: upstream's text
  Time deadline;        // for kPending
};

// `timeout` counts from the allocationTimestamp.
[[nodiscard]] BindingState JudgeBinding(const state::ClaimView& claim, Time now, Duration timeout);

// A condition that a device of an allocated claim still lacks.
struct MissingCondition {
  std::string device;  // "driver/pool/device"
  std::string condition;
};
// REQUIRES: the claim is allocated.
[[nodiscard]] std::vector<MissingCondition> MissingConditions(const state::ClaimView& claim);

// Whether a result of the allocation has binding conditions.
[[nodiscard]] bool HasBindingConditions(const api::AllocationResult& allocation);

}  // namespace drachma::scheduler
