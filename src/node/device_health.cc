#include "node/device_health.h"

#include <fmt/format.h>

namespace drachma::node {
namespace {

using json::Value;

// The key's part after the driver's domain; empty for taints that are not the driver's.
std::string_view OwnKey(std::string_view driver, std::string_view key) {
  if (!key.starts_with(driver) || key.substr(driver.size(), 1) != "/") return {};
  return key.substr(driver.size() + 1);
}

DeviceHealth HealthOfDevice(std::string_view driver, std::string_view pool, const Value& device) {
  DeviceHealth health{.pool = std::string(pool), .device = std::string(device["name"].AsString())};
  for (const Value& taint : device["taints"].Items()) {
    const std::string_view key = OwnKey(driver, taint["key"].AsString());
    if (key.empty()) continue;
    if (key == "unmonitored") {
      if (health.health == Health::kHealthy) health.health = Health::kUnknown;
    } else if (taint["effect"].AsString() != "None") {
      health.health = Health::kUnhealthy;
    }
    if (!health.message.empty()) health.message += ", ";
    health.message += taint["key"].AsString();
    const std::string_view value = taint["value"].AsString();
    if (!value.empty()) health.message += fmt::format("={}", value);
  }
  return health;
}

}  // namespace

std::vector<DeviceHealth> HealthOf(std::string_view driver, std::span<const Pool> pools) {
  std::vector<DeviceHealth> all;
  for (const Pool& pool : pools) {
    for (const SliceContent& slice : pool.slices) {
      for (const Value& device : slice.devices) {
        all.push_back(HealthOfDevice(driver, pool.name, device));
      }
    }
  }
  return all;
}

}  // namespace drachma::node
