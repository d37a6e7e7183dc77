#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "explain/explanation.h"
#include "json/value.h"
#include "scheduler/scheduler.h"
#include "state/cluster_state.h"

namespace drachma::scheduler {

// Why a pod waits: one scheduling cycle without writes, on whatever cluster `state` shows, for
// whichever scheduler's pod. What it names as being in the way, or as a change that would help, has
// been tried by further cycles. `budgets` are PodDisruptionBudgets; `state` is as before
// afterwards. ERRORS: kNotFound.
[[nodiscard]] Result<explain::Explanation> ExplainPod(state::ClusterState& state,
                                                      const Options& options, const Clock& clock,
                                                      const std::vector<json::Value>& budgets,
                                                      std::string_view ns, std::string_view name);

// Why a claim waits (through the pod that wants it) or who holds it. ERRORS: kNotFound.
[[nodiscard]] Result<explain::Explanation> ExplainClaim(state::ClusterState& state,
                                                        const Options& options, const Clock& clock,
                                                        const std::vector<json::Value>& budgets,
                                                        std::string_view ns, std::string_view name);

// Who holds a device, named DRIVER/POOL/DEVICE, and what keeps it from being given.
// ERRORS: kNotFound, kBadRequest for a name of another form.
[[nodiscard]] Result<explain::Explanation> ExplainDevice(state::ClusterState& state,
                                                         std::string_view name);

}  // namespace drachma::scheduler
