#include "gpu/claim_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "node/dra_plugin.h"

namespace drachma::gpu {
namespace {

using json::Value;
using validation::GpuOpaqueConfig;

struct Entry {
  GpuOpaqueConfig config;
  const Value* requests = nullptr;  // empty: all
};

// The kind of config that a device takes.
GpuOpaqueConfig DefaultOf(DeviceType type) {
  switch (type) {
    case DeviceType::kGpu:
      return validation::GpuConfig{};
    case DeviceType::kMig:
      return validation::MigDeviceConfig{};
    case DeviceType::kChannel:
      return validation::ComputeDomainChannelConfig{};
    case DeviceType::kDaemon:
      return validation::ComputeDomainDaemonConfig{};
  }
  return {};
}

// Simulated hardware has nothing that can be handed to a virtual machine. MPS is a matter of each
// GPU (Share).
bool Enabled(std::string_view gate) { return gate != "PassthroughSupport"; }

// The configs for `driver`, weakest first.
Result<std::vector<Entry>> EntriesOf(std::string_view driver, const Value& allocation) {
  std::vector<Entry> entries;
  for (const std::string_view source : {"FromClass", "FromClaim"}) {
    for (const Value& entry : allocation.At({"devices", "config"}).Items()) {
      const Value& opaque = entry["opaque"];
      if (entry["source"].AsString() != source) continue;
      if (opaque.IsNull()) return Fail(Code::kInvalid, "only opaque parameters are supported");
      if (opaque["driver"].AsString() != driver) continue;
      Result<GpuOpaqueConfig> config =
          validation::ReadGpuConfig(opaque["parameters"], validation::Decoding::kStrict, Enabled);
      if (!config) {
        config.error().message = "error decoding config parameters: " + config.error().message;
        return std::unexpected(std::move(config.error()));
      }
      entries.push_back({*std::move(config), &entry["requests"]});
    }
  }
  return entries;
}

bool Names(const Value& requests, std::string_view request) {
  return std::ranges::any_of(requests.Items(), [&](const Value& name) {
    return name.AsString() == request || name.AsString() == node::BaseRequest(request);
  });
}

// The place of the config of `device`; nothing: the default.
Result<std::optional<std::size_t>> Find(std::span<const Entry> entries,
                                        const ClaimedDevice& device) {
  const std::size_t wanted = DefaultOf(device.type).index();
  for (std::size_t i = entries.size(); i-- > 0;) {
    const Entry& entry = entries[i];
    const bool fits = entry.config.index() == wanted;
    if (entry.requests->empty()) {
      if (fits) return i;
      continue;
    }
    if (!Names(*entry.requests, device.request)) continue;
    if (fits) return i;
    return Fail(Code::kInvalid, fmt::format("cannot apply {} to device {} of type {} (request {})",
                                            validation::KindOf(entry.config), device.name,
                                            NameOf(device.type), device.request));
  }
  return std::nullopt;
}

}  // namespace

std::string_view NameOf(DeviceType type) {
  static constexpr std::string_view kNames[] = {"gpu", "mig", "channel", "daemon"};
  return kNames[static_cast<std::size_t>(type)];
}

Result<std::vector<ConfigGroup>> GroupsOf(std::string_view driver, const Value& allocation,
                                          std::span<const ClaimedDevice> devices) {
  DRA_ASSIGN(const std::vector<Entry> entries, EntriesOf(driver, allocation));
  std::vector<ConfigGroup> groups;
  std::vector<std::size_t> keys;  // of groups: the place of the config; behind these, the defaults
  for (std::size_t i = 0; i < devices.size(); ++i) {
    DRA_ASSIGN(const std::optional<std::size_t> place, Find(entries, devices[i]));
    const GpuOpaqueConfig fallback = DefaultOf(devices[i].type);
    const std::size_t key = place.value_or(entries.size() + fallback.index());
    auto known = std::ranges::find(keys, key);
    if (known == keys.end()) {
      groups.push_back({place ? entries[*place].config : fallback, {}});
      known = keys.insert(keys.end(), key);
    }
    groups[static_cast<std::size_t>(known - keys.begin())].devices.push_back(i);
  }
  return groups;
}

}  // namespace drachma::gpu
