#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "client/client.h"
#include "json/value.h"

// The kinds of the NVIDIA driver for jobs whose nodes share one NVLink fabric: a ComputeDomain is
// what users write, a ComputeDomainClique is where the IMEX daemons of one fabric register.
namespace drachma::controllers::compute_domain {

inline constexpr std::string_view kGroup = "resource.nvidia.com";
inline constexpr std::string_view kApiVersion = "resource.nvidia.com/v1beta1";
inline const client::Resource kDomains = {"resource.nvidia.com", "v1beta1", "computedomains"};
inline const client::Resource kCliques = {"resource.nvidia.com", "v1beta1", "computedomaincliques"};

// Says whose a node, a daemon, a template or a clique is: the domain's uid. Also the finalizer.
inline constexpr std::string_view kLabel = "resource.nvidia.com/computeDomain";
// Of cliques and daemon pods: the fabric; empty on a node without one.
inline constexpr std::string_view kCliqueLabel = "resource.nvidia.com/computeDomain.cliqueID";
// Of templates: "Daemon" or "Workload".
inline constexpr std::string_view kTargetLabel = "resource.nvidia.com/computeDomainTarget";
// Of nodes: the fabric that their GPUs are joined by (the driver's gpuCliqueLabelEnabled).
inline constexpr std::string_view kGpuCliqueLabel = "nvidia.com/gpu.clique";

// Where daemons and cliques live: the namespace that the driver's documentation installs it in.
inline constexpr std::string_view kNamespace = "dra-driver-nvidia-gpu";
inline constexpr std::string_view kDaemonAccount = "compute-domain-daemon-service-account";
// Daemons of a clique at most (--max-nodes-per-imex-domain), and the variable that tells them.
inline constexpr int kDaemonsMax = 18;
inline constexpr std::string_view kDaemonsMaxVariable = "MAX_NODES_PER_IMEX_DOMAIN";

// The driver's gate for IMEX daemons that an administrator runs on the nodes (imex.mode:
// hostManaged): no daemons, no labels, one channel.
inline const std::string kHostManagedGate = "HostManagedIMEXDaemon";

inline constexpr std::string_view kReady = "Ready";
inline constexpr std::string_view kNotReady = "NotReady";

// The CustomResourceDefinitions of both kinds: schema, defaults and rules are the driver's. The
// same objects stand in deploy/compute-domains.yaml.
[[nodiscard]] const std::vector<json::Value>& Definitions();
// The definition of that kind; null for others.
[[nodiscard]] const json::Value* DefinitionOf(std::string_view kind);

}  // namespace drachma::controllers::compute_domain
