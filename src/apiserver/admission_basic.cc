// Admission plugins that fill in or refuse by what the object and its surroundings say.
#include "apiserver/admission_basic.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "apiserver/admission_refusal.h"
#include "apiserver/status.h"

namespace drachma::apiserver {
namespace {

bool IsPod(const AdmissionRequest& request) {
  return request.group.empty() && request.resource == "pods" && request.subresource.empty();
}

std::unexpected<Error> Refuse(const AdmissionRequest& request, std::string_view why) {
  return std::unexpected(AdmissionRefusal(request, why));
}

}  // namespace

Status NamespaceLifecycle::Admit(AdmissionRequest& request, const ObjectReader& objects) {
  static constexpr std::string_view kImmortal[] = {"default", "kube-public", "kube-system"};
  const bool is_namespace = request.group.empty() && request.resource == "namespaces";
  if (is_namespace) {
    const bool immortal = std::ranges::find(kImmortal, request.name) != std::end(kImmortal);
    if (request.operation == Operation::kDelete && immortal) {
      return Refuse(request, "this namespace may not be deleted");
    }
    return {};
  }
  if (request.ns.empty() || request.operation == Operation::kDelete) return {};
  const json::Value space = objects.Get("", "namespaces", "", request.ns);
  if (space.IsNull()) return std::unexpected(NotFoundError("", "namespaces", request.ns));
  if (request.operation != Operation::kCreate ||
      space.At({"status", "phase"}).AsString() != "Terminating") {
    return {};
  }
  auto refusal = Refuse(
      request, fmt::format("unable to create new content in namespace {} because it is being "
                           "terminated",
                           request.ns));
  refusal.error().causes.push_back(
      {.reason = "NamespaceTerminating",
       .field = "metadata.namespace",
       .message = fmt::format("namespace {} is being terminated", request.ns)});
  return refusal;
}

Status TaintNodesByCondition::Admit(AdmissionRequest& request, const ObjectReader& /*objects*/) {
  constexpr std::string_view kNotReady = "node.kubernetes.io/not-ready";
  if (!request.group.empty() || request.resource != "nodes" || !request.subresource.empty() ||
      request.operation != Operation::kCreate) {
    return {};
  }
  for (const json::Value& taint : request.object.At({"spec", "taints"}).Items()) {
    if (taint["key"].AsString() == kNotReady && taint["effect"].AsString() == "NoSchedule") {
      return {};
    }
  }
  request.object.Edit("spec").Edit("taints").Append(
      json::Value::Object({{"key", kNotReady}, {"effect", "NoSchedule"}}));
  return {};
}

namespace {

// What a pod gets from its PriorityClass.
struct PodPriority {
  std::string class_name;
  std::int64_t value = 0;
  std::string preemption_policy = "PreemptLowerPriority";
};

PodPriority PriorityOf(const json::Value& priority_class) {
  return {.class_name = std::string(priority_class.At({"metadata", "name"}).AsString()),
          .value = priority_class["value"].AsInt(),
          .preemption_policy =
              std::string(priority_class["preemptionPolicy"].AsString("PreemptLowerPriority"))};
}

// The class of pods that name none: the one marked globalDefault; of several the lowest.
PodPriority DefaultPriority(const ObjectReader& objects) {
  std::optional<PodPriority> found;
  objects.ForEach("scheduling.k8s.io", "priorityclasses", "", [&](const json::Value& candidate) {
    if (!candidate["globalDefault"].AsBool()) return;
    if (!found || candidate["value"].AsInt() < found->value) found = PriorityOf(candidate);
  });
  return found.value_or(PodPriority{});
}

// What the class that the object names gives. ERRORS: kForbidden when there is no such class.
Result<PodPriority> ResolvePriority(const AdmissionRequest& request, const ObjectReader& objects) {
  const std::string name(request.object.At({"spec", "priorityClassName"}).AsString());
  if (name.empty()) return DefaultPriority(objects);
  const json::Value found = objects.Get("scheduling.k8s.io", "priorityclasses", "", name);
  if (found.IsNull()) {
    return Refuse(request, fmt::format("no PriorityClass with name {} was found", name));
  }
  return PriorityOf(found);
}

}  // namespace

Status Priority::AdmitGroup(AdmissionRequest& request, const ObjectReader& objects,
                            std::string_view noun) {
  if (request.operation == Operation::kDelete || !request.subresource.empty()) return {};
  const bool with_policy = gates_.On(api::Gate::kPodGroupPreemptionPolicy);
  // A default that exists only with the gate; upstream's table of defaults knows gates.
  if (with_policy && request.object.At({"spec", "preemptionPolicy"}).IsNull()) {
    request.object.Edit("spec").Set("preemptionPolicy", PodPriority{}.preemption_policy);
  }
  if (request.operation != Operation::kCreate) return {};
  DRA_ASSIGN(const PodPriority priority, ResolvePriority(request, objects));
  const json::Value& spec = request.object["spec"];
  if (spec["priority"].IsInt() && spec["priority"].AsInt() != priority.value) {
    return Refuse(request, fmt::format("priority set in the {} ({}) must match the priority "
                                       "computed ({}) based on the priority class set in the spec",
                                       noun, spec["priority"].AsInt(), priority.value));
  }
  const std::string_view policy = spec["preemptionPolicy"].AsString();
  if (with_policy && policy != priority.preemption_policy) {
    return Refuse(request,
                  fmt::format("the string value of PreemptionPolicy ({}) must not be provided in "
                              "{} spec; priority admission controller computed {} from the given "
                              "PriorityClass name",
                              policy, noun, priority.preemption_policy));
  }
  json::Value& changed = request.object.Edit("spec");
  if (!priority.class_name.empty()) changed.Set("priorityClassName", priority.class_name);
  changed.Set("priority", priority.value);
  return {};
}

Status Priority::Admit(AdmissionRequest& request, const ObjectReader& objects) {
  if (request.group == "scheduling.k8s.io") {
    if (request.resource == "podgroups") return AdmitGroup(request, objects, "pod group");
    if (request.resource == "compositepodgroups") {
      return AdmitGroup(request, objects, "composite pod group");
    }
  }
  if (!IsPod(request)) return {};
  const json::Value& spec = request.object["spec"];
  if (request.operation == Operation::kUpdate) {
    const json::Value& old = request.old_object["spec"];
    for (const char* field : {"priority", "preemptionPolicy"}) {
      if (spec[field].IsNull() && !old[field].IsNull()) {
        request.object.Edit("spec").Set(field, old[field]);
      }
    }
    return {};
  }
  if (request.operation != Operation::kCreate) return {};
  DRA_ASSIGN(const PodPriority priority, ResolvePriority(request, objects));
  if (spec["priority"].IsInt() && spec["priority"].AsInt() != priority.value) {
    return Refuse(request,
                  fmt::format("the integer value of priority ({}) must not be provided in pod "
                              "spec; priority admission controller computed {} from the given "
                              "PriorityClass name",
                              spec["priority"].AsInt(), priority.value));
  }
  const std::string_view policy = spec["preemptionPolicy"].AsString();
  if (!policy.empty() && policy != priority.preemption_policy) {
    return Refuse(request,
                  fmt::format("the string value of PreemptionPolicy ({}) must not be provided in "
                              "pod spec; priority admission controller computed {} from the given "
                              "PriorityClass name",
                              policy, priority.preemption_policy));
  }
  json::Value& changed = request.object.Edit("spec");
  if (!priority.class_name.empty()) changed.Set("priorityClassName", priority.class_name);
  changed.Set("priority", priority.value);
  changed.Set("preemptionPolicy", priority.preemption_policy);
  return {};
}

namespace {

// Gives a new object of `resource` the finalizer with which a controller keeps it while it is used.
void AddFinalizer(AdmissionRequest& request, std::string_view group, std::string_view resource,
                  std::string_view finalizer) {
  const bool is_new = request.group == group && request.resource == resource &&
                      request.subresource.empty() && request.operation == Operation::kCreate;
  if (!is_new) return;
  for (const json::Value& present : request.object.At({"metadata", "finalizers"}).Items()) {
    if (present.AsString() == finalizer) return;
  }
  request.object.Edit("metadata").Edit("finalizers").Append(finalizer);
}

}  // namespace

Status PodGroupProtection::Admit(AdmissionRequest& request, const ObjectReader& /*objects*/) {
  AddFinalizer(request, "scheduling.k8s.io", "podgroups", "scheduling.k8s.io/podgroup-protection");
  return {};
}

Status StorageObjectInUseProtection::Admit(AdmissionRequest& request,
                                           const ObjectReader& /*objects*/) {
  AddFinalizer(request, "", "persistentvolumeclaims", "kubernetes.io/pvc-protection");
  AddFinalizer(request, "", "persistentvolumes", "kubernetes.io/pv-protection");
  AddFinalizer(request, "storage.k8s.io", "volumeattributesclasses",
               "kubernetes.io/vac-protection");
  return {};
}

Status Priority::Validate(AdmissionRequest& request, const ObjectReader& objects) {
  const bool is_class =
      request.group == "scheduling.k8s.io" && request.resource == "priorityclasses";
  if (!is_class || request.operation == Operation::kDelete ||
      !request.object["globalDefault"].AsBool()) {
    return {};
  }
  const std::string name(request.object.At({"metadata", "name"}).AsString());
  const PodPriority present = DefaultPriority(objects);
  if (present.class_name.empty() || present.class_name == name) return {};
  return Refuse(request, fmt::format("PriorityClass {} is already marked as default. Only one "
                                     "PriorityClass can be marked as default",
                                     present.class_name));
}

namespace {

constexpr std::int64_t kTolerationSeconds = 300;

bool Tolerates(const json::Value& tolerations, std::string_view key) {
  return std::ranges::any_of(tolerations.Items(), [&](const json::Value& toleration) {
    const std::string_view own = toleration["key"].AsString();
    const std::string_view effect = toleration["effect"].AsString();
    return (own == key || own.empty()) && (effect == "NoExecute" || effect.empty());
  });
}

}  // namespace

Status DefaultTolerationSeconds::Admit(AdmissionRequest& request, const ObjectReader& /*objects*/) {
  if (!IsPod(request) || request.operation == Operation::kDelete) return {};
  for (const char* key : {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}) {
    if (Tolerates(request.object.At({"spec", "tolerations"}), key)) continue;
    request.object.Edit("spec")
        .Edit("tolerations")
        .Append(json::Value::Object({{"key", key},
                                     {"operator", "Exists"},
                                     {"effect", "NoExecute"},
                                     {"tolerationSeconds", kTolerationSeconds}}));
  }
  return {};
}

namespace {

constexpr std::string_view kTokenPath = "/var/run/secrets/kubernetes.io/serviceaccount";

json::Value TokenVolume(std::string_view name) {
  constexpr std::int64_t kTokenSeconds = 3607;
  constexpr std::int64_t kMode = 0644;
  const auto item = [](const char* key, const char* path) {
    return json::Value::Array({json::Value::Object({{"key", key}, {"path", path}})});
  };
  const json::Value field = json::Value::Object(
      {{"path", "namespace"},
       {"fieldRef",
        json::Value::Object({{"apiVersion", "v1"}, {"fieldPath", "metadata.namespace"}})}});
  return json::Value::Object(
      {{"name", name},
       {"projected",
        json::Value::Object(
            {{"sources",
              json::Value::Array(
                  {json::Value::Object({{"serviceAccountToken",
                                         json::Value::Object({{"expirationSeconds", kTokenSeconds},
                                                              {"path", "token"}})}}),
                   json::Value::Object(
                       {{"configMap", json::Value::Object({{"name", "kube-root-ca.crt"},
                                                           {"items", item("ca.crt", "ca.crt")}})}}),
                   json::Value::Object(
                       {{"downwardAPI",
                         json::Value::Object({{"items", json::Value::Array({field})}})}})})},
             {"defaultMode", kMode}})}});
}

void MountToken(json::Value& spec, std::string_view volume) {
  bool mounted = false;
  for (const char* list : {"initContainers", "containers"}) {
    for (std::size_t i = 0; i < spec[list].size(); ++i) {
      const auto mounts = spec[list].Items()[i]["volumeMounts"].Items();
      if (std::ranges::any_of(mounts, [](const json::Value& mount) {
            return mount["mountPath"].AsString() == kTokenPath;
          })) {
        continue;
      }
      spec.Edit(list)
          .EditItem(i)
          .Edit("volumeMounts")
          .Append(json::Value::Object(
              {{"name", volume}, {"readOnly", true}, {"mountPath", kTokenPath}}));
      mounted = true;
    }
  }
  if (mounted) spec.Edit("volumes").Append(TokenVolume(volume));
}

}  // namespace

Status ServiceAccount::Admit(AdmissionRequest& request, const ObjectReader& objects) {
  if (!IsPod(request) || request.operation != Operation::kCreate) return {};
  if (request.object.At({"metadata", "annotations"}).Has("kubernetes.io/config.mirror")) return {};
  json::Value& spec = request.object.Edit("spec");
  const std::string name(spec["serviceAccountName"].AsString("default"));
  const json::Value account = objects.Get("", "serviceaccounts", request.ns, name);
  if (account.IsNull()) {
    return Refuse(request,
                  fmt::format("error looking up service account {}/{}: serviceaccount \"{}\" not "
                              "found",
                              request.ns, name, name));
  }
  spec.Set("serviceAccountName", name);
  spec.Set("serviceAccount", name);
  if (spec["imagePullSecrets"].empty() && !account["imagePullSecrets"].empty()) {
    spec.Set("imagePullSecrets", account["imagePullSecrets"]);
  }
  const bool automount = spec["automountServiceAccountToken"].IsBool()
                             ? spec["automountServiceAccountToken"].AsBool()
                             : account["automountServiceAccountToken"].AsBool(true);
  if (automount) MountToken(spec, "kube-api-access-" + random_.NameSuffix());
  return {};
}

}  // namespace drachma::apiserver
