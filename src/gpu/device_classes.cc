#include <utility>

#include "gpu/driver.h"

namespace drachma::gpu {
namespace {

using json::Value;

struct ClassEntry {
  std::string_view name;
  std::string_view expression;
  std::string_view extended_resource;
};

constexpr ClassEntry kClasses[] = {
    {"gpu.nvidia.com",
     "device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'gpu'",
     "nvidia.com/gpu"},
    {"mig.nvidia.com",
     "device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'mig'",
     {}},
    {"vfio.gpu.nvidia.com",
     "device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'vfio'",
     {}},
    {"compute-domain-daemon.nvidia.com",
     "device.driver == 'compute-domain.nvidia.com' && "
     "device.attributes['compute-domain.nvidia.com'].type == 'daemon'",
     {}},
    {"compute-domain-default-channel.nvidia.com",
     "device.driver == 'compute-domain.nvidia.com' && "
     "device.attributes['compute-domain.nvidia.com'].type == 'channel' && "
     "device.attributes['compute-domain.nvidia.com'].id == 0",
     {}},
};

}  // namespace

std::vector<Value> DeviceClasses() {
  std::vector<Value> classes;
  for (const ClassEntry& entry : kClasses) {
    Value spec = Value::Object(
        {{"selectors", Value::Array({Value::Object(
                           {{"cel", Value::Object({{"expression", entry.expression}})}})})}});
    if (!entry.extended_resource.empty()) {
      spec.Set("extendedResourceName", entry.extended_resource);
    }
    classes.push_back(Value::Object({{"apiVersion", "resource.k8s.io/v1"},
                                     {"kind", "DeviceClass"},
                                     {"metadata", Value::Object({{"name", entry.name}})},
                                     {"spec", std::move(spec)}}));
  }
  return classes;
}

}  // namespace drachma::gpu
