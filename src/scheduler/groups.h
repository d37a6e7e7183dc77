#pragma once

#include <functional>
#include <string>

#include "json/value.h"
#include "scheduler/scheduler.h"
#include "state/cluster_state.h"

namespace drachma::scheduler {

// Upstream's gates that make pod groups matter.
struct GroupGates {
  bool groups = false;  // GenericWorkload: gangs, and groups that are preempted as one
  bool claims = false;  // DRAWorkloadResourceClaims: claims that belong to a group
};
[[nodiscard]] GroupGates GroupGatesOf(const Options& options);

// Why a member may not be tried yet: its group, or minCount members of it, are not there. Empty
// when it may (plugin GangScheduling at PreEnqueue). Members that something else holds do not
// count: `own_hold` says what holds one, "" for nothing.
[[nodiscard]] std::string GroupHoldReason(
    const state::ClusterState& state, const state::PodView& pod,
    const std::function<std::string(const state::PodView&)>& own_hold);

// Members that have a node, bound or assumed (upstream's ScheduledPodsCount).
[[nodiscard]] std::size_t ScheduledMembers(const state::ClusterState& state,
                                           const state::GroupView& group);

// Whether the claim, which a template made, is the pod's or its group's. Empty when it is
// (resourceclaim.IsForPod).
[[nodiscard]] std::string WrongOwner(const state::ClaimView& claim, const state::PodView& pod,
                                     const GroupGates& gates);

// Whether the pod may use the claim (resourceclaim.IsReservedForPod).
[[nodiscard]] bool IsReservedForPod(const state::ClaimView& claim, const state::PodView& pod,
                                    const GroupGates& gates);

// The group that the claim is reserved for as a whole when the pod uses it, or null when it is
// reserved for the pod (resourceclaim.BindTo): an entry of the group has the name and the source of
// the pod's.
[[nodiscard]] state::GroupPtr ReservingGroup(const state::ClusterState& state,
                                             const state::ClaimView& claim,
                                             const state::PodView& pod, const GroupGates& gates);

// The entry of status.reservedFor.
[[nodiscard]] json::Value ConsumerReference(const state::PodView& pod,
                                            const state::GroupPtr& reserving_group);

}  // namespace drachma::scheduler
