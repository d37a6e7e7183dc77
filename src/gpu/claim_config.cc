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
  if (type == DeviceType::kMig) return validation::MigDeviceConfig{};
  return validation::GpuConfig{};
}

// The configs for this driver, weakest first.
Result<std::vector<Entry>> EntriesOf(const Value& allocation,
                                     const validation::DriverGates& gates) {
  std::vector<Entry> entries;
  for (const std::string_view source : {"FromClass", "FromClaim"}) {
    for (const Value& entry : allocation.At({"devices", "config"}).Items()) {
      const Value& opaque = entry["opaque"];
      if (entry["source"].AsString() != source) continue;
      if (opaque.IsNull()) return Fail(Code::kInvalid, "only opaque parameters are supported");
      if (opaque["driver"].AsString() != validation::kGpuDriver) continue;
      Result<GpuOpaqueConfig> config =
          validation::ReadGpuConfig(opaque["parameters"], validation::Decoding::kStrict, gates);
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

std::string_view NameOf(DeviceType type) { return type == DeviceType::kMig ? "mig" : "gpu"; }

Result<std::vector<ConfigGroup>> GroupsOf(const Value& allocation,
                                          std::span<const ClaimedDevice> devices,
                                          const validation::DriverGates& gates) {
  DRA_ASSIGN(const std::vector<Entry> entries, EntriesOf(allocation, gates));
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
