#pragma once

#include <string>
#include <vector>

#include "cli/session.h"
#include "explain/explanation.h"
#include "json/value.h"

namespace drachma::cli {

// What there is around a pod that has its node and claims the channel of a compute domain.
struct DomainSurroundings {
  std::vector<json::Value> claims;   // of the pod
  std::vector<json::Value> domains;  // all
  std::vector<json::Value> cliques;  // all
  std::vector<json::Value> daemons;  // pods of the driver's namespace
  json::Value node;
};

// Why the pod's channel is not ready: "waits for ComputeDomain team/mnnvl: no daemon of it runs on
// node n1 yet". Empty: it claims none, or it is. Pure.
[[nodiscard]] std::string WhyChannelWaits(const json::Value& pod,
                                          const DomainSurroundings& surroundings);

// Adds that to the explanation of a pod that has not started.
void ExplainDomain(Session& session, const json::Value& pod, explain::Explanation& explanation);

}  // namespace drachma::cli
