#include "node/pod_status.h"

#include <fmt/format.h>

#include <utility>

#include "client/objects.h"

namespace drachma::node {
namespace {

using json::Value;

enum class Stage { kCreating, kRunning, kEnded };

// Conditions keep the time of their last change of status.
void AddCondition(const Value& pod, Value& conditions, std::string_view type, bool status,
                  std::string_view reason, std::string_view message, std::string_view now) {
  const std::string_view text = status ? "True" : "False";
  const Value* old = client::ConditionOf(pod, type);
  const bool same = old != nullptr && (*old)["status"].AsString() == text;
  Value condition = Value::Object({{"type", type}, {"status", text}});
  condition.Set("observedGeneration", pod["metadata"]["generation"].AsInt(1));
  condition.Set("lastProbeTime", nullptr);
  condition.Set("lastTransitionTime", same ? (*old)["lastTransitionTime"] : Value(now));
  // A strategic merge keeps what is not said: reasons of an earlier stage are taken away.
  condition.Set("reason", reason.empty() ? Value() : Value(reason));
  condition.Set("message", message.empty() ? Value() : Value(message));
  conditions.Append(std::move(condition));
}

std::string Names(const Value& containers) {
  std::string names;
  for (const Value& container : containers.Items()) {
    if (!names.empty()) names += ' ';
    names += container["name"].AsString();
  }
  return names;
}

bool IsSidecar(const Value& container) { return container["restartPolicy"].AsString() == "Always"; }

std::string ContainerId(const Value& pod, const Value& container) {
  return fmt::format("drachma://{}/{}", client::UidOf(pod), container["name"].AsString());
}

// The one state of a container, as a patch that takes the others away.
Value OnlyState(std::string_view name, Value details) {
  Value state = Value::Object();
  for (const std::string_view other : {"waiting", "running", "terminated"}) {
    state.Set(other, other == name ? details : Value());
  }
  return state;
}

Value Terminated(const Value& pod, const Value& container, const PodEnd& end,
                 std::string_view started, std::string_view now) {
  return OnlyState("terminated", Value::Object({{"exitCode", end.exit_code},
                                                {"reason", end.reason},
                                                {"startedAt", started},
                                                {"finishedAt", now},
                                                {"containerID", ContainerId(pod, container)}}));
}

// The state of one container at a stage.
Value ContainerStatus(const Value& pod, const Value& container, Stage stage, bool init,
                      const PodEnd& end, std::string_view now) {
  const std::string_view image = container["image"].AsString();
  Value status = Value::Object({{"name", container["name"]}, {"image", image}});
  status.Set("imageID", stage == Stage::kCreating ? Value("") : Value(image));
  status.Set("restartCount", 0);
  status.Set("lastState", Value::Object());
  const std::string_view started = pod["status"]["startTime"].AsString(now);
  const bool done = init && !IsSidecar(container);
  const PodEnd completed{.reason = "Completed"};
  if (stage == Stage::kCreating) {
    const bool initializing = init || !pod["spec"]["initContainers"].empty();
    const std::string_view waiting = initializing ? "PodInitializing" : "ContainerCreating";
    status.Set("state", OnlyState("waiting", Value::Object({{"reason", waiting}})));
    status.Set("ready", false);
    status.Set("started", false);
    return status;
  }
  status.Set("containerID", ContainerId(pod, container));
  if (done || stage == Stage::kEnded) {
    status.Set("state", Terminated(pod, container, done ? completed : end, started, now));
    status.Set("ready", done);
    status.Set("started", false);
  } else {
    status.Set("state", OnlyState("running", Value::Object({{"startedAt", now}})));
    status.Set("ready", true);
    status.Set("started", true);
  }
  return status;
}

Value ContainerStatuses(const Value& pod, std::string_view field, Stage stage, const PodEnd& end,
                        std::string_view now) {
  Value statuses = Value::Array();
  for (const Value& container : pod["spec"][field].Items()) {
    statuses.Append(ContainerStatus(pod, container, stage, field == "initContainers", end, now));
  }
  return statuses;
}

Value Conditions(const Value& pod, Stage stage, const PodEnd& end, std::string_view now) {
  Value conditions = Value::Array();
  const Value& containers = pod["spec"]["containers"];
  const bool running = stage == Stage::kRunning;
  std::string_view reason;
  std::string message;
  if (stage == Stage::kCreating || end.failed) {
    reason = stage == Stage::kCreating ? "ContainersNotReady" : "PodFailed";
    if (stage == Stage::kCreating) {
      message = fmt::format("containers with unready status: [{}]", Names(containers));
    }
  } else if (stage == Stage::kEnded) {
    reason = "PodCompleted";
  }
  const bool initialized = stage != Stage::kCreating || pod["spec"]["initContainers"].empty();
  AddCondition(pod, conditions, "PodReadyToStartContainers", running, "", "", now);
  AddCondition(pod, conditions, "Initialized", initialized,
               initialized ? (stage == Stage::kEnded && !end.failed ? "PodCompleted" : "")
                           : "ContainersNotInitialized",
               initialized ? ""
                           : fmt::format("containers with incomplete status: [{}]",
                                         Names(pod["spec"]["initContainers"])),
               now);
  AddCondition(pod, conditions, "Ready", running, reason, message, now);
  AddCondition(pod, conditions, "ContainersReady", running, reason, message, now);
  return conditions;
}

Value Addresses(std::string_view ip) { return Value::Array({Value::Object({{"ip", ip}})}); }

Value StatusPatch(const Value& pod, std::string_view phase, Stage stage, const PodEnd& end,
                  Time time) {
  const std::string now = FormatTime(time);
  Value status = Value::Object({{"phase", phase}});
  status.Set("observedGeneration", pod["metadata"]["generation"].AsInt(1));
  status.Set("conditions", Conditions(pod, stage, end, now));
  status.Set("containerStatuses", ContainerStatuses(pod, "containers", stage, end, now));
  if (!pod["spec"]["initContainers"].empty()) {
    status.Set("initContainerStatuses", ContainerStatuses(pod, "initContainers", stage, end, now));
  }
  if (!pod["status"].Has("startTime")) status.Set("startTime", now);
  return Value::Object(
      {{"metadata", Value::Object({{"uid", client::UidOf(pod)}})}, {"status", std::move(status)}});
}

void SetHost(const PodAddresses& addresses, Value& patch) {
  Value& status = patch.Edit("status");
  status.Set("hostIP", addresses.host_ip);
  status.Set("hostIPs", Addresses(addresses.host_ip));
}

}  // namespace

Value CreatingPatch(const Value& pod, const PodAddresses& addresses, Time now) {
  Value patch = StatusPatch(pod, "Pending", Stage::kCreating, {}, now);
  SetHost(addresses, patch);
  return patch;
}

Value RunningPatch(const Value& pod, const PodAddresses& addresses, Time now) {
  Value patch = StatusPatch(pod, "Running", Stage::kRunning, {}, now);
  SetHost(addresses, patch);
  const bool host_network = pod["spec"]["hostNetwork"].AsBool();
  const std::string& ip = host_network ? addresses.host_ip : addresses.pod_ip;
  patch.Edit("status").Set("podIP", ip);
  patch.Edit("status").Set("podIPs", Addresses(ip));
  return patch;
}

Value EndedPatch(const Value& pod, const PodEnd& end, Time now) {
  return StatusPatch(pod, end.failed ? "Failed" : "Succeeded", Stage::kEnded, end, now);
}

Value FailedPatch(const Value& pod, std::string_view reason, std::string_view message) {
  return Value::Object(
      {{"metadata", Value::Object({{"uid", client::UidOf(pod)}})},
       {"status", Value::Object({{"phase", "Failed"}, {"reason", reason}, {"message", message}})}});
}

}  // namespace drachma::node
