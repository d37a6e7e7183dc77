#include "liveness.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <variant>

#include "client/objects.h"
#include "scheduler/cycle.h"
#include "scheduler/group_cycle.h"
#include "state/loader.h"

namespace drachma::simulation {
namespace {

using json::Value;

// Finds pods that wait although they fit. Reads the API as a new scheduler would.
class FreshLook {
 public:
  explicit FreshLook(SimCluster& cluster)
      : cluster_(cluster),
        options_{.feature_gates = cluster.options().feature_gates, .seed = 1},
        state_(scheduler::AllocatorOptions(options_)),
        random_(1),
        cycle_(state_, nominations_, options_, cluster.clock(), random_),
        groups_(state_, cycle_, nominations_, options_) {}

  std::vector<std::string> FittingPods() {
    std::optional<Result<std::string>> loaded;
    state::LoadOnce(cluster_.client(), state_,
                    [&](Result<std::string> version) { loaded = std::move(version); });
    cluster_.RunFor(std::chrono::milliseconds(1));
    if (!loaded || !*loaded) return {"the cluster could not be read"};
    std::vector<state::PodPtr> waiting;
    for (const auto& [key, pod] : state_.pods()) {
      if (pod->node_name.empty() && !pod->terminal && !pod->deleting) waiting.push_back(pod);
    }
    std::ranges::sort(waiting, {}, [](const state::PodPtr& pod) { return pod->key(); });
    std::vector<std::string> fitting;
    for (const state::PodPtr& pod : waiting) {
      if (!cycle_.HoldReason(*pod).empty()) continue;
      std::string fault = pod->group.empty() ? FaultOf(pod) : FaultOfGroup(*pod);
      if (!fault.empty()) fitting.push_back(fmt::format("pod {} {}", pod->key(), fault));
    }
    return fitting;
  }

 private:
  std::string FaultOf(const state::PodPtr& pod) {
    const scheduler::Attempt attempt = cycle_.Schedule(pod);
    if (const auto* placed = std::get_if<scheduler::Placed>(&attempt)) {
      if (IsOverQuota(*pod)) return {};
      return fmt::format("fits on node {}, but waits", state_.nodes.At(placed->node).name);
    }
    if (const auto* errored = std::get_if<scheduler::Errored>(&attempt)) return errored->message;
    // Whom it could preempt since it was tried last is found by the next try, after five minutes.
    return {};
  }

  // Whether the API server refused the claim that the scheduler makes for extended resources.
  [[nodiscard]] bool IsOverQuota(const state::PodView& pod) const {
    const Value& object = cluster_.history().Get("pods", pod.key());
    const Value* scheduled = client::ConditionOf(object, "PodScheduled");
    return scheduled != nullptr &&
           (*scheduled)["message"].AsString().find("exceeded quota") != std::string_view::npos;
  }

  std::string FaultOfGroup(const state::PodView& pod) {
    const state::GroupPtr group = state_.groups.Find(pod.group_key());
    if (!group) return {};
    std::vector<state::PodPtr> members;
    for (const state::PodPtr& member : state_.MembersOf(group->key())) {
      const bool waits = member->node_name.empty() && !member->deleting;
      if (waits && cycle_.HoldReason(*member).empty()) members.push_back(member);
    }
    scheduler::GroupOutcome outcome = groups_.Place(*group, members);
    if (outcome.kind != scheduler::GroupOutcome::Kind::kFits) return {};
    const bool has_place = std::ranges::any_of(outcome.members, [&](const auto& member) {
      return member.placed && member.pod->uid == pod.uid;
    });
    groups_.TakeBack(outcome);
    return has_place ? "fits with its group, but waits" : "";
  }

  SimCluster& cluster_;
  const scheduler::Options options_;
  state::ClusterState state_;
  scheduler::Nominations nominations_;
  Random random_;
  scheduler::Cycle cycle_;
  scheduler::GroupCycle groups_;
};

void AddPods(const History& history, std::vector<std::string>& unfinished) {
  for (const auto& [key, pod] : history.Of("pods")) {
    const std::string_view node = pod["spec"]["nodeName"].AsString();
    const std::string_view phase = pod["status"]["phase"].AsString();
    if (client::IsBeingDeleted(pod)) {
      unfinished.push_back(fmt::format("pod {} on node \"{}\" is still being deleted", key, node));
    } else if (!node.empty() && !client::IsPodTerminal(pod) && phase != "Running") {
      unfinished.push_back(fmt::format("pod {} on node {} is {}", key, node, phase));
    }
  }
}

void AddClaims(const History& history, std::vector<std::string>& unfinished) {
  for (const auto& [key, claim] : history.Of("resourceclaims")) {
    const auto& reserved = claim["status"]["reservedFor"].Items();
    if (client::IsBeingDeleted(claim) && reserved.empty()) {
      unfinished.push_back(fmt::format("claim {} is still being deleted", key));
    }
    for (const Value& consumer : reserved) {
      if (consumer["resource"].AsString() != "pods") continue;
      const std::string pod_key =
          fmt::format("{}/{}", client::NamespaceOf(claim), consumer["name"].AsString());
      const Value& pod = history.Get("pods", pod_key);
      if (client::UidOf(pod) != consumer["uid"].AsString() || client::IsPodTerminal(pod)) {
        unfinished.push_back(fmt::format("claim {} is reserved for {}, which has ended", key,
                                         consumer["name"].AsString()));
      }
    }
    for (const Value& owner : claim["metadata"]["ownerReferences"].Items()) {
      if (owner["kind"].AsString() != "Pod") continue;
      const std::string pod_key =
          fmt::format("{}/{}", client::NamespaceOf(claim), owner["name"].AsString());
      if (client::UidOf(history.Get("pods", pod_key)) != owner["uid"].AsString()) {
        unfinished.push_back(fmt::format("claim {} has outlived its pod", key));
      }
    }
  }
}

// Pods of a workload that count for it.
std::size_t PodsOf(const History& history, const Value& owner, bool with_ended) {
  std::size_t pods = 0;
  for (const auto& [key, pod] : history.Of("pods")) {
    const Value* controller = client::ControllerOf(pod);
    if (controller == nullptr || (*controller)["uid"].AsString() != client::UidOf(owner)) continue;
    pods += with_ended || !client::IsPodTerminal(pod) ? 1 : 0;
  }
  return pods;
}

void AddWorkloads(const History& history, std::vector<std::string>& unfinished) {
  for (const auto& [key, set] : history.Of("replicasets")) {
    const std::size_t pods = PodsOf(history, set, false);
    const auto wanted = static_cast<std::size_t>(set["spec"]["replicas"].AsInt(1));
    // Quotas may keep pods from being made.
    const bool limited = client::NamespaceOf(set) == "team-a";
    if (pods > wanted || (pods < wanted && !limited)) {
      unfinished.push_back(fmt::format("replicaset {} has {} of {} pods", key, pods, wanted));
    }
  }
  for (const auto& [key, deployment] : history.Of("deployments")) {
    const std::int64_t seen = deployment["status"]["observedGeneration"].AsInt();
    if (seen != deployment["metadata"]["generation"].AsInt()) {
      unfinished.push_back(fmt::format("deployment {} has not been looked at", key));
    }
  }
  for (const auto& [key, job] : history.Of("jobs")) {
    const bool done =
        client::IsConditionTrue(job, "Complete") || client::IsConditionTrue(job, "Failed");
    const bool limited = client::NamespaceOf(job) == "team-a";
    if (!done && !limited && PodsOf(history, job, false) == 0) {
      unfinished.push_back(fmt::format("job {} has no pods and no end", key));
    }
  }
}

void AddNodes(const SimCluster& cluster, std::vector<std::string>& unfinished) {
  for (const node::NodeSpec& spec : cluster::NodesOf(cluster.options().fleet)) {
    const Value& node = cluster.history().Get("nodes", spec.name);
    if (!client::IsConditionTrue(node, "Ready")) {
      unfinished.push_back(fmt::format("node {} is not ready", spec.name));
    }
  }
}

}  // namespace

std::vector<std::string> Unfinished(SimCluster& cluster) {
  std::vector<std::string> unfinished = FreshLook(cluster).FittingPods();
  AddPods(cluster.history(), unfinished);
  AddClaims(cluster.history(), unfinished);
  AddWorkloads(cluster.history(), unfinished);
  AddNodes(cluster, unfinished);
  return unfinished;
}

std::vector<std::string> Leftovers(const SimCluster& cluster) {
  std::vector<std::string> leftovers;
  constexpr std::array<std::string_view, 6> kPlurals = {
      "pods", "resourceclaims", "jobs", "deployments", "replicasets", "podgroups"};
  for (const std::string_view plural : kPlurals) {
    for (const auto& [key, object] : cluster.history().Of(plural)) {
      leftovers.push_back(fmt::format("{} {} is left", plural, key));
    }
  }
  for (const auto& [device, holders] : cluster.invariants().holders()) {
    leftovers.push_back(fmt::format("device {} is still allocated", device));
  }
  for (const auto& [place, claims] : cluster.prepared()) {
    for (const std::string& uid : claims) {
      leftovers.push_back(fmt::format("claim {} is still prepared on node {}", uid, place.first));
    }
  }
  for (const auto& [key, quota] : cluster.history().Of("resourcequotas")) {
    for (const json::Member& used : quota["status"]["used"].Members()) {
      if (used.value.AsString() == "0") continue;
      leftovers.push_back(
          fmt::format("quota {} still counts {} {}", key, used.value.AsString(), used.key()));
    }
  }
  return leftovers;
}

}  // namespace drachma::simulation
