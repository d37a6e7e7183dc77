#include "node/node_object.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <utility>

#include "client/objects.h"

namespace drachma::node {
namespace {

using json::Value;

// The Kubernetes version that simulated kubelets report.
constexpr std::string_view kKubeletVersion = "v1.37.2";
constexpr std::int64_t kKubeletPort = 10250;

struct HealthCondition {
  std::string_view type;
  bool status;
  std::string_view reason;
  std::string_view message;
};
constexpr std::array<HealthCondition, 4> kHealthy = {{
    {"MemoryPressure", false, "KubeletHasSufficientMemory",
     "kubelet has sufficient memory available"},
    {"DiskPressure", false, "KubeletHasNoDiskPressure", "kubelet has no disk pressure"},
    {"PIDPressure", false, "KubeletHasSufficientPID", "kubelet has sufficient PID available"},
    {"Ready", true, "KubeletReady", "kubelet is posting ready status"},
}};

Value HealthyConditions(const Value& node, Time time) {
  const std::string now = FormatTime(time);
  Value conditions = Value::Array();
  for (const HealthCondition& entry : kHealthy) {
    const std::string_view status = entry.status ? "True" : "False";
    const Value* old = client::ConditionOf(node, entry.type);
    const bool same =
        old != nullptr && (*old)["status"].AsString() == status && old->Has("lastTransitionTime");
    conditions.Append(
        Value::Object({{"type", entry.type},
                       {"status", status},
                       {"lastHeartbeatTime", now},
                       {"lastTransitionTime", same ? (*old)["lastTransitionTime"] : Value(now)},
                       {"reason", entry.reason},
                       {"message", entry.message}}));
  }
  return conditions;
}

Value NodeInfo(const Value& node) {
  const std::string_view uid = client::UidOf(node);
  return Value::Object({{"machineID", uid},
                        {"systemUUID", uid},
                        {"bootID", uid},
                        {"kernelVersion", "6.1.0-simulated"},
                        {"osImage", "drachma simulated node"},
                        {"containerRuntimeVersion", "drachma://0.1.0"},
                        {"kubeletVersion", kKubeletVersion},
                        {"kubeProxyVersion", ""},
                        {"operatingSystem", "linux"},
                        {"architecture", "amd64"}});
}

Value NodeAddresses(std::string_view name, std::string_view address) {
  return Value::Array({Value::Object({{"type", "InternalIP"}, {"address", address}}),
                       Value::Object({{"type", "Hostname"}, {"address", name}})});
}

Value ToObject(const std::map<std::string, std::string>& entries) {
  Value object = Value::Object();
  for (const auto& [key, value] : entries) object.Set(key, value);
  return object;
}

}  // namespace

std::string NodeAddress(std::uint32_t index) {
  return fmt::format("172.{}.{}.{}", 16 + (index >> 16), (index >> 8) & 0xFF, index & 0xFF);
}

std::uint32_t IndexOfAddress(std::string_view address) {
  std::array<std::uint32_t, 4> bytes{};
  const char* next = address.data();
  const char* const end = next + address.size();
  for (std::uint32_t& byte : bytes) {
    const auto [rest, error] = std::from_chars(next, end, byte);
    if (error != std::errc() || byte > 0xFF) return 0;
    next = rest == end ? end : rest + 1;
  }
  if (bytes[1] < 16) return 0;
  const std::uint32_t index = ((bytes[1] - 16) << 16) | (bytes[2] << 8) | bytes[3];
  return NodeAddress(index) == address ? index : 0;
}

std::string_view InternalAddressOf(const Value& node) {
  for (const Value& entry : node["status"]["addresses"].Items()) {
    if (entry["type"].AsString() == "InternalIP") return entry["address"].AsString();
  }
  return {};
}

std::string PodAddress(std::uint32_t index, std::uint32_t pod) {
  return fmt::format("10.{}.{}.{}", 128 + ((index >> 8) & 0x7F), index & 0xFF, pod & 0xFF);
}

Value NewNode(const NodeSpec& spec, std::string_view address, Time now) {
  Value labels = ToObject(spec.labels);
  labels.Set("kubernetes.io/hostname", spec.name);
  labels.Set("kubernetes.io/os", "linux");
  labels.Set("kubernetes.io/arch", "amd64");
  Value node =
      Value::Object({{"apiVersion", "v1"},
                     {"kind", "Node"},
                     {"metadata", Value::Object({{"name", spec.name},
                                                 {"labels", std::move(labels)},
                                                 {"annotations", ToObject(spec.annotations)}})},
                     {"spec", Value::Object()}});
  Value status = Value::Object(
      {{"capacity", ToObject(spec.capacity)}, {"allocatable", ToObject(spec.capacity)}});
  node.Set("status", std::move(status));
  const Value ready = ReadyPatch(node, address, now)["status"];
  for (const json::Member& member : ready.Members()) {
    node.Edit("status").Set(member.key(), member.value);
  }
  return node;
}

Value ReadyPatch(const Value& node, std::string_view address, Time now) {
  Value status = Value::Object({{"conditions", HealthyConditions(node, now)}});
  if (InternalAddressOf(node) != address) {
    status.Set("addresses", NodeAddresses(client::NameOf(node), address));
  }
  if (node["status"]["nodeInfo"]["kubeletVersion"].AsString().empty()) {
    status.Set("nodeInfo", NodeInfo(node));
    status.Set("daemonEndpoints",
               Value::Object({{"kubeletEndpoint", Value::Object({{"Port", kKubeletPort}})}}));
  }
  return Value::Object({{"status", std::move(status)}});
}

Value NewLease(const Value& node, Duration interval, Time now) {
  constexpr int kMissesAllowed = 4;
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(interval * kMissesAllowed).count();
  Value owner = Value::Object({{"apiVersion", "v1"},
                               {"kind", "Node"},
                               {"name", client::NameOf(node)},
                               {"uid", client::UidOf(node)}});
  return Value::Object(
      {{"apiVersion", "coordination.k8s.io/v1"},
       {"kind", "Lease"},
       {"metadata", Value::Object({{"name", client::NameOf(node)},
                                   {"namespace", "kube-node-lease"},
                                   {"ownerReferences", Value::Array({std::move(owner)})}})},
       {"spec", Value::Object({{"holderIdentity", client::NameOf(node)},
                               {"leaseDurationSeconds", static_cast<std::int64_t>(seconds)},
                               {"renewTime", FormatMicroTime(now)}})}});
}

}  // namespace drachma::node
