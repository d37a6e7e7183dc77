// What objects take of quotas (upstream's pkg/quota/v1/evaluator/core).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "apiserver/admission_quota.h"

namespace drachma::apiserver {
namespace {

// Devices that a request with allocationMode All is charged: it may get no more
// (resource.k8s.io's AllocationResultsMaxSize).
constexpr std::int64_t kAllDevices = 32;

Quantity Number(std::int64_t value) { return Quantity::FromInt(value, QuantityFormat::kDecimalSI); }

void AddTo(Usage& usage, const std::string& resource, const Quantity& amount) {
  const auto [entry, inserted] = usage.try_emplace(resource, amount);
  if (!inserted) entry->second.Add(amount);
}

void RaiseTo(Usage& usage, const std::string& resource, const Quantity& amount) {
  const auto [entry, inserted] = usage.try_emplace(resource, amount);
  if (!inserted && entry->second < amount) entry->second = amount;
}

// --- Pods.

Usage Amounts(const json::Value& list) {
  Usage amounts;
  for (const json::Member& member : list.Members()) {
    if (Result<Quantity> amount = Quantity::Parse(member.value.AsString())) {
      amounts.emplace(std::string(member.key()), std::move(*amount));
    }
  }
  return amounts;
}

void AddAll(Usage& to, const Usage& amounts) {
  for (const auto& [resource, amount] : amounts) AddTo(to, resource, amount);
}

// Containers run together; before them the init containers one after the other, each beside the
// sidecars started so far. `field` is "requests" or "limits".
Usage PodAmounts(const json::Value& pod, const char* field) {
  const json::Value& spec = pod["spec"];
  Usage total;
  for (const json::Value& container : spec["containers"].Items()) {
    AddAll(total, Amounts(container["resources"][field]));
  }
  Usage sidecars;
  Usage peak;
  for (const json::Value& container : spec["initContainers"].Items()) {
    Usage now = Amounts(container["resources"][field]);
    if (container["restartPolicy"].AsString() == "Always") {
      AddAll(total, now);
      AddAll(sidecars, now);
      now = sidecars;
    } else {
      AddAll(now, sidecars);
    }
    for (const auto& [resource, amount] : now) RaiseTo(peak, resource, amount);
  }
  for (const auto& [resource, amount] : peak) RaiseTo(total, resource, amount);
  for (auto& [resource, amount] : Amounts(spec["resources"][field])) total[resource] = amount;
  AddAll(total, Amounts(spec["overhead"]));
  return total;
}

bool IsExtendedResource(std::string_view name) {
  if (name.find('/') == std::string_view::npos) return false;
  if (name.starts_with("deviceclass.resource.kubernetes.io/")) return true;
  return name.find("kubernetes.io/") == std::string_view::npos && !name.starts_with("requests.");
}

bool IsCharged(const json::Value& pod) {
  const std::string_view phase = pod["status"]["phase"].AsString();
  return phase != "Failed" && phase != "Succeeded";
}

Usage PodUsage(const json::Value& pod) {
  Usage usage;
  AddTo(usage, "count/pods", Number(1));
  if (!IsCharged(pod)) return usage;
  AddTo(usage, "pods", Number(1));
  static constexpr std::array<std::string_view, 3> kCompute = {"cpu", "memory",
                                                               "ephemeral-storage"};
  for (const auto& [resource, amount] : PodAmounts(pod, "requests")) {
    const bool compute = std::ranges::find(kCompute, resource) != kCompute.end();
    if (compute || resource.starts_with("hugepages-")) {
      AddTo(usage, resource, amount);
      AddTo(usage, "requests." + resource, amount);
    } else if (IsExtendedResource(resource)) {
      AddTo(usage, "requests." + resource, amount);
    }
  }
  for (const auto& [resource, amount] : PodAmounts(pod, "limits")) {
    if (std::ranges::find(kCompute, resource) != kCompute.end()) {
      AddTo(usage, "limits." + resource, amount);
    }
  }
  return usage;
}

// --- Claims.

std::int64_t DevicesOf(const json::Value& request) {
  return request["allocationMode"].AsString() == "All" ? kAllDevices : request["count"].AsInt();
}

// Devices by class; of alternatives the most that one of a class may take.
Usage DevicesByClass(const json::Value& claim) {
  Usage devices;
  for (const json::Value& request : claim.At({"spec", "devices", "requests"}).Items()) {
    const json::Value& exactly = request["exactly"];
    if (request["firstAvailable"].empty()) {
      if (!exactly.IsObject()) continue;
      AddTo(devices, std::string(exactly["deviceClassName"].AsString()),
            Number(DevicesOf(exactly)));
      continue;
    }
    Usage most;
    for (const json::Value& alternative : request["firstAvailable"].Items()) {
      RaiseTo(most, std::string(alternative["deviceClassName"].AsString()),
              Number(DevicesOf(alternative)));
    }
    AddAll(devices, most);
  }
  return devices;
}

// The pod that a claim made for its extended resources stands in for: the pod pays for these
// already.
Usage PaidByPod(const json::Value& claim, const ObjectReader& objects) {
  const json::Value& metadata = claim["metadata"];
  if (metadata["annotations"]["resource.kubernetes.io/extended-resource-claim"].AsString() !=
      "true") {
    return {};
  }
  for (const json::Value& owner : metadata["ownerReferences"].Items()) {
    if (!owner["controller"].AsBool() || owner["kind"].AsString() != "Pod") continue;
    const json::Value pod =
        objects.Get("", "pods", metadata["namespace"].AsString(), owner["name"].AsString());
    if (pod["metadata"]["uid"] == owner["uid"]) return PodUsage(pod);
  }
  return {};
}

Usage ClaimUsage(const json::Value& claim, const ObjectReader& objects) {
  Usage usage;
  AddTo(usage, "count/resourceclaims.resource.k8s.io", Number(1));
  Usage extended;
  for (const auto& [name, devices] : DevicesByClass(claim)) {
    AddTo(usage, name + ".deviceclass.resource.k8s.io/devices", devices);
    const json::Value device_class = objects.Get("resource.k8s.io", "deviceclasses", "", name);
    if (device_class.IsNull()) continue;
    AddTo(extended, "requests.deviceclass.resource.kubernetes.io/" + name, devices);
    const std::string_view extended_name = device_class["spec"]["extendedResourceName"].AsString();
    if (!extended_name.empty()) AddTo(extended, fmt::format("requests.{}", extended_name), devices);
  }
  const Usage paid = PaidByPod(claim, objects);
  for (auto& [resource, amount] : extended) {
    if (const auto own = paid.find(resource); own != paid.end()) {
      amount.Sub(own->second);
      if (amount.Sign() < 0) amount = Number(0);
    }
    AddTo(usage, resource, amount);
  }
  return usage;
}

// --- The rest: objects are counted, some under an older name, too.

Usage CountUsage(std::string_view group, std::string_view plural, const json::Value& object) {
  Usage usage;
  const std::string resource =
      group.empty() ? std::string(plural) : fmt::format("{}.{}", plural, group);
  AddTo(usage, "count/" + resource, Number(1));
  if (!group.empty()) return usage;
  static constexpr std::array<std::string_view, 6> kOlder = {
      "configmaps", "persistentvolumeclaims", "replicationcontrollers", "resourcequotas", "secrets",
      "services"};
  if (std::ranges::find(kOlder, plural) != kOlder.end()) AddTo(usage, resource, Number(1));
  if (plural == "persistentvolumeclaims") {
    const json::Value& size = object.At({"spec", "resources", "requests", "storage"});
    if (const Result<Quantity> amount = Quantity::Parse(size.AsString())) {
      AddTo(usage, "requests.storage", *amount);
    }
  }
  if (plural == "services") {
    const std::string_view type = object["spec"]["type"].AsString();
    const auto ports = static_cast<std::int64_t>(object["spec"]["ports"].size());
    if (type == "LoadBalancer") AddTo(usage, "services.loadbalancers", Number(1));
    if (type == "NodePort" || type == "LoadBalancer") {
      AddTo(usage, "services.nodeports", Number(ports));
    }
  }
  return usage;
}

}  // namespace

Usage UsageOf(std::string_view group, std::string_view plural, const json::Value& object,
              const ObjectReader& objects) {
  if (group.empty() && plural == "pods") return PodUsage(object);
  if (group == "resource.k8s.io" && plural == "resourceclaims") return ClaimUsage(object, objects);
  return CountUsage(group, plural, object);
}

}  // namespace drachma::apiserver
