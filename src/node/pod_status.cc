#include "node/pod_status.h"

#include <fmt/format.h>

#include <utility>

#include "client/objects.h"

namespace drachma::node {
namespace {

using json::Value;

enum class Stage { kCreating, kRunning, kBackingOff, kRestarted, kEnded };
constexpr std::string_view kCrashLoop = "CrashLoopBackOff";

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

// What `statuses` says of the container of that name; null: nothing.
const Value& StatusOf(const Value& statuses, std::string_view name) {
  static const Value none;
  for (const Value& status : statuses.Items()) {
    if (status["name"].AsString() == name) return status;
  }
  return none;
}

// A time as Go prints it: "10s", "2m40s".
std::string GoText(std::chrono::seconds time) {
  const auto minutes = std::chrono::duration_cast<std::chrono::minutes>(time);
  const auto rest = (time - minutes).count();
  if (minutes.count() == 0) return fmt::format("{}s", rest);
  return fmt::format("{}m{}s", minutes.count(), rest);
}

// The container as it was before, but that it ended, and waits or runs again.
Value AgainStatus(const Value& pod, const Value& container, const Value& old, Stage stage,
                  const PodEnd& end, std::string_view now) {
  Value status = old;
  const std::string_view started = old["state"]["running"]["startedAt"].AsString();
  if (!started.empty()) {
    status.Set("lastState", Value::Object({{"terminated", Terminated(pod, container, end, started,
                                                                     now)["terminated"]}}));
  }
  const bool runs = stage == Stage::kRestarted;
  if (runs) {
    status.Set("state", OnlyState("running", Value::Object({{"startedAt", now}})));
    status.Set("restartCount", old["restartCount"].AsInt() + 1);
  } else {
    const std::string message =
        fmt::format("back-off {} restarting failed container={} pod={}_{}({})", GoText(end.backoff),
                    container["name"].AsString(), client::NameOf(pod), client::NamespaceOf(pod),
                    client::UidOf(pod));
    status.Set("state",
               OnlyState("waiting", Value::Object({{"reason", kCrashLoop}, {"message", message}})));
  }
  status.Set("ready", runs);
  status.Set("started", runs);
  return status;
}

// The state of one container at a stage; `old` is what its status says so far.
Value ContainerStatus(const Value& pod, const Value& container, const Value& old, Stage stage,
                      bool init, const PodEnd& end, std::string_view now) {
  if (stage == Stage::kBackingOff || stage == Stage::kRestarted) {
    return init ? old : AgainStatus(pod, container, old, stage, end, now);
  }
  const std::string_view image = container["image"].AsString();
  Value status = Value::Object({{"name", container["name"]}, {"image", image}});
  status.Set("imageID", stage == Stage::kCreating ? Value("") : Value(image));
  status.Set("restartCount", old["restartCount"].AsInt());
  status.Set("lastState", old["lastState"].IsNull() ? Value::Object() : old["lastState"]);
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
  const bool init = field == "initContainers";
  const Value& old = pod["status"][init ? "initContainerStatuses" : "containerStatuses"];
  Value statuses = Value::Array();
  for (const Value& container : pod["spec"][field].Items()) {
    statuses.Append(ContainerStatus(pod, container, StatusOf(old, container["name"].AsString()),
                                    stage, init, end, now));
  }
  return statuses;
}

Value Conditions(const Value& pod, Stage stage, const PodEnd& end, std::string_view now) {
  Value conditions = Value::Array();
  const Value& containers = pod["spec"]["containers"];
  const bool running = stage == Stage::kRunning || stage == Stage::kRestarted;
  std::string_view reason;
  std::string message;
  if (stage == Stage::kCreating || stage == Stage::kBackingOff) {
    reason = "ContainersNotReady";
    message = fmt::format("containers with unready status: [{}]", Names(containers));
  } else if (stage == Stage::kEnded) {
    reason = end.failed ? "PodFailed" : "PodCompleted";
  }
  const bool initialized = stage != Stage::kCreating || pod["spec"]["initContainers"].empty();
  AddCondition(pod, conditions, "PodReadyToStartContainers", running || stage == Stage::kBackingOff,
               "", "", now);
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

Value BackingOffPatch(const Value& pod, const PodEnd& end, Time now) {
  return StatusPatch(pod, "Running", Stage::kBackingOff, end, now);
}

Value RestartedPatch(const Value& pod, const PodEnd& end, Time now) {
  return StatusPatch(pod, "Running", Stage::kRestarted, end, now);
}

std::optional<Time> BackingOffSince(const Value& pod) {
  for (const Value& status : pod["status"]["containerStatuses"].Items()) {
    if (status["state"]["waiting"]["reason"].AsString() != kCrashLoop) continue;
    const auto end = ParseTime(status["lastState"]["terminated"]["finishedAt"].AsString());
    if (end) return *end;
  }
  return std::nullopt;
}

Value FailedPatch(const Value& pod, std::string_view reason, std::string_view message) {
  return Value::Object(
      {{"metadata", Value::Object({{"uid", client::UidOf(pod)}})},
       {"status", Value::Object({{"phase", "Failed"}, {"reason", reason}, {"message", message}})}});
}

}  // namespace drachma::node
