#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gpu/board.h"
#include "gpu/catalogue.h"
#include "gpu/domain_membership.h"
#include "gpu/sim_spec.h"
#include "json/value.h"
#include "node/dra_plugin.h"
#include "node/node_object.h"
#include "node/simulated_nodes.h"

namespace drachma::cluster {

// The GPUs of each node of a group.
using GroupGpu = gpu::SimSpec;

// Equal nodes.
struct NodeGroup {
  std::string name;
  int count = 1;
  std::string cpu = "32";
  std::string memory = "128Gi";
  std::string pods = "110";
  std::map<std::string, std::string> labels;
  std::optional<GroupGpu> gpu;
  std::string nvlink_domain;  // GPUs of all nodes with the same one are joined by NVLink
};

// The hardware of a simulated cluster.
struct Fleet {
  std::string name;
  std::string description;
  std::vector<NodeGroup> groups;
};

// Limits of a fleet file.
inline constexpr int kNodesPerGroupMax = 100'000;
using gpu::kGpusPerNodeMax;

// Fleets that are always there; the first one is the default.
[[nodiscard]] std::span<const Fleet> BuiltInFleets();

// A fleet from the text of a file (YAML). `file` is for messages. ERRORS: kInvalid with every
// fault, one a line: "FILE:LINE:COLUMN: groups[0].gpu.model: …".
[[nodiscard]] Result<Fleet> ReadFleet(std::string_view text, std::string_view file);
// The fleet that --fleet names: built in, a file, or "none".
// ERRORS: kNotFound naming the built-in fleets; those of ReadFleet.
[[nodiscard]] Result<Fleet> FindFleet(const std::string& name_or_file);
// The fleet as a file that ReadFleet reads.
[[nodiscard]] std::string WriteFleet(const Fleet& fleet);

// The nodes of a fleet, "<group>-<i>" from 0, in the order of the groups.
[[nodiscard]] std::vector<node::NodeSpec> NodesOf(const Fleet& fleet);
// The drivers that the annotations of a simulated Node ask for (node::kSimulatedGpu).
// Without a `link` they publish, but channels of compute domains cannot be prepared.
// ERRORS: kInvalid when the annotation cannot be read.
[[nodiscard]] Result<std::vector<std::unique_ptr<node::DraPlugin>>> DriversOf(
    const json::Value& node, const std::shared_ptr<gpu::DomainLink>& link = nullptr);
// Has simulated nodes run these drivers, and what of them speaks with the API server.
void AddDrivers(node::SimulationOptions& simulation);

}  // namespace drachma::cluster
