#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/node_selector.h"
#include "base/result.h"
#include "json/value.h"
#include "num/quantity.h"

// Typed views of resource.k8s.io/v1 for the code that reasons about devices and claims. They hold
// what was written; defaults are applied by the API server before. FromJson ignores members it does
// not know. ERRORS of every FromJson: kBadRequest naming the member with a value of a wrong kind or
// a quantity that does not parse.
namespace drachma::api {

template <typename T>
using StringMap = std::map<std::string, T, std::less<>>;

struct VersionText {
  std::string text;
  friend auto operator<=>(const VersionText&, const VersionText&) = default;
};

// DeviceAttribute. std::monostate: none of the members that are known here.
using DeviceAttribute = std::variant<std::monostate, std::int64_t, bool, std::string, VersionText,
                                     std::vector<std::int64_t>, std::vector<bool>,
                                     std::vector<std::string>, std::vector<VersionText>>;
[[nodiscard]] Result<DeviceAttribute> AttributeFromJson(const json::Value& value);

struct CapacityRange {
  std::optional<Quantity> min;
  std::optional<Quantity> max;
  std::optional<Quantity> step;
};

struct CapacityPolicy {
  std::optional<Quantity> default_value;
  std::vector<Quantity> valid_values;
  std::optional<CapacityRange> valid_range;
};

struct DeviceCapacity {
  Quantity value;
  std::optional<CapacityPolicy> policy;
};

using Counters = StringMap<Quantity>;

struct CounterSet {
  std::string name;
  Counters counters;
};

struct CounterConsumption {
  std::string counter_set;
  Counters counters;
  std::vector<std::string> compatibility_groups;
};

struct DeviceTaint {
  std::string key;
  std::string value;
  std::string effect;  // "None", "NoSchedule", "NoExecute", or one of the future
  std::string time_added;

  [[nodiscard]] static Result<DeviceTaint> FromJson(const json::Value& value);
  [[nodiscard]] json::Value ToJson() const;
  // Whether the effect keeps new claims away.
  [[nodiscard]] bool PreventsAllocation() const;
};

struct DeviceToleration {
  std::string key;
  std::string op;  // "Exists", "Equal", "" for Equal
  std::string value;
  std::string effect;
  std::optional<std::int64_t> toleration_seconds;

  [[nodiscard]] static Result<DeviceToleration> FromJson(const json::Value& value);
  [[nodiscard]] json::Value ToJson() const;
  // dynamic-resource-allocation's resourceclaim.ToleratesTaint.
  [[nodiscard]] bool Tolerates(const DeviceTaint& taint) const;
};

// Where something is available: of a slice, or of one of its devices.
struct NodeScope {
  std::optional<std::string> node_name;
  std::optional<NodeSelector> node_selector;
  bool all_nodes = false;
};

struct Device {
  std::string name;
  StringMap<DeviceAttribute> attributes;
  StringMap<DeviceCapacity> capacity;
  std::vector<CounterConsumption> consumes_counters;
  NodeScope scope;
  std::vector<DeviceTaint> taints;
  bool binds_to_node = false;
  std::optional<std::vector<std::string>> binding_conditions;
  std::vector<std::string> binding_failure_conditions;
  std::optional<bool> allow_multiple_allocations;
  json::Value node_allocatable_resources;  // as written; null when absent

  [[nodiscard]] static Result<Device> FromJson(const json::Value& value);
};

// Parts of a device's JSON alone, for code that keeps the tree and reads little of it.
[[nodiscard]] Result<std::vector<CounterConsumption>> ConsumptionOf(const json::Value& device);
[[nodiscard]] Result<StringMap<DeviceCapacity>> CapacityOf(const json::Value& device);

struct ResourceSlice {
  std::string name;
  std::string driver;
  std::string pool;
  std::int64_t pool_generation = 0;
  std::int64_t pool_slice_count = 0;
  NodeScope scope;
  std::optional<bool> per_device_node_selection;
  std::vector<Device> devices;
  std::vector<CounterSet> shared_counters;
  std::vector<std::string> skip_node_operations;

  [[nodiscard]] static Result<ResourceSlice> FromJson(const json::Value& value);
};

// A selector; `cel` is missing when it is of a kind that is not known here.
struct DeviceSelector {
  std::optional<std::string> cel;
};

struct DeviceClass {
  std::string name;
  std::vector<DeviceSelector> selectors;
  std::vector<json::Value> config;  // DeviceClassConfiguration, as written
  std::optional<std::string> extended_resource_name;

  [[nodiscard]] static Result<DeviceClass> FromJson(const json::Value& value);
};

struct DerivedAttribute {
  std::string name;
  std::string expression;
};

// ExactDeviceRequest and DeviceSubRequest: what both have.
struct DeviceRequirements {
  std::string device_class_name;
  std::vector<DeviceSelector> selectors;
  std::string allocation_mode;  // "ExactCount", "All"
  std::int64_t count = 0;
  std::optional<bool> admin_access;
  std::vector<DeviceToleration> tolerations;
  // capacity.requests; missing when `capacity` itself is.
  std::optional<StringMap<Quantity>> capacity_requests;
  std::vector<DerivedAttribute> derived_attributes;
};

struct DeviceSubRequest {
  std::string name;
  DeviceRequirements requirements;
};

struct DeviceRequest {
  std::string name;
  std::optional<DeviceRequirements> exactly;
  std::vector<DeviceSubRequest> first_available;
};

struct DeviceConstraint {
  std::vector<std::string> requests;
  std::optional<std::string> match_attribute;
  std::optional<std::string> distinct_attribute;
};

struct DeviceClaimConfiguration {
  std::vector<std::string> requests;
  json::Value config;  // the entry without `requests`: {"opaque": …}
};

// DeviceRequestAllocationResult.
struct DeviceResult {
  std::string request;  // "request" or "request/subrequest"
  std::string driver;
  std::string pool;
  std::string device;
  std::optional<bool> admin_access;
  std::vector<DeviceToleration> tolerations;
  std::vector<std::string> binding_conditions;
  std::vector<std::string> binding_failure_conditions;
  std::optional<std::string> share_id;
  StringMap<Quantity> consumed_capacity;
  std::vector<std::string> skip_node_operations;

  [[nodiscard]] static Result<DeviceResult> FromJson(const json::Value& value);
  [[nodiscard]] json::Value ToJson() const;
};

// DeviceAllocationConfiguration.
struct DeviceResultConfig {
  std::string source;  // "FromClass", "FromClaim"
  std::vector<std::string> requests;
  json::Value config;  // {"opaque": …}

  [[nodiscard]] static Result<DeviceResultConfig> FromJson(const json::Value& value);
  [[nodiscard]] json::Value ToJson() const;
};

struct AllocationResult {
  std::vector<DeviceResult> results;
  std::vector<DeviceResultConfig> config;
  std::optional<NodeSelector> node_selector;
  std::string allocation_timestamp;  // empty when absent

  [[nodiscard]] static Result<AllocationResult> FromJson(const json::Value& value);
  [[nodiscard]] json::Value ToJson() const;
};

struct ResourceClaim {
  std::string ns;
  std::string name;
  std::string uid;
  std::vector<DeviceRequest> requests;
  std::vector<DeviceConstraint> constraints;
  std::vector<DeviceClaimConfiguration> config;
  std::optional<AllocationResult> allocation;

  // klog.KObj: "namespace/name", or the name alone.
  [[nodiscard]] std::string Ref() const;
  [[nodiscard]] static Result<ResourceClaim> FromJson(const json::Value& value);
};

// spec of a DeviceTaintRule. A rule without a selector matches nothing.
struct DeviceTaintRule {
  std::string name;
  bool has_selector = false;
  std::optional<std::string> driver;
  std::optional<std::string> pool;
  std::optional<std::string> device;
  DeviceTaint taint;

  [[nodiscard]] bool Matches(std::string_view driver_name, std::string_view pool_name,
                             std::string_view device_name) const;
  [[nodiscard]] static Result<DeviceTaintRule> FromJson(const json::Value& value);
};

}  // namespace drachma::api
