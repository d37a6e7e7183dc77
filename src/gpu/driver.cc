#include "gpu/driver.h"

#include <fmt/format.h>

#include <algorithm>
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

Result<std::unique_ptr<GpuDriver>> GpuDriver::Create(std::string pool,
                                                     std::unique_ptr<Backend> backend) {
  DRA_ASSIGN(std::vector<Board> boards, backend->Enumerate());
  return std::unique_ptr<GpuDriver>(
      new GpuDriver(std::move(pool), std::move(backend), std::move(boards)));
}

GpuDriver::GpuDriver(std::string pool, std::unique_ptr<Backend> backend, std::vector<Board> boards)
    : pool_(std::move(pool)),
      backend_(std::move(backend)),
      boards_(std::move(boards)),
      slices_(SlicesOf(boards_)) {
  for (const Board& board : boards_) {
    for (BoardDevice& device : DevicesOf(board)) {
      std::string name = device.name;
      offers_.emplace(std::move(name), Offer{&board, std::move(device), {}});
    }
  }
}

std::vector<node::Pool> GpuDriver::Pools() const {
  if (slices_.empty()) return {};
  return {node::Pool{.name = pool_, .generation = 0, .slices = slices_}};
}

void GpuDriver::OnPoolsChanged(std::function<void()> changed) { changed_ = std::move(changed); }

Result<GpuDriver::Offer*> GpuDriver::Take(const Value& result, std::string_view claim_uid) {
  const std::string_view device = result["device"].AsString();
  const auto offer = offers_.find(device);
  if (offer == offers_.end() || result["pool"].AsString() != pool_) {
    return Fail(Code::kNotFound, fmt::format("requested device is not allocatable: {}", device));
  }
  if (result["adminAccess"].AsBool()) return &offer->second;
  const std::string& holder = offer->second.holder;
  if (!holder.empty() && holder != claim_uid) {
    return Fail(Code::kConflict, fmt::format("device {} is in use by claim {}", device, holder));
  }
  return &offer->second;
}

Status GpuDriver::SetUp(const Value& claim, std::span<const Value* const> results,
                        std::span<SetUpDevice> devices, std::vector<Change>& changes) {
  std::vector<ClaimedDevice> claimed;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    claimed.push_back(
        {.request = std::string((*results[i])["request"].AsString()),
         .name = devices[i].device->name,
         .type = devices[i].device->profile == nullptr ? DeviceType::kGpu : DeviceType::kMig});
  }
  DRA_ASSIGN(const std::vector<ConfigGroup> groups,
             GroupsOf(kDriverName, claim.At({"status", "allocation"}), claimed));
  DRA_TRY(MakeParts(*backend_, devices, changes));
  for (const ConfigGroup& group : groups) {
    DRA_TRY(Share(*backend_, claim.At({"metadata", "uid"}).AsString(), group, devices, changes));
  }
  return {};
}

node::PrepareResult GpuDriver::PrepareOne(const Value& claim) {
  const std::string uid(claim.At({"metadata", "uid"}).AsString());
  if (const auto known = prepared_.find(uid); known != prepared_.end()) {
    return known->second.devices;
  }
  const std::vector<const Value*> results = node::ResultsOf(claim, kDriverName);
  std::vector<SetUpDevice> devices;
  for (const Value* result : results) {
    DRA_ASSIGN(const Offer* offer, Take(*result, uid));
    devices.push_back({.board = offer->board,
                       .device = &offer->device,
                       .admin = (*result)["adminAccess"].AsBool(),
                       .uuid = offer->board->uuid,
                       .report = {}});
  }
  Preparation preparation;
  if (Status done = SetUp(claim, results, devices, preparation.changes); !done) {
    Undo(*backend_, std::move(preparation.changes));
    return std::unexpected(std::move(done.error()));
  }
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const Value& result = *results[i];
    const std::string& name = devices[i].device->name;
    if (!result["adminAccess"].AsBool()) offers_.find(name)->second.holder = uid;
    preparation.devices.push_back({
        .requests = {std::string(node::BaseRequest(result["request"].AsString()))},
        .pool = pool_,
        .device = name,
        .cdi_device_ids = {CdiName(uid, name)},
        .share_id = std::string(result["shareID"].AsString()),
        .report = std::move(devices[i].report),
    });
  }
  return prepared_.emplace(uid, std::move(preparation)).first->second.devices;
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
    if (const auto known = prepared_.find(claim.uid); known != prepared_.end()) {
      Undo(*backend_, std::move(known->second.changes));
      for (auto& [name, offer] : offers_) {
        if (offer.holder == claim.uid) offer.holder.clear();
      }
      prepared_.erase(known);
    }
    answer.emplace(claim.uid, Status());
  }
  done(std::move(answer));
}

}  // namespace drachma::gpu
