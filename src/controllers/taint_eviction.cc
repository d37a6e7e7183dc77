#include "controllers/taint_eviction.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "client/objects.h"
#include "controllers/objects.h"

namespace drachma::controllers {
namespace {

using client::Change;
using json::Value;
namespace resources = client::resources;

constexpr std::string_view kPodPrefix = "pod:";
constexpr std::string_view kRulePrefix = "rule:";
constexpr std::string_view kNoExecute = "NoExecute";

// Whether a rule's selector covers a device; nothing is covered without a selector.
bool Covers(const Value& rule, std::string_view driver, std::string_view pool,
            std::string_view device) {
  const Value& selector = rule["spec"]["deviceSelector"];
  if (!selector.IsObject()) return false;
  const auto agrees = [&](std::string_view field, std::string_view value) {
    const Value* wanted = selector.Find(field);
    return wanted == nullptr || wanted->IsNull() || wanted->AsString() == value;
  };
  return agrees("driver", driver) && agrees("pool", pool) && agrees("device", device);
}

bool Covers(const Value& rule, const Value& result) {
  return Covers(rule, result["driver"].AsString(), result["pool"].AsString(),
                result["device"].AsString());
}

bool HasTaints(const Value& slice) {
  return std::ranges::any_of(slice["spec"]["devices"].Items(),
                             [](const Value& device) { return !device["taints"].empty(); });
}

const std::span<const Value> ResultsOf(const Value& claim) {
  return claim.At({"status", "allocation", "devices", "results"}).Items();
}

bool IsReservedFor(const Value& claim, std::string_view uid) {
  return std::ranges::any_of(claim["status"]["reservedFor"].Items(),
                             [&](const Value& c) { return c["uid"].AsString() == uid; });
}

}  // namespace

DeviceTaintEviction::DeviceTaintEviction(Host& host)
    : Controller(host),
      pods_(Watch(resources::kPods, [this](const Change& change) { OnPod(change); })),
      claims_(Watch(resources::kResourceClaims, [this](const Change& change) { OnClaim(change); })),
      slices_(Watch(resources::kResourceSlices, [this](const Change& change) { OnSlice(change); })),
      rules_(
          Watch(resources::kDeviceTaintRules, [this](const Change& change) { OnRule(change); })) {}

void DeviceTaintEviction::OnPod(const Change& change) {
  const std::string key = client::KeyOf(change.object);
  if (change.type == Change::Type::kDeleted) {
    marked_.erase(key);
    for (const auto& [name, rule] : rules_.objects()) AddRule(name);
    return;
  }
  const Value& spec = change.object["spec"];
  if (!spec["nodeName"].AsString().empty() &&
      (!spec["resourceClaims"].empty() ||
       change.object["status"].Has("extendedResourceClaimStatus"))) {
    Add(fmt::format("{}{}", kPodPrefix, key));
  }
}

void DeviceTaintEviction::AddPodsOf(const Value& claim) {
  for (const Value& consumer : claim["status"]["reservedFor"].Items()) {
    Add(fmt::format("{}{}/{}", kPodPrefix, client::NamespaceOf(claim),
                    consumer["name"].AsString()));
  }
}

void DeviceTaintEviction::OnClaim(const Change& change) {
  if (change.object["status"].SharesWith(change.old_object["status"])) return;
  AddPodsOf(change.object);
  if (!change.old_object.IsNull()) AddPodsOf(change.old_object);
  for (const auto& [name, rule] : rules_.objects()) {
    const bool covered = std::ranges::any_of(
        ResultsOf(change.object), [&rule = rule](const Value& r) { return Covers(rule, r); });
    if (covered) AddRule(name);
  }
}

void DeviceTaintEviction::OnSlice(const Change& change) {
  const Value& spec = change.object["spec"];
  const PoolKey pool(spec["driver"].AsString(), spec["pool"]["name"].AsString());
  std::set<std::string>& keys = slices_of_pool_[pool];
  if (change.type == Change::Type::kDeleted) {
    keys.erase(client::KeyOf(change.object));
    if (keys.empty()) slices_of_pool_.erase(pool);
  } else {
    keys.insert(client::KeyOf(change.object));
  }
  if (!HasTaints(change.object) && !HasTaints(change.old_object)) return;
  for (const auto& [key, claim] : claims_.objects()) {
    const bool uses = std::ranges::any_of(ResultsOf(claim), [&](const Value& result) {
      return result["driver"].AsString() == pool.first && result["pool"].AsString() == pool.second;
    });
    if (uses) AddPodsOf(claim);
  }
}

void DeviceTaintEviction::OnRule(const Change& change) {
  const std::string name = client::KeyOf(change.object);
  if (change.type == Change::Type::kDeleted) {
    reported_.erase(name);
    evicted_.erase(std::string(client::UidOf(change.object)));
  } else {
    AddRule(name);
  }
  if (change.object["spec"] == change.old_object["spec"]) return;
  for (const auto& [key, claim] : claims_.objects()) {
    for (const Value& result : ResultsOf(claim)) {
      if (!Covers(change.object, result) && !Covers(change.old_object, result)) continue;
      AddPodsOf(claim);
      break;
    }
  }
}

void DeviceTaintEviction::AddRule(const std::string& name) {
  Add(fmt::format("{}{}", kRulePrefix, name));
}

Work DeviceTaintEviction::Sync(const std::string& key) {
  if (key.starts_with(kPodPrefix)) return SyncPod(key.substr(kPodPrefix.size()));
  return SyncRule(key.substr(kRulePrefix.size()));
}

const Value* DeviceTaintEviction::FindDevice(const Value& result) const {
  const auto keys =
      slices_of_pool_.find(PoolKey(result["driver"].AsString(), result["pool"].AsString()));
  if (keys == slices_of_pool_.end()) return nullptr;
  const Value* found = nullptr;
  std::int64_t newest = -1;
  for (const std::string& key : keys->second) {
    const Value& spec = (*slices_.Get(key))["spec"];
    const std::int64_t generation = spec["pool"]["generation"].AsInt();
    if (generation < newest) continue;
    if (generation > newest) found = nullptr;
    newest = generation;
    for (const Value& device : spec["devices"].Items()) {
      if (device["name"].AsString() == result["device"].AsString()) found = &device;
    }
  }
  return found;
}

// Only tolerations of exactly this effect count for eviction; the shortest time of those that match
// decides.
void DeviceTaintEviction::JudgeTaint(const Value& result, const api::DeviceTaint& taint,
                                     std::string_view rule_uid, Verdict& verdict) const {
  if (taint.effect != kNoExecute) return;
  const auto added = ParseTime(taint.time_added);
  Time due = added ? *added : Now();
  bool tolerated = false;
  std::optional<std::int64_t> seconds;
  for (const Value& value : result["tolerations"].Items()) {
    const auto toleration = api::DeviceToleration::FromJson(value);
    if (!toleration || toleration->effect != kNoExecute || !toleration->Tolerates(taint)) continue;
    tolerated = true;
    if (!toleration->toleration_seconds) return;  // for ever
    const std::int64_t wait = std::max<std::int64_t>(0, *toleration->toleration_seconds);
    seconds = std::min(seconds.value_or(wait), wait);
  }
  if (tolerated) due += std::chrono::seconds(*seconds);
  verdict.due = std::min(verdict.due.value_or(due), due);
  if (!rule_uid.empty()) verdict.rules.emplace(rule_uid);
}

void DeviceTaintEviction::JudgeClaim(const Value& claim, std::string_view assumed,
                                     Verdict& verdict) const {
  for (const Value& result : ResultsOf(claim)) {
    if (const Value* device = FindDevice(result)) {
      for (const Value& value : (*device)["taints"].Items()) {
        if (const auto taint = api::DeviceTaint::FromJson(value)) {
          JudgeTaint(result, *taint, {}, verdict);
        }
      }
    }
    // Rules also reach devices whose slice is gone.
    for (const auto& [name, rule] : rules_.objects()) {
      if (!Covers(rule, result)) continue;
      auto taint = api::DeviceTaint::FromJson(rule["spec"]["taint"]);
      if (!taint) continue;
      if (client::UidOf(rule) == assumed) taint->effect = kNoExecute;
      JudgeTaint(result, *taint, client::UidOf(rule), verdict);
    }
  }
}

template <typename Visit>
void DeviceTaintEviction::ForClaimsOf(const Value& pod, Visit visit) const {
  const std::string_view ns = client::NamespaceOf(pod);
  const auto consider = [&](std::string_view name) {
    if (name.empty()) return;
    const Value* claim = claims_.Get(ns, name);
    if (claim != nullptr && IsReservedFor(*claim, client::UidOf(pod))) visit(*claim);
  };
  for (const Value& pod_claim : pod["spec"]["resourceClaims"].Items()) {
    consider(client::ClaimNameOf(pod, pod_claim));
  }
  consider(pod.At({"status", "extendedResourceClaimStatus", "resourceClaimName"}).AsString());
}

DeviceTaintEviction::Verdict DeviceTaintEviction::Judge(const Value& pod) const {
  Verdict verdict;
  ForClaimsOf(pod, [&](const Value& claim) { JudgeClaim(claim, {}, verdict); });
  return verdict;
}

Action DeviceTaintEviction::Evict(const Value& pod, const std::set<std::string>& rules) {
  Value next = pod;
  Value& status = next.Edit("status");
  status.Set("conditions",
             WithCondition(status["conditions"],
                           NewCondition("DisruptionTarget", true, "DeletionByDeviceTaintManager",
                                        "Device Taint manager: deleting due to NoExecute taint",
                                        FormatTime(Now()))));
  Action action{.request = client::UpdateRequest(resources::kPods, std::move(next), "status")};
  action.then = [this, rules,
                 request = client::DeleteRequest(resources::kPods, pod)](const Value&) {
    for (const std::string& uid : rules) ++evicted_[uid];
    return std::optional(request);
  };
  return action;
}

Work DeviceTaintEviction::SyncPod(const std::string& key) {
  Work work;
  const Value* pod = pods_.Get(key);
  if (pod == nullptr || (*pod)["spec"]["nodeName"].AsString().empty() ||
      client::IsPodTerminal(*pod) || client::IsBeingDeleted(*pod)) {
    marked_.erase(key);
    return work;
  }
  const Verdict verdict = Judge(*pod);
  const auto note = [&](std::string message) {
    work.events.push_back({.object = Reference("v1", "Pod", *pod),
                           .reason = "DeviceTaintManagerEviction",
                           .message = std::move(message)});
  };
  if (!verdict.due) {
    if (marked_.erase(key) != 0) note("Cancelling deletion");
    return work;
  }
  if (*verdict.due > Now()) {
    marked_.insert(key);
    work.again = *verdict.due - Now();
    return work;
  }
  marked_.erase(key);
  note("Marking for deletion");
  work.actions.push_back(Evict(*pod, verdict.rules));
  return work;
}

namespace {

std::string PodsIn(std::size_t pods, std::size_t namespaces, std::string_view one,
                   std::string_view many, std::string_view tail) {
  return fmt::format(
      "{} {} in {}{}", pods, pods == 1 ? one : many,
      namespaces == 1 ? "1 namespace" : fmt::format("{} different namespaces", namespaces), tail);
}

}  // namespace

Value DeviceTaintEviction::DryRunCondition(const Value& rule) const {
  std::size_t published = 0;
  for (const auto& [key, slice] : slices_.objects()) {
    const Value& spec = slice["spec"];
    for (const Value& device : spec["devices"].Items()) {
      published += Covers(rule, spec["driver"].AsString(), spec["pool"]["name"].AsString(),
                          device["name"].AsString())
                       ? 1U
                       : 0U;
    }
  }
  std::set<std::string> allocated;
  std::set<std::string> pods;
  std::set<std::string> namespaces;
  for (const auto& [key, claim] : claims_.objects()) {
    for (const Value& result : ResultsOf(claim)) {
      if (!Covers(rule, result)) continue;
      allocated.insert(fmt::format("{}/{}/{}", result["driver"].AsString(),
                                   result["pool"].AsString(), result["device"].AsString()));
    }
    Verdict verdict;
    JudgeClaim(claim, client::UidOf(rule), verdict);
    if (!verdict.rules.contains(std::string(client::UidOf(rule)))) continue;
    for (const Value& consumer : claim["status"]["reservedFor"].Items()) {
      pods.emplace(consumer["uid"].AsString());
      namespaces.emplace(client::NamespaceOf(claim));
    }
  }
  const std::string message = fmt::format(
      "{} selected. {} selected. {} if the effect was NoExecute. This information will not be "
      "updated again. Recreate the DeviceTaintRule to trigger an update.",
      Counted(published, "published device"), Counted(allocated.size(), "allocated device"),
      PodsIn(pods.size(), namespaces.size(), "pod would be evicted", "pods would be evicted", ""));
  return NewCondition("EvictionInProgress", false, "NoEffect", message, FormatTime(Now()));
}

Value DeviceTaintEviction::RuleCondition(const Value& rule) const {
  const std::string now = FormatTime(Now());
  const std::string_view effect = rule["spec"]["taint"]["effect"].AsString();
  if (effect == "None") return DryRunCondition(rule);
  const auto evicted = evicted_.find(client::UidOf(rule));
  const std::size_t done = evicted == evicted_.end() ? 0 : evicted->second;
  const std::string suffix =
      done == 0 ? ""
                : fmt::format("{} evicted since starting the controller.", Counted(done, "pod"));
  if (effect != kNoExecute) {
    return NewCondition("EvictionInProgress", false, "OtherEffect",
                        "Eviction only happens for the NoExecute effect." +
                            (suffix.empty() ? suffix : " " + suffix),
                        now);
  }
  std::size_t pending = 0;
  std::set<std::string_view> namespaces;
  for (const auto& [key, pod] : pods_.objects()) {
    if (pod["spec"]["nodeName"].AsString().empty() || client::IsPodTerminal(pod)) continue;
    if (!Judge(pod).rules.contains(std::string(client::UidOf(rule)))) continue;
    ++pending;
    namespaces.insert(client::NamespaceOf(pod));
  }
  if (pending > 0) {
    const std::string message = PodsIn(pending, namespaces.size(), "pod needs to be evicted",
                                       "pods need to be evicted", ".");
    return NewCondition("EvictionInProgress", true, "PodsPendingEviction",
                        suffix.empty() ? message : message + " " + suffix, now);
  }
  return NewCondition("EvictionInProgress", false, done > 0 ? "Completed" : "NotStarted", suffix,
                      now);
}

Work DeviceTaintEviction::SyncRule(const std::string& name) {
  Work work;
  const Value* rule = rules_.Get(name);
  if (rule == nullptr) return work;
  const Value* old = client::ConditionOf(*rule, "EvictionInProgress");
  const std::int64_t generation = (*rule)["metadata"]["generation"].AsInt();
  // What the rule would do is counted once.
  if (old != nullptr && (*old)["reason"].AsString() == "NoEffect" &&
      (*old)["observedGeneration"].AsInt() == generation) {
    return work;
  }
  if (const auto last = reported_.find(name); last != reported_.end()) {
    const Duration left = last->second + kRuleStatusInterval - Now();
    if (left > Duration(0)) {
      work.again = left;
      return work;
    }
  }
  Value condition = RuleCondition(*rule);
  condition.Set("observedGeneration", generation);
  Value conditions = WithCondition((*rule)["status"]["conditions"], std::move(condition));
  if (conditions == (*rule)["status"]["conditions"]) return work;
  reported_[name] = Now();
  Value next = *rule;
  next.Edit("status").Set("conditions", std::move(conditions));
  Action action{.request =
                    client::UpdateRequest(resources::kDeviceTaintRules, std::move(next), "status")};
  action.request.field_manager = "device-taint-eviction-controller";
  work.actions.push_back(std::move(action));
  return work;
}

}  // namespace drachma::controllers
