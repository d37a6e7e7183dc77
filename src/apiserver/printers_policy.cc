// Budgets, roles, admission, certificates, flow control and the API server's own kinds.
#include <fmt/format.h>

#include <map>

#include "apiserver/human.h"
#include "apiserver/printers.h"

namespace drachma::apiserver {
namespace {

std::string IntOrPercent(const json::Value& value) {
  if (value.IsNull()) return "N/A";
  return value.IsInt() ? std::to_string(value.AsInt()) : std::string(value.AsString());
}

void PrintPodDisruptionBudget(const json::Value& object, Ages& ages, Cells& cells) {
  cells.Add(NameOf(object))
      .Add(IntOrPercent(object["spec"]["minAvailable"]))
      .Add(IntOrPercent(object["spec"]["maxUnavailable"]))
      .Add(object["status"]["disruptionsAllowed"].AsInt())
      .Add(CreatedAgo(object, ages));
}

std::string SubjectsOf(const json::Value& binding, std::string_view kind) {
  std::string text;
  for (const json::Value& subject : binding["subjects"].Items()) {
    if (subject["kind"].AsString() != kind) continue;
    if (!text.empty()) text += ", ";
    if (kind == "ServiceAccount" && !subject["namespace"].AsString().empty()) {
      text += fmt::format("{}/", subject["namespace"].AsString());
    }
    text += subject["name"].AsString();
  }
  return text;
}

void PrintRoleBinding(const json::Value& object, Ages& ages, Cells& cells) {
  const json::Value& role = object["roleRef"];
  cells.Add(NameOf(object))
      .Add(fmt::format("{}/{}", role["kind"].AsString(), role["name"].AsString()))
      .Add(CreatedAgo(object, ages))
      .Add(SubjectsOf(object, "User"))
      .Add(SubjectsOf(object, "Group"))
      .Add(SubjectsOf(object, "ServiceAccount"));
}

// Kinds without a printer of their own show when they were created as a date.
void PrintNameAndDate(const json::Value& object, Ages& /*ages*/, Cells& cells) {
  cells.Add(NameOf(object)).Add(object["metadata"]["creationTimestamp"]);
}

void PrintWebhooks(const json::Value& object, Ages& ages, Cells& cells) {
  cells.Add(NameOf(object))
      .Add(static_cast<std::int64_t>(object["webhooks"].size()))
      .Add(CreatedAgo(object, ages));
}

std::string ParamKind(const json::Value& object) {
  const json::Value& kind = object["spec"]["paramKind"];
  if (!kind.IsObject()) return "<unset>";
  return fmt::format("{}/{}", kind["apiVersion"].AsString(), kind["kind"].AsString());
}

void PrintValidatingPolicy(const json::Value& object, Ages& ages, Cells& cells) {
  cells.Add(NameOf(object))
      .Add(static_cast<std::int64_t>(object["spec"]["validations"].size()))
      .Add(ParamKind(object))
      .Add(CreatedAgo(object, ages));
}

void PrintMutatingPolicy(const json::Value& object, Ages& ages, Cells& cells) {
  cells.Add(NameOf(object))
      .Add(static_cast<std::int64_t>(object["spec"]["mutations"].size()))
      .Add(ParamKind(object))
      .Add(CreatedAgo(object, ages));
}

std::string ParamReference(const json::Value& reference) {
  const std::string_view name = reference["name"].AsString();
  if (!name.empty()) {
    return fmt::format("{}/{}", reference["namespace"].AsString("*"), name);
  }
  return reference["selector"].IsObject() ? LabelSelectorText(reference["selector"]) : "<unset>";
}

void PrintPolicyBinding(const json::Value& object, Ages& ages, Cells& cells) {
  cells.Add(NameOf(object))
      .Add(object["spec"]["policyName"].AsString())
      .Add(ParamReference(object["spec"]["paramRef"]))
      .Add(CreatedAgo(object, ages));
}

std::string SigningRequestState(const json::Value& object) {
  const auto has = [&](std::string_view type) { return ConditionOf(object, type).IsObject(); };
  std::string state = has("Denied") ? "Denied" : has("Approved") ? "Approved" : "Pending";
  if (has("Failed")) state += ",Failed";
  if (!object["status"]["certificate"].AsString().empty()) state += ",Issued";
  return state;
}

void PrintSigningRequest(const json::Value& object, Ages& ages, Cells& cells) {
  const json::Value& spec = object["spec"];
  const json::Value& seconds = spec["expirationSeconds"];
  cells.Add(NameOf(object))
      .Add(CreatedAgo(object, ages))
      .Add(TextOr(spec["signerName"], "<none>"))
      .Add(spec["username"].AsString())
      .Add(seconds.IsInt() ? HumanDuration(std::chrono::seconds(seconds.AsInt())) : "<none>")
      .Add(SigningRequestState(object));
}

void PrintClusterTrustBundle(const json::Value& object, Ages& /*ages*/, Cells& cells) {
  cells.Add(NameOf(object)).Add(TextOr(object["spec"]["signerName"], "<none>"));
}

void PrintPodCertificateRequest(const json::Value& object, Ages& /*ages*/, Cells& cells) {
  std::string state = "Pending";
  for (const char* type : {"Issued", "Denied", "Failed"}) {
    if (ConditionOf(object, type).IsObject()) state = type;
  }
  const json::Value& spec = object["spec"];
  cells.Add(NameOf(object))
      .Add(spec["podName"].AsString())
      .Add(spec["serviceAccountName"].AsString())
      .Add(spec["nodeName"].AsString())
      .Add(spec["signerName"].AsString())
      .Add(state)
      .Add(FormatLabels(spec["unverifiedUserAnnotations"]));
}

void PrintFlowSchema(const json::Value& object, Ages& ages, Cells& cells) {
  const json::Value& spec = object["spec"];
  cells.Add(NameOf(object))
      .Add(spec["priorityLevelConfiguration"]["name"].AsString())
      .Add(spec["matchingPrecedence"].AsInt())
      .Add(TextOr(spec["distinguisherMethod"]["type"], "<none>"))
      .Add(CreatedAgo(object, ages))
      .Add(TextOr(ConditionOf(object, "Dangling")["status"], "?"));
}

json::Value NumberOrNone(const json::Value& value) {
  return value.IsInt() ? value : json::Value("<none>");
}

void PrintPriorityLevel(const json::Value& object, Ages& ages, Cells& cells) {
  const json::Value& limited = object["spec"]["limited"];
  const json::Value& queuing = limited["limitResponse"]["queuing"];
  cells.Add(NameOf(object))
      .Add(object["spec"]["type"].AsString())
      .Add(NumberOrNone(limited["nominalConcurrencyShares"]))
      .Add(NumberOrNone(queuing["queues"]))
      .Add(NumberOrNone(queuing["handSize"]))
      .Add(NumberOrNone(queuing["queueLengthLimit"]))
      .Add(CreatedAgo(object, ages));
}

void PrintStorageVersion(const json::Value& object, Ages& ages, Cells& cells) {
  std::vector<std::string> versions;
  for (const json::Value& version : object["status"]["storageVersions"].Items()) {
    versions.push_back(fmt::format("{}={}", version["apiServerID"].AsString(),
                                   version["encodingVersion"].AsString()));
  }
  cells.Add(NameOf(object))
      .Add(TextOr(object["status"]["commonEncodingVersion"], "<unset>"))
      .Add(JoinSome(versions, 3))
      .Add(CreatedAgo(object, ages));
}

void PrintMigration(const json::Value& object, Ages& /*ages*/, Cells& cells) {
  const json::Value& resource = object["spec"]["resource"];
  const std::string_view group = resource["group"].AsString();
  std::string state = "Unknown";
  for (const json::Value& condition : object["status"]["conditions"].Items()) {
    const std::string_view type = condition["type"].AsString();
    if (condition["status"].AsString() == "True" &&
        (type == "Running" || type == "Failed" || type == "Succeeded")) {
      state = type;
    }
  }
  cells.Add(NameOf(object))
      .Add(fmt::format("{}{}{}", resource["resource"].AsString(), group.empty() ? "" : ".", group))
      .Add(state);
}

void PrintApiService(const json::Value& object, Ages& ages, Cells& cells) {
  const json::Value& service = object["spec"]["service"];
  const json::Value& available = ConditionOf(object, "Available");
  std::string state = TextOr(available["status"], "Unknown");
  if (available.IsObject() && state != "True") {
    state += fmt::format(" ({})", available["reason"].AsString());
  }
  cells.Add(NameOf(object))
      .Add(service.IsObject()
               ? fmt::format("{}/{}", service["namespace"].AsString(), service["name"].AsString())
               : "Local")
      .Add(state)
      .Add(CreatedAgo(object, ages));
}

void PrintCustomResourceDefinition(const json::Value& object, Ages& /*ages*/, Cells& cells) {
  const json::Value& spec = object["spec"];
  std::string versions;
  for (const json::Value& version : spec["versions"].Items()) {
    if (!version["served"].AsBool()) continue;
    if (!versions.empty()) versions += ',';
    versions += version["name"].AsString();
  }
  std::string short_names;
  for (const json::Value& name : spec["names"]["shortNames"].Items()) {
    if (!short_names.empty()) short_names += ',';
    short_names += name.AsString();
  }
  cells.Add(NameOf(object))
      .Add(spec["scope"].AsString())
      .Add(versions)
      .Add(object["metadata"]["creationTimestamp"])
      .Add(spec["group"].AsString())
      .Add(spec["names"]["kind"].AsString())
      .Add(short_names)
      .Add(ConditionOf(object, "Established")["status"].AsString() == "True");
}

}  // namespace

const std::vector<PrinterEntry>& PolicyPrinters() {
  static const std::vector<PrinterEntry> kPrinters = {
      {"policy", "PodDisruptionBudget", PrintPodDisruptionBudget},
      {"rbac.authorization.k8s.io", "RoleBinding", PrintRoleBinding},
      {"rbac.authorization.k8s.io", "ClusterRoleBinding", PrintRoleBinding},
      {"rbac.authorization.k8s.io", "Role", PrintNameAndDate},
      {"rbac.authorization.k8s.io", "ClusterRole", PrintNameAndDate},
      {"", "LimitRange", PrintNameAndDate},
      {"storage.k8s.io", "CSIStorageCapacity", PrintNameAndDate},
      {"admissionregistration.k8s.io", "MutatingWebhookConfiguration", PrintWebhooks},
      {"admissionregistration.k8s.io", "ValidatingWebhookConfiguration", PrintWebhooks},
      {"admissionregistration.k8s.io", "ValidatingAdmissionPolicy", PrintValidatingPolicy},
      {"admissionregistration.k8s.io", "MutatingAdmissionPolicy", PrintMutatingPolicy},
      {"admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding", PrintPolicyBinding},
      {"admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding", PrintPolicyBinding},
      {"certificates.k8s.io", "CertificateSigningRequest", PrintSigningRequest},
      {"certificates.k8s.io", "ClusterTrustBundle", PrintClusterTrustBundle},
      {"certificates.k8s.io", "PodCertificateRequest", PrintPodCertificateRequest},
      {"flowcontrol.apiserver.k8s.io", "FlowSchema", PrintFlowSchema},
      {"flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration", PrintPriorityLevel},
      {"internal.apiserver.k8s.io", "StorageVersion", PrintStorageVersion},
      {"storagemigration.k8s.io", "StorageVersionMigration", PrintMigration},
      {"apiregistration.k8s.io", "APIService", PrintApiService},
      {"apiextensions.k8s.io", "CustomResourceDefinition", PrintCustomResourceDefinition},
  };
  return kPrinters;
}

}  // namespace drachma::apiserver
