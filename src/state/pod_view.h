#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "json/value.h"
#include "state/resources.h"

namespace drachma::state {

// Equal texts get equal numbers. Remembers kTextsMax texts; then it forgets all and counts on, so
// that a number never means two texts.
class TextIds {
 public:
  static constexpr std::size_t kTextsMax = 1 << 16;
  [[nodiscard]] std::uint64_t IdOf(std::string text);

 private:
  std::unordered_map<std::string, std::uint64_t> ids_;
  std::uint64_t next_ = 1;
};

// What the views of pods share.
struct Names {
  ResourceNames resources;
  TextIds texts;
};

struct HostPort {
  std::string ip;  // "0.0.0.0" for all addresses
  std::string protocol;
  std::int64_t port = 0;

  // Whether both cannot be open on one node.
  [[nodiscard]] bool ConflictsWith(const HostPort& other) const;
};

// An entry of pod.spec.resourceClaims, resolved by pod.status.resourceClaimStatuses
// (dynamic-resource-allocation's resourceclaim.Name).
struct PodClaim {
  std::string name;           // of the entry
  std::string claim_name;     // of the ResourceClaim; empty while it was not generated
  std::string template_name;  // empty when the pod names the claim itself
  bool from_template = false;
  bool needed = true;  // false: the status says that no claim is needed
};

// A volume of a pod that is a PersistentVolumeClaim.
struct VolumeClaimUse {
  std::string claim_name;
  bool ephemeral = false;  // made for the pod, of which its name begins
};

// A pod as the scheduler reasons about it, read once per revision.
struct PodView {
  json::Value object;
  std::string uid;
  std::string ns;
  std::string name;
  std::string node_name;
  std::string scheduler_name;
  std::string nominated_node;
  std::string group;  // the name of its PodGroup; empty for none
  std::int64_t priority = 0;
  Time created;
  bool terminal = false;  // Succeeded or Failed
  bool deleting = false;
  bool gated = false;  // has scheduling gates
  bool may_preempt = true;
  // Whether it restricts, or is restricted by, where other pods are.
  bool has_pod_affinity = false;
  bool has_required_anti_affinity = false;
  bool has_topology_spread = false;
  Amounts requests;
  ScoredAmounts scored;
  std::vector<HostPort> host_ports;
  std::vector<PodClaim> claims;
  std::vector<VolumeClaimUse> volume_claims;
  // Equal for pods that the same nodes suit as far as names, labels and taints tell: node name,
  // selector, affinity, tolerations.
  std::uint64_t placement_id = 0;

  [[nodiscard]] std::string key() const { return ns + "/" + name; }
  // REQUIRES: it is in a group.
  [[nodiscard]] std::string group_key() const { return ns + "/" + group; }
};

using PodPtr = std::shared_ptr<const PodView>;

[[nodiscard]] PodPtr ReadPod(json::Value pod, Names& names);

}  // namespace drachma::state
