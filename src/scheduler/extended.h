#pragma once

#include <map>
#include <string>
#include <vector>

#include "allocator/inventory.h"
#include "json/value.h"
#include "state/node_table.h"
#include "state/pod_view.h"

namespace drachma::scheduler {

// The annotation and the name parts of the claim that stands for a pod's extended resources
// (resource.k8s.io's ExtendedResourceClaimAnnotation; names as upstream makes them).
inline constexpr std::string_view kExtendedClaimAnnotation =
    "resource.kubernetes.io/extended-resource-claim";
inline constexpr std::string_view kExtendedClaimSuffix = "-extended-resources-";

// A resource that a pod asks for and that a DeviceClass stands for.
struct MappedResource {
  state::ResourceId id;
  std::string name;
  std::string device_class;
};

// The resources of the pod that devices may stand for (DRAExtendedResource).
[[nodiscard]] std::vector<MappedResource> MappedResources(const state::PodView& pod,
                                                          const allocator::Inventory& inventory,
                                                          const state::ResourceNames& names);

// Those of them that the node has no device plugin for: devices stand for them there.
[[nodiscard]] std::vector<state::ResourceId> Delegated(const std::vector<MappedResource>& mapped,
                                                       const state::NodeInfo& node);

// The claim for the resources in `delegated`, and which container's resource gets which request
// (pod.status.extendedResourceClaimStatus.requestMappings).
struct ExtendedClaim {
  json::Value claim;  // a ResourceClaim without a name, ready to be created
  json::Value mappings;
};
[[nodiscard]] ExtendedClaim MakeExtendedClaim(const state::PodView& pod,
                                              const std::vector<MappedResource>& mapped,
                                              const std::vector<state::ResourceId>& delegated);

// The requests that such claims may have, by name, as people wrote them:
// "container-0-request-0" is "nvidia.com/gpu of container main".
[[nodiscard]] std::map<std::string, std::string> TitlesOfRequests(const state::PodView& pod);

}  // namespace drachma::scheduler
