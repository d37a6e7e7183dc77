#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"

// What the compute-domain controller makes of a ComputeDomain. Pure.
namespace drachma::controllers::compute_domain {

// "computedomain-daemon-<uid>": the name of the domain's DaemonSet and of its claim template.
[[nodiscard]] std::string DaemonName(std::string_view uid);
// The template of the claims by which daemons get their device.
[[nodiscard]] json::Value DaemonTemplate(const json::Value& domain);
// The template of the claims by which pods join, in the domain's namespace and by the name that the
// domain asks for.
[[nodiscard]] json::Value WorkloadTemplate(const json::Value& domain);
// The same with one channel whatever the domain asks for: all that daemons of the host have.
[[nodiscard]] json::Value SingleChannelTemplate(const json::Value& domain);
// One daemon on each node that carries the domain's label.
[[nodiscard]] json::Value DaemonSetOf(const json::Value& domain);

// What a status is made of.
struct Members {
  std::vector<const json::Value*> cliques;  // of the domain
  std::vector<const json::Value*> daemons;  // its pods in the driver's namespace
  // Whether the node is there and its kubelet alive; daemons elsewhere are not ready.
  std::function<bool(std::string_view node)> alive;
};

// status.nodes: the daemons of the cliques, then, with index -1, those of nodes without a fabric,
// which register nowhere. Nodes that are gone have no entry.
[[nodiscard]] json::Value NodesOf(const Members& members);
// What keeps a domain with these nodes from being ready: "1 of 2 nodes have joined", "the daemon of
// node n1 is not ready". Empty: nothing.
[[nodiscard]] std::string WhyNotReady(const json::Value& domain, const json::Value& nodes);

}  // namespace drachma::controllers::compute_domain
