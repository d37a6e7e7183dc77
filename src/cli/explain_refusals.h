#pragma once

#include <initializer_list>
#include <set>
#include <string>
#include <string_view>

#include "cli/session.h"
#include "explain/explanation.h"
#include "json/value.h"
#include "state/cluster_state.h"

// Why an object that a pod or a workload needs does not come to be: only the API server knows, by
// a creation that it does not carry out (dry run); where the user may not create such objects, or
// it would be made now, the controllers' events tell what they were told.
namespace drachma::cli {

// "Reason: message" of the newest event of an object with one of these reasons; empty when there is
// none.
[[nodiscard]] std::string LastWarning(Session& session, const std::string& ns, std::string_view uid,
                                      std::initializer_list<std::string_view> reasons);

// Claims of the pod that are not made from their templates yet.
void ExplainMissingClaims(Session& session, const json::Value& pod,
                          explain::Explanation& explanation);

// The claim that stands for the pod's extended resources, which the scheduler makes when the pod
// has a node.
void ExplainExtendedClaim(Session& session, state::ClusterState& state, const json::Value& pod,
                          explain::Explanation& explanation);

// Pods of a workload, named by `title`, that nobody has made. `owners` are the uids of the
// workload and of what it owns between itself and its pods. Sets the cause when it finds one.
void ExplainMissingPods(Session& session, const json::Value& workload,
                        const std::set<std::string, std::less<>>& owners, std::string_view title,
                        explain::Explanation& explanation);

}  // namespace drachma::cli
