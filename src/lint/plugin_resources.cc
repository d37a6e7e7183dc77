#include "lint/plugin_resources.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "json/yaml.h"

namespace drachma::lint {
namespace {

using json::Value;

struct KnownResource {
  std::string_view resource;
  std::string_view device_class;  // also the driver's name
};
// Resources of device plugins and the DRA drivers of the same vendors.
constexpr auto kKnown = std::to_array<KnownResource>({
    {"nvidia.com/gpu", "gpu.nvidia.com"},
    {"amd.com/gpu", "gpu.amd.com"},
    {"gpu.intel.com/i915", "gpu.intel.com"},
    {"gpu.intel.com/xe", "gpu.intel.com"},
    {"habana.ai/gaudi", "gaudi.intel.com"},
    {"qat.intel.com/generic", "qat.intel.com"},
    {"google.com/tpu", "tpu.google.com"},
    {"aws.amazon.com/neuron", "neuron.aws.com"},
    {"example.com/gpu", "gpu.example.com"},
});
// Plugins for networks and files of devices, which go on beside DRA.
constexpr std::array<std::string_view, 6> kOtherPlugins = {
    "rdma/",         "vpc.amazonaws.com/", "devices.kubevirt.io/",
    "openshift.io/", "smarter-devices/",   "squat.ai/"};
constexpr std::string_view kNvidia = "gpu.nvidia.com";
constexpr std::string_view kMigPrefix = "nvidia.com/mig-";
constexpr std::string_view kMigClass = "mig.nvidia.com";
constexpr std::string_view kSharedSuffix = ".shared";
constexpr std::string_view kMediaEngines = ".me";  // "1g.10gb.me" is the profile 1g.10gb+me
constexpr std::string_view kImplicit = "deviceclass.resource.kubernetes.io/";

// A word of names: lower case letters, digits and dashes.
std::string Word(std::string_view text) {
  std::string word;
  for (const char c : text) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0;
    word += plain ? static_cast<char>(std::tolower(static_cast<unsigned char>(c))) : '-';
  }
  return word;
}

// The resource without what says that it is shared.
std::string_view WithoutSuffix(std::string_view resource) {
  if (resource.ends_with(kSharedSuffix)) resource.remove_suffix(kSharedSuffix.size());
  return resource;
}

std::optional<PluginMapping> FindWhole(std::string_view resource) {
  if (resource.starts_with(kMigPrefix)) {
    std::string profile(resource.substr(kMigPrefix.size()));
    if (profile.ends_with(kMediaEngines)) {
      profile.replace(profile.size() - kMediaEngines.size(), kMediaEngines.size(), "+me");
    }
    return PluginMapping{.resource = std::string(resource),
                         .device_class = std::string(kMigClass),
                         .driver = std::string(kNvidia),
                         .profile = std::move(profile),
                         .mig = true};
  }
  const auto* known = std::ranges::find(kKnown, resource, &KnownResource::resource);
  if (known == kKnown.end()) return std::nullopt;
  return PluginMapping{.resource = std::string(resource),
                       .device_class = std::string(known->device_class),
                       .driver = std::string(known->device_class)};
}

}  // namespace

std::string PluginMapping::Noun() const {
  if (!profile.empty()) return "mig-" + Word(profile);
  if (mig) return "mig";
  const std::string_view name = WithoutSuffix(resource);
  const std::string_view last = name.substr(name.rfind('/') + 1);
  return last == "i915" || last == "xe" ? "gpu" : Word(last);
}

std::vector<std::string> PluginMapping::Selectors() const {
  if (profile.empty() || own_class) return {};
  return {fmt::format("device.attributes['{}'].profile == '{}'", driver, profile)};
}

bool IsVendorResource(std::string_view resource) {
  const std::size_t slash = resource.find('/');
  return slash != std::string_view::npos && resource.find("kubernetes.io/") == resource.npos;
}

bool IsPluginConfig(const Value& document) {
  const bool parts = document["sharing"].IsObject() || document["flags"].IsObject() ||
                     document["resources"].IsObject();
  return document["version"].AsString() == "v1" && !document.Has("kind") && parts;
}

PluginCatalog::PluginCatalog(std::span<const Value> objects, std::span<const std::string> kept)
    : kept_(kept.begin(), kept.end()) {
  for (const Value& object : objects) {
    if (IsPluginConfig(object)) ReadSharing(object["sharing"]);
    const std::string_view kind = object["kind"].AsString();
    if (kind == "ConfigMap") {
      for (const json::Member& entry : object["data"].Members()) {
        const Result<Value> config = json::ReadYamlValue(entry.value.AsString());
        if (config && IsPluginConfig(*config)) ReadSharing((*config)["sharing"]);
      }
    }
    const std::string_view resource = object["spec"]["extendedResourceName"].AsString();
    if (kind != "DeviceClass" || resource.empty()) continue;
    classes_.emplace(resource, object["metadata"]["name"].AsString());
    resources_.emplace(object["metadata"]["name"].AsString(), resource);
  }
}

// The first config counts: of nodes with different ones nobody can say which the pods will see.
void PluginCatalog::ReadSharing(const Value& sharing) {
  for (const std::string_view strategy : {"timeSlicing", "mps"}) {
    const Value& settings = sharing[strategy];
    for (const Value& entry : settings["resources"].Items()) {
      const std::string of(entry["name"].AsString());
      std::string name(entry["rename"].AsString());
      if (name.empty()) {
        name = of + (settings["renameByDefault"].AsBool() ? std::string(kSharedSuffix) : "");
      }
      const SharedUse use{.mps = strategy == "mps", .replicas = entry["replicas"].AsInt()};
      if (use.replicas > 1) shares_.emplace(std::move(name), Share{of, use});
    }
  }
}

std::optional<PluginMapping> PluginCatalog::Find(std::string_view resource) const {
  if (resource.starts_with(kImplicit)) return std::nullopt;  // of a DeviceClass already
  if (std::ranges::find(kept_, resource) != kept_.end()) return std::nullopt;
  if (const auto named = classes_.find(resource); named != classes_.end()) {
    return PluginMapping{.resource = std::string(resource),
                         .device_class = named->second,
                         .driver = std::string(resource.starts_with("nvidia.com/") ? kNvidia : ""),
                         .own_class = true};
  }
  const auto share = shares_.find(resource);
  std::optional<PluginMapping> mapping =
      FindWhole(share == shares_.end() ? WithoutSuffix(resource) : share->second.of);
  if (!mapping) return mapping;
  mapping->resource = resource;
  if (share != shares_.end()) {
    mapping->shared = share->second.use;
  } else if (resource.ends_with(kSharedSuffix)) {
    mapping->shared = SharedUse{};
  }
  return mapping;
}

bool PluginCatalog::Stays(std::string_view resource) const {
  const auto begins = [&](std::string_view prefix) { return resource.starts_with(prefix); };
  return std::ranges::find(kept_, resource) != kept_.end() ||
         std::ranges::any_of(kOtherPlugins, begins);
}

std::string PluginCatalog::ResourceOf(std::string_view device_class) const {
  const auto named = resources_.find(device_class);
  if (named != resources_.end()) return named->second;
  const auto* known = std::ranges::find(kKnown, device_class, &KnownResource::device_class);
  if (known != kKnown.end()) return std::string(known->resource);
  return fmt::format("{}{}", kImplicit, device_class);
}

Value MakeOfferingClass(const PluginMapping& mapping) {
  std::string name = mapping.device_class;
  std::string expression = fmt::format("device.driver == '{}'", mapping.driver);
  if (mapping.mig) {
    name = fmt::format("{}.{}", mapping.Noun(), mapping.driver);
    expression += fmt::format(" && device.attributes['{0}'].type == 'mig'", mapping.driver);
    for (const std::string& more : mapping.Selectors()) expression += " && " + more;
  } else if (mapping.driver == kNvidia) {
    expression += fmt::format(" && device.attributes['{}'].type == 'gpu'", mapping.driver);
  }
  const Value selector = Value::Object({{"cel", Value::Object({{"expression", expression}})}});
  return Value::Object({{"apiVersion", "resource.k8s.io/v1"},
                        {"kind", "DeviceClass"},
                        {"metadata", Value::Object({{"name", name}})},
                        {"spec", Value::Object({{"selectors", Value::Array({selector})},
                                                {"extendedResourceName", mapping.resource}})}});
}

}  // namespace drachma::lint
