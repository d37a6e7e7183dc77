// The defaults that are more than a value: upstream's SetDefaults_* with conditions.
#include <algorithm>
#include <limits>

#include "api/defaults_table.h"
#include "num/quantity.h"

namespace drachma::api {

namespace {

using json::Member;
using json::Value;

constexpr std::string_view kAllDra =
    "resource/v1 resource/v1beta2 resource/v1beta1 resource/v1alpha3";

bool IsEmptyText(const Value& value) { return value.AsString().empty(); }

void SetMissing(Value& object, std::string_view field, const Value& value) {
  if (object[field].IsNull()) object.Set(field, value);
}

constexpr std::size_t kImageNameMax = 255;

// Lower-case words with one of ".", "_", "__" or any number of "-" between them, in parts with
// slashes between them: the path of an image (distribution/reference).
bool IsImagePath(std::string_view path) {
  const auto is_word = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  while (true) {
    const std::size_t end = std::min(path.find('/'), path.size());
    std::string_view part = path.substr(0, end);
    if (part.empty() || !is_word(part.front()) || !is_word(part.back())) return false;
    while (!part.empty()) {
      if (is_word(part.front())) {
        part.remove_prefix(1);
        continue;
      }
      const std::size_t size = std::ranges::find_if(part, is_word) - part.begin();
      const std::string_view between = part.substr(0, size);
      const bool dashes = between.find_first_not_of('-') == std::string_view::npos;
      if (!dashes && between != "." && between != "_" && between != "__") return false;
      part.remove_prefix(size);
    }
    if (end == path.size()) return true;
    path.remove_prefix(end + 1);
  }
}

// What docker's reference grammar takes for the tag of an image: "latest" when there is neither
// tag nor digest, nothing when the name is no reference.
std::string_view ImageTag(std::string_view image) {
  if (image.empty()) return {};
  const std::size_t at = image.find('@');
  std::string_view name = image.substr(0, at);
  std::string_view tag;
  const std::size_t slash = name.rfind('/');
  const std::size_t colon = name.rfind(':');
  if (colon != std::string_view::npos && (slash == std::string_view::npos || colon > slash)) {
    tag = name.substr(colon + 1);
    name = name.substr(0, colon);
  }
  const auto is_upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  // The first part is a host when it looks like one; hosts may have capitals, paths may not.
  const std::size_t first = name.find('/');
  if (first != std::string_view::npos) {
    const std::string_view host = name.substr(0, first);
    if (host.find_first_of(".:") != std::string_view::npos || host == "localhost" ||
        std::ranges::any_of(host, is_upper)) {
      name.remove_prefix(first + 1);
    }
  }
  if (name.empty() || name.size() > kImageNameMax || std::ranges::any_of(name, is_upper)) return {};
  if (!IsImagePath(name)) return {};
  if (tag.empty() && at == std::string_view::npos) return "latest";
  return tag;
}

std::string_view PullPolicy(const Value& image) {
  return ImageTag(image.AsString()) == "latest" ? "Always" : "IfNotPresent";
}

void Container(Value& container, Time) {
  if (IsEmptyText(container["imagePullPolicy"])) {
    container.Set("imagePullPolicy", PullPolicy(container["image"]));
  }
}

void Volume(Value& volume, Time) {
  bool has_source = false;
  for (const Member& member : volume.Members()) {
    if (member.key() != "name" && !member.value.IsNull()) has_source = true;
  }
  if (!has_source) volume.Set("emptyDir", Value::Object());
  if (volume["image"].IsObject() && IsEmptyText(volume["image"]["pullPolicy"])) {
    volume.Edit("image").Set("pullPolicy", PullPolicy(volume["image"]["reference"]));
  }
}

void PodSpec(Value& spec, Time) {
  // serviceAccount is the old name of serviceAccountName and always shows the same.
  const Value name =
      IsEmptyText(spec["serviceAccountName"]) ? spec["serviceAccount"] : spec["serviceAccountName"];
  if (IsEmptyText(name)) return;
  spec.Set("serviceAccountName", name);
  spec.Set("serviceAccount", name);
}

void RequestsFromLimits(Value& containers) {
  for (std::size_t i = 0; i < containers.size(); ++i) {
    const Value limits = containers.Items()[i]["resources"]["limits"];
    if (!limits.IsObject()) continue;
    Value requests = containers.Items()[i]["resources"]["requests"];
    if (requests.IsNull()) requests = Value::Object();
    const std::size_t before = requests.size();
    for (const Member& limit : limits.Members()) {
      if (!requests.Has(limit.key())) requests.Set(limit.key(), limit.value);
    }
    if (requests.size() == before) continue;
    // Maps are written sorted by key.
    std::vector<const Member*> sorted;
    for (const Member& member : requests.Members()) sorted.push_back(&member);
    std::ranges::sort(sorted, {}, [](const Member* member) { return member->key(); });
    Value ordered = Value::Object();
    for (const Member* member : sorted) ordered.Set(member->key(), member->value);
    containers.EditItem(i).Edit("resources").Set("requests", std::move(ordered));
  }
}

void HostPorts(Value& containers) {
  for (std::size_t i = 0; i < containers.size(); ++i) {
    for (std::size_t j = 0; j < containers.Items()[i]["ports"].size(); ++j) {
      const Value& port = containers.Items()[i]["ports"].Items()[j];
      if (port["hostPort"].AsInt() != 0) continue;
      const Value number = port["containerPort"];
      containers.EditItem(i).Edit("ports").EditItem(j).Set("hostPort", number);
    }
  }
}

void Pod(Value& pod, Time) {
  const bool host_network = pod["spec"]["hostNetwork"].AsBool();
  Value& spec = pod.Edit("spec");
  if (spec["terminationGracePeriodSeconds"].AsInt() < 0)
    spec.Set("terminationGracePeriodSeconds", 1);
  SetMissing(spec, "enableServiceLinks", true);
  for (const std::string_view list : {"containers", "initContainers"}) {
    if (spec[list].empty()) continue;
    Value& containers = spec.Edit(list);
    RequestsFromLimits(containers);
    if (host_network) HostPorts(containers);
  }
}

void PodStatus(Value& status, Time) {
  const Value ip = status["podIP"];
  const Value& ips = status["podIPs"];
  if (IsEmptyText(ip)) {
    if (!ips.empty()) status.Set("podIP", ips.Items()[0]["ip"]);
  } else if (ips.empty() || !(ips.Items()[0]["ip"] == ip)) {
    status.Set("podIPs", Value::Array({Value::Object({{"ip", ip}})}));
  }
}

// Quantities of resource lists are rounded up to thousandths.
void RoundUp(Value& object, std::string_view field) {
  for (const Member& member : Value(object[field]).Members()) {
    const std::string_view text = member.value.AsString();
    // Only what is smaller than a thousandth has these suffixes, or a long fraction.
    if (text.find_first_of("nu.") == std::string_view::npos) continue;
    const auto quantity = Quantity::Parse(text);
    if (!quantity) continue;
    Quantity rounded = Quantity::FromMilli(quantity->MilliValue(), quantity->format());
    if (!(rounded == *quantity)) object.Edit(field).Set(member.key(), Value(rounded.ToString()));
  }
}

void Resources(Value& resources, Time) {
  RoundUp(resources, "limits");
  RoundUp(resources, "requests");
}

void Quota(Value& part, Time) {
  RoundUp(part, "hard");
  RoundUp(part, "used");
}

void VolumeAmounts(Value& part, Time) {
  RoundUp(part, "capacity");
  RoundUp(part, "allocatedResources");
}

void Namespace(Value& ns, Time) {
  const Value name = ns["metadata"]["name"];
  if (IsEmptyText(name)) return;
  Value labels = ns["metadata"]["labels"];
  labels.Set("kubernetes.io/metadata.name", name);
  std::vector<const Member*> sorted;
  for (const Member& member : labels.Members()) sorted.push_back(&member);
  std::ranges::sort(sorted, {}, [](const Member* member) { return member->key(); });
  Value ordered = Value::Object();
  for (const Member* member : sorted) ordered.Set(member->key(), member->value);
  ns.Edit("metadata").Set("labels", std::move(ordered));
}

void NodeStatus(Value& status, Time) {
  if (status["capacity"].IsObject()) SetMissing(status, "allocatable", Value(status["capacity"]));
  RoundUp(status, "capacity");
  RoundUp(status, "allocatable");
}

void LimitRangeItem(Value& item, Time) {
  if (item["type"].AsString() != "Container") return;
  const auto fill = [&item](std::string_view field, std::string_view from) {
    for (const Member& member : Value(item[from]).Members()) {
      if (!item[field].Has(member.key())) item.Edit(field).Set(member.key(), member.value);
    }
  };
  fill("default", "max");
  fill("defaultRequest", "default");
  fill("defaultRequest", "min");
}

void ReplicationController(Value& controller, Time) {
  const Value labels = controller["spec"]["template"]["metadata"]["labels"];
  if (labels.IsNull()) return;
  if (controller["spec"]["selector"].empty()) controller.Edit("spec").Set("selector", labels);
  if (controller["metadata"]["labels"].empty()) controller.Edit("metadata").Set("labels", labels);
}

bool ExternallyAccessible(const Value& spec) {
  const std::string_view type = spec["type"].AsString();
  return type == "LoadBalancer" || type == "NodePort" ||
         (type == "ClusterIP" && !spec["externalIPs"].empty());
}

void Service(Value& service, Time) {
  Value& spec = service.Edit("spec");
  if (IsEmptyText(spec["type"])) spec.Set("type", "ClusterIP");
  const std::string type(spec["type"].AsString());
  if (spec["sessionAffinity"].AsString() == "ClientIP") {
    if (spec.At({"sessionAffinityConfig", "clientIP", "timeoutSeconds"}).IsNull()) {
      spec.Set("sessionAffinityConfig",
               Value::Object({{"clientIP", Value::Object({{"timeoutSeconds", 10800}})}}));
    }
  } else if (IsEmptyText(spec["sessionAffinity"]) || spec["sessionAffinity"].AsString() == "None") {
    spec.Erase("sessionAffinityConfig");
  }
  for (std::size_t i = 0; i < spec["ports"].size(); ++i) {
    const Value& port = spec["ports"].Items()[i];
    const Value& target = port["targetPort"];
    if (target.IsNull() || target == Value(0) || (target.IsString() && IsEmptyText(target))) {
      const Value number = port["port"];
      spec.Edit("ports").EditItem(i).Set("targetPort", number);
    }
  }
  if (ExternallyAccessible(spec) && IsEmptyText(spec["externalTrafficPolicy"])) {
    spec.Set("externalTrafficPolicy", "Cluster");
  }
  if (type == "NodePort" || type == "LoadBalancer" || type == "ClusterIP") {
    SetMissing(spec, "internalTrafficPolicy", "Cluster");
  }
  if (type != "LoadBalancer") return;
  SetMissing(spec, "allocateLoadBalancerNodePorts", true);
  for (std::size_t i = 0; i < service.At({"status", "loadBalancer", "ingress"}).size(); ++i) {
    const Value& ingress = service.At({"status", "loadBalancer", "ingress"}).Items()[i];
    if (IsEmptyText(ingress["ip"]) || !ingress["ipMode"].IsNull()) continue;
    service.Edit("status").Edit("loadBalancer").Edit("ingress").EditItem(i).Set("ipMode", "VIP");
  }
}

void RollingUpdate(Value& strategy, Time) {
  const std::string_view type = strategy["type"].AsString("RollingUpdate");
  if (type == "RollingUpdate" || type.empty()) {
    SetMissing(strategy, "rollingUpdate", Value::Object());
  }
}

void StatefulSetUpdate(Value& strategy, Time) {
  if (IsEmptyText(strategy["type"])) {
    strategy.Set("type", "RollingUpdate");
    SetMissing(strategy, "rollingUpdate", Value::Object());
  }
  if (strategy["type"].AsString() != "RollingUpdate" || strategy["rollingUpdate"].IsNull()) return;
  Value& rolling = strategy.Edit("rollingUpdate");
  SetMissing(rolling, "partition", 0);
  SetMissing(rolling, "maxUnavailable", 1);
}

// Not of every JobSpec: a CronJob's template stays as it is.
void Job(Value& job, Time) {
  const Value labels = job.At({"spec", "template", "metadata", "labels"});
  if (!labels.IsNull() && job["metadata"]["labels"].empty()) {
    job.Edit("metadata").Set("labels", labels);
  }
  Value& spec = job.Edit("spec");
  if (spec["completions"].IsNull() && spec["parallelism"].IsNull()) spec.Set("completions", 1);
  SetMissing(spec, "parallelism", 1);
  const bool per_index = !spec["backoffLimitPerIndex"].IsNull();
  SetMissing(spec, "backoffLimit", per_index ? std::numeric_limits<std::int32_t>::max() : 6);
  SetMissing(spec, "completionMode", "NonIndexed");
  SetMissing(spec, "suspend", false);
  SetMissing(spec, "manualSelector", false);
  SetMissing(spec, "podReplacementPolicy",
             spec["podFailurePolicy"].IsNull() ? "TerminatingOrFailed" : "Failed");
}

// Not of every PersistentVolumeSpec: a VolumeAttachment's inline one stays as it is.
void PersistentVolume(Value& volume, Time) {
  Value& spec = volume.Edit("spec");
  if (IsEmptyText(spec["persistentVolumeReclaimPolicy"])) {
    spec.Set("persistentVolumeReclaimPolicy", "Retain");
  }
  SetMissing(spec, "volumeMode", "Filesystem");
  if (IsEmptyText(volume["status"]["phase"])) volume.Edit("status").Set("phase", "Pending");
}

void DeviceRequest(Value& request, Time) {
  if (IsEmptyText(request["allocationMode"])) request.Set("allocationMode", "ExactCount");
  if (request["allocationMode"].AsString() == "ExactCount" && request["count"].AsInt() == 0) {
    request.Set("count", 1);
  }
}

// v1beta1 has no "exactly": a request without a class has subrequests instead.
void FlatDeviceRequest(Value& request, Time now) {
  if (!IsEmptyText(request["deviceClassName"])) DeviceRequest(request, now);
}

void DeviceTaint(Value& taint, Time now) { SetMissing(taint, "timeAdded", Value(FormatTime(now))); }

void Subject(Value& subject, Time) {
  const std::string_view kind = subject["kind"].AsString();
  if (IsEmptyText(subject["apiGroup"]) && (kind == "User" || kind == "Group")) {
    subject.Set("apiGroup", "rbac.authorization.k8s.io");
  }
}

void NetworkPolicy(Value& policy, Time) {
  if (!policy["spec"]["policyTypes"].empty()) return;
  Value types = Value::Array({"Ingress"});
  if (!policy["spec"]["egress"].empty()) types.Append("Egress");
  policy.Edit("spec").Set("policyTypes", std::move(types));
}

void AutoscalerBehavior(Value& behavior, Time) {
  const auto policy = [](std::string_view type, int value) {
    return Value::Object({{"type", type}, {"value", value}, {"periodSeconds", 15}});
  };
  const auto fill = [&behavior](std::string_view direction, const Value& policies) {
    Value rules = behavior[direction];
    if (rules.IsNull()) rules = Value::Object();
    if (direction == "scaleUp") SetMissing(rules, "stabilizationWindowSeconds", 0);
    SetMissing(rules, "selectPolicy", "Max");
    SetMissing(rules, "policies", policies);
    behavior.Set(direction, std::move(rules));
  };
  fill("scaleUp", Value::Array({policy("Pods", 4), policy("Percent", 100)}));
  fill("scaleDown", Value::Array({policy("Percent", 100)}));
}

void CustomResourceDefinition(Value& crd, Time) {
  Value& names = crd.Edit("spec").Edit("names");
  const std::string kind(names["kind"].AsString());
  if (IsEmptyText(names["singular"])) {
    std::string lower = kind;
    for (char& c : lower) {
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    if (!lower.empty()) names.Set("singular", lower);
  }
  if (IsEmptyText(names["listKind"]) && !kind.empty()) names.Set("listKind", kind + "List");
  if (!crd["status"]["storedVersions"].empty()) return;
  for (const Value& version : crd["spec"]["versions"].Items()) {
    if (!version["storage"].AsBool()) continue;
    crd.Edit("status").Set("storedVersions", Value::Array({version["name"]}));
    return;
  }
}

constexpr DefaultRule kRules[] = {
    {"core/v1", "Container", Container},
    {"core/v1", "EphemeralContainerCommon", Container},
    {"core/v1", "Volume", Volume},
    {"core/v1", "PodSpec", PodSpec},
    {"core/v1", "Pod", Pod},
    {"core/v1", "PodStatus", PodStatus},
    {"core/v1", "ResourceRequirements", Resources},
    {"core/v1", "VolumeResourceRequirements", Resources},
    {"core/v1", "ResourceQuotaSpec", Quota},
    {"core/v1", "ResourceQuotaStatus", Quota},
    {"core/v1", "PersistentVolumeSpec", VolumeAmounts},
    {"core/v1", "PersistentVolumeClaimStatus", VolumeAmounts},
    {"core/v1", "Namespace", Namespace},
    {"core/v1", "NodeStatus", NodeStatus},
    {"core/v1", "LimitRangeItem", LimitRangeItem},
    {"core/v1", "ReplicationController", ReplicationController},
    {"core/v1", "Service", Service},
    {"core/v1", "PersistentVolume", PersistentVolume},
    {"apps/v1", "DeploymentStrategy", RollingUpdate},
    {"apps/v1", "DaemonSetUpdateStrategy", RollingUpdate},
    {"apps/v1", "StatefulSetUpdateStrategy", StatefulSetUpdate},
    {"batch/v1", "Job", Job},
    {"resource/v1 resource/v1beta2", "ExactDeviceRequest", DeviceRequest},
    {"resource/v1 resource/v1beta2 resource/v1beta1", "DeviceSubRequest", DeviceRequest},
    {"resource/v1beta1", "DeviceRequest", FlatDeviceRequest},
    {kAllDra, "DeviceTaint", DeviceTaint},
    {"rbac/v1", "Subject", Subject},
    {"networking/v1", "NetworkPolicy", NetworkPolicy},
    {"autoscaling/v2", "HorizontalPodAutoscalerBehavior", AutoscalerBehavior},
    {"apiextensions", "CustomResourceDefinition", CustomResourceDefinition},
};

}  // namespace

std::span<const DefaultRule> DefaultRules() { return kRules; }

}  // namespace drachma::api
