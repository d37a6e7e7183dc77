#include "quota/usage.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace drachma::quota {
namespace {

// Devices that a request with allocationMode All is charged: it may get no more
// (resource.k8s.io's AllocationResultsMaxSize).
constexpr std::int64_t kAllDevices = 32;
constexpr std::string_view kRequests = "requests.";
constexpr std::string_view kClassResource = "deviceclass.resource.kubernetes.io/";

Quantity Number(std::int64_t value) { return Quantity::FromInt(value, QuantityFormat::kDecimalSI); }

void AddTo(Amounts& usage, const std::string& resource, const Quantity& amount) {
  const auto [entry, inserted] = usage.try_emplace(resource, amount);
  if (!inserted) entry->second.Add(amount);
}

void RaiseTo(Amounts& usage, const std::string& resource, const Quantity& amount) {
  const auto [entry, inserted] = usage.try_emplace(resource, amount);
  if (!inserted && entry->second < amount) entry->second = amount;
}

// --- Pods.

void AddAll(Amounts& to, const Amounts& amounts) {
  for (const auto& [resource, amount] : amounts) AddTo(to, resource, amount);
}

// Containers run together; before them the init containers one after the other, each beside the
// sidecars started so far. `field` is "requests" or "limits".
Amounts PodAmounts(const json::Value& pod, const char* field) {
  const json::Value& spec = pod["spec"];
  Amounts total;
  for (const json::Value& container : spec["containers"].Items()) {
    AddAll(total, AmountsOf(container["resources"][field]));
  }
  Amounts sidecars;
  Amounts peak;
  for (const json::Value& container : spec["initContainers"].Items()) {
    Amounts now = AmountsOf(container["resources"][field]);
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
  for (auto& [resource, amount] : AmountsOf(spec["resources"][field])) total[resource] = amount;
  AddAll(total, AmountsOf(spec["overhead"]));
  return total;
}

// Names that are Kubernetes' own: without a domain, or below kubernetes.io.
bool IsNative(std::string_view name) {
  return name.find('/') == std::string_view::npos ||
         name.find("kubernetes.io/") != std::string_view::npos;
}

bool IsExtendedResource(std::string_view name) {
  if (name.starts_with(kClassResource)) return true;
  return !IsNative(name) && !name.starts_with(kRequests);
}

Amounts PodUsage(const json::Value& pod, Time now) {
  Amounts usage;
  AddTo(usage, "count/pods", Number(1));
  if (!IsCharged(pod, now)) return usage;
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
Amounts DevicesByClass(const json::Value& claim) {
  Amounts devices;
  for (const json::Value& request : claim.At({"spec", "devices", "requests"}).Items()) {
    const json::Value& exactly = request["exactly"];
    if (request["firstAvailable"].empty()) {
      if (!exactly.IsObject()) continue;
      AddTo(devices, std::string(exactly["deviceClassName"].AsString()),
            Number(DevicesOf(exactly)));
      continue;
    }
    Amounts most;
    for (const json::Value& alternative : request["firstAvailable"].Items()) {
      RaiseTo(most, std::string(alternative["deviceClassName"].AsString()),
              Number(DevicesOf(alternative)));
    }
    AddAll(devices, most);
  }
  return devices;
}

const json::Value* ControllerOf(const json::Value& object) {
  for (const json::Value& owner : object["metadata"]["ownerReferences"].Items()) {
    if (owner["controller"].AsBool()) return &owner;
  }
  return nullptr;
}

bool StandsInForExtendedResources(const json::Value& claim) {
  return claim["metadata"]["annotations"]["resource.kubernetes.io/extended-resource-claim"]
             .AsString() == "true";
}

// Whether the pod has another claim of that kind that was there before.
bool HasEarlierClaim(const json::Value& claim, const json::Value& pod_uid, const Objects& objects) {
  const json::Value& metadata = claim["metadata"];
  const auto age = [](const json::Value& of) {
    return std::pair(of["creationTimestamp"].AsString(), of["name"].AsString());
  };
  bool earlier = false;
  objects.ForEach("resource.k8s.io", "resourceclaims", metadata["namespace"].AsString(),
                  [&](const json::Value& other) {
                    if (!StandsInForExtendedResources(other)) return;
                    const json::Value* owner = ControllerOf(other);
                    if (owner == nullptr || !((*owner)["uid"] == pod_uid)) return;
                    earlier = earlier || age(other["metadata"]) < age(metadata);
                  });
  return earlier;
}

// A claim that was made for a pod's extended resources: the pod pays for these already. Only the
// claim that the pod names counts as such, or its first one.
Amounts PaidByPod(const json::Value& claim, const Objects& objects, Time now) {
  if (!StandsInForExtendedResources(claim)) return {};
  const json::Value& metadata = claim["metadata"];
  const json::Value* owner = ControllerOf(claim);
  if (owner == nullptr || (*owner)["kind"].AsString() != "Pod" ||
      (*owner)["apiVersion"].AsString() != "v1") {
    return {};
  }
  const json::Value pod =
      objects.Get("", "pods", metadata["namespace"].AsString(), (*owner)["name"].AsString());
  if (!(pod["metadata"]["uid"] == (*owner)["uid"])) return {};
  const json::Value& status = pod["status"]["extendedResourceClaimStatus"];
  if (status.IsObject() && !(status["resourceClaimName"] == metadata["name"])) return {};
  if (!status.IsObject() && HasEarlierClaim(claim, pod["metadata"]["uid"], objects)) return {};
  return PodUsage(pod, now);
}

Amounts ClaimUsage(const json::Value& claim, const Objects& objects, Time now) {
  Amounts usage;
  AddTo(usage, "count/resourceclaims.resource.k8s.io", Number(1));
  Amounts extended;
  for (const auto& [name, devices] : DevicesByClass(claim)) {
    AddTo(usage, name + ".deviceclass.resource.k8s.io/devices", devices);
    extended[fmt::format("{}{}{}", kRequests, kClassResource, name)] = devices;
    const json::Value device_class = objects.Get("resource.k8s.io", "deviceclasses", "", name);
    const std::string_view extended_name = device_class["spec"]["extendedResourceName"].AsString();
    if (!extended_name.empty()) extended[fmt::format("{}{}", kRequests, extended_name)] = devices;
  }
  const Amounts paid = PaidByPod(claim, objects, now);
  for (auto& [resource, amount] : extended) {
    if (const auto own = paid.find(resource); own != paid.end()) amount.Sub(own->second);
    if (amount.Sign() > 0) AddTo(usage, resource, amount);
  }
  return usage;
}

// --- The rest: objects are counted, some under an older name, too.

Amounts CountUsage(std::string_view group, std::string_view plural) {
  Amounts usage;
  const std::string resource =
      group.empty() ? std::string(plural) : fmt::format("{}.{}", plural, group);
  AddTo(usage, "count/" + resource, Number(1));
  static constexpr std::array<std::string_view, 6> kOlder = {
      "configmaps", "persistentvolumeclaims", "replicationcontrollers", "resourcequotas", "secrets",
      "services"};
  if (group.empty() && std::ranges::find(kOlder, plural) != kOlder.end()) {
    AddTo(usage, resource, Number(1));
  }
  return usage;
}

Amounts ServiceUsage(const json::Value& service) {
  Amounts usage = CountUsage("", "services");
  const json::Value& spec = service["spec"];
  const auto ports = spec["ports"].Items();
  auto count = static_cast<std::int64_t>(ports.size());
  const bool balanced = spec["type"].AsString() == "LoadBalancer";
  if (balanced && !spec["allocateLoadBalancerNodePorts"].AsBool(true)) {
    count = std::ranges::count_if(
        ports, [](const json::Value& port) { return port["nodePort"].AsInt() != 0; });
  }
  const bool node_ports = balanced || spec["type"].AsString() == "NodePort";
  AddTo(usage, "services.nodeports", Number(node_ports ? count : 0));
  AddTo(usage, "services.loadbalancers", Number(balanced ? 1 : 0));
  return usage;
}

// The class stood in an annotation once.
std::string_view StorageClassOf(const json::Value& claim) {
  const std::string_view annotated =
      claim["metadata"]["annotations"]["volume.beta.kubernetes.io/storage-class"].AsString();
  return annotated.empty() ? claim["spec"]["storageClassName"].AsString() : annotated;
}

Amounts VolumeClaimUsage(const json::Value& claim) {
  Amounts usage = CountUsage("", "persistentvolumeclaims");
  const std::string_view storage_class = StorageClassOf(claim);
  const auto of_class = [&](std::string_view resource) {
    return fmt::format("{}.storageclass.storage.k8s.io/{}", storage_class, resource);
  };
  if (!storage_class.empty()) AddTo(usage, of_class("persistentvolumeclaims"), Number(1));
  std::optional<Quantity> storage;
  for (const json::Value& size : {claim["spec"]["resources"]["requests"]["storage"],
                                  claim["status"]["allocatedResources"]["storage"]}) {
    Result<Quantity> amount = Quantity::Parse(size.AsString());
    if (amount && (!storage || *storage < *amount)) storage = std::move(*amount);
  }
  if (!storage) return usage;
  AddTo(usage, "requests.storage", *storage);
  if (!storage_class.empty()) AddTo(usage, of_class("requests.storage"), *storage);
  return usage;
}

}  // namespace

Amounts AmountsOf(const json::Value& list) {
  Amounts amounts;
  for (const json::Member& member : list.Members()) {
    if (Result<Quantity> amount = Quantity::Parse(member.value.AsString())) {
      amounts.emplace(std::string(member.key()), std::move(*amount));
    }
  }
  return amounts;
}

bool IsCharged(const json::Value& pod, Time now) {
  const std::string_view phase = pod["status"]["phase"].AsString();
  if (phase == "Failed" || phase == "Succeeded") return false;
  const json::Value& metadata = pod["metadata"];
  const Result<Time> deleted = ParseTime(metadata["deletionTimestamp"].AsString());
  if (!deleted || !metadata["deletionGracePeriodSeconds"].IsInt()) return true;
  return now <= *deleted + std::chrono::seconds(metadata["deletionGracePeriodSeconds"].AsInt());
}

bool IsExtendedResourceQuota(std::string_view name) {
  if (!name.starts_with(kRequests)) return false;
  return !IsNative(name) || name.substr(kRequests.size()).starts_with(kClassResource);
}

Amounts UsageOf(std::string_view group, std::string_view plural, const json::Value& object,
                const Objects& objects, Time now) {
  if (group == "resource.k8s.io" && plural == "resourceclaims") {
    return ClaimUsage(object, objects, now);
  }
  if (group.empty() && plural == "pods") return PodUsage(object, now);
  if (group.empty() && plural == "services") return ServiceUsage(object);
  if (group.empty() && plural == "persistentvolumeclaims") return VolumeClaimUsage(object);
  return CountUsage(group, plural);
}

}  // namespace drachma::quota
