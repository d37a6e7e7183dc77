#include "scheduler/filters.h"

#include <fmt/format.h>

#include <algorithm>

namespace drachma::scheduler {
namespace {

using state::Amounts;

bool IsDelegated(const std::vector<state::ResourceId>& delegated, state::ResourceId id) {
  return std::ranges::find(delegated, id) != delegated.end();
}

// Calls `visit(name, wanted, allocatable, requested)` for each resource that the pod asks for.
template <typename Visit>
void ForEachResource(const Amounts& wanted, const state::NodeInfo& node,
                     const std::vector<state::ResourceId>& delegated, Visit visit) {
  const Amounts& have = node.allocatable;
  const Amounts& used = node.requested;
  constexpr state::ResourceId kNone = ~state::ResourceId{0};
  visit("cpu", kNone, wanted.cpu_milli, have.cpu_milli, used.cpu_milli);
  visit("memory", kNone, wanted.memory, have.memory, used.memory);
  visit("ephemeral-storage", kNone, wanted.ephemeral_storage, have.ephemeral_storage,
        used.ephemeral_storage);
  for (const auto& [id, amount] : wanted.others) {
    if (IsDelegated(delegated, id)) continue;
    visit("", id, amount, have.Other(id), used.Other(id));
  }
}

}  // namespace

bool PortsAreFree(const state::PodView& pod, const state::NodeInfo& node) {
  if (pod.host_ports.empty()) return true;
  return std::ranges::none_of(node.pods, [&pod](const state::PodPtr& other) {
    return std::ranges::any_of(other->host_ports, [&pod](const state::HostPort& taken) {
      return std::ranges::any_of(pod.host_ports, [&taken](const state::HostPort& wanted) {
        return wanted.ConflictsWith(taken);
      });
    });
  });
}

bool HasRoom(const state::PodView& pod, const state::NodeInfo& node,
             const std::vector<state::ResourceId>& delegated, const Amounts& extra,
             std::size_t extra_pods) {
  if (static_cast<std::int64_t>(node.pods.size() + extra_pods) + 1 > node.pods_max) return false;
  const Amounts& wanted = pod.requests;
  const Amounts& have = node.allocatable;
  const Amounts& used = node.requested;
  const auto lacks = [](std::int64_t want, std::int64_t free) { return want > 0 && want > free; };
  if (lacks(wanted.cpu_milli, have.cpu_milli - used.cpu_milli - extra.cpu_milli) ||
      lacks(wanted.memory, have.memory - used.memory - extra.memory) ||
      lacks(wanted.ephemeral_storage,
            have.ephemeral_storage - used.ephemeral_storage - extra.ephemeral_storage)) {
    return false;
  }
  return std::ranges::all_of(wanted.others, [&](const auto& entry) {
    return IsDelegated(delegated, entry.first) ||
           !lacks(entry.second,
                  have.Other(entry.first) - used.Other(entry.first) - extra.Other(entry.first));
  });
}

std::vector<NodeReason> RoomReasons(const state::PodView& pod, const state::NodeInfo& node,
                                    const std::vector<state::ResourceId>& delegated,
                                    const state::ResourceNames& names) {
  std::vector<NodeReason> reasons;
  if (static_cast<std::int64_t>(node.pods.size()) + 1 > node.pods_max) {
    reasons.push_back({"Too many pods", Rejector::kResources, true});
  }
  ForEachResource(
      pod.requests, node, delegated,
      [&](std::string_view name, state::ResourceId id, std::int64_t wanted, std::int64_t have,
          std::int64_t used) {
        if (wanted <= 0 || wanted <= have - used) return;
        reasons.push_back({fmt::format("Insufficient {}", name.empty() ? names.NameOf(id) : name),
                           Rejector::kResources, wanted <= have});
      });
  // One resource that the empty node lacks makes the whole node hopeless.
  if (std::ranges::any_of(reasons, [](const NodeReason& r) { return !r.preemptable; })) {
    for (NodeReason& reason : reasons) reason.preemptable = false;
  }
  return reasons;
}

bool Reaches(const api::AllocationResult& allocation, const state::NodeInfo& node) {
  const auto& selector = allocation.node_selector;
  return !selector || api::Matches(*selector, node.name, node.labels);
}

}  // namespace drachma::scheduler
