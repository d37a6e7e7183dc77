#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"

namespace drachma::lint {

// How several containers use one device.
struct SharedUse {
  bool mps = false;           // else time slicing
  std::int64_t replicas = 0;  // as many users a device has at most; 0: not known
};

// What a device plugin's resource ("nvidia.com/gpu") is in DRA.
struct PluginMapping {
  std::string resource;
  std::string device_class;
  std::string driver;
  std::string profile;  // of a MIG device; empty otherwise
  bool mig = false;
  bool own_class = false;  // a DeviceClass of the input offers the resource
  std::optional<SharedUse> shared;

  // What users call such a device: "gpu", "mig-1g-10gb", "tpu".
  [[nodiscard]] std::string Noun() const;
  // CEL selectors beside the class's.
  [[nodiscard]] std::vector<std::string> Selectors() const;
};

// What the files of one conversion say together.
class PluginCatalog {
 public:
  // `objects` are all objects of the input: DeviceClasses with extendedResourceName, ConfigMaps
  // with a config of NVIDIA's device plugin, and such configs by themselves. `kept` are resources
  // that shall stay with their plugins.
  PluginCatalog(std::span<const json::Value> objects, std::span<const std::string> kept);

  // Nothing for resources that are no devices, or of a plugin that is not known.
  [[nodiscard]] std::optional<PluginMapping> Find(std::string_view resource) const;
  // Whether a resource that is not found may stay: it was asked for, or its plugin does something
  // that no DRA driver does.
  [[nodiscard]] bool Stays(std::string_view resource) const;
  // The resource that a class offers: by the input, by the table, or by the class's own name. Empty
  // for classes without any before Kubernetes knew such names.
  [[nodiscard]] std::string ResourceOf(std::string_view device_class) const;

 private:
  void ReadSharing(const json::Value& config);

  const std::vector<std::string> kept_;
  std::map<std::string, std::string, std::less<>> classes_;    // by resource
  std::map<std::string, std::string, std::less<>> resources_;  // by class
  // What shared resources are shares of, by their name.
  struct Share {
    std::string of;
    SharedUse use;
  };
  std::map<std::string, Share, std::less<>> shares_;
};

// Whether a document is a config of the device plugin: no object of any API.
[[nodiscard]] bool IsPluginConfig(const json::Value& document);
// Names with a vendor's domain: devices, or whatever else a plugin counts.
[[nodiscard]] bool IsVendorResource(std::string_view resource);
// The DeviceClass by which claims of pods that go on asking for `mapping.resource` are made.
[[nodiscard]] json::Value MakeOfferingClass(const PluginMapping& mapping);

}  // namespace drachma::lint
