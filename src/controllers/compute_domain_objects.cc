#include "controllers/compute_domain_objects.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "client/objects.h"
#include "controllers/compute_domain_kinds.h"
#include "json/yaml.h"

namespace drachma::controllers::compute_domain {
namespace {

using json::Value;

// What `drachma` does not run, but a cluster with the driver's image does.
constexpr std::string_view kDaemonSetText = R"(
apiVersion: apps/v1
kind: DaemonSet
spec:
  template:
    spec:
      containers:
      - name: compute-domain-daemon
        image: registry.k8s.io/dra-driver-nvidia/dra-driver-nvidia-gpu:v0.4.0
        command: [compute-domain-daemon, -v, $(LOG_VERBOSITY), run]
        env:
        - {name: LOG_VERBOSITY, value: "4"}
        - {name: NODE_NAME, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
        - {name: POD_IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
        - {name: POD_UID, valueFrom: {fieldRef: {fieldPath: metadata.uid}}}
        - {name: POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
        - {name: POD_NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}
        - {name: NVIDIA_VISIBLE_DEVICES, value: void}
        resources:
          claims:
          - name: compute-domain-daemon
        startupProbe:
          exec: {command: [compute-domain-daemon, -v, $(LOG_VERBOSITY), check]}
          periodSeconds: 1
          timeoutSeconds: 10
          failureThreshold: 1200
        livenessProbe:
          exec: {command: [compute-domain-daemon, -v, $(LOG_VERBOSITY), check]}
          periodSeconds: 60
          timeoutSeconds: 10
          failureThreshold: 20
        readinessProbe:
          exec: {command: [compute-domain-daemon, -v, $(LOG_VERBOSITY), check]}
          periodSeconds: 10
          timeoutSeconds: 10
          failureThreshold: 1
      tolerations:
      - {operator: Exists, effect: NoSchedule}
      - {operator: Exists, effect: NoExecute}
      - {operator: Exists, effect: PreferNoSchedule}
)";

// The claim template of `request` for one device of `device_class`. `parameters` are sorted: the
// server keeps their text and sorts it with the first patch, which may not change it.
Value Template(std::string_view request, std::string_view device_class, Value parameters) {
  Value config =
      Value::Object({{"requests", Value::Array({request})},
                     {"opaque", Value::Object({{"driver", "compute-domain.nvidia.com"},
                                               {"parameters", std::move(parameters)}})}});
  Value asked = Value::Object(
      {{"name", request}, {"exactly", Value::Object({{"deviceClassName", device_class}})}});
  Value devices = Value::Object({{"requests", Value::Array({std::move(asked)})},
                                 {"config", Value::Array({std::move(config)})}});
  return Value::Object(
      {{"apiVersion", "resource.k8s.io/v1"},
       {"kind", "ResourceClaimTemplate"},
       {"spec", Value::Object({{"spec", Value::Object({{"devices", std::move(devices)}})}})}});
}

Value MetadataOf(std::string_view ns, std::string_view name, Value labels) {
  return Value::Object({{"namespace", ns},
                        {"name", name},
                        {"finalizers", Value::Array({kLabel})},
                        {"labels", std::move(labels)}});
}

bool IsReady(const Value& entry) { return entry["status"].AsString() == kReady; }

}  // namespace

std::string DaemonName(std::string_view uid) { return fmt::format("computedomain-daemon-{}", uid); }

Value DaemonTemplate(const Value& domain) {
  const std::string_view uid = client::UidOf(domain);
  Value made = Template(
      "daemon", "compute-domain-daemon.nvidia.com",
      Value::Object(
          {{"apiVersion", kApiVersion}, {"domainID", uid}, {"kind", "ComputeDomainDaemonConfig"}}));
  made.Set("metadata", MetadataOf(kNamespace, DaemonName(uid),
                                  Value::Object({{kLabel, uid}, {kTargetLabel, "Daemon"}})));
  return made;
}

Value WorkloadTemplate(const Value& domain) {
  const std::string_view uid = client::UidOf(domain);
  const Value& channel = domain["spec"]["channel"];
  Value made =
      Template("channel", "compute-domain-default-channel.nvidia.com",
               Value::Object({{"allocationMode", channel["allocationMode"].AsString("Single")},
                              {"apiVersion", kApiVersion},
                              {"domainID", uid},
                              {"kind", "ComputeDomainChannelConfig"}}));
  made.Set("metadata", MetadataOf(client::NamespaceOf(domain),
                                  channel["resourceClaimTemplate"]["name"].AsString(),
                                  Value::Object({{kLabel, uid}, {kTargetLabel, "Workload"}})));
  return made;
}

Value SingleChannelTemplate(const Value& domain) {
  Value single = domain;
  single.Edit("spec").Edit("channel").Set("allocationMode", "Single");
  return WorkloadTemplate(single);
}

Value DaemonSetOf(const Value& domain) {
  static const Value skeleton = json::ReadYamlValue(kDaemonSetText).value();
  const std::string_view uid = client::UidOf(domain);
  const Value labels = Value::Object({{kLabel, uid}});
  Value set = skeleton;
  set.Set("metadata", MetadataOf(kNamespace, DaemonName(uid), labels));
  Value& spec = set.Edit("spec");
  spec.Set("selector", Value::Object({{"matchLabels", labels}}));
  spec.Edit("template").Set("metadata", Value::Object({{"labels", labels}}));
  Value& pod = spec.Edit("template").Edit("spec");
  pod.Set("serviceAccountName", kDaemonAccount);
  pod.Set("nodeSelector", labels);
  pod.Edit("containers")
      .EditItem(0)
      .Edit("env")
      .Append(
          Value::Object({{"name", kDaemonsMaxVariable}, {"value", std::to_string(kDaemonsMax)}}));
  pod.Set("resourceClaims",
          Value::Array({Value::Object({{"name", "compute-domain-daemon"},
                                       {"resourceClaimTemplateName", DaemonName(uid)}})}));
  return set;
}

Value NodesOf(const Members& members) {
  Value nodes = Value::Array();
  for (const Value* clique : members.cliques) {
    std::vector<const Value*> daemons;
    for (const Value& daemon : (*clique)["daemons"].Items()) daemons.push_back(&daemon);
    std::ranges::stable_sort(daemons, {}, [](const Value* d) { return (*d)["index"].AsInt(); });
    for (const Value* daemon : daemons) {
      const std::string_view node = (*daemon)["nodeName"].AsString();
      const bool ready = IsReady(*daemon) && members.alive(node);
      nodes.Append(Value::Object({{"name", node},
                                  {"ipAddress", (*daemon)["ipAddress"]},
                                  {"cliqueID", (*daemon)["cliqueID"]},
                                  {"index", (*daemon)["index"].AsInt()},
                                  {"status", ready ? kReady : kNotReady}}));
    }
  }
  for (const Value* pod : members.daemons) {
    const Value* clique = (*pod)["metadata"]["labels"].Find(kCliqueLabel);
    const std::string_view node = (*pod)["spec"]["nodeName"].AsString();
    const std::string_view address = (*pod)["status"]["podIP"].AsString();
    const bool without_fabric = clique != nullptr && clique->AsString().empty();
    if (!without_fabric || node.empty() || address.empty()) continue;
    const bool ready = client::IsConditionTrue(*pod, "Ready") && members.alive(node);
    nodes.Append(Value::Object({{"name", node},
                                {"ipAddress", address},
                                {"cliqueID", ""},
                                {"index", -1},
                                {"status", ready ? kReady : kNotReady}}));
  }
  return nodes;
}

std::string WhyNotReady(const Value& domain, const Value& nodes) {
  std::vector<std::string> reasons;
  const std::int64_t wanted = domain["spec"]["numNodes"].AsInt();
  if (static_cast<std::int64_t>(nodes.size()) < wanted) {
    reasons.push_back(fmt::format("{} of {} nodes have joined", nodes.size(), wanted));
  }
  for (const Value& node : nodes.Items()) {
    if (IsReady(node)) continue;
    reasons.push_back(fmt::format("the daemon of node {} is not ready", node["name"].AsString()));
  }
  return fmt::format("{}", fmt::join(reasons, "; "));
}

}  // namespace drachma::controllers::compute_domain
