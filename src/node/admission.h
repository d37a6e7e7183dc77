#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "json/value.h"

namespace drachma::node {

// Why a kubelet fails a pod that was bound to its node.
struct Rejection {
  std::string reason;   // "OutOfnvidia.com/gpu"
  std::string message;  // "Node didn't have enough resource: …"
};

// Whether `pod` asks for devices that `node` has no more of, as an extended resource or by the name
// of a DeviceClass: containers whose request no claim of the scheduler covers
// (status.extendedResourceClaimStatus) need it in the node's allocatable, beside what `others`, the
// pods that the node has accepted, take. So a pod that names its node itself does not run without
// its devices. Upstream's kubelet (lifecycle.PredicateAdmitHandler) lets resources pass that the
// node does not list, for those of scheduler extenders; simulated nodes have none.
[[nodiscard]] std::optional<Rejection> RejectionOf(
    const json::Value& pod, const json::Value& node,
    const std::function<std::vector<const json::Value*>()>& others);

}  // namespace drachma::node
