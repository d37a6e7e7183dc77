#include "state/pod_view.h"

#include <utility>

#include "client/objects.h"
#include "json/json.h"

namespace drachma::state {
namespace {

using json::Value;

constexpr std::string_view kAnyAddress = "0.0.0.0";

void ReadHostPorts(const Value& containers, std::vector<HostPort>& ports) {
  for (const Value& container : containers.Items()) {
    for (const Value& port : container["ports"].Items()) {
      if (port["hostPort"].AsInt() <= 0) continue;
      ports.push_back({.ip = std::string(port["hostIP"].AsString()),
                       .protocol = std::string(port["protocol"].AsString("TCP")),
                       .port = port["hostPort"].AsInt()});
      if (ports.back().ip.empty()) ports.back().ip = kAnyAddress;
    }
  }
}

std::vector<PodClaim> ReadClaims(const Value& pod) {
  std::vector<PodClaim> claims;
  for (const Value& entry : pod["spec"]["resourceClaims"].Items()) {
    PodClaim claim{.name = std::string(entry["name"].AsString())};
    claim.from_template = entry["resourceClaimName"].AsString().empty();
    if (claim.from_template) claim.template_name = entry["resourceClaimTemplateName"].AsString();
    claim.claim_name = client::ClaimNameOf(pod, entry);
    if (claim.from_template && claim.claim_name.empty()) {
      for (const Value& status : pod["status"]["resourceClaimStatuses"].Items()) {
        if (status["name"] == entry["name"]) claim.needed = false;
      }
    }
    claims.push_back(std::move(claim));
  }
  return claims;
}

std::vector<VolumeClaimUse> ReadVolumeClaims(const Value& pod) {
  std::vector<VolumeClaimUse> uses;
  for (const Value& volume : pod["spec"]["volumes"].Items()) {
    if (volume.Has("persistentVolumeClaim")) {
      uses.push_back(
          {.claim_name = std::string(volume["persistentVolumeClaim"]["claimName"].AsString())});
    } else if (volume.Has("ephemeral")) {
      std::string name(pod["metadata"]["name"].AsString());
      name.append("-").append(volume["name"].AsString());
      uses.push_back({.claim_name = std::move(name), .ephemeral = true});
    }
  }
  return uses;
}

std::string PlacementText(const Value& spec) {
  std::string text(spec["nodeName"].AsString());
  for (const Value* part :
       {&spec["nodeSelector"], &spec["affinity"]["nodeAffinity"], &spec["tolerations"]}) {
    text += '\n';
    if (!part->empty()) json::WriteTo(*part, text);
  }
  return text;
}

}  // namespace

std::uint64_t TextIds::IdOf(std::string text) {
  if (ids_.size() >= kTextsMax) ids_.clear();
  const auto [entry, added] = ids_.try_emplace(std::move(text), next_);
  if (added) ++next_;
  return entry->second;
}

bool HostPort::ConflictsWith(const HostPort& other) const {
  return port == other.port && protocol == other.protocol &&
         (ip == other.ip || ip == kAnyAddress || other.ip == kAnyAddress);
}

PodPtr ReadPod(Value pod, Names& names) {
  auto view = std::make_shared<PodView>();
  const Value& metadata = pod["metadata"];
  const Value& spec = pod["spec"];
  const Value& status = pod["status"];
  view->uid = metadata["uid"].AsString();
  view->ns = metadata["namespace"].AsString();
  view->name = metadata["name"].AsString();
  view->node_name = spec["nodeName"].AsString();
  view->scheduler_name = spec["schedulerName"].AsString("default-scheduler");
  view->nominated_node = status["nominatedNodeName"].AsString();
  view->group = spec["schedulingGroup"]["podGroupName"].AsString();
  view->priority = spec["priority"].AsInt();
  view->created = client::CreatedAt(pod);
  view->terminal = client::IsPodTerminal(pod);
  view->deleting = metadata.Has("deletionTimestamp");
  view->gated = !spec["schedulingGates"].empty();
  view->may_preempt = spec["preemptionPolicy"].AsString() != "Never";
  const Value& affinity = spec["affinity"];
  const Value& anti = affinity["podAntiAffinity"];
  view->has_pod_affinity = !affinity["podAffinity"].empty() || !anti.empty();
  view->has_required_anti_affinity =
      !anti["requiredDuringSchedulingIgnoredDuringExecution"].empty();
  view->has_topology_spread = !spec["topologySpreadConstraints"].empty();
  view->requests = PodRequests(pod, names.resources);
  view->scored = PodScoredRequests(pod);
  ReadHostPorts(spec["containers"], view->host_ports);
  ReadHostPorts(spec["initContainers"], view->host_ports);
  view->claims = ReadClaims(pod);
  view->volume_claims = ReadVolumeClaims(pod);
  view->placement_id = names.texts.IdOf(PlacementText(spec));
  view->object = std::move(pod);
  return view;
}

}  // namespace drachma::state
