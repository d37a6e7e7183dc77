#include "gpu/driver.h"

#include <fmt/format.h>

#include <utility>

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

// The CDI name of a device of a claim; a claim's devices stand in one spec of its own.
std::string CdiName(std::string_view claim_uid, std::string_view device) {
  return fmt::format("k8s.gpu.nvidia.com/claim={}-{}", claim_uid, device);
}

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

Result<std::unique_ptr<GpuDriver>> GpuDriver::Create(std::string pool, Backend& backend) {
  DRA_ASSIGN(const std::vector<Board> boards, backend.Enumerate());
  return std::unique_ptr<GpuDriver>(new GpuDriver(std::move(pool), boards));
}

GpuDriver::GpuDriver(std::string pool, const std::vector<Board>& boards)
    : pool_(std::move(pool)), slices_(SlicesOf(boards)) {
  for (const node::SliceContent& slice : slices_) {
    for (const Value& device : slice.devices) {
      shareable_.emplace(device["name"].AsString(), device["allowMultipleAllocations"].AsBool());
    }
  }
}

std::vector<node::Pool> GpuDriver::Pools() const {
  if (slices_.empty()) return {};
  return {node::Pool{.name = pool_, .generation = 0, .slices = slices_}};
}

void GpuDriver::OnPoolsChanged(std::function<void()> changed) { changed_ = std::move(changed); }

node::PrepareResult GpuDriver::PrepareOne(const Value& claim) {
  const std::string uid(claim.At({"metadata", "uid"}).AsString());
  if (const auto known = prepared_.find(uid); known != prepared_.end()) return known->second;
  const std::vector<const Value*> results = node::ResultsOf(claim, kDriverName);
  std::vector<node::PreparedDevice> devices;
  for (const Value* result : results) {
    const std::string_view device = (*result)["device"].AsString();
    const auto known = shareable_.find(device);
    if (known == shareable_.end() || (*result)["pool"].AsString() != pool_) {
      return Fail(Code::kNotFound, fmt::format("requested device is not allocatable: {}", device));
    }
    const auto held = holder_.find(device);
    if (!known->second && !(*result)["adminAccess"].AsBool() && held != holder_.end()) {
      return Fail(Code::kConflict,
                  fmt::format("device {} is in use by claim {}", device, held->second));
    }
    devices.push_back({
        .requests = {std::string(node::BaseRequest((*result)["request"].AsString()))},
        .pool = pool_,
        .device = std::string(device),
        .cdi_device_ids = {CdiName(uid, device)},
        .share_id = std::string((*result)["shareID"].AsString()),
    });
  }
  for (const Value* result : results) {
    const std::string_view device = (*result)["device"].AsString();
    if (!(*result)["adminAccess"].AsBool()) holder_.emplace(device, uid);
  }
  prepared_.emplace(uid, devices);
  return devices;
}

void GpuDriver::Prepare(std::span<const Value> claims, PrepareDone done) {
  node::PrepareAnswer answer;
  for (const Value& claim : claims) {
    answer.emplace(claim.At({"metadata", "uid"}).AsString(), PrepareOne(claim));
  }
  done(std::move(answer));
}

void GpuDriver::Unprepare(std::span<const node::ClaimRef> claims, UnprepareDone done) {
  node::UnprepareAnswer answer;
  for (const node::ClaimRef& claim : claims) {
    prepared_.erase(claim.uid);
    std::erase_if(holder_, [&](const auto& held) { return held.second == claim.uid; });
    answer.emplace(claim.uid, Status());
  }
  done(std::move(answer));
}

}  // namespace drachma::gpu
