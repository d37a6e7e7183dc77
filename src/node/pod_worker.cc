#include "node/pod_worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/log.h"
#include "client/objects.h"
#include "controllers/objects.h"

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

// The claims of a pod by name. ERRORS: kConflict while the claim of a template has not been made
// (upstream's resourceclaim.Name); a status without a name says that there will be none.
Result<std::vector<std::string>> ClaimNamesOf(const Value& pod) {
  std::vector<std::string> names;
  const auto add = [&](std::string_view name) {
    if (!name.empty() && std::ranges::find(names, name) == names.end()) names.emplace_back(name);
  };
  const auto& statuses = pod["status"]["resourceClaimStatuses"].Items();
  for (const Value& pod_claim : pod["spec"]["resourceClaims"].Items()) {
    const bool made =
        pod_claim.Has("resourceClaimName") ||
        std::ranges::any_of(statuses, [name = pod_claim["name"].AsString()](const Value& status) {
          return status["name"].AsString() == name;
        });
    if (!made) {
      return Fail(Code::kConflict, fmt::format("pod \"{}/{}\": ResourceClaim not created yet",
                                               client::NamespaceOf(pod), client::NameOf(pod)));
    }
    add(client::ClaimNameOf(pod, pod_claim));
  }
  add(pod.At({"status", "extendedResourceClaimStatus", "resourceClaimName"}).AsString());
  return names;
}

// The steps of kubelet's DRA manager that can refuse a claim, in its order.
std::optional<std::string> Refusal(const Value& pod, const Value& claim) {
  const std::string_view name = client::NameOf(claim);
  const bool reserved =
      std::ranges::any_of(claim["status"]["reservedFor"].Items(), [&](const Value& consumer) {
        // Pods know no more of their group than its name (resourceclaim.IsReservedForPod).
        const std::string_view group = pod["spec"]["schedulingGroup"]["podGroupName"].AsString();
        return consumer["uid"].AsString() == client::UidOf(pod) ||
               (!group.empty() && consumer["resource"].AsString() == "podgroups" &&
                consumer["name"].AsString() == group);
      });
  if (!reserved) {
    return fmt::format("pod {} ({}) is not allowed to use ResourceClaim {} ({})",
                       client::NameOf(pod), client::UidOf(pod), name, client::UidOf(claim));
  }
  if (claim["status"]["allocation"].IsNull()) {
    return fmt::format("ResourceClaim {}: not allocated", name);
  }
  return std::nullopt;
}

}  // namespace

PodWorker::PodWorker(controllers::Host& host, NodeTable& table)
    : Controller(host),
      table_(table),
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

void PodWorker::FetchClaims(const std::vector<std::string>& names, const Value& pod, State& state,
                            Work& work) {
  state.claims = Claims::kFetching;
  state.fetched.clear();
  for (const std::string& name : names) {
    Action action{
        .request = client::GetRequest(resources::kResourceClaims, client::NamespaceOf(pod), name)};
    action.settle = [this, uid = state.uid, name](const Result<Value>& answer) -> Status {
      if (const auto entry = states_.find(uid); entry != states_.end()) {
        entry->second.fetched.insert_or_assign(name, answer);
        Add(entry->second.key);
      }
      return {};
    };
    work.actions.push_back(std::move(action));
  }
}

std::optional<std::string> PodWorker::CheckClaims(const Value& pod, const State& state) const {
  for (const auto& [name, claim] : state.fetched) {
    if (!claim) return fmt::format("fetch ResourceClaim {}: {}", name, claim.error().message);
    if (auto refusal = Refusal(pod, *claim)) return refusal;
  }
  return std::nullopt;
}

void PodWorker::CallDrivers(SimNode& node, State& state) {
  state.claims = Claims::kPreparing;
  state.error.reset();
  std::map<std::string, std::vector<Value>> by_driver;
  for (const auto& [name, claim] : state.fetched) {
    std::set<std::string> drivers;
    for (const Value& result : claim->At({"status", "allocation", "devices", "results"}).Items()) {
      drivers.emplace(result["driver"].AsString());
    }
    const ClaimRef ref{.ns = std::string(client::NamespaceOf(*claim)),
                       .name = name,
                       .uid = std::string(client::UidOf(*claim))};
    for (const std::string& driver : drivers) {
      by_driver[driver].push_back(*claim);
      state.prepared[driver].push_back(ref);
    }
    node.Use(ref.uid, state.uid);
  }
  state.fetched.clear();
  if (by_driver.empty()) {
    state.claims = Claims::kReady;
    return;
  }
  state.drivers_pending = by_driver.size();
  for (const auto& [driver, claims] : by_driver) {
    node.PluginOf(driver).Prepare(
        claims, [this, uid = state.uid](const PrepareAnswer& answer) { OnPrepared(uid, answer); });
  }
}

void PodWorker::OnPrepared(const std::string& uid, const PrepareAnswer& answer) {
  const auto entry = states_.find(uid);
  if (entry == states_.end()) return;
  State& state = entry->second;
  for (const auto& [driver, refs] : state.prepared) {
    for (const ClaimRef& ref : refs) {
      const auto result = answer.find(ref.uid);
      if (result == answer.end()) continue;
      if (result->second) {
        AddReports(driver, ref.name, *result->second, state);
      } else if (!state.error) {
        state.error = fmt::format("NodePrepareResources failed for ResourceClaim {}: {}", ref.name,
                                  result->second.error().message);
      }
    }
  }
  if (--state.drivers_pending > 0) return;
  state.claims = state.error ? Claims::kFailed : Claims::kReady;
  Add(state.key);
}

void PodWorker::AddReports(const std::string& driver, const std::string& claim,
                           const std::vector<PreparedDevice>& devices, State& state) {
  for (const PreparedDevice& device : devices) {
    if (device.report.IsNull()) continue;
    Value entry = Value::Object({{"driver", driver},
                                 {"pool", device.pool},
                                 {"device", device.device},
                                 {"data", device.report}});
    if (!device.share_id.empty()) entry.Set("shareID", device.share_id);
    auto& reports = state.reports.try_emplace({driver, claim}, Value::Array()).first->second;
    reports.Append(std::move(entry));
  }
}

// Each driver applies its own part of the claim's status. A refusal keeps no pod from running.
void PodWorker::ReportDevices(const Value& pod, State& state, Work& work) {
  for (auto& [key, devices] : std::exchange(state.reports, {})) {
    const auto& [driver, claim] = key;
    const std::string_view ns = client::NamespaceOf(pod);
    client::Request request = client::PatchRequest(
        resources::kResourceClaims, ns, claim, client::PatchType::kApply,
        Value::Object({{"apiVersion", "resource.k8s.io/v1"},
                       {"kind", "ResourceClaim"},
                       {"metadata", Value::Object({{"name", claim}, {"namespace", ns}})},
                       {"status", Value::Object({{"devices", std::move(devices)}})}}),
        "status");
    request.field_manager = driver;
    request.force = true;
    request.as = table_.drivers();
    Action action{.request = std::move(request)};
    action.settle = [claim](const Result<Value>& answer) -> Status {
      if (!answer) {
        Log(LogLevel::kWarning, "node", "the status of the devices of ResourceClaim {}: {}", claim,
            answer.error().message);
      }
      return {};
    };
    work.actions.push_back(std::move(action));
  }
}

void PodWorker::PreparingFailed(const Value& pod, State& state, Work& work) {
  work.events.push_back(
      {.object = controllers::Reference("v1", "Pod", pod),
       .type = client::EventType::kWarning,
       .reason = "FailedPrepareDynamicResources",
       .message = fmt::format("Failed to prepare dynamic resources: prepare dynamic resources: {}",
                              *state.error)});
  state.error.reset();
  constexpr int kDoublingsMax = 5;
  const Duration wait =
      std::min<Duration>(kRetryMax, kRetryMin * (1 << std::min(state.failures++, kDoublingsMax)));
  state.retry_at = Now() + wait;
  work.again = wait;
}

bool PodWorker::PrepareClaims(const Value& pod, SimNode& node, State& state, Work& work) {
  if (state.claims == Claims::kUnknown) {
    const Result<std::vector<std::string>> names = ClaimNamesOf(pod);
    if (names && !names->empty()) {
      FetchClaims(*names, pod, state, work);
      return false;
    }
    state.claims = names ? Claims::kReady : Claims::kFailed;
    if (!names) state.error = names.error().message;
  }
  if (state.claims == Claims::kFetching) {
    state.error = CheckClaims(pod, state);
    if (state.error) {
      state.claims = Claims::kFailed;
    } else {
      CallDrivers(node, state);
    }
  }
  if (state.claims == Claims::kFailed) {
    if (state.error) {
      PreparingFailed(pod, state, work);
    } else if (Now() >= state.retry_at) {
      ReleaseClaims(node, state);
      state.claims = Claims::kUnknown;
      return PrepareClaims(pod, node, state, work);
    } else {
      work.again = state.retry_at - Now();
    }
    return false;
  }
  if (state.claims != Claims::kReady) return false;
  ReportDevices(pod, state, work);
  return true;
}

bool PodWorker::ReleaseClaims(SimNode& node, State& state) {
  if (state.claims == Claims::kPreparing) return false;  // OnPrepared comes back to it
  state.claims = Claims::kReleased;
  std::set<std::string> last_used;
  for (const auto& [driver, refs] : state.prepared) {
    for (const ClaimRef& ref : refs) {
      if (!last_used.contains(ref.uid) && node.Leave(ref.uid, state.uid)) last_used.insert(ref.uid);
    }
  }
  for (const auto& [driver, refs] : std::exchange(state.prepared, {})) {
    std::vector<ClaimRef> free;
    std::ranges::copy_if(refs, std::back_inserter(free),
                         [&](const ClaimRef& ref) { return last_used.contains(ref.uid); });
    if (free.empty()) continue;
    // A driver that fails here is asked again when the claim is prepared for the next pod.
    node.PluginOf(driver).Unprepare(free, [](const UnprepareAnswer&) {});
  }
  return true;
}

void PodWorker::StartPod(const Value& pod, SimNode& node, State& state, Work& work) {
  const bool shown = !pod["status"]["containerStatuses"].empty();
  if (!shown) {
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
  const std::optional<double> run = NumberIn(pod, kRunSeconds);
  const Value* deadline = pod["spec"].Find("activeDeadlineSeconds");
  std::optional<Time> end;
  bool late = false;
  if (run) end = started + Seconds(*run);
  if (deadline != nullptr) {
    const Time latest = TimeIn(pod["status"]["startTime"]).value_or(started) +
                        std::chrono::seconds(deadline->AsInt());
    late = !end || latest < *end;
    if (late) end = latest;
  }
  if (!end) return;
  if (Now() < *end) {
    work.again = *end - Now();
    return;
  }
  if (!ReleaseClaims(node, state)) return;
  const auto code = static_cast<std::int64_t>(NumberIn(pod, kExitCode).value_or(0));
  PodEnd how{.failed = late || code != 0, .exit_code = late ? kKilled : code};
  how.reason = how.failed ? "Error" : "Completed";
  Value patch = EndedPatch(pod, how, Now());
  if (late) {
    patch.Edit("status").Set("reason", "DeadlineExceeded");
    patch.Edit("status").Set("message",
                             "Pod was active on the node longer than the specified deadline");
  }
  work.actions.push_back(PatchStatus(pod, std::move(patch)));
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
  if (!ReleaseClaims(node, state)) return;
  client::Request request = client::DeleteRequest(resources::kPods, pod);
  request.body.Set("gracePeriodSeconds", 0);
  if (!running) {
    work.actions.push_back({.request = std::move(request)});
    return;
  }
  const bool by_force = killed < by_itself;
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
