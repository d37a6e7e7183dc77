#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "num/quantity.h"
#include "validation/names.h"
#include "validation/object_meta.h"
#include "validation/pod_rules.h"
#include "validation/resource_common.h"

// Volumes, where they are mounted, and references to fields of the pod.
namespace drachma::validation {
namespace {

using json::Value;

constexpr std::int64_t kModeMax = 0777;
constexpr std::int64_t kTokenSecondsMin = 600;

ErrorList ValidateMode(const Value& mode, const std::string& path) {
  if (mode.IsNull() || (mode.AsInt() >= 0 && mode.AsInt() <= kModeMax)) return {};
  return {Invalid(path, ShownInt(mode.AsInt()),
                  "must be a number between 0 and 0777 (octal), both inclusive")};
}

ErrorList ValidateNoBacksteps(std::string_view text, const std::string& path) {
  const auto parts = Split(text, '/');
  if (std::ranges::find(parts, std::string_view("..")) == parts.end()) return {};
  return {Invalid(path, ShownText(text), "must not contain '..'")};
}

ErrorList ValidateLocalPath(std::string_view text, const std::string& path) {
  ErrorList errors;
  if (text.starts_with('/')) {
    errors.push_back(Invalid(path, ShownText(text), "must be a relative path"));
  }
  Append(errors, ValidateNoBacksteps(text, path));
  return errors;
}

// A path inside a volume; names that begin with ".." are the kubelet's.
ErrorList ValidateUserPath(std::string_view text, const std::string& path) {
  ErrorList errors = ValidateLocalPath(text, path);
  if (text.starts_with("..") && !text.starts_with("../")) {
    errors.push_back(Invalid(path, ShownText(text), "must not start with '..'"));
  }
  return errors;
}

ErrorList ValidateItems(const Value& items, const std::string& path) {
  ErrorList errors;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Value& item = items.Items()[i];
    const std::string at = Index(path, i);
    for (const std::string_view field : {"key", "path"}) {
      if (item[field].AsString().empty()) errors.push_back(Required(Child(at, field)));
    }
    Append(errors, ValidateUserPath(item["path"].AsString(), Child(at, "path")));
    Append(errors, ValidateMode(item["mode"], Child(at, "mode")));
  }
  return errors;
}

ErrorList ValidateDownwardFile(const Value& file, const std::string& path) {
  static constexpr std::array<std::string_view, 5> kFields = {"metadata.annotations",
                                                              "metadata.labels", "metadata.name",
                                                              "metadata.namespace", "metadata.uid"};
  ErrorList errors;
  const std::string_view target = file["path"].AsString();
  if (target.empty()) errors.push_back(Required(Child(path, "path")));
  Append(errors, ValidateUserPath(target, Child(path, "path")));
  const Value& field = file["fieldRef"];
  const Value& resource = file["resourceFieldRef"];
  if (!field.IsNull()) {
    Append(errors, ValidateFieldRef(field, kFields, Child(path, "fieldRef")));
    if (!resource.IsNull()) {
      errors.push_back(
          Invalid(path, "\"resource\"",
                  "fieldRef and resourceFieldRef can not be specified simultaneously"));
    }
  } else if (!resource.IsNull()) {
    Append(errors, ValidateResourceFieldRef(resource, true, Child(path, "resourceFieldRef")));
  } else {
    errors.push_back(Required(path, "one of fieldRef and resourceFieldRef is required"));
  }
  Append(errors, ValidateMode(file["mode"], Child(path, "mode")));
  return errors;
}

ErrorList ValidateToken(const Value& token, const std::string& path) {
  ErrorList errors;
  const Value& seconds = token["expirationSeconds"];
  if (seconds.IsNull()) {
    errors.push_back(Required(Child(path, "expirationSeconds")));
  } else if (seconds.AsInt() < kTokenSecondsMin) {
    errors.push_back(Invalid(Child(path, "expirationSeconds"), ShownInt(seconds.AsInt()),
                             "may not specify a duration less than 10 minutes"));
  } else if (seconds.AsInt() > (std::int64_t{1} << 32U)) {
    errors.push_back(Invalid(Child(path, "expirationSeconds"), ShownInt(seconds.AsInt()),
                             "may not specify a duration larger than 2^32 seconds"));
  }
  if (token["path"].AsString().empty()) {
    errors.push_back(Required(Child(path, "path")));
  } else {
    Append(errors, ValidateUserPath(token["path"].AsString(), Child(path, "path")));
  }
  return errors;
}

ErrorList ValidateProjected(const Value& projected, const std::string& path) {
  ErrorList errors = ValidateMode(projected["defaultMode"], Child(path, "defaultMode"));
  NameSet paths;
  const auto note = [&](const Value& holder, const std::string& shown) {
    const std::string_view target = holder["path"].AsString();
    if (target.empty() || paths.emplace(target).second) return;
    errors.push_back(Invalid(path, shown, "conflicting duplicate paths"));
  };
  const auto sources = projected["sources"].Items();
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const std::string at = Index(Child(path, "sources"), i);
    int set = 0;
    for (const std::string_view kind : {"secret", "configMap"}) {
      const Value& source = sources[i][kind];
      if (source.IsNull()) continue;
      ++set;
      const std::string kind_path = Child(at, kind);
      if (source["name"].AsString().empty()) errors.push_back(Required(Child(kind_path, "name")));
      Append(errors, ValidateItems(source["items"], Child(kind_path, "items")));
      for (const Value& item : source["items"].Items()) {
        note(item, ShownText(source["name"].AsString()));
      }
    }
    if (const Value& downward = sources[i]["downwardAPI"]; !downward.IsNull()) {
      ++set;
      for (const Value& file : downward["items"].Items()) {
        Append(errors, ValidateDownwardFile(file, Child(at, "downwardAPI")));
        note(file, ShownText(file["path"].AsString()));
      }
    }
    if (const Value& token = sources[i]["serviceAccountToken"]; !token.IsNull()) {
      ++set;
      Append(errors, ValidateToken(token, Child(at, "serviceAccountToken")));
      note(token, ShownText(token["path"].AsString()));
    }
    for (const std::string_view kind : {"clusterTrustBundle", "podCertificate"}) {
      if (!sources[i][kind].IsNull()) ++set;
    }
    if (set > 1) {
      errors.push_back(Forbidden(at, "may not specify more than 1 volume type per source"));
    }
  }
  return errors;
}

// --- The rules of one kind of volume each.

ErrorList EmptyDir(const Value& source, const std::string& path) {
  const Value& limit = source["sizeLimit"];
  if (limit.IsNull() || Quantity::Parse(limit.AsString()).value_or(Quantity()).Sign() >= 0)
    return {};
  return {Forbidden(Child(path, "sizeLimit"), "SizeLimit field must be a valid resource quantity")};
}

ErrorList HostPath(const Value& source, const std::string& path) {
  static constexpr std::array<std::string_view, 8> kTypes = {
      "",     "BlockDevice",  "CharDevice", "Directory", "DirectoryOrCreate",
      "File", "FileOrCreate", "Socket"};
  if (source["path"].AsString().empty()) return {Required(Child(path, "path"))};
  ErrorList errors = ValidateNoBacksteps(source["path"].AsString(), Child(path, "path"));
  const std::string_view type = source["type"].AsString();
  if (std::ranges::find(kTypes, type) == kTypes.end()) {
    errors.push_back(NotSupported(Child(path, "type"), ShownNamed(type), kTypes));
  }
  return errors;
}

ErrorList SecretOrConfigMap(const Value& source, std::string_view name_field,
                            const std::string& path) {
  ErrorList errors;
  if (source[name_field].AsString().empty()) errors.push_back(Required(Child(path, name_field)));
  Append(errors, ValidateMode(source["defaultMode"], Child(path, "defaultMode")));
  Append(errors, ValidateItems(source["items"], Child(path, "items")));
  return errors;
}
ErrorList SecretVolume(const Value& source, const std::string& path) {
  return SecretOrConfigMap(source, "secretName", path);
}
ErrorList ConfigMapVolume(const Value& source, const std::string& path) {
  return SecretOrConfigMap(source, "name", path);
}

ErrorList ClaimVolume(const Value& source, const std::string& path) {
  if (!source["claimName"].AsString().empty()) return {};
  return {Required(Child(path, "claimName"))};
}

ErrorList NfsVolume(const Value& source, const std::string& path) {
  ErrorList errors;
  for (const std::string_view field : {"server", "path"}) {
    if (source[field].AsString().empty()) errors.push_back(Required(Child(path, field)));
  }
  const std::string_view target = source["path"].AsString();
  if (!target.starts_with('/')) {
    errors.push_back(Invalid(Child(path, "path"), ShownText(target), "must be an absolute path"));
  }
  return errors;
}

ErrorList DownwardVolume(const Value& source, const std::string& path) {
  ErrorList errors = ValidateMode(source["defaultMode"], Child(path, "defaultMode"));
  for (const Value& file : source["items"].Items()) {
    Append(errors, ValidateDownwardFile(file, path));
  }
  return errors;
}

ErrorList CsiVolume(const Value& source, const std::string& path) {
  return ValidateDriverName(source["driver"].AsString(), Child(path, "driver"));
}

ErrorList EphemeralVolume(const Value& source, const std::string& path) {
  if (!source["volumeClaimTemplate"].IsNull()) return {};
  return {Required(Child(path, "volumeClaimTemplate"))};
}

ErrorList ImageVolume(const Value& source, const std::string& path) {
  static constexpr std::array<std::string_view, 3> kPolicies = {"Always", "IfNotPresent", "Never"};
  return ValidateChoice(source["pullPolicy"].AsString(), kPolicies, Child(path, "pullPolicy"));
}

using VolumeRule = ErrorList (*)(const Value& source, const std::string& path);

struct VolumeKind {
  std::string_view name;
  VolumeRule rule;  // null for kinds that are only counted
};

// In upstream's order.
constexpr std::array<VolumeKind, 30> kVolumeKinds = {{
    {"emptyDir", EmptyDir},
    {"hostPath", HostPath},
    {"gitRepo", nullptr},
    {"gcePersistentDisk", nullptr},
    {"awsElasticBlockStore", nullptr},
    {"secret", SecretVolume},
    {"nfs", NfsVolume},
    {"iscsi", nullptr},
    {"glusterfs", nullptr},
    {"flocker", nullptr},
    {"persistentVolumeClaim", ClaimVolume},
    {"rbd", nullptr},
    {"cinder", nullptr},
    {"cephfs", nullptr},
    {"quobyte", nullptr},
    {"downwardAPI", DownwardVolume},
    {"fc", nullptr},
    {"flexVolume", nullptr},
    {"configMap", ConfigMapVolume},
    {"azureFile", nullptr},
    {"vsphereVolume", nullptr},
    {"photonPersistentDisk", nullptr},
    {"portworxVolume", nullptr},
    {"azureDisk", nullptr},
    {"storageos", nullptr},
    {"projected", ValidateProjected},
    {"scaleIO", nullptr},
    {"csi", CsiVolume},
    {"ephemeral", EphemeralVolume},
    {"image", ImageVolume},
}};

ErrorList ValidateVolumeSource(const Value& volume, const std::string& path) {
  ErrorList errors;
  bool set = false;
  for (const VolumeKind& kind : kVolumeKinds) {
    const Value& source = volume[kind.name];
    if (source.IsNull()) continue;
    if (set) {
      errors.push_back(
          Forbidden(Child(path, kind.name), "may not specify more than 1 volume type"));
      continue;
    }
    set = true;
    if (kind.rule != nullptr) Append(errors, kind.rule(source, Child(path, kind.name)));
  }
  if (!set) errors.push_back(Required(path, "must specify a volume type"));
  return errors;
}

ErrorList ValidateMount(const Value& mount, const Value& container, const std::string& list_path,
                        const std::string& path) {
  ErrorList errors;
  const std::string_view sub = mount["subPath"].AsString();
  const std::string_view expression = mount["subPathExpr"].AsString();
  // Upstream reports these at the list, not at the item.
  if (!sub.empty()) Append(errors, ValidateLocalPath(sub, Child(list_path, "subPath")));
  if (!expression.empty()) {
    if (!sub.empty()) {
      errors.push_back(Invalid(Child(path, "subPathExpr"), ShownText(expression),
                               "subPathExpr and subPath are mutually exclusive"));
    }
    Append(errors, ValidateLocalPath(expression, Child(list_path, "subPathExpr")));
  }
  const Value& propagation = mount["mountPropagation"];
  if (propagation.IsNull()) return errors;
  static constexpr std::array<std::string_view, 3> kModes = {"Bidirectional", "HostToContainer",
                                                             "None"};
  const std::string mode_path = Child(list_path, "mountPropagation");
  const std::string_view mode = propagation.AsString();
  if (std::ranges::find(kModes, mode) == kModes.end()) {
    errors.push_back(NotSupported(mode_path, ShownNamed(mode), kModes));
  }
  if (mode == "Bidirectional" && !container["securityContext"]["privileged"].AsBool()) {
    errors.push_back(Forbidden(
        mode_path, "Bidirectional mount propagation is available only to privileged containers"));
  }
  return errors;
}

ErrorList ValidateDevices(const Value& container, const PodFacts& facts, const std::string& path) {
  ErrorList errors;
  NameSet names;
  NameSet paths;
  const auto devices = container["volumeDevices"].Items();
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const std::string at = Index(path, i);
    const std::string_view name = devices[i]["name"].AsString();
    const std::string_view target = devices[i]["devicePath"].AsString();
    const auto fault = [&](std::string_view field, std::string_view value, const char* detail) {
      errors.push_back(Invalid(Child(at, field), ShownText(value), detail));
    };
    if (name.empty()) errors.push_back(Required(Child(at, "name")));
    if (names.contains(name)) fault("name", name, "must be unique");
    const auto volume = facts.volumes.find(name);
    if (volume == facts.volumes.end()) {
      errors.push_back(NotFound(Child(at, "name"), ShownText(name)));
    } else if (volume->second["persistentVolumeClaim"].IsNull() &&
               volume->second["ephemeral"].IsNull()) {
      fault("name", name,
            "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode");
    }
    if (target.empty()) errors.push_back(Required(Child(at, "devicePath")));
    if (paths.contains(target)) fault("devicePath", target, "must be unique");
    if (!ValidateNoBacksteps(target, "").empty()) {
      fault("devicePath", target, "can not contain backsteps ('..')");
    } else {
      paths.emplace(target);
    }
    if (!name.empty()) names.emplace(name);
  }
  return errors;
}

}  // namespace

ErrorList ValidateFieldRef(const Value& ref, std::span<const std::string_view> supported,
                           const std::string& path) {
  if (ref["apiVersion"].AsString().empty()) return {Required(Child(path, "apiVersion"))};
  const std::string_view field = ref["fieldPath"].AsString();
  const std::string field_path = Child(path, "fieldPath");
  if (field.empty()) return {Required(field_path)};
  if (field.ends_with("']") && field.contains("['")) {
    const std::size_t open = field.find("['");
    const std::string_view holder = field.substr(0, open);
    const std::string_view key = field.substr(open + 2, field.size() - open - 4);
    if (holder == "metadata.annotations") {
      return ValidateQualifiedNameAt(AsciiLower(key), path);
    }
    if (holder == "metadata.labels") return ValidateQualifiedNameAt(key, path);
    return {Invalid(field_path, ShownText(field),
                    fmt::format("error converting fieldPath: field label does not support "
                                "subscript: {}",
                                field))};
  }
  if (std::ranges::find(supported, field) != supported.end()) return {};
  // Labels that pods know but that cannot stand here are told apart from unknown ones.
  static constexpr std::array<std::string_view, 11> kKnown = {
      "metadata.annotations", "metadata.labels", "metadata.name",      "metadata.namespace",
      "metadata.uid",         "spec.nodeName",   "spec.restartPolicy", "spec.serviceAccountName",
      "spec.schedulerName",   "status.phase",    "spec.hostNetwork"};
  const bool known = std::ranges::find(kKnown, field) != kKnown.end() ||
                     field.starts_with("status.hostIP") || field.starts_with("status.podIP");
  if (known) return {NotSupported(field_path, ShownText(field), supported)};
  return {Invalid(field_path, ShownText(field),
                  fmt::format("error converting fieldPath: field label not supported: {}", field))};
}

ErrorList ValidateResourceFieldRef(const Value& ref, bool in_volume, const std::string& path) {
  static constexpr std::array<std::string_view, 6> kResources = {
      "limits.cpu",   "limits.ephemeral-storage",   "limits.memory",
      "requests.cpu", "requests.ephemeral-storage", "requests.memory"};
  const std::string_view resource = ref["resource"].AsString();
  if (in_volume && ref["containerName"].AsString().empty()) {
    return {Required(Child(path, "containerName"))};
  }
  if (resource.empty()) return {Required(Child(path, "resource"))};
  if (std::ranges::find(kResources, resource) != kResources.end() ||
      resource.starts_with("limits.hugepages-") || resource.starts_with("requests.hugepages-")) {
    return {};
  }
  return {NotSupported(Child(path, "resource"), ShownText(resource), kResources)};
}

ErrorList ValidateVolumes(const Value& volumes, PodFacts& facts, const std::string& path) {
  ErrorList errors;
  for (std::size_t i = 0; i < volumes.size(); ++i) {
    const Value& volume = volumes.Items()[i];
    const std::string at = Index(path, i);
    const std::string name(volume["name"].AsString());
    ErrorList found = ValidateVolumeSource(volume, at);
    if (name.empty()) {
      found.push_back(Required(Child(at, "name")));
    } else {
      Append(found, ValidateDnsLabelAt(name, Child(at, "name")));
    }
    if (facts.volumes.contains(name)) {
      found.push_back(Duplicate(Child(at, "name"), ShownText(name)));
    }
    if (found.empty()) facts.volumes.emplace(name, volume);
    Append(errors, std::move(found));
  }
  return errors;
}

ErrorList ValidateVolumeMounts(const Value& container, const PodFacts& facts,
                               const std::string& container_path) {
  const std::string path = Child(container_path, "volumeMounts");
  ErrorList errors;
  NameSet points;
  NameSet device_names;
  for (const Value& device : container["volumeDevices"].Items()) {
    device_names.emplace(device["name"].AsString());
  }
  const auto mounts = container["volumeMounts"].Items();
  for (std::size_t i = 0; i < mounts.size(); ++i) {
    const std::string at = Index(path, i);
    const std::string_view name = mounts[i]["name"].AsString();
    const std::string_view point = mounts[i]["mountPath"].AsString();
    if (name.empty()) errors.push_back(Required(Child(at, "name")));
    if (!facts.volumes.contains(name)) {
      errors.push_back(NotFound(Child(at, "name"), ShownText(name)));
    }
    if (point.empty()) errors.push_back(Required(Child(at, "mountPath")));
    if (!points.emplace(point).second) {
      errors.push_back(Invalid(Child(at, "mountPath"), ShownText(point), "must be unique"));
    }
    if (device_names.contains(name)) {
      errors.push_back(
          Invalid(Child(at, "name"), ShownText(name), "must not already exist in volumeDevices"));
    }
    Append(errors, ValidateMount(mounts[i], container, path, at));
  }
  Append(errors, ValidateDevices(container, facts, Child(container_path, "volumeDevices")));
  return errors;
}

}  // namespace drachma::validation
