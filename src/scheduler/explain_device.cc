#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "scheduler/explain.h"
#include "scheduler/explain_claims.h"

namespace drachma::scheduler {
namespace {

using explain::Explanation;

// The counters that a device lacks: one row per counter set.
using ShortSets = std::map<std::string, std::vector<std::string>>;

ShortSets ShortSetsOf(const state::ClusterState& state, const allocator::DeviceId& id) {
  ShortSets sets;
  for (const allocator::ShortCounter& one : state.inventory.ShortCountersOf(id)) {
    sets[one.set].push_back(
        fmt::format("{} ({} needed, {} free)", one.counter, one.needed, one.free));
  }
  return sets;
}

// Devices of the pool that somebody holds and that draw on one of the sets.
void AddDrainers(const state::ClusterState& state, const allocator::DeviceId& id,
                 const ShortSets& sets, Explanation& explanation) {
  state.inventory.ForEachDevice([&](const allocator::DeviceView& device) {
    if (device.id.driver != id.driver || device.id.pool != id.pool || device.holders.empty())
      return;
    for (const json::Value& use : (*device.json)["consumesCounters"].Items()) {
      const std::string set(use["counterSet"].AsString());
      if (!sets.contains(set)) continue;
      std::vector<std::string> holders;
      for (const std::string& holder : device.holders) {
        AddOnce(holders, HolderText(state, holder));
      }
      AddOnce(explanation.blockers, fmt::format("device {}, which draws on {}, is held by {}",
                                                device.id.device, set, fmt::join(holders, ", ")));
    }
  });
}

bool KeepsAway(const api::DeviceTaint& taint) {
  return taint.effect == "NoSchedule" || taint.effect == "NoExecute";
}

Explanation OfDevice(const state::ClusterState& state, const allocator::DeviceView& device) {
  Explanation explanation;
  const ShortSets sets =
      device.current && device.holders.empty() ? ShortSetsOf(state, device.id) : ShortSets();
  if (!device.current) {
    explanation.cause = "not in a complete pool of the newest generation: nobody gets it";
  } else if (!device.holders.empty()) {
    explanation.cause = "in use";
  } else if (std::ranges::any_of(device.taints, KeepsAway)) {
    explanation.cause = "free, but a taint keeps new claims away";
  } else if (!sets.empty()) {
    explanation.cause = "blocked: nobody holds it, but other devices use what it is made of";
  } else {
    explanation.cause = "free";
  }
  if (!device.node.empty()) explanation.cause += ", on node " + device.node;
  explanation.steps.push_back({"claims that hold it", device.holders.size()});
  for (const std::string& holder : device.holders) {
    AddOnce(explanation.users, HolderText(state, holder));
  }
  for (const api::DeviceTaint& taint : device.taints) {
    explanation.blockers.push_back("taint " + TaintText(taint.key, taint.value, taint.effect));
  }
  for (const auto& [set, counters] : sets) {
    explanation.blockers.push_back(fmt::format("counters of {}: {}", set, FewOf(counters)));
  }
  if (!sets.empty()) AddDrainers(state, device.id, sets, explanation);
  return explanation;
}

}  // namespace

Result<Explanation> ExplainDevice(state::ClusterState& state, std::string_view name) {
  // A driver's name has no slash, a device's neither; a pool's may.
  const std::size_t first = name.find('/');
  const std::size_t last = name.rfind('/');
  if (first == std::string_view::npos || first == last) {
    return BadInput(fmt::format("device \"{}\": want DRIVER/POOL/DEVICE", name));
  }
  const allocator::DeviceId id{.driver = std::string(name.substr(0, first)),
                               .pool = std::string(name.substr(first + 1, last - first - 1)),
                               .device = std::string(name.substr(last + 1))};
  std::optional<Explanation> found;
  state.inventory.ForEachDevice([&](const allocator::DeviceView& device) {
    if (device.id != id || found) return;
    found = OfDevice(state, device);
  });
  if (!found) {
    std::vector<std::string> names;
    state.inventory.ForEachDevice(
        [&](const allocator::DeviceView& device) { names.push_back(device.id.ToString()); });
    return Fail(Code::kNotFound,
                fmt::format("device \"{}\" not found{}", name, DidYouMean(name, names)));
  }
  return *std::move(found);
}

}  // namespace drachma::scheduler
