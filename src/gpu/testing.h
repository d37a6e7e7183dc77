#pragma once

#include <fmt/format.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "gpu/driver.h"
#include "json/value.h"
#include "json/yaml.h"
#include "node/dra_plugin.h"

// Claims and calls for tests of the driver.
namespace drachma::gpu {

// A claim with devices `names` of requests r0, r1, … in pool node-1, and configs from YAML.
inline json::Value ConfiguredClaim(std::string_view uid,
                                   std::initializer_list<std::string_view> names,
                                   std::string_view configs = "[]") {
  using json::Value;
  Value results = Value::Array();
  for (const std::string_view name : names) {
    results.Append(Value::Object({{"request", fmt::format("r{}", results.size())},
                                  {"driver", kDriverName},
                                  {"pool", "node-1"},
                                  {"device", name}}));
  }
  const Value devices = Value::Object(
      {{"results", std::move(results)}, {"config", json::ReadYamlValue(configs).value()}});
  return Value::Object(
      {{"metadata", Value::Object({{"uid", uid}, {"namespace", "default"}, {"name", uid}})},
       {"status", Value::Object({{"allocation", Value::Object({{"devices", devices}})}})}});
}

inline node::PrepareResult PrepareClaim(GpuDriver& driver, const json::Value& claim) {
  node::PrepareAnswer answer;
  driver.Prepare({&claim, 1}, [&](node::PrepareAnswer a) { answer = std::move(a); });
  return answer.at(std::string(claim["metadata"]["uid"].AsString()));
}

inline Status UnprepareClaim(GpuDriver& driver, std::string uid) {
  const node::ClaimRef ref{.uid = std::move(uid)};
  node::UnprepareAnswer answer;
  driver.Unprepare({&ref, 1}, [&](node::UnprepareAnswer a) { answer = std::move(a); });
  return answer.begin()->second;
}

inline constexpr std::string_view kLongTurns = R"(
- source: FromClass
  opaque:
    driver: gpu.nvidia.com
    parameters: {apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig, sharing: {strategy: TimeSlicing, timeSlicingConfig: {interval: Short}}}
- source: FromClaim
  requests: [r0]
  opaque:
    driver: gpu.nvidia.com
    parameters: {apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig, sharing: {strategy: TimeSlicing, timeSlicingConfig: {interval: Long}}}
)";

inline constexpr std::string_view kMps = R"(
- source: FromClaim
  opaque:
    driver: gpu.nvidia.com
    parameters:
      apiVersion: resource.nvidia.com/v1beta1
      kind: GpuConfig
      sharing:
        strategy: MPS
        mpsConfig: {defaultActiveThreadPercentage: 50, defaultPinnedDeviceMemoryLimit: 10Gi, defaultPerDevicePinnedMemoryLimit: {"1": 5Gi}}
)";

}  // namespace drachma::gpu
