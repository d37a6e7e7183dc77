#include "scheduler/explain_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "num/quantity.h"

namespace drachma::scheduler {
namespace {

using json::Value;
using state::NodeIndex;
using state::NodeInfo;
using state::Placement;

// Names that a hint lists; the rest is counted.
constexpr std::size_t kNamedMax = 3;

struct Hint {
  std::string what;
  std::string change;
};

std::string Names(const std::vector<std::string>& names) {
  const std::size_t shown = std::min(kNamedMax, names.size());
  std::string text =
      fmt::format("{}", fmt::join(names.begin(), names.begin() + static_cast<int>(shown), ", "));
  if (names.size() > shown) text += fmt::format(" and {} more", names.size() - shown);
  return text;
}

std::vector<const NodeInfo*> NodesWith(state::ClusterState& state, const state::PodView& pod,
                                       Placement placement) {
  std::vector<const NodeInfo*> nodes;
  for (const NodeIndex index : state.nodes.ordered()) {
    if (state.nodes.PlacementOf(pod, index) == placement) nodes.push_back(&state.nodes.At(index));
  }
  return nodes;
}

void HintUnschedulable(state::ClusterState& state, const state::PodView& pod,
                       std::vector<Hint>& hints) {
  std::vector<std::string> names;
  for (const NodeInfo* node : NodesWith(state, pod, Placement::kUnschedulable)) {
    names.push_back(node->name);
  }
  if (names.empty()) return;
  hints.push_back({fmt::format("cordoned: {}", Names(names)),
                   fmt::format("if node {} were uncordoned", names.front())});
}

void HintTaints(state::ClusterState& state, const state::PodView& pod, std::vector<Hint>& hints) {
  std::map<std::string, std::vector<std::string>> nodes_of;
  for (const NodeInfo* node : NodesWith(state, pod, Placement::kTaint)) {
    for (const Value& taint : node->object["spec"]["taints"].Items()) {
      if (taint["effect"].AsString() == "PreferNoSchedule" ||
          state::Tolerates(pod.object["spec"]["tolerations"], taint)) {
        continue;
      }
      const std::string_view value = taint["value"].AsString();
      nodes_of[fmt::format("{}{}{}:{}", taint["key"].AsString(), value.empty() ? "" : "=", value,
                           taint["effect"].AsString())]
          .push_back(node->name);
    }
  }
  for (const auto& [taint, nodes] : nodes_of) {
    hints.push_back({fmt::format("taint {} of nodes {} is not tolerated", taint, Names(nodes)),
                     fmt::format("if the pod tolerated the taint {}", taint)});
  }
}

void HintLabels(state::ClusterState& state, const state::PodView& pod, std::vector<Hint>& hints) {
  if (NodesWith(state, pod, Placement::kAffinity).empty()) return;
  const std::vector<NodeIndex>& nodes = state.nodes.ordered();
  for (const json::Member& wanted : pod.object["spec"]["nodeSelector"].Members()) {
    const auto have = std::ranges::count_if(nodes, [&](NodeIndex index) {
      const auto& labels = state.nodes.At(index).labels;
      const auto label = labels.find(wanted.key());
      return label != labels.end() && label->second == wanted.value.AsString();
    });
    const std::string label = fmt::format("{}={}", wanted.key(), wanted.value.AsString());
    hints.push_back(
        {fmt::format("nodeSelector {}: {} of {} nodes have this label", label, have, nodes.size()),
         have == 0 ? fmt::format("if a node had the label {}", label) : std::string()});
  }
  const Value& required = pod.object["spec"]["affinity"]["nodeAffinity"]
                                    ["requiredDuringSchedulingIgnoredDuringExecution"];
  if (required.IsNull()) return;
  const auto selector = api::NodeSelector::FromJson(required);
  if (!selector) return;
  for (const api::NodeSelectorTerm& term : selector->terms) {
    for (const api::NodeSelectorRequirement& one : term.match_expressions) {
      const auto have = std::ranges::count_if(
          nodes, [&](NodeIndex index) { return api::Matches(one, state.nodes.At(index).labels); });
      const std::string text = fmt::format(
          "{} {}{}{}", one.key, one.op, one.values.empty() ? "" : " ", fmt::join(one.values, ","));
      hints.push_back(
          {fmt::format("node affinity {}: {} of {} nodes match", text, have, nodes.size()),
           have == 0 ? fmt::format("if a node matched {}", text) : std::string()});
    }
  }
}

std::string CpuText(std::int64_t milli) {
  return milli % 1000 == 0 ? std::to_string(milli / 1000) : fmt::format("{}m", milli);
}
std::string BytesText(std::int64_t bytes) {
  return Quantity::FromInt(bytes, QuantityFormat::kBinarySI).ToString();
}
std::string CountText(std::int64_t count) { return std::to_string(count); }

// One resource that some node lacks: which node is nearest to having enough.
void HintRoom(state::ClusterState& state, const state::PodView& pod, std::string_view name,
              const std::function<std::int64_t(const state::Amounts&)>& of,
              std::string (*text)(std::int64_t), std::vector<Hint>& hints) {
  const std::int64_t wanted = of(pod.requests);
  const NodeInfo* freest = nullptr;
  const NodeInfo* largest = nullptr;
  std::int64_t most = 0;
  for (const NodeInfo* node : NodesWith(state, pod, Placement::kFits)) {
    const std::int64_t free = of(node->allocatable) - of(node->requested);
    if (largest == nullptr || of(node->allocatable) > of(largest->allocatable)) largest = node;
    if (freest != nullptr && free <= most) continue;
    freest = node;
    most = free;
  }
  if (freest == nullptr || wanted <= most) return;
  const std::int64_t have = of(freest->allocatable);
  const std::int64_t empty = of(largest->allocatable);
  Hint hint{fmt::format("the pod asks for {} {}; node {} has most free, {} of {}", text(wanted),
                        name, freest->name, text(most), text(have)),
            {}};
  if (empty == 0) {
    hint.what = fmt::format("the pod asks for {} {}; no node has any", text(wanted), name);
    hint.change = fmt::format("if a node had {}", name);
  } else if (wanted > empty && most <= 0) {
    hint.change = fmt::format("if the pod asked for at most {} {} and node {} were empty",
                              text(empty), name, largest->name);
  } else if (wanted > empty) {
    hint.change = fmt::format("if the pod asked for at most {} {}", text(most), name);
    if (empty > most) {
      hint.change += fmt::format(" ({} if node {} were empty)", text(empty), largest->name);
    }
  } else if (wanted > have) {
    hint.change = fmt::format("if {} {} were free on node {}", text(wanted), name, largest->name);
  } else {
    hint.change =
        fmt::format("if {} {} more were free on node {}", text(wanted - most), name, freest->name);
  }
  hints.push_back(std::move(hint));
}

// An extended resource that nothing stands for: devices could, through a class.
void HintExtended(const state::ClusterState& state, const std::string& name, const Options& options,
                  std::vector<Hint>& hints) {
  constexpr std::string_view kOfClass = "deviceclass.resource.kubernetes.io/";
  if (!name.contains('/') || !state.inventory.ClassOfExtendedResource(name).empty()) return;
  const std::string wanted =
      name.starts_with(kOfClass)
          ? fmt::format("DeviceClass {} existed", name.substr(kOfClass.size()))
          : fmt::format("a DeviceClass had extendedResourceName {}", name);
  std::string what = fmt::format("no DeviceClass stands for {}", name);
  const auto gate = options.feature_gates.find("DRAExtendedResource");
  const bool off = gate != options.feature_gates.end() && !gate->second;
  if (off) what += "; the feature gate DRAExtendedResource, which that needs, is off";
  std::string change = fmt::format("if a node had {}, or {}{}", name,
                                   off ? "DRAExtendedResource were on and " : "", wanted);
  // Its hint as a resource of nodes knows the nodes only.
  if (!hints.empty() && hints.back().change == fmt::format("if a node had {}", name)) {
    hints.back().change = std::move(change);
  }
  hints.push_back({std::move(what), {}});
}

void HintResources(state::ClusterState& state, const state::PodView& pod, const Options& options,
                   const Diagnosis& diagnosis, std::vector<Hint>& hints) {
  for (const auto& [reason, count] : diagnosis.node_reasons) {
    constexpr std::string_view kInsufficient = "Insufficient ";
    if (!reason.starts_with(kInsufficient)) continue;
    const std::string name = reason.substr(kInsufficient.size());
    if (name == "cpu") {
      HintRoom(state, pod, name, &state::Amounts::cpu_milli, CpuText, hints);
    } else if (name == "memory") {
      HintRoom(state, pod, name, &state::Amounts::memory, BytesText, hints);
    } else if (name == "ephemeral-storage") {
      HintRoom(state, pod, name, &state::Amounts::ephemeral_storage, BytesText, hints);
    } else {
      const state::ResourceId id = state.names.resources.IdOf(name);
      HintRoom(
          state, pod, name, [id](const state::Amounts& amounts) { return amounts.Other(id); },
          CountText, hints);
      HintExtended(state, name, options, hints);
    }
  }
}

void HintPorts(state::ClusterState& state, const state::PodView& pod, std::vector<Hint>& hints) {
  for (const NodeIndex index : state.nodes.ordered()) {
    for (const state::PodPtr& other : state.nodes.At(index).pods) {
      for (const state::HostPort& taken : other->host_ports) {
        if (hints.size() >= kNamedMax) return;
        const bool wanted = std::ranges::any_of(
            pod.host_ports, [&](const state::HostPort& port) { return port.ConflictsWith(taken); });
        if (!wanted) continue;
        hints.push_back({fmt::format("pod {} holds host port {}/{} on node {}", other->key(),
                                     taken.port, taken.protocol, state.nodes.At(index).name),
                         fmt::format("if pod {} ended", other->key())});
      }
    }
  }
}

}  // namespace

void AddNodeHints(state::ClusterState& state, const state::PodView& pod, const Options& options,
                  const Diagnosis& diagnosis, explain::Explanation& explanation) {
  std::vector<Hint> hints;
  HintLabels(state, pod, hints);
  HintTaints(state, pod, hints);
  HintUnschedulable(state, pod, hints);
  HintResources(state, pod, options, diagnosis, hints);
  if (!pod.host_ports.empty()) HintPorts(state, pod, hints);
  for (Hint& hint : hints) {
    explanation.blockers.push_back(std::move(hint.what));
    if (explanation.change.empty()) explanation.change = std::move(hint.change);
  }
}

}  // namespace drachma::scheduler
