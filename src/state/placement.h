#pragma once

#include <cstdint>
#include <string_view>

#include "api/node_selector.h"
#include "json/value.h"

namespace drachma::state {

// Whether names, labels and taints of a node allow a pod: what does not depend on other pods.
enum class Placement : std::uint8_t {
  kFits,
  kUnschedulable,  // node.spec.unschedulable
  kNodeName,       // pod.spec.nodeName names another node
  kTaint,          // an untolerated NoSchedule or NoExecute taint
  kAffinity,       // node selector or required node affinity
};

// Judges `node` for `pod` (both API objects; `labels` are the node's), in the order of upstream's
// filter plugins NodeUnschedulable, NodeName, TaintToleration, NodeAffinity.
[[nodiscard]] Placement JudgePlacement(const json::Value& pod, const json::Value& node,
                                       const api::Labels& labels);
// Upstream's reason for `placement`: "node(s) were unschedulable". REQUIRES: not kFits.
[[nodiscard]] std::string_view ReasonOf(Placement placement);

// Whether one of `tolerations` tolerates `taint` (core/v1 ToleratesTaint).
[[nodiscard]] bool Tolerates(const json::Value& tolerations, const json::Value& taint);

// The number of PreferNoSchedule taints of the node that the pod does not tolerate.
[[nodiscard]] std::int64_t UntoleratedPreferences(const json::Value& pod, const json::Value& node);

}  // namespace drachma::state
