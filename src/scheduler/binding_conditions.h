#pragma once

#include <string>

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

// Whether a result of the allocation has binding conditions.
[[nodiscard]] bool HasBindingConditions(const api::AllocationResult& allocation);

}  // namespace drachma::scheduler
