#include "scheduler/victim_units.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "client/objects.h"

namespace drachma::scheduler {
namespace {

using json::Value;
using state::PodPtr;

Time EarliestStart(const VictimUnit& unit) {
  Time earliest = Time::max();
  for (const PodPtr& pod : unit.pods) earliest = std::min(earliest, StartOf(*pod));
  return earliest;
}

}  // namespace

Time StartOf(const state::PodView& pod) {
  const auto started = ParseTime(pod.object["status"]["startTime"].AsString());
  return started.value_or(Time::max());
}

std::vector<VictimUnit> UnitsOf(const state::ClusterState& state, const GroupGates& gates,
                                const std::vector<PodPtr>& pods) {
  std::vector<VictimUnit> units;
  std::unordered_set<std::string> seen;  // groups
  for (const PodPtr& pod : pods) {
    const state::GroupPtr group =
        gates.groups && !pod->group.empty() ? state.groups.Find(pod->group_key()) : nullptr;
    VictimUnit unit{.pods = {pod}, .claim = nullptr, .priority = pod->priority};
    if (group) {
      unit.priority = group->priority;
      unit.of_group = true;
    }
    if (group && group->is_disrupted_as_one) {
      if (!seen.insert(group->key()).second) continue;
      unit.pods.clear();
      for (const PodPtr& member : state.MembersOf(group->key())) {
        if (auto there = state.nodes.FindPod(member->uid)) unit.pods.push_back(std::move(there));
      }
    }
    units.push_back(std::move(unit));
  }
  return units;
}

bool MoreImportant(const VictimUnit& a, const VictimUnit& b) {
  const auto rank = [](const VictimUnit& unit) {
    return std::tuple(unit.priority, unit.of_group, unit.pods.size());
  };
  if (rank(a) != rank(b)) return rank(a) > rank(b);
  return EarliestStart(a) < EarliestStart(b);
}

std::unordered_set<std::string> BudgetBreakers(const std::vector<VictimUnit>& units,
                                               const std::vector<Value>& budgets) {
  std::vector<std::int64_t> allowed;
  for (const Value& budget : budgets) {
    allowed.push_back(budget["status"]["disruptionsAllowed"].AsInt());
  }
  std::unordered_set<std::string> breakers;
  for (const VictimUnit& unit : units) {
    for (const PodPtr& pod : unit.pods) {
      for (std::size_t i = 0; i < budgets.size(); ++i) {
        const Value& budget = budgets[i];
        if (client::NamespaceOf(budget) != pod->ns ||
            !client::MatchesSelector(budget["spec"]["selector"],
                                     pod->object["metadata"]["labels"]) ||
            budget["status"]["disruptedPods"].Has(pod->name)) {
          continue;
        }
        if (--allowed[i] < 0) breakers.insert(pod->uid);
      }
    }
  }
  return breakers;
}

std::vector<state::ClaimPtr> ClaimsOf(const state::PodView& pod, const state::ClaimTable& claims) {
  std::vector<state::ClaimPtr> found;
  const auto add = [&](std::string_view name) {
    if (name.empty()) return;
    if (auto claim = claims.Find(fmt::format("{}/{}", pod.ns, name))) {
      found.push_back(std::move(claim));
    }
  };
  for (const state::PodClaim& entry : pod.claims) add(entry.claim_name);
  add(pod.object["status"]["extendedResourceClaimStatus"]["resourceClaimName"].AsString());
  return found;
}

std::vector<PodPtr> UsersOf(const state::ClusterState& state, const state::ClaimView& claim) {
  std::vector<PodPtr> users;
  for (const Value& consumer : claim.object["status"]["reservedFor"].Items()) {
    if (consumer["resource"].AsString() == "pods") {
      const PodPtr pod = state.FindPod(consumer["uid"].AsString());
      if (pod && !pod->terminal) users.push_back(pod);
    } else {
      for (PodPtr& member :
           state.MembersOf(claim.ns + "/" + std::string(consumer["name"].AsString()))) {
        users.push_back(std::move(member));
      }
    }
  }
  return users;
}

bool IsReleased(const state::ClusterState& state, const state::ClaimView& claim,
                const std::unordered_set<std::string>& gone) {
  const auto consumers = claim.object["status"]["reservedFor"].Items();
  return std::ranges::all_of(consumers, [&](const Value& consumer) {
    const std::string uid(consumer["uid"].AsString());
    if (gone.contains(uid)) return true;
    const std::string_view resource = consumer["resource"].AsString();
    if (resource == "podgroups") {
      // The group lives on without its pods, but its next attempt gives the claim up.
      const auto members =
          state.MembersOf(fmt::format("{}/{}", claim.ns, consumer["name"].AsString()));
      return std::ranges::all_of(members, [&](const PodPtr& member) {
        return gone.contains(member->uid) || state.nodes.FindPod(member->uid) == nullptr;
      });
    }
    if (resource != "pods") return false;
    const PodPtr pod = state.FindPod(uid);
    return !pod || pod->terminal;
  });
}

}  // namespace drachma::scheduler
