#include "node/pod_worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "client/objects.h"
#include "controllers/objects.h"
#include "node/admission.h"

namespace drachma::node {
namespace {

using client::Change;
using controllers::Action;
using controllers::Work;
using json::Value;
namespace resources = client::resources;

constexpr std::int64_t kKilled = 137;  // 128 + SIGKILL

// The number in an annotation, or nothing.
std::optional<double> NumberIn(const Value& pod, std::string_view annotation) {
  const std::string_view text = client::AnnotationOf(pod, annotation);
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || text.empty() || number < 0) return std::nullopt;
  return number;
}

Duration Seconds(double seconds) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds));
}

std::optional<Time> TimeIn(const Value& value) {
  const auto time = ParseTime(value.AsString());
  return time ? std::optional(*time) : std::nullopt;
}

Time StartedAt(const Value& pod, Time fallback) {
  for (const Value& status : pod["status"]["containerStatuses"].Items()) {
    if (const auto time = TimeIn(status.At({"state", "running", "startedAt"}))) return *time;
  }
  return TimeIn(pod["status"]["startTime"]).value_or(fallback);
}

// Whether containers that ended with `code` run again. A pod that nothing stands behind ends also
// when its policy is the default: that is what its run time was written for.
bool RunsAgain(const Value& pod, std::int64_t code) {
  const std::string_view policy = pod["spec"]["restartPolicy"].AsString("Always");
  if (policy == "OnFailure") return code != 0;
  return policy == "Always" && client::ControllerOf(pod) != nullptr;
}

}  // namespace

PodWorker::PodWorker(controllers::Host& host, NodeTable& table)
    : Controller(host),
      table_(table),
      nodes_(Watch(resources::kNodes)),
      pods_(Watch(resources::kPods, [this](const Change& change) { OnPod(change); })) {}

void PodWorker::OnPod(const Change& change) {
  const std::string_view node = change.object["spec"]["nodeName"].AsString();
  if (node.empty()) return;
  const std::string key = client::KeyOf(change.object);
  if (change.type == Change::Type::kDeleted) {
    pods_of_node_[std::string(node)].erase(key);
    Forget(std::string(client::UidOf(change.object)));
    return;
  }
  pods_of_node_[std::string(node)].insert(key);
  if (table_.Find(node) != nullptr) Add(key);
}

void PodWorker::OnNodeStarted(const std::string& node) {
  const auto keys = pods_of_node_.find(node);
  if (keys == pods_of_node_.end()) return;
  for (const std::string& key : keys->second) Add(key);
}

PodWorker::State& PodWorker::StateOf(const Value& pod, SimNode& node) {
  const std::string uid(client::UidOf(pod));
  auto [entry, added] = states_.try_emplace(uid);
  if (added) {
    entry->second.key = client::KeyOf(pod);
    entry->second.uid = uid;
    entry->second.node = pod["spec"]["nodeName"].AsString();
    entry->second.address = node.TakeAddress();
  }
  return entry->second;
}

// The pod's object is gone, perhaps by force: what it held is given back.
void PodWorker::Forget(const std::string& uid) {
  const auto entry = states_.find(uid);
  if (entry == states_.end()) return;
  if (SimNode* node = table_.Find(entry->second.node)) {
    node->FreeAddress(entry->second.address);
    ReleaseClaims(*node, entry->second);
  }
  states_.erase(entry);
}

PodAddresses PodWorker::AddressesOf(const State& state, const SimNode& node) const {
  return {.pod_ip = PodAddress(node.index(), state.address), .host_ip = node.address()};
}

Action PodWorker::PatchStatus(const Value& pod, Value patch) {
  return {.request =
              client::PatchRequest(resources::kPods, client::NamespaceOf(pod), client::NameOf(pod),
                                   client::PatchType::kStrategicMerge, std::move(patch), "status")};
}

bool PodWorker::Reject(const Value& pod, Work& work) const {
  const std::string_view name = pod["spec"]["nodeName"].AsString();
  const Value* node = nodes_.Get(name);
  if (node == nullptr) return false;
  const std::optional<Rejection> rejection = RejectionOf(pod, *node, [&] {
    std::vector<const Value*> others;
    for (const std::string& key : pods_of_node_.find(name)->second) {
      const Value* other = pods_.Get(key);
      if (other == nullptr || other == &pod || client::IsPodTerminal(*other)) continue;
      if (!(*other)["status"]["containerStatuses"].empty()) others.push_back(other);
    }
    return others;
  });
  if (!rejection) return false;
  work.events.push_back({.object = controllers::Reference("v1", "Pod", pod),
                         .type = client::EventType::kWarning,
                         .reason = rejection->reason,
                         .message = rejection->message});
  work.actions.push_back(PatchStatus(
      pod, FailedPatch(pod, rejection->reason, "Pod was rejected: " + rejection->message)));
  return true;
}

void PodWorker::StartPod(const Value& pod, SimNode& node, State& state, Work& work) {
  const bool shown = !pod["status"]["containerStatuses"].empty();
  if (!shown) {
    if (Reject(pod, work)) return;
    work.actions.push_back(PatchStatus(pod, CreatingPatch(pod, AddressesOf(state, node), Now())));
    return;
  }
  if (!PrepareClaims(pod, node, state, work)) return;
  const Time begun = TimeIn(pod["status"]["startTime"]).value_or(Now());
  const Time ready = begun + Seconds(NumberIn(pod, kStartSeconds).value_or(0));
  if (Now() < ready) {
    work.again = ready - Now();
    return;
  }
  work.actions.push_back(PatchStatus(pod, RunningPatch(pod, AddressesOf(state, node), Now())));
}

void PodWorker::RunPod(const Value& pod, SimNode& node, State& state, Work& work) {
  // After a restart of the kubelet its running pods are prepared again, without being disturbed.
  const bool ending = state.claims == Claims::kReleased;
  if (!ending && !PrepareClaims(pod, node, state, work)) return;
  if (client::ConditionOf(pod, "Ready") == nullptr) {
    work.actions.push_back(PatchStatus(pod, RunningPatch(pod, AddressesOf(state, node), Now())));
    return;
  }
  if (!table_.options().finish_pods) return;
  const Time started = StartedAt(pod, Now());
  const std::optional<Time> waits_since = BackingOffSince(pod);
  std::optional<Time> end = waits_since;
  if (const auto run = NumberIn(pod, kRunSeconds); run && !end) end = started + Seconds(*run);
  bool late = false;
  if (const Value* deadline = pod["spec"].Find("activeDeadlineSeconds")) {
    const Time latest = TimeIn(pod["status"]["startTime"]).value_or(started) +
                        std::chrono::seconds(deadline->AsInt());
    late = !end || latest < *end || Now() >= latest;
    if (late) {
      end = latest;
    } else {
      work.again = latest - Now();
    }
  }
  if (!end) return;
  if (Now() < *end) {
    work.again = *end - Now();
    return;
  }
  const auto code = static_cast<std::int64_t>(NumberIn(pod, kExitCode).value_or(0));
  PodEnd how{.failed = late || code != 0, .exit_code = late ? kKilled : code};
  how.reason = how.failed ? "Error" : "Completed";
  if (!late && RunsAgain(pod, code)) return Restart(pod, state, std::move(how), work);
  ReleaseClaims(node, state);
  Value patch = EndedPatch(pod, how, Now());
  if (late) {
    patch.Edit("status").Set("reason", "DeadlineExceeded");
    patch.Edit("status").Set("message",
                             "Pod was active on the node longer than the specified deadline");
  }
  work.actions.push_back(PatchStatus(pod, std::move(patch)));
}

// As client-go's flowcontrol.Backoff counts.
void PodWorker::Restart(const Value& pod, State& state, PodEnd end, Work& work) {
  const std::optional<Time> waits_since = BackingOffSince(pod);
  const Time ended = waits_since.value_or(Now());
  const bool first = state.crash_backoff == std::chrono::seconds(0) ||
                     ended - state.restarted_at > 2 * kCrashBackoffMax;
  const Time due = first ? ended : ended + state.crash_backoff;
  if (Now() >= due) {
    Action action = PatchStatus(pod, RestartedPatch(pod, end, Now()));
    action.settle = [this, first, uid = state.uid](const Result<Value>& answer) -> Status {
      if (!answer) return std::unexpected(answer.error());
      if (const auto entry = states_.find(uid); entry != states_.end()) {
        State& known = entry->second;
        known.crash_backoff =
            first ? kCrashBackoffMin : std::min(2 * known.crash_backoff, kCrashBackoffMax);
        known.restarted_at = Now();
      }
      return {};
    };
    work.actions.push_back(std::move(action));
    return;
  }
  if (waits_since) {
    work.again = std::min(work.again.value_or(due - Now()), due - Now());
    return;
  }
  end.backoff = state.crash_backoff;
  for (const Value& container : pod["spec"]["containers"].Items()) {
    work.events.push_back(
        {.object = controllers::Reference("v1", "Pod", pod),
         .type = client::EventType::kWarning,
         .reason = "BackOff",
         .message = fmt::format("Back-off restarting failed container {} in pod {}_{}({})",
                                container["name"].AsString(), client::NameOf(pod),
                                client::NamespaceOf(pod), client::UidOf(pod))});
  }
  work.actions.push_back(PatchStatus(pod, BackingOffPatch(pod, end, Now())));
}

void PodWorker::StopPod(const Value& pod, SimNode& node, State& state, Work& work) {
  const bool running = pod["status"]["phase"].AsString() == "Running";
  if (!state.stopping_since) state.stopping_since = Now();
  const Time by_itself = *state.stopping_since + Seconds(NumberIn(pod, kStopSeconds).value_or(0));
  // The deletion's time stamp is when the grace period ends.
  const Time killed = TimeIn(pod["metadata"]["deletionTimestamp"]).value_or(by_itself);
  const Time stopped = std::min(by_itself, killed);
  if (running && Now() < stopped) {
    work.again = stopped - Now();
    return;
  }
  ReleaseClaims(node, state);
  client::Request request = client::DeleteRequest(resources::kPods, pod);
  request.body.Set("gracePeriodSeconds", 0);
  // Whoever keeps it by a finalizer waits for its end.
  const bool awaited = !client::IsPodTerminal(pod) && !pod["metadata"]["finalizers"].empty();
  if (!running && !awaited) {
    work.actions.push_back({.request = std::move(request)});
    return;
  }
  const bool by_force = !running || killed < by_itself;
  const PodEnd end{.failed = by_force,
                   .exit_code = by_force ? kKilled : 0,
                   .reason = by_force ? "Error" : "Completed"};
  Action action = PatchStatus(pod, EndedPatch(pod, end, Now()));
  action.then = [request](const Value&) { return std::optional(request); };
  work.actions.push_back(std::move(action));
}

Work PodWorker::Sync(const std::string& key) {
  Work work;
  const Value* pod = pods_.Get(key);
  if (pod == nullptr) return work;
  SimNode* node = table_.Find((*pod)["spec"]["nodeName"].AsString());
  if (node == nullptr) return work;
  State& state = StateOf(*pod, *node);
  if (client::IsBeingDeleted(*pod)) {
    StopPod(*pod, *node, state, work);
  } else if (client::IsPodTerminal(*pod)) {
    ReleaseClaims(*node, state);
  } else if ((*pod)["status"]["phase"].AsString() == "Running") {
    RunPod(*pod, *node, state, work);
  } else {
    StartPod(*pod, *node, state, work);
  }
  for (Action& action : work.actions) {
    if (action.request.as == nullptr) action.request.as = table_.KubeletOf(state.node);
  }
  return work;
}

}  // namespace drachma::node
