// Services, endpoints, ingresses, volumes.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "apiserver/human.h"
#include "apiserver/printers.h"

namespace drachma::apiserver {
namespace {

std::string JoinTexts(const json::Value& texts, std::string_view separator = ",") {
  std::string joined;
  for (const json::Value& text : texts.Items()) {
    if (&text != texts.Items().data()) joined += separator;
    joined += text.AsString();
  }
  return joined;
}

std::string LoadBalancerText(const json::Value& object) {
  std::set<std::string> addresses;
  for (const json::Value& ingress : object["status"]["loadBalancer"]["ingress"].Items()) {
    const std::string address = TextOr(ingress["ip"], ingress["hostname"].AsString());
    if (!address.empty()) addresses.insert(address);
  }
  return fmt::format("{}", fmt::join(addresses, ","));
}

std::string ExternalIp(const json::Value& service) {
  const json::Value& spec = service["spec"];
  const std::string_view type = spec["type"].AsString();
  const std::string external = JoinTexts(spec["externalIPs"]);
  if (type == "ClusterIP" || type == "NodePort") return external.empty() ? "<none>" : external;
  if (type == "ExternalName") return std::string(spec["externalName"].AsString());
  if (type != "LoadBalancer") return "<unknown>";
  const std::string balancer = LoadBalancerText(service);
  if (balancer.empty()) return external.empty() ? "<pending>" : external;
  return external.empty() ? balancer : balancer + "," + external;
}

std::string ServicePorts(const json::Value& ports) {
  std::string text;
  for (const json::Value& port : ports.Items()) {
    if (!text.empty()) text += ',';
    text += std::to_string(port["port"].AsInt());
    if (port["nodePort"].AsInt() > 0) text += fmt::format(":{}", port["nodePort"].AsInt());
    text += fmt::format("/{}", port["protocol"].AsString());
  }
  return text.empty() ? "<none>" : text;
}

void PrintService(const json::Value& object, Ages& ages, Cells& cells) {
  const json::Value& spec = object["spec"];
  const auto ips = spec["clusterIPs"].Items();
  cells.Add(NameOf(object))
      .Add(spec["type"].AsString())
      .Add(ips.empty() ? "<none>" : TextOr(ips[0], ""))
      .Add(ExternalIp(object))
      .Add(ServicePorts(spec["ports"]))
      .Add(CreatedAgo(object, ages))
      .Add(FormatLabels(spec["selector"]));
}

// "10.0.0.1:80,10.0.0.2:80 + 2 more...".
std::string EndpointsText(const json::Value& subsets) {
  std::vector<std::string> addresses;
  for (const json::Value& subset : subsets.Items()) {
    if (subset["ports"].empty()) {
      for (const json::Value& address : subset["addresses"].Items()) {
        addresses.emplace_back(address["ip"].AsString());
      }
      continue;
    }
    for (const json::Value& port : subset["ports"].Items()) {
      for (const json::Value& address : subset["addresses"].Items()) {
        const std::string_view ip = address["ip"].AsString();
        const bool v6 = ip.find(':') != std::string_view::npos;
        addresses.push_back(
            fmt::format("{}{}{}:{}", v6 ? "[" : "", ip, v6 ? "]" : "", port["port"].AsInt()));
      }
    }
  }
  if (subsets.empty()) return "<none>";
  return addresses.empty() ? "" : JoinSome(addresses, 3);
}

void PrintEndpoints(const json::Value& object, Ages& ages, Cells& cells) {
  cells.Add(NameOf(object)).Add(EndpointsText(object["subsets"])).Add(CreatedAgo(object, ages));
}

void PrintEndpointSlice(const json::Value& object, Ages& ages, Cells& cells) {
  std::vector<std::string> ports;
  for (const json::Value& port : object["ports"].Items()) {
    ports.push_back(port["port"].IsInt() ? std::to_string(port["port"].AsInt())
                                         : TextOr(port["name"], "*"));
  }
  std::vector<std::string> addresses;
  for (const json::Value& endpoint : object["endpoints"].Items()) {
    for (const json::Value& address : endpoint["addresses"].Items()) {
      addresses.emplace_back(address.AsString());
    }
  }
  cells.Add(NameOf(object))
      .Add(object["addressType"].AsString())
      .Add(JoinSome(ports, 3))
      .Add(JoinSome(addresses, 3))
      .Add(CreatedAgo(object, ages));
}

std::string IngressHosts(const json::Value& rules) {
  constexpr std::size_t kShownMax = 3;
  std::vector<std::string> hosts;
  bool more = false;
  for (const json::Value& rule : rules.Items()) {
    if (hosts.size() == kShownMax) more = true;
    if (!more && !rule["host"].AsString().empty()) hosts.emplace_back(rule["host"].AsString());
  }
  if (hosts.empty()) return "*";
  std::string text = fmt::format("{}", fmt::join(hosts, ","));
  if (more) text += fmt::format(" + {} more...", rules.size() - kShownMax);
  return text;
}

void PrintIngress(const json::Value& object, Ages& ages, Cells& cells) {
  const json::Value& spec = object["spec"];
  cells.Add(NameOf(object))
      .Add(TextOr(spec["ingressClassName"], "<none>"))
      .Add(IngressHosts(spec["rules"]))
      .Add(LoadBalancerText(object))
      .Add(spec["tls"].empty() ? "80" : "80, 443")
      .Add(CreatedAgo(object, ages));
}

void PrintIngressClass(const json::Value& object, Ages& ages, Cells& cells) {
  std::string name(NameOf(object).AsString());
  if (object["metadata"]["annotations"]["ingressclass.kubernetes.io/is-default-class"].AsString() ==
      "true") {
    name += " (default)";
  }
  std::string parameters = "<none>";
  if (const json::Value& reference = object["spec"]["parameters"]; reference.IsObject()) {
    parameters = reference["kind"].AsString();
    if (reference["apiGroup"].IsString()) {
      parameters += fmt::format(".{}", reference["apiGroup"].AsString());
    }
    parameters += fmt::format("/{}", reference["name"].AsString());
  }
  cells.Add(name)
      .Add(object["spec"]["controller"].AsString())
      .Add(parameters)
      .Add(CreatedAgo(object, ages));
}

void PrintNetworkPolicy(const json::Value& object, Ages& ages, Cells& cells) {
  cells.Add(NameOf(object))
      .Add(FormatLabelSelector(object["spec"]["podSelector"]))
      .Add(CreatedAgo(object, ages));
}

void PrintServiceCidr(const json::Value& object, Ages& ages, Cells& cells) {
  cells.Add(NameOf(object)).Add(JoinTexts(object["spec"]["cidrs"])).Add(CreatedAgo(object, ages));
}

void PrintIpAddress(const json::Value& object, Ages& ages, Cells& cells) {
  std::string parent = "<none>";
  if (const json::Value& reference = object["spec"]["parentRef"]; reference.IsObject()) {
    parent = reference["resource"].AsString();
    if (!reference["group"].AsString().empty()) {
      parent += fmt::format(".{}", reference["group"].AsString());
    }
    if (!reference["namespace"].AsString().empty()) {
      parent += fmt::format("/{}", reference["namespace"].AsString());
    }
    parent += fmt::format("/{}", reference["name"].AsString());
  }
  cells.Add(NameOf(object)).Add(parent).Add(CreatedAgo(object, ages));
}

// --- Volumes.

std::string AccessModes(const json::Value& modes) {
  constexpr std::pair<std::string_view, std::string_view> kShort[] = {{"ReadWriteOnce", "RWO"},
                                                                      {"ReadOnlyMany", "ROX"},
                                                                      {"ReadWriteMany", "RWX"},
                                                                      {"ReadWriteOncePod", "RWOP"}};
  std::vector<std::string_view> texts;
  for (const auto& [mode, text] : kShort) {
    for (const json::Value& given : modes.Items()) {
      if (given.AsString() == mode && std::ranges::find(texts, text) == texts.end()) {
        texts.push_back(text);
      }
    }
  }
  return fmt::format("{}", fmt::join(texts, ","));
}

std::string StorageClassOf(const json::Value& object) {
  const std::string_view annotated =
      object["metadata"]["annotations"]["volume.beta.kubernetes.io/storage-class"].AsString();
  return TextOr(annotated, object["spec"]["storageClassName"].AsString());
}

std::string VolumePhase(const json::Value& object) {
  return object["metadata"].Has("deletionTimestamp")
             ? "Terminating"
             : std::string(object["status"]["phase"].AsString());
}

void PrintPersistentVolume(const json::Value& object, Ages& ages, Cells& cells) {
  const json::Value& spec = object["spec"];
  std::string claim;
  if (const json::Value& reference = spec["claimRef"]; reference.IsObject()) {
    claim = fmt::format("{}/{}", reference["namespace"].AsString(), reference["name"].AsString());
  }
  cells.Add(NameOf(object))
      .Add(spec["capacity"]["storage"].AsString("0"))
      .Add(AccessModes(spec["accessModes"]))
      .Add(spec["persistentVolumeReclaimPolicy"].AsString())
      .Add(VolumePhase(object))
      .Add(claim)
      .Add(StorageClassOf(object))
      .Add(TextOr(spec["volumeAttributesClassName"], "<unset>"))
      .Add(object["status"]["reason"].AsString())
      .Add(CreatedAgo(object, ages))
      .Add(TextOr(spec["volumeMode"], "<unset>"));
}

void PrintPersistentVolumeClaim(const json::Value& object, Ages& ages, Cells& cells) {
  const json::Value& spec = object["spec"];
  const json::Value& status = object["status"];
  const bool bound = !spec["volumeName"].AsString().empty();
  cells.Add(NameOf(object))
      .Add(VolumePhase(object))
      .Add(spec["volumeName"].AsString())
      .Add(bound ? status["capacity"]["storage"].AsString("0") : "")
      .Add(bound ? AccessModes(status["accessModes"]) : "")
      .Add(StorageClassOf(object))
      .Add(TextOr(spec["volumeAttributesClassName"], "<unset>"))
      .Add(CreatedAgo(object, ages))
      .Add(TextOr(spec["volumeMode"], "<unset>"));
}

void PrintStorageClass(const json::Value& object, Ages& ages, Cells& cells) {
  cells.Add(NameOf(object))
      .Add(object["provisioner"].AsString())
      .Add(object["reclaimPolicy"].AsString("Delete"))
      .Add(object["volumeBindingMode"].AsString("Immediate"))
      .Add(object["allowVolumeExpansion"].AsBool())
      .Add(CreatedAgo(object, ages));
}

void PrintVolumeAttributesClass(const json::Value& object, Ages& ages, Cells& cells) {
  cells.Add(NameOf(object)).Add(object["driverName"].AsString()).Add(CreatedAgo(object, ages));
}

void PrintVolumeAttachment(const json::Value& object, Ages& ages, Cells& cells) {
  const json::Value& spec = object["spec"];
  cells.Add(NameOf(object))
      .Add(spec["attacher"].AsString())
      .Add(spec["source"]["persistentVolumeName"].AsString())
      .Add(spec["nodeName"].AsString())
      .Add(object["status"]["attached"].AsBool())
      .Add(CreatedAgo(object, ages));
}

void PrintCsiNode(const json::Value& object, Ages& ages, Cells& cells) {
  cells.Add(NameOf(object))
      .Add(static_cast<std::int64_t>(object["spec"]["drivers"].size()))
      .Add(CreatedAgo(object, ages));
}

void PrintCsiDriver(const json::Value& object, Ages& ages, Cells& cells) {
  const json::Value& spec = object["spec"];
  std::string audiences = "<unset>";
  if (spec.Has("tokenRequests")) {
    audiences.clear();
    for (const json::Value& request : spec["tokenRequests"].Items()) {
      if (&request != spec["tokenRequests"].Items().data()) audiences += ',';
      audiences += request["audience"].AsString();
    }
  }
  const std::string modes = JoinTexts(spec["volumeLifecycleModes"]);
  cells.Add(NameOf(object))
      .Add(spec["attachRequired"].AsBool(true))
      .Add(spec["podInfoOnMount"].AsBool())
      .Add(spec["storageCapacity"].AsBool())
      .Add(audiences)
      .Add(spec["requiresRepublish"].AsBool())
      .Add(modes.empty() ? "<none>" : modes)
      .Add(CreatedAgo(object, ages));
}

}  // namespace

const std::vector<PrinterEntry>& NetworkPrinters() {
  static const std::vector<PrinterEntry> kPrinters = {
      {"", "Service", PrintService},
      {"", "Endpoints", PrintEndpoints},
      {"discovery.k8s.io", "EndpointSlice", PrintEndpointSlice},
      {"networking.k8s.io", "Ingress", PrintIngress},
      {"networking.k8s.io", "IngressClass", PrintIngressClass},
      {"networking.k8s.io", "NetworkPolicy", PrintNetworkPolicy},
      {"networking.k8s.io", "ServiceCIDR", PrintServiceCidr},
      {"networking.k8s.io", "IPAddress", PrintIpAddress},
      {"", "PersistentVolume", PrintPersistentVolume},
      {"", "PersistentVolumeClaim", PrintPersistentVolumeClaim},
      {"storage.k8s.io", "StorageClass", PrintStorageClass},
      {"storage.k8s.io", "VolumeAttributesClass", PrintVolumeAttributesClass},
      {"storage.k8s.io", "VolumeAttachment", PrintVolumeAttachment},
      {"storage.k8s.io", "CSINode", PrintCsiNode},
      {"storage.k8s.io", "CSIDriver", PrintCsiDriver},
  };
  return kPrinters;
}

}  // namespace drachma::apiserver
