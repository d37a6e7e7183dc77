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

// The answers of one call, which goes out with the last of them.
struct Call {
  std::size_t open = 0;
  node::PrepareAnswer answer;
  node::DraPlugin::PrepareDone done;
};

}  // namespace

ComputeDomainDriver::ComputeDomainDriver(std::string pool, std::string clique,
                                         std::shared_ptr<DomainLink> link)
    : pool_(std::move(pool)), clique_(std::move(clique)), link_(std::move(link)) {
  if (membership() != nullptr) membership()->AddNode(pool_, clique_);
}

ComputeDomainDriver::~ComputeDomainDriver() {
  if (membership() != nullptr) membership()->RemoveNode(pool_);
}

std::vector<node::Pool> ComputeDomainDriver::Pools() const {
  node::SliceContent content;
  for (const Published& device : kDevices) {
    if (device.type != DeviceType::kDaemon || HasDaemons()) {
      content.devices.push_back(DeviceOf(device));
    }
  }
  return {node::Pool{.name = pool_, .generation = 0, .slices = {std::move(content)}}};
}

Result<Value> ComputeDomainDriver::ReportOf(const validation::GpuOpaqueConfig& config) const {
  const auto* const channel = std::get_if<validation::ComputeDomainChannelConfig>(&config);
  if (channel != nullptr) {
    Value report = Value::Object({{"domainID", channel->domain_id}});
    if (clique_.empty()) return report;
    report.Set("cliqueID", clique_);
    report.Set("firstChannel", kChannelPath);
    report.Set("channels", channel->allocation_mode == "All" ? kChannels : 1);
    return report;
  }
  if (!HasDaemons()) {
    return Fail(Code::kInvalid,
                "ComputeDomain daemon claims are not supported when imex.mode=hostManaged");
  }
  const std::string& uid = std::get<validation::ComputeDomainDaemonConfig>(config).domain_id;
  const Value* domain = membership()->FindDomain(uid);
  if (domain == nullptr) {
    return Fail(Code::kNotFound, fmt::format("error getting common container edits for "
                                             "ComputeDomain daemon '{}': compute domain not found: "
                                             "{}",
                                             uid, uid));
  }
  return Value::Object(
      {{"domainID", uid},
       {"cliqueID", clique_},
       {"env", Value::Object({{"CLIQUE_ID", clique_},
                              {"COMPUTE_DOMAIN_UUID", uid},
                              {"COMPUTE_DOMAIN_NAME", client::NameOf(*domain)},
                              {"COMPUTE_DOMAIN_NAMESPACE", client::NamespaceOf(*domain)}})}});
}

Status ComputeDomainDriver::CheckFree(const node::PreparedDevice& device,
                                      std::string_view uid) const {
  const auto holder = holders_.find(device.device);
  if (holder == holders_.end() || holder->second == uid) return {};
  return Fail(Code::kConflict,
              device.device == kDevices[0].name
                  ? fmt::format("allocation failed: channel 0 already allocated by claim {}",
                                holder->second)
                  : fmt::format("device {} is in use by claim {}", device.device, holder->second));
}

Result<ComputeDomainDriver::Wish> ComputeDomainDriver::Read(const Value& claim) const {
  const std::string uid(client::UidOf(claim));
  Wish wish;
  std::vector<ClaimedDevice> claimed;
  for (const Value* result : node::ResultsOf(claim, driver())) {
    const std::string name((*result)["device"].AsString());
    const std::string request((*result)["request"].AsString());
    const auto* const published = std::ranges::find(kDevices, name, &Published::name);
    if (published == std::end(kDevices) || (*result)["pool"].AsString() != pool_) {
      return Fail(Code::kNotFound, fmt::format("requested device is not allocatable: {}", name));
    }
    claimed.push_back({.request = request, .name = name, .type = published->type});
    wish.devices.push_back(
        {.requests = {std::string(node::BaseRequest(request))},
         .pool = pool_,
         .device = name,
         .cdi_device_ids = {fmt::format("k8s.{}/claim={}-{}", driver(), uid, name)},
         .share_id = {},
         .report = {}});
    DRA_TRY(CheckFree(wish.devices.back(), uid));
  }
  DRA_ASSIGN(const std::vector<ConfigGroup> groups,
             GroupsOf(driver(), claim.At({"status", "allocation"}), claimed));
  for (const ConfigGroup& group : groups) {
    // What no config names has the default one, which is of no domain: the driver refuses that.
    DRA_TRY(validation::Validate(group.config, {}));
    for (const std::size_t i : group.devices) {
      DRA_ASSIGN(wish.devices[i].report, ReportOf(group.config));
      if (claimed[i].type == DeviceType::kChannel) {
        wish.domain = wish.devices[i].report["domainID"].AsString();
      }
    }
  }
  return wish;
}

node::PrepareResult ComputeDomainDriver::Finish(const std::string& uid,
                                                std::vector<node::PreparedDevice> devices) {
  // While one claim waited, another one may have been faster.
  for (const node::PreparedDevice& device : devices) DRA_TRY(CheckFree(device, uid));
  for (const node::PreparedDevice& device : devices) holders_.emplace(device.device, uid);
  return prepared_.insert_or_assign(uid, std::move(devices)).first->second;
}

void ComputeDomainDriver::PrepareOne(const Value& claim, OneDone done) {
  const std::string uid(client::UidOf(claim));
  if (const auto known = prepared_.find(uid); known != prepared_.end()) return done(known->second);
  if (const auto same = waiting_.find(uid); same != waiting_.end()) {
    same->second.done.push_back(std::move(done));  // of another pod
    return;
  }
  if (membership() == nullptr) {
    return done(Fail(Code::kUnavailable, "compute domains cannot be followed here"));
  }
  Result<Wish> wish = Read(claim);
  if (!wish) return done(std::unexpected(wish.error()));
  if (wish->domain.empty()) return done(Finish(uid, std::move(wish->devices)));
  waiting_.emplace(uid, Waiting{.devices = std::move(wish->devices), .done = {std::move(done)}});
  membership()->Join({.node = pool_,
                      .claim_uid = uid,
                      .claim_ns = std::string(client::NamespaceOf(claim)),
                      .domain = std::move(wish->domain)},
                     [this, uid](const Status& joined) { OnJoined(uid, joined); });
}

void ComputeDomainDriver::OnJoined(const std::string& uid, const Status& joined) {
  const auto found = waiting_.find(uid);
  if (found == waiting_.end()) return;
  Waiting waiting = std::move(found->second);
  waiting_.erase(found);
  const node::PrepareResult result =
      joined ? Finish(uid, std::move(waiting.devices)) : std::unexpected(joined.error());
  for (const OneDone& done : waiting.done) done(result);
}

void ComputeDomainDriver::Prepare(std::span<const Value> claims, PrepareDone done) {
  if (claims.empty()) return done({});
  auto call = std::make_shared<Call>(Call{.open = claims.size(), .done = std::move(done)});
  for (const Value& claim : claims) {
    PrepareOne(claim, [call, uid = std::string(client::UidOf(claim))](node::PrepareResult result) {
      call->answer.emplace(uid, std::move(result));
      if (--call->open == 0) call->done(std::move(call->answer));
    });
  }
}

void ComputeDomainDriver::Unprepare(std::span<const node::ClaimRef> claims, UnprepareDone done) {
  node::UnprepareAnswer answer;
  for (const node::ClaimRef& claim : claims) {
    OnJoined(claim.uid, Fail(Code::kConflict, "the claim was unprepared meanwhile"));
    prepared_.erase(claim.uid);
    std::erase_if(holders_, [&](const auto& entry) { return entry.second == claim.uid; });
    if (membership() != nullptr) membership()->Leave(pool_, claim.uid);
    answer.emplace(claim.uid, Status());
  }
  done(std::move(answer));
}

}  // namespace drachma::gpu
