// Pods, nodes, events and the rest of the core group; leases.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "apiserver/human.h"
#include "apiserver/printers.h"

namespace drachma::apiserver {
namespace {

// --- Pods: the READY, STATUS and RESTARTS of upstream's printPod.

// What the containers of a pod add up to.
struct PodSummary {
  std::string reason;
  std::int64_t restarts = 0;
  std::int64_t sidecar_restarts = 0;
  std::string_view last_restart;  // RFC 3339 in UTC: later texts compare greater
  std::string_view last_sidecar_restart;
  int ready = 0;
  bool initializing = false;
};

bool IsSidecar(const json::Value& pod, std::string_view name) {
  for (const json::Value& container : pod["spec"]["initContainers"].Items()) {
    if (container["name"].AsString() == name) {
      return container["restartPolicy"].AsString() == "Always";
    }
  }
  return false;
}

std::string_view FinishedBefore(const json::Value& status) {
  return status["lastState"]["terminated"]["finishedAt"].AsString();
}

// "Error", "Signal:9", "ExitCode:1".
std::string TerminationReason(const json::Value& terminated) {
  if (!terminated["reason"].AsString().empty()) return std::string(terminated["reason"].AsString());
  const std::int64_t signal = terminated["signal"].AsInt();
  return signal != 0 ? fmt::format("Signal:{}", signal)
                     : fmt::format("ExitCode:{}", terminated["exitCode"].AsInt());
}

// The first init container that has not done its work decides the status; empty when all have.
std::string InitReason(const json::Value& pod, const json::Value& status, std::size_t index,
                       PodSummary& summary) {
  const json::Value& state = status["state"];
  const json::Value& terminated = state["terminated"];
  if (terminated.IsObject() && terminated["exitCode"].AsInt() == 0) return {};
  if (IsSidecar(pod, status["name"].AsString()) && status["started"].AsBool()) {
    if (status["ready"].AsBool()) ++summary.ready;
    return {};
  }
  if (terminated.IsObject()) return "Init:" + TerminationReason(terminated);
  const std::string_view waiting = state["waiting"]["reason"].AsString();
  if (!waiting.empty() && waiting != "PodInitializing") return fmt::format("Init:{}", waiting);
  return fmt::format("Init:{}/{}", index, pod["spec"]["initContainers"].size());
}

void CountInitContainers(const json::Value& pod, PodSummary& summary) {
  const auto statuses = pod["status"]["initContainerStatuses"].Items();
  for (std::size_t i = 0; i < statuses.size(); ++i) {
    const json::Value& status = statuses[i];
    summary.restarts += status["restartCount"].AsInt();
    summary.last_restart = std::max(summary.last_restart, FinishedBefore(status));
    if (IsSidecar(pod, status["name"].AsString())) {
      summary.sidecar_restarts += status["restartCount"].AsInt();
      summary.last_sidecar_restart = std::max(summary.last_sidecar_restart, FinishedBefore(status));
    }
    if (std::string reason = InitReason(pod, status, i, summary); !reason.empty()) {
      summary.reason = std::move(reason);
      summary.initializing = true;
      return;
    }
  }
}

void CountContainers(const json::Value& pod, PodSummary& summary) {
  summary.restarts = summary.sidecar_restarts;
  summary.last_restart = summary.last_sidecar_restart;
  bool running = false;
  std::string error_reason;
  const auto statuses = pod["status"]["containerStatuses"].Items();
  for (auto status = statuses.rbegin(); status != statuses.rend(); ++status) {
    summary.restarts += (*status)["restartCount"].AsInt();
    summary.last_restart = std::max(summary.last_restart, FinishedBefore(*status));
    const json::Value& state = (*status)["state"];
    if (const std::string_view waiting = state["waiting"]["reason"].AsString(); !waiting.empty()) {
      summary.reason = waiting;
    } else if (state["terminated"].IsObject()) {
      summary.reason = TerminationReason(state["terminated"]);
      if (state["terminated"]["exitCode"].AsInt() != 0) error_reason = summary.reason;
    } else if ((*status)["ready"].AsBool() && state["running"].IsObject()) {
      running = true;
      ++summary.ready;
    }
  }
  if (summary.reason != "Completed") return;
  if (running && ConditionOf(pod, "Ready")["status"].AsString() == "True") {
    summary.reason = "Running";
  } else if (!error_reason.empty()) {
    summary.reason = error_reason;
  } else if (running) {
    summary.reason = "NotReady";
  }
}

std::string PodStatus(const json::Value& pod, std::string reason) {
  if (!pod["metadata"].Has("deletionTimestamp")) return reason;
  if (pod["status"]["reason"].AsString() == "NodeLost") return "Unknown";
  const std::string_view phase = pod["status"]["phase"].AsString();
  return phase == "Succeeded" || phase == "Failed" ? reason : "Terminating";
}

std::string ReadinessGates(const json::Value& pod) {
  const json::Value& gates = pod["spec"]["readinessGates"];
  if (gates.empty()) return "<none>";
  int passed = 0;
  for (const json::Value& gate : gates.Items()) {
    passed += ConditionOf(pod, gate["conditionType"].AsString())["status"].AsString() == "True";
  }
  return fmt::format("{}/{}", passed, gates.size());
}

void PrintPod(const json::Value& pod, Ages& ages, Cells& cells) {
  const json::Value& status = pod["status"];
  PodSummary summary;
  summary.reason = TextOr(status["reason"], status["phase"].AsString());
  for (const json::Value& condition : status["conditions"].Items()) {
    if (condition["type"].AsString() == "PodScheduled" &&
        condition["reason"].AsString() == "SchedulingGated") {
      summary.reason = "SchedulingGated";
    }
  }
  auto total = static_cast<int>(pod["spec"]["containers"].size());
  for (const json::Value& container : pod["spec"]["initContainers"].Items()) {
    total += container["restartPolicy"].AsString() == "Always";
  }
  CountInitContainers(pod, summary);
  if (!summary.initializing || ConditionOf(pod, "Initialized")["status"].AsString() == "True") {
    CountContainers(pod, summary);
  }
  std::string restarts = std::to_string(summary.restarts);
  if (summary.restarts != 0 && !summary.last_restart.empty()) {
    restarts += fmt::format(" ({} ago)", AgeOf(summary.last_restart, ages));
  }
  cells.Add(NameOf(pod))
      .Add(fmt::format("{}/{}", summary.ready, total))
      .Add(PodStatus(pod, summary.reason))
      .Add(restarts)
      .Add(CreatedAgo(pod, ages));
  const auto ips = status["podIPs"].Items();
  cells.Add(ips.empty() ? "<none>" : TextOr(ips[0]["ip"], "<none>"))
      .Add(TextOr(pod["spec"]["nodeName"], "<none>"))
      .Add(TextOr(status["nominatedNodeName"], "<none>"))
      .Add(ReadinessGates(pod));
}

// --- Nodes.

std::string NodeRoles(const json::Value& node) {
  constexpr std::string_view kRolePrefix = "node-role.kubernetes.io/";
  std::set<std::string_view> roles;
  for (const json::Member& label : node["metadata"]["labels"].Members()) {
    if (label.key().starts_with(kRolePrefix) && label.key().size() > kRolePrefix.size()) {
      roles.insert(label.key().substr(kRolePrefix.size()));
    } else if (label.key() == "kubernetes.io/role" && !label.value.AsString().empty()) {
      roles.insert(label.value.AsString());
    }
  }
  return roles.empty() ? "<none>" : fmt::format("{}", fmt::join(roles, ","));
}

std::string NodeAddress(const json::Value& node, std::string_view type) {
  for (const json::Value& address : node["status"]["addresses"].Items()) {
    if (address["type"].AsString() == type) return std::string(address["address"].AsString());
  }
  return "<none>";
}

void PrintNode(const json::Value& node, Ages& ages, Cells& cells) {
  const json::Value& ready = ConditionOf(node, "Ready");
  std::string status = "Unknown";
  if (ready.IsObject()) status = ready["status"].AsString() == "True" ? "Ready" : "NotReady";
  if (node["spec"]["unschedulable"].AsBool()) status += ",SchedulingDisabled";
  const json::Value& info = node["status"]["nodeInfo"];
  std::string kernel = TextOr(info["kernelVersion"], "<unknown>");
  if (const std::string_view architecture = info["architecture"].AsString();
      !architecture.empty()) {
    kernel += fmt::format(" ({})", architecture);
  }
  cells.Add(NameOf(node))
      .Add(status)
      .Add(NodeRoles(node))
      .Add(CreatedAgo(node, ages))
      .Add(info["kubeletVersion"].AsString())
      .Add(NodeAddress(node, "InternalIP"))
      .Add(NodeAddress(node, "ExternalIP"))
      .Add(TextOr(info["osImage"], "<unknown>"))
      .Add(kernel)
      .Add(TextOr(info["containerRuntimeVersion"], "<unknown>"));
}

// --- Events.

std::string Trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n\v\f";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(kSpace) - first + 1));
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

void PrintEvent(const json::Value& event, Ages& ages, Cells& cells) {
  const auto since = [&](const json::Value& time, std::string otherwise) {
    return time.AsString().empty() ? otherwise : AgeOf(time, ages);
  };
  const std::string first = since(event["firstTimestamp"], AgeOf(event["eventTime"], ages));
  std::string last = since(event["lastTimestamp"], first);
  std::int64_t count = event["count"].AsInt();
  if (const json::Value& series = event["series"]; series.IsObject()) {
    last = AgeOf(series["lastObservedTime"], ages);
    count = series["count"].AsInt();
  } else if (count == 0) {
    count = 1;
  }
  const json::Value& involved = event["involvedObject"];
  std::string target = Lower(involved["kind"].AsString());
  if (!involved["name"].AsString().empty()) {
    target += fmt::format("/{}", involved["name"].AsString());
  }
  std::string source = TextOr(event["source"]["component"], event["reportingComponent"].AsString());
  if (const std::string host =
          TextOr(event["source"]["host"], event["reportingInstance"].AsString());
      !host.empty()) {
    source += ", " + host;
  }
  cells.Add(last)
      .Add(event["type"].AsString())
      .Add(event["reason"].AsString())
      .Add(target)
      .Add(involved["fieldPath"].AsString())
      .Add(source)
      .Add(Trimmed(event["message"].AsString()))
      .Add(first)
      .Add(count)
      .Add(NameOf(event));
}

// --- Small ones.

void PrintNamespace(const json::Value& object, Ages& ages, Cells& cells) {
  cells.Add(NameOf(object)).Add(object["status"]["phase"].AsString()).Add(CreatedAgo(object, ages));
}

void PrintConfigMap(const json::Value& object, Ages& ages, Cells& cells) {
  cells.Add(NameOf(object))
      .Add(static_cast<std::int64_t>(object["data"].size() + object["binaryData"].size()))
      .Add(CreatedAgo(object, ages));
}

void PrintSecret(const json::Value& object, Ages& ages, Cells& cells) {
  cells.Add(NameOf(object))
      .Add(object["type"].AsString())
      .Add(static_cast<std::int64_t>(object["data"].size()))
      .Add(CreatedAgo(object, ages));
}

void PrintResourceQuota(const json::Value& object, Ages& ages, Cells& cells) {
  std::map<std::string_view, std::string_view> hard;
  for (const json::Member& member : object["status"]["hard"].Members()) {
    hard.emplace(member.key(), member.value.AsString());
  }
  std::string requests;
  std::string limits;
  for (const auto& [resource, amount] : hard) {
    std::string& column = resource.starts_with("limits.") ? limits : requests;
    column += fmt::format("{}{}: {}/{}", column.empty() ? "" : ", ", resource,
                          object["status"]["used"][resource].AsString("0"), amount);
  }
  cells.Add(NameOf(object)).Add(requests).Add(limits).Add(CreatedAgo(object, ages));
}

void PrintLease(const json::Value& object, Ages& ages, Cells& cells) {
  cells.Add(NameOf(object))
      .Add(object["spec"]["holderIdentity"].AsString())
      .Add(CreatedAgo(object, ages));
}

void PrintLeaseCandidate(const json::Value& object, Ages& ages, Cells& cells) {
  const json::Value& spec = object["spec"];
  cells.Add(NameOf(object))
      .Add(spec["leaseName"].AsString())
      .Add(spec["binaryVersion"].AsString())
      .Add(spec["emulationVersion"].AsString())
      .Add(CreatedAgo(object, ages));
}

void PrintPriorityClass(const json::Value& object, Ages& ages, Cells& cells) {
  cells.Add(NameOf(object))
      .Add(object["value"].AsInt())
      .Add(object["globalDefault"].AsBool())
      .Add(CreatedAgo(object, ages))
      .Add(object["preemptionPolicy"].AsString());
}

void PrintRuntimeClass(const json::Value& object, Ages& ages, Cells& cells) {
  cells.Add(NameOf(object)).Add(object["handler"].AsString()).Add(CreatedAgo(object, ages));
}

}  // namespace

const std::vector<PrinterEntry>& CorePrinters() {
  static const std::vector<PrinterEntry> kPrinters = {
      {"", "Pod", PrintPod},
      {"", "Node", PrintNode},
      {"", "Event", PrintEvent},
      {"events.k8s.io", "Event", PrintEvent},
      {"", "Namespace", PrintNamespace},
      {"", "ConfigMap", PrintConfigMap},
      {"", "Secret", PrintSecret},
      {"", "ResourceQuota", PrintResourceQuota},
      {"coordination.k8s.io", "Lease", PrintLease},
      {"coordination.k8s.io", "LeaseCandidate", PrintLeaseCandidate},
      {"scheduling.k8s.io", "PriorityClass", PrintPriorityClass},
      {"node.k8s.io", "RuntimeClass", PrintRuntimeClass},
  };
  return kPrinters;
}

}  // namespace drachma::apiserver
