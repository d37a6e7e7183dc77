#include "api/dra_types.h"

#include <algorithm>
#include <utility>

#include "api/object_reader.h"

namespace drachma::api {
namespace {

Result<std::int64_t> IntOf(const json::Value& value) {
  if (!value.IsInt()) return BadInput("attribute: expected an integer");
  return value.AsInt();
}
Result<bool> BoolOf(const json::Value& value) {
  if (!value.IsBool()) return BadInput("attribute: expected a boolean");
  return value.AsBool();
}
Result<std::string> StringOf(const json::Value& value) {
  if (!value.IsString()) return BadInput("attribute: expected a string");
  return std::string(value.AsString());
}
Result<VersionText> VersionOf(const json::Value& value) {
  DRA_ASSIGN(std::string text, StringOf(value));
  return VersionText{std::move(text)};
}

template <typename T>
Result<std::vector<T>> ListOf(const json::Value& value, Result<T> (*read)(const json::Value&)) {
  std::vector<T> out;
  for (const json::Value& item : value.Items()) {
    DRA_ASSIGN(T element, read(item));
    out.push_back(std::move(element));
  }
  return out;
}

Result<CapacityRange> RangeFromJson(const json::Value& value) {
  CapacityRange range;
  ObjectReader reader(value, "validRange");
  reader.Get("min", range.min);
  reader.Get("max", range.max);
  reader.Get("step", range.step);
  return reader.Done(range);
}

Result<CapacityPolicy> PolicyFromJson(const json::Value& value) {
  CapacityPolicy policy;
  ObjectReader reader(value, "requestPolicy");
  reader.Get("default", policy.default_value);
  reader.GetList("validValues", policy.valid_values, ObjectReader::QuantityOf);
  reader.GetObject("validRange", policy.valid_range, RangeFromJson);
  return reader.Done(policy);
}

Result<DeviceCapacity> CapacityFromJson(const json::Value& value) {
  DeviceCapacity capacity;
  ObjectReader reader(value, "capacity");
  reader.Get("value", capacity.value);
  reader.GetObject("requestPolicy", capacity.policy, PolicyFromJson);
  return reader.Done(capacity);
}

Result<Quantity> CounterFromJson(const json::Value& value) {
  Quantity amount;
  ObjectReader reader(value, "counter");
  reader.Get("value", amount);
  return reader.Done(amount);
}

Result<CounterSet> CounterSetFromJson(const json::Value& value) {
  CounterSet set;
  ObjectReader reader(value, "sharedCounters");
  reader.Get("name", set.name);
  reader.GetMap("counters", set.counters, CounterFromJson);
  return reader.Done(set);
}

Result<CounterConsumption> ConsumptionFromJson(const json::Value& value) {
  CounterConsumption consumption;
  ObjectReader reader(value, "consumesCounters");
  reader.Get("counterSet", consumption.counter_set);
  reader.GetMap("counters", consumption.counters, CounterFromJson);
  reader.Get("compatibilityGroups", consumption.compatibility_groups);
  return reader.Done(consumption);
}

void ReadScope(ObjectReader& reader, NodeScope& scope) {
  reader.Get("nodeName", scope.node_name);
  reader.GetObject("nodeSelector", scope.node_selector, NodeSelector::FromJson);
  reader.Get("allNodes", scope.all_nodes);
}

Result<DeviceSelector> SelectorFromJson(const json::Value& value) {
  DeviceSelector selector;
  if (const json::Value* cel = value.Find("cel"); cel != nullptr && !cel->IsNull()) {
    selector.cel.emplace();
    ObjectReader reader(*cel, "cel");
    reader.Get("expression", *selector.cel);
    return reader.Done(selector);
  }
  return selector;
}

Result<DerivedAttribute> DerivedFromJson(const json::Value& value) {
  DerivedAttribute attribute;
  ObjectReader reader(value, "derivedAttributes");
  reader.Get("name", attribute.name);
  reader.Get("expression", attribute.expression);
  return reader.Done(attribute);
}

Result<StringMap<Quantity>> CapacityRequestsFromJson(const json::Value& value) {
  StringMap<Quantity> requests;
  ObjectReader reader(value, "capacity");
  reader.GetMap("requests", requests, ObjectReader::QuantityOf);
  return reader.Done(requests);
}

Result<DeviceRequirements> RequirementsFromJson(const json::Value& value) {
  DeviceRequirements requirements;
  ObjectReader reader(value, "request");
  reader.Get("deviceClassName", requirements.device_class_name);
  reader.GetList("selectors", requirements.selectors, SelectorFromJson);
  reader.Get("allocationMode", requirements.allocation_mode);
  reader.Get("count", requirements.count);
  reader.Get("adminAccess", requirements.admin_access);
  reader.GetList("tolerations", requirements.tolerations, DeviceToleration::FromJson);
  reader.GetObject("capacity", requirements.capacity_requests, CapacityRequestsFromJson);
  reader.GetList("derivedAttributes", requirements.derived_attributes, DerivedFromJson);
  return reader.Done(requirements);
}

Result<DeviceSubRequest> SubRequestFromJson(const json::Value& value) {
  DeviceSubRequest request;
  DRA_ASSIGN(request.requirements, RequirementsFromJson(value));
  ObjectReader reader(value, "firstAvailable");
  reader.Get("name", request.name);
  return reader.Done(request);
}

Result<DeviceRequest> RequestFromJson(const json::Value& value) {
  DeviceRequest request;
  ObjectReader reader(value, "requests");
  reader.Get("name", request.name);
  reader.GetObject("exactly", request.exactly, RequirementsFromJson);
  reader.GetList("firstAvailable", request.first_available, SubRequestFromJson);
  return reader.Done(request);
}

Result<DeviceConstraint> ConstraintFromJson(const json::Value& value) {
  DeviceConstraint constraint;
  ObjectReader reader(value, "constraints");
  reader.Get("requests", constraint.requests);
  reader.Get("matchAttribute", constraint.match_attribute);
  reader.Get("distinctAttribute", constraint.distinct_attribute);
  return reader.Done(constraint);
}

// The members of a configuration beside those that this folder names.
json::Value WithoutBookkeeping(const json::Value& value) {
  json::Value rest = value;
  rest.Erase("requests");
  rest.Erase("source");
  return rest;
}

Result<DeviceClaimConfiguration> ClaimConfigFromJson(const json::Value& value) {
  DeviceClaimConfiguration config;
  ObjectReader reader(value, "config");
  reader.Get("requests", config.requests);
  config.config = WithoutBookkeeping(value);
  return reader.Done(config);
}

Result<json::Value> AsWritten(const json::Value& value) { return value; }

json::Value ToList(const std::vector<std::string>& items) {
  json::Value list = json::Value::Array();
  for (const std::string& item : items) list.Append(item);
  return list;
}

void SetText(json::Value& object, std::string_view key, const std::string& text) {
  if (!text.empty()) object.Set(key, text);
}

void SetTexts(json::Value& object, std::string_view key, const std::vector<std::string>& items) {
  if (!items.empty()) object.Set(key, ToList(items));
}

template <typename T>
void SetItems(json::Value& object, std::string_view key, const std::vector<T>& items) {
  if (items.empty()) return;
  json::Value list = json::Value::Array();
  for (const T& item : items) list.Append(item.ToJson());
  object.Set(key, std::move(list));
}

}  // namespace

Result<DeviceAttribute> AttributeFromJson(const json::Value& value) {
  const auto of = [&](const char* key) -> const json::Value* {
    const json::Value* member = value.Find(key);
    return member == nullptr || member->IsNull() ? nullptr : member;
  };
  if (const auto* v = of("ints"); v != nullptr && !v->empty()) return ListOf(*v, IntOf);
  if (const auto* v = of("bools"); v != nullptr && !v->empty()) return ListOf(*v, BoolOf);
  if (const auto* v = of("strings"); v != nullptr && !v->empty()) return ListOf(*v, StringOf);
  if (const auto* v = of("versions"); v != nullptr && !v->empty()) return ListOf(*v, VersionOf);
  if (const auto* v = of("int")) return IntOf(*v);
  if (const auto* v = of("bool")) return BoolOf(*v);
  if (const auto* v = of("string")) return StringOf(*v);
  if (const auto* v = of("version")) return VersionOf(*v);
  return DeviceAttribute();
}

Result<DeviceTaint> DeviceTaint::FromJson(const json::Value& value) {
  DeviceTaint taint;
  ObjectReader reader(value, "taint");
  reader.Get("key", taint.key);
  reader.Get("value", taint.value);
  reader.Get("effect", taint.effect);
  reader.Get("timeAdded", taint.time_added);
  return reader.Done(taint);
}

json::Value DeviceTaint::ToJson() const {
  json::Value out = json::Value::Object({{"key", key}, {"effect", effect}});
  SetText(out, "value", value);
  SetText(out, "timeAdded", time_added);
  return out;
}

bool DeviceTaint::PreventsAllocation() const {
  return effect == "NoSchedule" || effect == "NoExecute";
}

Result<DeviceToleration> DeviceToleration::FromJson(const json::Value& value) {
  DeviceToleration toleration;
  ObjectReader reader(value, "toleration");
  reader.Get("key", toleration.key);
  reader.Get("operator", toleration.op);
  reader.Get("value", toleration.value);
  reader.Get("effect", toleration.effect);
  reader.Get("tolerationSeconds", toleration.toleration_seconds);
  return reader.Done(toleration);
}

json::Value DeviceToleration::ToJson() const {
  json::Value out = json::Value::Object();
  SetText(out, "key", key);
  SetText(out, "operator", op);
  SetText(out, "value", value);
  SetText(out, "effect", effect);
  if (toleration_seconds) out.Set("tolerationSeconds", *toleration_seconds);
  return out;
}

bool DeviceToleration::Tolerates(const DeviceTaint& taint) const {
  if (!effect.empty() && effect != taint.effect) return false;
  if (!key.empty() && key != taint.key) return false;
  if (op.empty() || op == "Equal") return value == taint.value;
  return op == "Exists";
}

Result<Device> Device::FromJson(const json::Value& value) {
  Device device;
  ObjectReader reader(value, "devices");
  reader.Get("name", device.name);
  reader.GetMap("attributes", device.attributes, AttributeFromJson);
  reader.GetMap("capacity", device.capacity, CapacityFromJson);
  reader.GetList("consumesCounters", device.consumes_counters, ConsumptionFromJson);
  ReadScope(reader, device.scope);
  reader.GetList("taints", device.taints, DeviceTaint::FromJson);
  reader.Get("bindsToNode", device.binds_to_node);
  if (reader.Has("bindingConditions")) {
    reader.Get("bindingConditions", device.binding_conditions.emplace());
  }
  reader.Get("bindingFailureConditions", device.binding_failure_conditions);
  reader.Get("allowMultipleAllocations", device.allow_multiple_allocations);
  device.node_allocatable_resources = reader["nodeAllocatableResources"];
  return reader.Done(device);
}

Result<std::vector<CounterConsumption>> ConsumptionOf(const json::Value& device) {
  std::vector<CounterConsumption> consumption;
  ObjectReader reader(device, "devices");
  reader.GetList("consumesCounters", consumption, ConsumptionFromJson);
  return reader.Done(consumption);
}

Result<StringMap<DeviceCapacity>> CapacityOf(const json::Value& device) {
  StringMap<DeviceCapacity> capacity;
  ObjectReader reader(device, "devices");
  reader.GetMap("capacity", capacity, CapacityFromJson);
  return reader.Done(capacity);
}

Result<ResourceSlice> ResourceSlice::FromJson(const json::Value& value) {
  ResourceSlice slice;
  slice.name = value["metadata"]["name"].AsString();
  ObjectReader reader(value["spec"], "spec");
  reader.Get("driver", slice.driver);
  const json::Value& pool = reader["pool"];
  slice.pool = pool["name"].AsString();
  slice.pool_generation = pool["generation"].AsInt();
  slice.pool_slice_count = pool["resourceSliceCount"].AsInt();
  ReadScope(reader, slice.scope);
  reader.Get("perDeviceNodeSelection", slice.per_device_node_selection);
  reader.GetList("devices", slice.devices, Device::FromJson);
  reader.GetList("sharedCounters", slice.shared_counters, CounterSetFromJson);
  reader.Get("skipNodeOperations", slice.skip_node_operations);
  return reader.Done(slice);
}

Result<DeviceClass> DeviceClass::FromJson(const json::Value& value) {
  DeviceClass device_class;
  device_class.name = value["metadata"]["name"].AsString();
  const json::Value& spec = value["spec"];
  if (spec.IsNull()) return device_class;
  ObjectReader reader(spec, "spec");
  reader.GetList("selectors", device_class.selectors, SelectorFromJson);
  reader.GetList("config", device_class.config, AsWritten);
  reader.Get("extendedResourceName", device_class.extended_resource_name);
  return reader.Done(device_class);
}

Result<DeviceResult> DeviceResult::FromJson(const json::Value& value) {
  DeviceResult result;
  ObjectReader reader(value, "results");
  reader.Get("request", result.request);
  reader.Get("driver", result.driver);
  reader.Get("pool", result.pool);
  reader.Get("device", result.device);
  reader.Get("adminAccess", result.admin_access);
  reader.GetList("tolerations", result.tolerations, DeviceToleration::FromJson);
  reader.Get("bindingConditions", result.binding_conditions);
  reader.Get("bindingFailureConditions", result.binding_failure_conditions);
  reader.Get("shareID", result.share_id);
  reader.GetMap("consumedCapacity", result.consumed_capacity, ObjectReader::QuantityOf);
  reader.Get("skipNodeOperations", result.skip_node_operations);
  return reader.Done(result);
}

json::Value DeviceResult::ToJson() const {
  json::Value out = json::Value::Object(
      {{"request", request}, {"driver", driver}, {"pool", pool}, {"device", device}});
  if (admin_access) out.Set("adminAccess", *admin_access);
  SetItems(out, "tolerations", tolerations);
  SetTexts(out, "bindingConditions", binding_conditions);
  SetTexts(out, "bindingFailureConditions", binding_failure_conditions);
  if (share_id) out.Set("shareID", *share_id);
  if (!consumed_capacity.empty()) {
    json::Value map = json::Value::Object();
    for (const auto& [name, amount] : consumed_capacity) map.Set(name, amount.ToString());
    out.Set("consumedCapacity", std::move(map));
  }
  SetTexts(out, "skipNodeOperations", skip_node_operations);
  return out;
}

Result<DeviceResultConfig> DeviceResultConfig::FromJson(const json::Value& value) {
  DeviceResultConfig config;
  ObjectReader reader(value, "config");
  reader.Get("source", config.source);
  reader.Get("requests", config.requests);
  config.config = WithoutBookkeeping(value);
  return reader.Done(config);
}

json::Value DeviceResultConfig::ToJson() const {
  json::Value out = json::Value::Object({{"source", source}});
  SetTexts(out, "requests", requests);
  for (const json::Member& member : config.Members()) out.Set(member.key(), member.value);
  return out;
}

Result<AllocationResult> AllocationResult::FromJson(const json::Value& value) {
  AllocationResult allocation;
  ObjectReader reader(value, "allocation");
  const json::Value& devices = reader["devices"];
  if (devices.IsObject()) {
    ObjectReader inner(devices, "devices");
    inner.GetList("results", allocation.results, DeviceResult::FromJson);
    inner.GetList("config", allocation.config, DeviceResultConfig::FromJson);
    DRA_ASSIGN(allocation, inner.Done(allocation));
  }
  reader.GetObject("nodeSelector", allocation.node_selector, NodeSelector::FromJson);
  reader.Get("allocationTimestamp", allocation.allocation_timestamp);
  return reader.Done(allocation);
}

json::Value AllocationResult::ToJson() const {
  json::Value devices = json::Value::Object();
  SetItems(devices, "results", results);
  SetItems(devices, "config", config);
  json::Value out = json::Value::Object({{"devices", std::move(devices)}});
  if (node_selector) out.Set("nodeSelector", node_selector->ToJson());
  SetText(out, "allocationTimestamp", allocation_timestamp);
  return out;
}

std::string ResourceClaim::Ref() const { return ns.empty() ? name : ns + "/" + name; }

Result<ResourceClaim> ResourceClaim::FromJson(const json::Value& value) {
  ResourceClaim claim;
  const json::Value& metadata = value["metadata"];
  claim.ns = metadata["namespace"].AsString();
  claim.name = metadata["name"].AsString();
  claim.uid = metadata["uid"].AsString();
  const json::Value& devices = value["spec"]["devices"];
  if (devices.IsObject()) {
    ObjectReader reader(devices, "devices");
    reader.GetList("requests", claim.requests, RequestFromJson);
    reader.GetList("constraints", claim.constraints, ConstraintFromJson);
    reader.GetList("config", claim.config, ClaimConfigFromJson);
    DRA_ASSIGN(claim, reader.Done(claim));
  }
  if (const json::Value* allocation = value["status"].Find("allocation");
      allocation != nullptr && allocation->IsObject()) {
    DRA_ASSIGN(claim.allocation, AllocationResult::FromJson(*allocation));
  }
  return claim;
}

bool DeviceTaintRule::Matches(std::string_view driver_name, std::string_view pool_name,
                              std::string_view device_name) const {
  return has_selector && (!driver || *driver == driver_name) && (!pool || *pool == pool_name) &&
         (!device || *device == device_name);
}

Result<DeviceTaintRule> DeviceTaintRule::FromJson(const json::Value& value) {
  DeviceTaintRule rule;
  rule.name = value["metadata"]["name"].AsString();
  const json::Value& spec = value["spec"];
  if (const json::Value* selector = spec.Find("deviceSelector");
      selector != nullptr && selector->IsObject()) {
    rule.has_selector = true;
    ObjectReader reader(*selector, "deviceSelector");
    reader.Get("driver", rule.driver);
    reader.Get("pool", rule.pool);
    reader.Get("device", rule.device);
    DRA_ASSIGN(rule, reader.Done(rule));
  }
  DRA_ASSIGN(rule.taint, DeviceTaint::FromJson(spec["taint"]));
  return rule;
}

}  // namespace drachma::api
