#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "explain/explanation.h"
#include "scheduler/scheduler.h"
#include "state/cluster_state.h"

namespace drachma::scheduler {

// Why a pod waits: one scheduling cycle without writes, on whatever cluster `state` shows, for
// whichever scheduler's pod. ERRORS: kNotFound.
[[nodiscard]] Result<explain::Explanation> ExplainPod(state::ClusterState& state,
                                                      const Options& options, const Clock& clock,
                                                      std::string_view ns, std::string_view name);

// Why a claim waits (through the pod that wants it) or who holds it. ERRORS: kNotFound.
[[nodiscard]] Result<explain::Explanation> ExplainClaim(state::ClusterState& state,
                                                        const Options& options, const Clock& clock,
                                                        std::string_view ns, std::string_view name);

// Who holds a device, named DRIVER/POOL/DEVICE, and what keeps it from being given.
// ERRORS: kNotFound, kBadRequest for a name of another form.
[[nodiscard]] Result<explain::Explanation> ExplainDevice(state::ClusterState& state,
                                                         std::string_view name);

}  // namespace drachma::scheduler
