#include "invariants.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "client/informer.h"
#include "client/objects.h"
#include "num/quantity.h"

namespace drachma::simulation {
namespace {

using json::Value;

const Value& ResultsOf(const Value& claim) {
  return claim.At({"status", "allocation", "devices", "results"});
}

std::string DeviceId(const Value& result) {
  return fmt::format("{}/{}/{}", result["driver"].AsString(), result["pool"].AsString(),
                     result["device"].AsString());
}

Quantity Parse(const Value& text) {
  return Quantity::Parse(text.IsInt() ? std::to_string(text.AsInt()) : text.AsString())
      .value_or(Quantity());
}

// Whether it has a node and has not ended.
bool IsActive(const Value& pod) {
  return pod.IsObject() && !pod["spec"]["nodeName"].AsString().empty() &&
         !client::IsPodTerminal(pod);
}

bool IsReservedFor(const Value& claim, const Value& pod) {
  const std::string_view group = pod["spec"]["schedulingGroup"]["podGroupName"].AsString();
  return std::ranges::any_of(claim["status"]["reservedFor"].Items(), [&](const Value& consumer) {
    return consumer["uid"].AsString() == client::UidOf(pod) ||
           (!group.empty() && consumer["resource"].AsString() == "podgroups" &&
            consumer["name"].AsString() == group);
  });
}

Quantity CpuOf(const Value& pod) {
  Quantity sum;
  for (const Value& container : pod["spec"]["containers"].Items()) {
    sum.Add(Parse(container["resources"]["requests"]["cpu"]));
  }
  return sum;
}

// How much of a quota's resource an object takes.
std::int64_t CountOf(std::string_view resource, std::string_view plural, const Value& object) {
  constexpr std::string_view kDevices = ".deviceclass.resource.k8s.io/devices";
  if (plural == "pods")
    return resource == "pods" && !client::IsPodTerminal(object) && !client::IsBeingDeleted(object);
  if (resource == "count/resourceclaims.resource.k8s.io") return 1;
  if (!resource.ends_with(kDevices)) return 0;
  resource.remove_suffix(kDevices.size());
  std::int64_t devices = 0;
  for (const Value& request : object["spec"]["devices"]["requests"].Items()) {
    const Value& exactly = request["exactly"];
    if (exactly["deviceClassName"].AsString() == resource) devices += exactly["count"].AsInt(1);
  }
  return devices;
}

}  // namespace

void Invariants::OnWrite(const Write& write) {
  CheckAnswers(write);
  if (write.plural == "resourceclaims") return OnClaim(write);
  if (write.plural == "pods") return OnPod(write);
  if (write.plural == "resourceslices") return OnSlice(write);
}

void Invariants::OnSlice(const Write& write) {
  const auto each = [](const Value& slice, const auto& use) {
    const Value& spec = slice["spec"];
    for (const Value& device : spec["devices"].Items()) {
      use(fmt::format("{}/{}/{}", spec["driver"].AsString(), spec["pool"]["name"].AsString(),
                      device["name"].AsString()),
          device);
    }
  };
  each(write.before, [&](const std::string& id, const Value&) { devices_.erase(id); });
  each(write.object, [&](std::string id, const Value& device) {
    devices_.insert_or_assign(std::move(id), device);
  });
}

void Invariants::OnClaim(const Write& write) {
  if (!ResultsOf(write.before).SharesWith(ResultsOf(write.object))) {
    for (const Value& result : ResultsOf(write.before).Items()) {
      auto& holders = holders_[DeviceId(result)];
      std::erase_if(holders,
                    [&](const auto& entry) { return entry.first.starts_with(write.key + "#"); });
      if (holders.empty()) holders_.erase(DeviceId(result));
    }
    std::set<std::pair<std::string, std::string>> pools;
    int index = 0;
    for (const Value& result : ResultsOf(write.object).Items()) {
      holders_[DeviceId(result)].insert_or_assign(fmt::format("{}#{}", write.key, index++), result);
      pools.emplace(result["driver"].AsString(), result["pool"].AsString());
    }
    for (const Value& result : ResultsOf(write.object).Items()) CheckDevice(DeviceId(result));
    for (const auto& [driver, pool] : pools) CheckCounters(driver, pool);
  }
  if (!write.object["status"]["reservedFor"].empty() && ResultsOf(write.object).IsNull()) {
    violated_(fmt::format("claim {} is reserved but not allocated", write.key));
  }
  if (const auto users = users_of_claim_.find(write.key); users != users_of_claim_.end()) {
    for (const std::string& key : users->second) CheckHeld(history_.Get("pods", key));
  }
  if (write.before.IsNull()) CheckQuotas(write.plural, write.object);
}

void Invariants::CheckDevice(const std::string& id) {
  std::vector<const Value*> shares;
  std::string names;
  for (const auto& [claim, result] : holders_[id]) {
    if (result["adminAccess"].AsBool()) continue;
    shares.push_back(&result);
    names += " " + claim;
  }
  const auto device = devices_.find(id);
  if (device == devices_.end() || !device->second["allowMultipleAllocations"].AsBool()) {
    if (shares.size() > 1) violated_(fmt::format("device {} is allocated to{}", id, names));
    return;
  }
  for (const json::Member& capacity : device->second["capacity"].Members()) {
    Quantity sum;
    for (const Value* share : shares) sum.Add(Parse((*share)["consumedCapacity"][capacity.key()]));
    if (Parse(capacity.value["value"]) < sum) {
      violated_(fmt::format("device {}: {} of {} {} are consumed by{}", id, sum.ToString(),
                            capacity.value["value"].AsString(), capacity.key(), names));
    }
  }
}

void Invariants::CheckCounters(std::string_view driver, std::string_view pool) {
  const std::string prefix = fmt::format("{}/{}/", driver, pool);
  std::map<std::pair<std::string, std::string>, Quantity> used;
  for (auto entry = holders_.lower_bound(prefix);
       entry != holders_.end() && entry->first.starts_with(prefix); ++entry) {
    const bool counts = std::ranges::any_of(
        entry->second, [](const auto& holder) { return !holder.second["adminAccess"].AsBool(); });
    const auto device = devices_.find(entry->first);
    if (!counts || device == devices_.end()) continue;
    for (const Value& consumed : device->second["consumesCounters"].Items()) {
      for (const json::Member& counter : consumed["counters"].Members()) {
        used[{std::string(consumed["counterSet"].AsString()), std::string(counter.key())}].Add(
            Parse(counter.value["value"]));
      }
    }
  }
  if (used.empty()) return;
  for (const auto& [name, slice] : history_.Of("resourceslices")) {
    const Value& spec = slice["spec"];
    if (spec["driver"].AsString() != driver || spec["pool"]["name"].AsString() != pool) continue;
    for (const Value& set : spec["sharedCounters"].Items()) {
      for (const json::Member& counter : set["counters"].Members()) {
        const auto sum =
            used.find({std::string(set["name"].AsString()), std::string(counter.key())});
        if (sum == used.end() || !(Parse(counter.value["value"]) < sum->second)) continue;
        violated_(fmt::format("pool {}: counter {}/{} is overdrawn: {} of {}", prefix,
                              set["name"].AsString(), counter.key(), sum->second.ToString(),
                              counter.value["value"].AsString()));
      }
    }
  }
}

std::vector<std::string> Invariants::ClaimKeysOf(const Value& pod) const {
  std::vector<std::string> keys;
  const auto add = [&](std::string_view name) {
    if (!name.empty()) keys.push_back(fmt::format("{}/{}", client::NamespaceOf(pod), name));
  };
  for (const Value& entry : pod["spec"]["resourceClaims"].Items()) {
    add(client::ClaimNameOf(pod, entry));
  }
  add(pod.At({"status", "extendedResourceClaimStatus", "resourceClaimName"}).AsString());
  return keys;
}

void Invariants::OnPod(const Write& write) {
  const bool was_active = IsActive(write.before);
  const bool is_active = IsActive(write.object);
  const Value& either = is_active ? write.object : write.before;
  const std::string node(either["spec"]["nodeName"].AsString());
  if (was_active != is_active) {
    for (const std::string& claim : ClaimKeysOf(either)) {
      auto& users = users_of_claim_[claim];
      is_active ? (void)users.insert(write.key) : (void)users.erase(write.key);
      if (users.empty()) users_of_claim_.erase(claim);
    }
    auto& pods = pods_of_node_[node];
    is_active ? (void)pods.insert(write.key) : (void)pods.erase(write.key);
  }
  if (is_active && !was_active) {
    CheckBound(write.object);
    CheckNode(node);
  }
  const auto phase = [](const Value& pod) { return pod["status"]["phase"].AsString(); };
  if (phase(write.object) == "Running" && phase(write.before) != "Running") {
    CheckRunning(write.object);
  }
  if (write.before.IsNull()) CheckQuotas(write.plural, write.object);
}

void Invariants::CheckBound(const Value& pod) {
  const std::string key = client::KeyOf(pod);
  const std::string_view node = pod["spec"]["nodeName"].AsString();
  for (const Value& entry : pod["spec"]["resourceClaims"].Items()) {
    if (client::ClaimNameOf(pod, entry).empty()) {
      violated_(fmt::format("pod {} has node {} but no claim for {}", key, node,
                            entry["name"].AsString()));
    }
  }
  CheckHeld(pod);
}

void Invariants::CheckHeld(const Value& pod) {
  const std::string key = client::KeyOf(pod);
  const std::string_view node = pod["spec"]["nodeName"].AsString();
  for (const std::string& claim_key : ClaimKeysOf(pod)) {
    const Value& claim = history_.Get("resourceclaims", claim_key);
    const std::string what = fmt::format("pod {} on node {}: claim {}", key, node, claim_key);
    if (claim.IsNull()) {
      violated_(what + " is gone");
    } else if (claim["status"]["allocation"].IsNull()) {
      violated_(what + " is not allocated");
    } else if (!IsReservedFor(claim, pod)) {
      violated_(what + " is not reserved for it");
    }
    for (const Value& result : ResultsOf(claim).Items()) {
      const bool local = result["driver"].AsString() == "gpu.nvidia.com";
      if (local && result["pool"].AsString() != node) {
        violated_(fmt::format("{} has a device of node {}", what, result["pool"].AsString()));
      }
    }
  }
}

void Invariants::CheckNode(std::string_view node) {
  const Value& allocatable = history_.Get("nodes", node)["status"]["allocatable"];
  if (allocatable.IsNull()) return;
  const auto& pods = pods_of_node_[std::string(node)];
  Quantity cpu;
  for (const std::string& key : pods) cpu.Add(CpuOf(history_.Get("pods", key)));
  if (Parse(allocatable["cpu"]) < cpu) {
    violated_(fmt::format("node {}: {} of {} cpus are taken", node, cpu.ToString(),
                          allocatable["cpu"].AsString()));
  }
  if (Parse(allocatable["pods"]).CompareInt(static_cast<std::int64_t>(pods.size())) < 0) {
    violated_(fmt::format("node {}: {} pods are too many", node, pods.size()));
  }
}

void Invariants::CheckRunning(const Value& pod) {
  // With its Node its driver is gone; what the kubelet had decided before may still arrive.
  if (history_.Get("nodes", pod["spec"]["nodeName"].AsString()).IsNull()) return;
  const std::string key = client::KeyOf(pod);
  const auto prepared = prepared_at_start_.find(key);
  for (const std::string& claim_key : ClaimKeysOf(pod)) {
    const Value& claim = history_.Get("resourceclaims", claim_key);
    const bool ours = std::ranges::any_of(ResultsOf(claim).Items(), [](const Value& result) {
      return result["driver"].AsString() == "gpu.nvidia.com";
    });
    if (!ours) continue;
    if (prepared == prepared_at_start_.end() ||
        !prepared->second.contains(std::string(client::UidOf(claim)))) {
      violated_(fmt::format("pod {} runs, but its claim {} was not prepared", key, claim_key));
    }
  }
}

void Invariants::CheckQuotas(std::string_view plural, const Value& created) {
  const std::string_view ns = client::NamespaceOf(created);
  for (const auto& [key, quota] : history_.Of("resourcequotas")) {
    if (client::NamespaceOf(quota) != ns) continue;
    for (const json::Member& hard : quota["status"]["hard"].Members()) {
      if (CountOf(hard.key(), plural, created) == 0) continue;
      std::int64_t used = 0;
      for (const auto& [other_key, other] : history_.Of(plural)) {
        if (client::NamespaceOf(other) == ns) used += CountOf(hard.key(), plural, other);
      }
      if (Parse(hard.value).CompareInt(used) >= 0) continue;
      violated_(fmt::format("quota {}: {} of {} {} are used", key, used, hard.value.AsString(),
                            hard.key()));
    }
  }
}

void Invariants::OnRequest(const client::Request& request) {
  if (request.resource.plural != "pods" || request.subresource != "status") return;
  if (request.body["status"]["phase"].AsString() != "Running" || request.as == nullptr) return;
  const std::string node = request.as->user.substr(std::string_view("system:node:").size());
  auto& prepared = prepared_at_start_[fmt::format("{}/{}", request.ns, request.name)];
  for (const auto& [place, claims] : prepared_) {
    if (place.first == node) prepared.insert(claims.begin(), claims.end());
  }
}

void Invariants::OnAnswer(const client::Request& request, const Result<Value>& answer) {
  using client::Verb;
  const bool writes = request.verb == Verb::kCreate || request.verb == Verb::kUpdate ||
                      request.verb == Verb::kPatch;
  if (!writes || request.dry_run || !answer || !history_.Follows(request.resource.plural)) return;
  if (client::NameOf(*answer).empty() || (*answer)["kind"].AsString() == "Status") return;
  if (!request.subresource.empty() && request.subresource != "status") return;
  answered_[{request.resource.plural, client::KeyOf(*answer)}].insert(RevisionOf(*answer));
}

void Invariants::CheckAnswers(const Write& write) {
  const auto found = answered_.find({std::string(write.plural), write.key});
  if (found == answered_.end()) return;
  const std::int64_t before = RevisionOf(write.before);
  std::set<std::int64_t>& revisions = found->second;
  while (!revisions.empty() && *revisions.begin() < write.revision) {
    // A write that changed nothing is answered by what was there.
    if (*revisions.begin() > before) {
      violated_(fmt::format("{} {}: revision {} was answered but is not stored", write.plural,
                            write.key, *revisions.begin()));
    }
    revisions.erase(revisions.begin());
  }
  revisions.erase(write.revision);
  if (revisions.empty()) answered_.erase(found);
}

}  // namespace drachma::simulation
