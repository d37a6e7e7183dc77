#include "state/placement.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace drachma::state {
namespace {

using json::Value;

constexpr std::string_view kUnschedulableTaint = "node.kubernetes.io/unschedulable";

std::optional<std::int64_t> ToInt(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

bool HasEffect(const Value& taint, std::initializer_list<std::string_view> effects) {
  return std::ranges::find(effects, taint["effect"].AsString()) != effects.end();
}

bool ToleratesOne(const Value& toleration, const Value& taint) {
  const std::string_view effect = toleration["effect"].AsString();
  if (!effect.empty() && effect != taint["effect"].AsString()) return false;
  const std::string_view key = toleration["key"].AsString();
  if (!key.empty() && key != taint["key"].AsString()) return false;
  const std::string_view op = toleration["operator"].AsString();
  if (op == "Exists") return true;
  const std::string_view value = toleration["value"].AsString();
  if (op.empty() || op == "Equal") return value == taint["value"].AsString();
  const auto bound = ToInt(value);
  const auto have = ToInt(taint["value"].AsString());
  if (!bound || !have) return false;
  return op == "Gt" ? *have > *bound : op == "Lt" && *have < *bound;
}

bool ToleratesUnschedulable(const Value& pod) {
  static const Value kTaint =
      Value::Object({{"key", kUnschedulableTaint}, {"effect", "NoSchedule"}});
  return Tolerates(pod["spec"]["tolerations"], kTaint);
}

// A selector that cannot be parsed matches nothing: such pods are refused at creation.
bool MatchesAffinity(const Value& pod, const Value& node, const api::Labels& labels) {
  const Value& spec = pod["spec"];
  if (!spec.Has("nodeSelector") && !spec["affinity"].Has("nodeAffinity")) return true;
  return api::MatchesPodAffinity(spec, node["metadata"]["name"].AsString(), labels).value_or(false);
}

bool HasUntoleratedTaint(const Value& pod, const Value& node) {
  return std::ranges::any_of(node["spec"]["taints"].Items(), [&](const Value& taint) {
    return HasEffect(taint, {"NoSchedule", "NoExecute"}) &&
           !Tolerates(pod["spec"]["tolerations"], taint);
  });
}

}  // namespace

Placement JudgePlacement(const Value& pod, const Value& node, const api::Labels& labels) {
  if (node["spec"]["unschedulable"].AsBool() && !ToleratesUnschedulable(pod)) {
    return Placement::kUnschedulable;
  }
  const std::string_view wanted = pod["spec"]["nodeName"].AsString();
  if (!wanted.empty() && wanted != node["metadata"]["name"].AsString()) return Placement::kNodeName;
  if (HasUntoleratedTaint(pod, node)) return Placement::kTaint;
  return MatchesAffinity(pod, node, labels) ? Placement::kFits : Placement::kAffinity;
}

std::string_view ReasonOf(Placement placement) {
  constexpr std::string_view kReasons[] = {
      "",
      "node(s) were unschedulable",
      "node(s) didn't match the requested node name",
      "node(s) had untolerated taint(s)",
      "node(s) didn't match Pod's node affinity/selector",
  };
  return kReasons[static_cast<std::size_t>(placement)];
}

bool Tolerates(const Value& tolerations, const Value& taint) {
  return std::ranges::any_of(tolerations.Items(), [&taint](const Value& toleration) {
    return ToleratesOne(toleration, taint);
  });
}

std::int64_t UntoleratedPreferences(const Value& pod, const Value& node) {
  return std::ranges::count_if(node["spec"]["taints"].Items(), [&pod](const Value& taint) {
    return HasEffect(taint, {"PreferNoSchedule"}) && !Tolerates(pod["spec"]["tolerations"], taint);
  });
}

}  // namespace drachma::state
