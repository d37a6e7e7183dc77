#include "gpu/compute_domain.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "client/objects.h"

namespace drachma::gpu {
namespace {

using json::Value;

struct Published {
  std::string_view name;
  DeviceType type;
};
// The 2,047 other channels are reached by the allocation mode All, not as devices.
constexpr Published kDevices[] = {{"channel-0", DeviceType::kChannel},
                                  {"daemon-0", DeviceType::kDaemon}};
constexpr int kChannels = 2048;
constexpr std::string_view kChannelPath = "/dev/nvidia-caps-imex-channels/channel0";

Value DeviceOf(const Published& device) {
  return Value::Object(
      {{"name", device.name},
       {"attributes", Value::Object({{"type", Value::Object({{"string", NameOf(device.type)}})},
                                     {"id", Value::Object({{"int", 0}})}})}});
}

}  // namespace

std::vector<node::Pool> ComputeDomainDriver::Pools() const {
  node::SliceContent content;
  for (const Published& device : kDevices) content.devices.push_back(DeviceOf(device));
  return {node::Pool{.name = pool_, .generation = 0, .slices = {std::move(content)}}};
}

Value ComputeDomainDriver::ReportOf(const validation::GpuOpaqueConfig& config) const {
  const auto* const daemon = std::get_if<validation::ComputeDomainDaemonConfig>(&config);
  const auto* const channel = std::get_if<validation::ComputeDomainChannelConfig>(&config);
  const std::string& domain = daemon != nullptr ? daemon->domain_id : channel->domain_id;
  Value report = Value::Object();
  if (!domain.empty()) report.Set("domainID", domain);
  if (clique_.empty()) return report;
  report.Set("cliqueID", clique_);
  if (channel == nullptr) return report;
  report.Set("firstChannel", kChannelPath);
  report.Set("channels", channel->allocation_mode == "All" ? kChannels : 1);
  return report;
}

node::PrepareResult ComputeDomainDriver::PrepareOne(const Value& claim) {
  const std::string uid(client::UidOf(claim));
  if (const auto known = prepared_.find(uid); known != prepared_.end()) return known->second;
  std::vector<ClaimedDevice> claimed;
  std::vector<node::PreparedDevice> devices;
  for (const Value* result : node::ResultsOf(claim, driver())) {
    const std::string name((*result)["device"].AsString());
    const std::string request((*result)["request"].AsString());
    const auto* const published = std::ranges::find(kDevices, name, &Published::name);
    if (published == std::end(kDevices) || (*result)["pool"].AsString() != pool_) {
      return Fail(Code::kNotFound, fmt::format("requested device is not allocatable: {}", name));
    }
    if (const auto holder = holders_.find(name); holder != holders_.end()) {
      return Fail(Code::kConflict,
                  fmt::format("device {} is in use by claim {}", name, holder->second));
    }
    claimed.push_back({.request = request, .name = name, .type = published->type});
    devices.push_back({.requests = {std::string(node::BaseRequest(request))},
                       .pool = pool_,
                       .device = name,
                       .cdi_device_ids = {fmt::format("k8s.{}/claim={}-{}", driver(), uid, name)},
                       .share_id = {},
                       .report = {}});
  }
  DRA_ASSIGN(const std::vector<ConfigGroup> groups,
             GroupsOf(driver(), claim.At({"status", "allocation"}), claimed));
  for (const ConfigGroup& group : groups) {
    for (const std::size_t i : group.devices) devices[i].report = ReportOf(group.config);
  }
  for (const node::PreparedDevice& device : devices) holders_.emplace(device.device, uid);
  return prepared_.emplace(uid, std::move(devices)).first->second;
}

void ComputeDomainDriver::Prepare(std::span<const Value> claims, PrepareDone done) {
  node::PrepareAnswer answer;
  for (const Value& claim : claims) answer.emplace(client::UidOf(claim), PrepareOne(claim));
  done(std::move(answer));
}

void ComputeDomainDriver::Unprepare(std::span<const node::ClaimRef> claims, UnprepareDone done) {
  node::UnprepareAnswer answer;
  for (const node::ClaimRef& claim : claims) {
    prepared_.erase(claim.uid);
    std::erase_if(holders_, [&](const auto& entry) { return entry.second == claim.uid; });
    answer.emplace(claim.uid, Status());
  }
  done(std::move(answer));
}

}  // namespace drachma::gpu
