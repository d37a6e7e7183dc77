#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "json/value.h"

// Node objects and leases as a kubelet writes them. Pure.
namespace drachma::node {

// A Node with this annotation has a simulated kubelet; the value says who gave it one: "fleet", or
// "manifest" for Nodes that came from a file.
inline constexpr std::string_view kSimulated = "drachma.dev/simulated";
// Which GPUs a simulated node has: "H100-80GB x8", "H100-80GB x8 mig=dynamic".
inline constexpr std::string_view kSimulatedGpu = "drachma.dev/simulated-gpu";
// What is wrong with them: "gpu-0=xid:79,gpu-1=lost".
inline constexpr std::string_view kSimulatedHealth = "drachma.dev/simulated-health";

// What is wanted of a simulated node.
struct NodeSpec {
  std::string name;
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> annotations;
  // Quantities: "cpu", "memory", "pods", extended resources.
  std::map<std::string, std::string> capacity;
};

// The Node of `spec`, ready, with its address.
[[nodiscard]] json::Value NewNode(const NodeSpec& spec, std::string_view address, Time now);
// A strategic merge patch of nodes/status that says the node is fine: its conditions, with their
// heartbeat, its address, and what else a kubelet reports and the object lacks.
[[nodiscard]] json::Value ReadyPatch(const json::Value& node, std::string_view address, Time now);
// kube-node-lease's Lease of a node.
[[nodiscard]] json::Value NewLease(const json::Value& node, Duration interval, Time now);
// "172.16.0.7": the address of the node with that index.
[[nodiscard]] std::string NodeAddress(std::uint32_t index);
// The index whose address that is, or 0: none, indexes begin at 1.
[[nodiscard]] std::uint32_t IndexOfAddress(std::string_view address);
// The InternalIP that the Node says it has; empty: none.
[[nodiscard]] std::string_view InternalAddressOf(const json::Value& node);
// "10.128.7.2": the address of the `pod`th pod of a node.
[[nodiscard]] std::string PodAddress(std::uint32_t index, std::uint32_t pod);

}  // namespace drachma::node
