#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "num/quantity.h"
#include "scheduler/edits.h"
#include "scheduler/explain_claims.h"
#include "scheduler/volumes.h"

namespace drachma::scheduler {
namespace {

using json::Value;
using Cost = Edit::Cost;
using state::NodeIndex;
using state::NodeInfo;
using state::Placement;

// Nodes, or amounts that nodes have free, that are tried for one cause.
constexpr std::size_t kTriedMax = 16;
// Holders of ports that are named.
constexpr std::size_t kNamedMax = 3;

// What the hints of one pod end in.
struct Found {
  std::vector<Edit>& edits;
  std::vector<std::string>& blockers;

  void Add(Cost cost, std::string change, std::function<void(Value&)> pod) const {
    edits.push_back({cost, std::move(change), std::move(pod), {}, {}});
  }
  void AddView(Cost cost, std::string change, std::function<void(state::PodView&)> view) const {
    edits.push_back({cost, std::move(change), {}, std::move(view), {}});
  }
};

std::vector<const NodeInfo*> NodesWith(state::ClusterState& state, const state::PodView& pod,
                                       Placement placement) {
  std::vector<const NodeInfo*> nodes;
  for (const NodeIndex index : state.nodes.ordered()) {
    if (state.nodes.PlacementOf(pod, index) == placement) nodes.push_back(&state.nodes.At(index));
  }
  return nodes;
}

void HintUnschedulable(state::ClusterState& state, const state::PodView& pod, const Found& found) {
  std::vector<std::string> names;
  for (const NodeInfo* node : NodesWith(state, pod, Placement::kUnschedulable)) {
    names.push_back(node->name);
    if (names.size() > kTriedMax) continue;
    Value open = node->object;
    open.Edit("spec").Erase("unschedulable");
    found.edits.push_back({.cost = Cost::kRepair,
                           .change = fmt::format("if node {} were uncordoned", node->name),
                           .pod = {},
                           .view = {},
                           .cluster = [open](Trial& trial) { trial.PutNode(open); }});
  }
  if (!names.empty()) found.blockers.push_back(fmt::format("cordoned: {}", FewOf(names)));
}

std::vector<Value> UntoleratedTaints(const NodeInfo& node, const state::PodView& pod) {
  std::vector<Value> taints;
  for (const Value& taint : node.object["spec"]["taints"].Items()) {
    if (taint["effect"].AsString() == "PreferNoSchedule" ||
        state::Tolerates(pod.object["spec"]["tolerations"], taint)) {
      continue;
    }
    taints.push_back(taint);
  }
  return taints;
}

// All that keep the pod from a node must be tolerated together.
void HintTaints(state::ClusterState& state, const state::PodView& pod, const Found& found) {
  std::map<std::string, std::vector<std::string>> nodes_of;  // by taint
  std::map<std::string, std::vector<Value>> sets;            // by their text
  for (const NodeInfo* node : NodesWith(state, pod, Placement::kTaint)) {
    std::vector<Value> taints = UntoleratedTaints(*node, pod);
    std::vector<std::string> texts;
    for (const Value& taint : taints) {
      texts.push_back(TaintText(taint["key"].AsString(), taint["value"].AsString(),
                                taint["effect"].AsString()));
      nodes_of[texts.back()].push_back(node->name);
    }
    sets.try_emplace(
        fmt::format("taint{} {}", texts.size() == 1 ? "" : "s", fmt::join(texts, " and ")),
        std::move(taints));
  }
  for (const auto& [taint, nodes] : nodes_of) {
    found.blockers.push_back(
        fmt::format("taint {} of nodes {} is not tolerated", taint, FewOf(nodes)));
  }
  for (const auto& [text, taints] : sets) {
    found.Add(
        Cost::kTolerate, fmt::format("if the pod tolerated the {}", text),
        [taints = taints](Value& object) {
          Value& tolerations = object.Edit("spec").Edit("tolerations");
          if (!tolerations.IsArray()) tolerations = Value::Array();
          for (const Value& taint : taints) {
            tolerations.Append(Value::Object(
                {{"key", taint["key"]}, {"operator", "Exists"}, {"effect", taint["effect"]}}));
          }
        });
  }
}

constexpr std::string_view kRequired = "requiredDuringSchedulingIgnoredDuringExecution";

void HintSelector(state::ClusterState& state, const state::PodView& pod, const Found& found) {
  const std::vector<NodeIndex>& nodes = state.nodes.ordered();
  for (const json::Member& wanted : pod.object["spec"]["nodeSelector"].Members()) {
    const auto have = std::ranges::count_if(nodes, [&](NodeIndex index) {
      const auto& labels = state.nodes.At(index).labels;
      const auto label = labels.find(wanted.key());
      return label != labels.end() && label->second == wanted.value.AsString();
    });
    const std::string label = fmt::format("{}={}", wanted.key(), wanted.value.AsString());
    found.blockers.push_back(
        fmt::format("nodeSelector {}: {} of {} nodes have this label", label, have, nodes.size()));
    found.Add(Cost::kLabels, fmt::format("if node {} had the label {}", kThatNode, label),
              [key = std::string(wanted.key())](Value& object) {
                object.Edit("spec").Edit("nodeSelector").Erase(key);
              });
  }
}

void HintAffinity(state::ClusterState& state, const state::PodView& pod, const Found& found) {
  const std::vector<NodeIndex>& nodes = state.nodes.ordered();
  const Value& required = pod.object["spec"]["affinity"]["nodeAffinity"][kRequired];
  if (required.IsNull()) return;
  const auto selector = api::NodeSelector::FromJson(required);
  if (!selector) return;
  for (std::size_t term = 0; term < selector->terms.size(); ++term) {
    const auto& expressions = selector->terms[term].match_expressions;
    for (std::size_t i = 0; i < expressions.size(); ++i) {
      const api::NodeSelectorRequirement& one = expressions[i];
      const auto have = std::ranges::count_if(
          nodes, [&](NodeIndex index) { return api::Matches(one, state.nodes.At(index).labels); });
      const std::string text = fmt::format(
          "{} {}{}{}", one.key, one.op, one.values.empty() ? "" : " ", fmt::join(one.values, ","));
      found.blockers.push_back(
          fmt::format("node affinity {}: {} of {} nodes match", text, have, nodes.size()));
      found.Add(Cost::kLabels, fmt::format("if node {} matched {}", kThatNode, text),
                [term, i](Value& object) {
                  Value& expression = object.Edit("spec")
                                          .Edit("affinity")
                                          .Edit("nodeAffinity")
                                          .Edit(kRequired)
                                          .Edit("nodeSelectorTerms")
                                          .EditItem(term)
                                          .Edit("matchExpressions")
                                          .EditItem(i);
                  // Matches always: no label has this name.
                  expression = Value::Object({{"key", "explain"}, {"operator", "DoesNotExist"}});
                });
    }
  }
}

// Where other pods are.
void HintPods(const state::PodView& pod, const Found& found) {
  if (!pod.object["spec"]["affinity"]["podAffinity"][kRequired].empty()) {
    found.Add(Cost::kPlacement, fmt::format("if node {} met its affinity to pods", kThatNode),
              [](Value& object) { object.Edit("spec").Edit("affinity").Erase("podAffinity"); });
  }
  if (!pod.object["spec"]["affinity"]["podAntiAffinity"][kRequired].empty()) {
    found.Add(Cost::kPlacement, "without its anti-affinity to pods",
              [](Value& object) { object.Edit("spec").Edit("affinity").Erase("podAntiAffinity"); });
  }
  if (pod.has_topology_spread) {
    found.Add(Cost::kPlacement, "without its topology spread constraints",
              [](Value& object) { object.Edit("spec").Erase("topologySpreadConstraints"); });
  }
}

std::string CpuText(std::int64_t milli) {
  return milli % 1000 == 0 ? std::to_string(milli / 1000) : fmt::format("{}m", milli);
}
std::string BytesText(std::int64_t bytes) {
  return Quantity::FromInt(bytes, QuantityFormat::kBinarySI).ToString();
}
std::string CountText(std::int64_t count) { return std::to_string(count); }

// A resource as it is read from and written to amounts, and shown.
struct ResourceOf {
  std::string_view name;
  std::function<std::int64_t(const state::Amounts&)> get;
  std::function<void(state::Amounts&, std::int64_t)> set;
  std::string (*text)(std::int64_t);
};

ResourceOf Counted(std::string_view name, std::int64_t state::Amounts::* member,
                   std::string (*text)(std::int64_t)) {
  return {name, [member](const state::Amounts& amounts) { return amounts.*member; },
          [member](state::Amounts& amounts, std::int64_t amount) { amounts.*member = amount; },
          text};
}

ResourceOf ResourceNamed(std::string_view name, state::ResourceNames& names) {
  if (name == "cpu") return Counted(name, &state::Amounts::cpu_milli, CpuText);
  if (name == "memory") return Counted(name, &state::Amounts::memory, BytesText);
  if (name == "ephemeral-storage") {
    return Counted(name, &state::Amounts::ephemeral_storage, BytesText);
  }
  const state::ResourceId id = names.IdOf(name);
  return {name, [id](const state::Amounts& amounts) { return amounts.Other(id); },
          [id](state::Amounts& amounts, std::int64_t amount) { amounts.SetOther(id, amount); },
          CountText};
}

// One resource that some node lacks: which node is nearest to having enough, and what is free.
void HintRoom(state::ClusterState& state, const state::PodView& pod, const ResourceOf& resource,
              const Found& found) {
  const std::int64_t wanted = resource.get(pod.requests);
  const NodeInfo* freest = nullptr;
  std::int64_t most = 0;
  std::int64_t largest = 0;
  std::set<std::int64_t, std::greater<>> amounts;
  for (const NodeInfo* node : NodesWith(state, pod, Placement::kFits)) {
    const std::int64_t free = resource.get(node->allocatable) - resource.get(node->requested);
    largest = std::max(largest, resource.get(node->allocatable));
    if (free > 0 && free < wanted) amounts.insert(free);
    if (freest != nullptr && free <= most) continue;
    freest = node;
    most = free;
  }
  if (freest == nullptr) return;
  if (largest == 0) {
    found.blockers.push_back(fmt::format("the pod asks for {} {}; no node has any",
                                         resource.text(wanted), resource.name));
    found.AddView(Cost::kMoreDevices, fmt::format("if node {} had {}", kThatNode, resource.name),
                  [set = resource.set](state::PodView& view) { set(view.requests, 0); });
    return;
  }
  if (wanted > most) {
    found.blockers.push_back(fmt::format("the pod asks for {} {}; node {} has most free, {} of {}",
                                         resource.text(wanted), resource.name, freest->name,
                                         resource.text(most),
                                         resource.text(resource.get(freest->allocatable))));
  }
  std::size_t tried = 0;
  for (const std::int64_t amount : amounts) {
    if (++tried > kTriedMax) return;
    found.AddView(
        Cost::kSmallerRequest,
        fmt::format("if the pod asked for at most {} {}", resource.text(amount), resource.name),
        [set = resource.set, amount](state::PodView& view) { set(view.requests, amount); });
  }
}

// An extended resource that nothing stands for: devices could, through a class.
void HintExtended(const state::ClusterState& state, const std::string& name, const Options& options,
                  const Found& found) {
  constexpr std::string_view kOfClass = "deviceclass.resource.kubernetes.io/";
  if (!name.contains('/') || !state.inventory.ClassOfExtendedResource(name).empty()) return;
  const auto gate = options.feature_gates.find("DRAExtendedResource");
  const bool off = gate != options.feature_gates.end() && !gate->second;
  found.blockers.push_back(
      fmt::format("no DeviceClass stands for {}{}", name,
                  off ? "; the feature gate DRAExtendedResource, which that needs, is off" : ""));
  if (off) return;
  const bool by_name = name.starts_with(kOfClass);
  const std::string class_name = by_name ? name.substr(kOfClass.size()) : "explain";
  Value spec = Value::Object({});
  if (!by_name) spec.Set("extendedResourceName", name);
  found.edits.push_back(
      {.cost = Cost::kRepair,
       .change = by_name ? fmt::format("if DeviceClass {} existed", class_name)
                         : fmt::format("if a DeviceClass had extendedResourceName {}", name),
       .pod = {},
       .view = {},
       .cluster = [class_name, spec](Trial& trial) {
         if (trial.state().inventory.FindClass(class_name) != nullptr) return;
         trial.AddClass(Value::Object(
             {{"apiVersion", "resource.k8s.io/v1"},
              {"kind", "DeviceClass"},
              {"metadata", Value::Object({{"name", class_name}, {"uid", class_name}})},
              {"spec", spec}}));
       }});
}

void HintResources(state::ClusterState& state, const state::PodView& pod, const Options& options,
                   const Diagnosis& diagnosis, const Found& found) {
  for (const auto& [reason, count] : diagnosis.node_reasons) {
    constexpr std::string_view kInsufficient = "Insufficient ";
    if (!reason.starts_with(kInsufficient)) continue;
    const std::string name = reason.substr(kInsufficient.size());
    HintRoom(state, pod, ResourceNamed(name, state.names.resources), found);
    HintExtended(state, name, options, found);
  }
}

// Claims that are used as if they were there and suited every node.
void HintVolumes(const state::ClusterState& state, const state::PodView& pod, const Found& found) {
  std::vector<std::string> changes;
  for (VolumeNeeds::Hint& hint : VolumeNeeds::Hints(state, pod)) {
    found.blockers.push_back(std::move(hint.what));
    AddOnce(changes, std::move(hint.change));
  }
  if (changes.empty()) return;
  found.AddView(Cost::kRepair, fmt::format("{}", fmt::join(changes, ", and ")),
                [](state::PodView& view) { view.volume_claims.clear(); });
}

void HintPorts(state::ClusterState& state, const state::PodView& pod, const Found& found) {
  std::size_t named = 0;
  for (const NodeIndex index : state.nodes.ordered()) {
    for (const state::PodPtr& other : state.nodes.At(index).pods) {
      for (const state::HostPort& taken : other->host_ports) {
        const bool wanted = std::ranges::any_of(
            pod.host_ports, [&](const state::HostPort& port) { return port.ConflictsWith(taken); });
        if (!wanted || ++named > kNamedMax) continue;
        found.blockers.push_back(fmt::format("host port {}/{} of node {} is taken by pod {}",
                                             taken.port, taken.protocol, state.nodes.At(index).name,
                                             other->key()));
      }
    }
  }
}

}  // namespace

void AddNodeEdits(state::ClusterState& state, const state::PodView& pod, const Options& options,
                  const Diagnosis& diagnosis, std::vector<Edit>& edits,
                  explain::Explanation& explanation) {
  const Found found{edits, explanation.blockers};
  HintVolumes(state, pod, found);
  if (!diagnosis.pod_reason.empty()) return;
  if (!NodesWith(state, pod, Placement::kAffinity).empty()) {
    HintSelector(state, pod, found);
    HintAffinity(state, pod, found);
  }
  HintTaints(state, pod, found);
  HintUnschedulable(state, pod, found);
  HintResources(state, pod, options, diagnosis, found);
  HintPorts(state, pod, found);
  HintPods(pod, found);
}

}  // namespace drachma::scheduler
