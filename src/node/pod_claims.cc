// The part of PodWorker that is about the claims of pods: kubelet's DRA manager.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "client/objects.h"
#include "controllers/objects.h"
#include "node/pod_worker.h"

namespace drachma::node {
namespace {

using controllers::Action;
using controllers::Work;
using json::Value;
namespace resources = client::resources;

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
  auto before = std::exchange(state.prepared, {});
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
  // What an earlier attempt prepared stays so, but for claims that were replaced since.
  for (auto& [driver, refs] : before) {
    std::erase_if(refs, [&now = state.prepared[driver]](const ClaimRef& ref) {
      return std::ranges::find(now, ref) != now.end();
    });
  }
  Release(node, state.uid, before);
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
  if (state.claims != Claims::kPreparing) return;  // the pod went meanwhile
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

void PodWorker::Release(SimNode& node, const std::string& pod_uid,
                        const std::map<std::string, std::vector<ClaimRef>>& prepared) {
  std::set<std::string> last_used;
  for (const auto& [driver, refs] : prepared) {
    for (const ClaimRef& ref : refs) {
      if (!last_used.contains(ref.uid) && node.Leave(ref.uid, pod_uid)) last_used.insert(ref.uid);
    }
  }
  for (const auto& [driver, refs] : prepared) {
    std::vector<ClaimRef> free;
    std::ranges::copy_if(refs, std::back_inserter(free),
                         [&](const ClaimRef& ref) { return last_used.contains(ref.uid); });
    if (free.empty()) continue;
    // A driver that fails here is asked again when the claim is prepared for the next pod.
    node.PluginOf(driver).Unprepare(free, [](const UnprepareAnswer&) {});
  }
}

// Also ends a preparation under way: drivers answer it with an error, which nobody reads.
void PodWorker::ReleaseClaims(SimNode& node, State& state) {
  state.claims = Claims::kReleased;
  Release(node, state.uid, std::exchange(state.prepared, {}));
}

}  // namespace drachma::node
