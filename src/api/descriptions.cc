#include "api/descriptions.h"

#include <fmt/format.h>

namespace drachma::api {

namespace {

struct Row {
  std::string_view type;
  std::string_view field;  // "" for the struct itself
  std::string_view text;
};

// The fields of every object.
constexpr Row kCommon[] = {
    {"", "apiVersion", "Group and version in which the object is written."},
    {"", "kind", "Kind of the object."},
    {"", "metadata", "Name, labels and what else all objects have."},
    {"", "spec", "What is wanted."},
    {"", "status", "What is, as the controllers last saw it."},
    {"", "items", "The objects of the list."},
};

// The structs of Dynamic Resource Allocation, in all their versions.
constexpr Row kDra[] = {
    {"DeviceClass", "",
     "A sort of devices that claims ask for by name, set up by an administrator."},
    {"DeviceClassSpec", "selectors",
     "A device is of the class only when all of these hold for it."},
    {"DeviceClassSpec", "config", "Configuration that every device of the class is prepared with."},
    {"DeviceClassSpec", "extendedResourceName",
     "Name of an extended resource: pods that request it get devices of the class without a "
     "claim."},
    {"DeviceClassConfiguration", "opaque", "Configuration that only its driver understands."},
    {"DeviceConfiguration", "opaque", "Configuration that only its driver understands."},
    {"OpaqueDeviceConfiguration", "driver", "Name of the driver the parameters are for."},
    {"OpaqueDeviceConfiguration", "parameters",
     "Any object that the driver defines; usually it has apiVersion and kind."},
    {"DeviceSelector", "cel", "A condition on a device, in the Common Expression Language."},
    {"CELDeviceSelector", "expression",
     "Must be true for a device to match. It sees `device`: driver, attributes and capacity by "
     "domain, allowMultipleAllocations."},

    {"ResourceClaim", "", "A request for devices, and what was allocated for it."},
    {"ResourceClaim", "spec", "The devices that are wanted. It cannot be changed."},
    {"ResourceClaim", "status", "What was allocated, and who may use it."},
    {"ResourceClaimSpec", "devices", "The devices that are wanted."},
    {"DeviceClaim", "requests", "What is wanted, one entry per sort of device; at most 32."},
    {"DeviceClaim", "constraints", "What must hold between the devices of several requests."},
    {"DeviceClaim", "config", "Configuration of the devices, for their drivers."},
    {"DeviceClaimConfiguration", "requests", "The requests it is for; all of them when empty."},
    {"DeviceClaimConfiguration", "opaque", "Configuration that only its driver understands."},
    {"DeviceRequest", "name", "Name of the request; containers and constraints refer to it."},
    {"DeviceRequest", "exactly", "The one way to satisfy the request."},
    {"DeviceRequest", "firstAvailable",
     "Several ways to satisfy the request, best first; the first that can be had is taken."},
    {"DeviceConstraint", "requests", "The requests whose devices it binds; all when empty."},
    {"DeviceConstraint", "matchAttribute",
     "All devices must have this attribute, with the same value."},
    {"DeviceConstraint", "distinctAttribute",
     "All devices must have this attribute, each with another value."},
    {"DeviceCommonRequest", "deviceClassName", "Class of the devices."},
    {"DeviceCommonRequest", "selectors", "Further conditions, all of which must hold."},
    {"DeviceCommonRequest", "allocationMode",
     "ExactCount (the default) takes `count` devices, All takes every device that matches."},
    {"DeviceCommonRequest", "count", "How many devices; 1 when left out."},
    {"DeviceCommonRequest", "adminAccess",
     "Also devices in use by others, to look after them. The namespace must be labelled for it."},
    {"DeviceCommonRequest", "tolerations", "Taints of devices that do not keep them away."},
    {"DeviceCommonRequest", "capacity",
     "How much of a device's capacity is used, where it is shared."},
    {"DeviceCommonRequest", "derivedAttributes",
     "Attributes computed from a device, for constraints."},
    {"DeviceSubRequest", "name", "Name of this way, unique in the request."},
    {"CapacityRequirements", "requests", "Amounts by name of the capacity."},
    {"DeviceDerivedAttribute", "name", "Name that constraints use."},
    {"DeviceDerivedAttribute", "expression", "CEL expression that computes the value."},
    {"DeviceToleration", "key", "Key of the taint; empty, with Exists, stands for all."},
    {"DeviceToleration", "operator", "Equal (the default) compares values, Exists does not."},
    {"DeviceToleration", "value", "Value of the taint."},
    {"DeviceToleration", "effect", "Effect of the taint; empty stands for all."},
    {"DeviceToleration", "tolerationSeconds", "For how long a NoExecute taint is tolerated."},
    {"ResourceClaimStatus", "allocation", "The devices; missing while nothing is allocated."},
    {"ResourceClaimStatus", "reservedFor", "Who may use the claim now; at most 256."},
    {"ResourceClaimStatus", "devices", "State of the devices, as their drivers report it."},
    {"AllocationResult", "devices", "The devices and their configuration."},
    {"AllocationResult", "nodeSelector", "Nodes where the devices can be used; all when missing."},
    {"AllocationResult", "allocationTimestamp", "When the devices were allocated."},
    {"DeviceAllocationResult", "results", "The devices."},
    {"DeviceAllocationResult", "config", "Configuration from class and claim, in order."},
    {"DeviceAllocationConfiguration", "source", "FromClass or FromClaim."},
    {"DeviceAllocationConfiguration", "requests",
     "The requests it is for; all of them when empty."},
    {"DeviceAllocationConfiguration", "opaque", "Configuration that only its driver understands."},
    {"DeviceRequestAllocationResult", "request",
     "Name of the request; `request/subrequest` for one of several ways."},
    {"DeviceRequestAllocationResult", "driver", "Driver of the device."},
    {"DeviceRequestAllocationResult", "pool", "Pool of the device."},
    {"DeviceRequestAllocationResult", "device", "Name of the device in its pool."},
    {"DeviceRequestAllocationResult", "adminAccess", "Whether it was allocated for looking after."},
    {"DeviceRequestAllocationResult", "tolerations", "The tolerations of the request."},
    {"DeviceRequestAllocationResult", "bindingConditions",
     "Conditions that must become true before the pod is bound."},
    {"DeviceRequestAllocationResult", "bindingFailureConditions",
     "Conditions that end the attempt when one becomes true."},
    {"DeviceRequestAllocationResult", "shareID", "Tells the shares of one device apart."},
    {"DeviceRequestAllocationResult", "consumedCapacity", "What this share uses of the capacity."},
    {"DeviceRequestAllocationResult", "skipNodeOperations", "The node has nothing to prepare."},
    {"ResourceClaimConsumerReference", "apiGroup", "Group of the consumer; empty is core."},
    {"ResourceClaimConsumerReference", "resource", "Resource of the consumer, as `pods`."},
    {"ResourceClaimConsumerReference", "name", "Name of the consumer."},
    {"ResourceClaimConsumerReference", "uid", "Uid of the consumer."},
    {"AllocatedDeviceStatus", "driver", "Driver of the device."},
    {"AllocatedDeviceStatus", "pool", "Pool of the device."},
    {"AllocatedDeviceStatus", "device", "Name of the device in its pool."},
    {"AllocatedDeviceStatus", "shareID", "The share that is meant."},
    {"AllocatedDeviceStatus", "conditions", "State of the device in conditions; at most 8."},
    {"AllocatedDeviceStatus", "data", "What else the driver tells."},
    {"AllocatedDeviceStatus", "networkData", "Facts about a network device."},
    {"NetworkDeviceData", "interfaceName", "Name of the interface in the pod."},
    {"NetworkDeviceData", "ips", "Addresses of the interface, with their prefix lengths."},
    {"NetworkDeviceData", "hardwareAddress", "Hardware address of the interface."},

    {"ResourceClaimTemplate", "", "The pattern of the claims that are made for pods."},
    {"ResourceClaimTemplate", "spec", "The claim that each pod gets. It cannot be changed."},
    {"ResourceClaimTemplateSpec", "metadata", "Labels and annotations of the claims."},
    {"ResourceClaimTemplateSpec", "spec", "Spec of the claims."},

    {"ResourceSlice", "", "Devices of one pool that a driver publishes."},
    {"ResourceSliceSpec", "driver", "Name of the driver. It cannot be changed."},
    {"ResourceSliceSpec", "pool", "The pool that the slice is part of."},
    {"ResourceSliceSpec", "nodeName", "Node of the devices. It cannot be changed."},
    {"ResourceSliceSpec", "nodeSelector", "Nodes that can use the devices."},
    {"ResourceSliceSpec", "allNodes", "Every node can use the devices."},
    {"ResourceSliceSpec", "devices", "The devices; at most 128, fewer with taints or counters."},
    {"ResourceSliceSpec", "perDeviceNodeSelection",
     "Each device says itself which nodes can use it."},
    {"ResourceSliceSpec", "sharedCounters", "Counters that devices of the pool draw from."},
    {"ResourceSliceSpec", "partitionTypeAttribute",
     "Attribute that tells sorts of partitions apart."},
    {"ResourceSliceSpec", "skipNodeOperations", "The node has nothing to prepare."},
    {"ResourcePool", "name", "Name of the pool, often that of its node."},
    {"ResourcePool", "generation", "Only slices of the newest generation count."},
    {"ResourcePool", "resourceSliceCount", "How many slices the generation has in all."},
    {"CounterSet", "name", "Name of the set."},
    {"CounterSet", "counters", "The counters and what they hold."},
    {"Counter", "value", "The amount."},
    {"Device", "name", "Name of the device, unique in its pool."},
    {"Device", "basic", "What the device is and can."},
    {"BasicDevice", "attributes", "Facts about the device, by qualified name."},
    {"BasicDevice", "capacity", "What the device has, by qualified name."},
    {"BasicDevice", "consumesCounters", "What the device takes from the pool's counters."},
    {"BasicDevice", "nodeName", "Node of the device."},
    {"BasicDevice", "nodeSelector", "Nodes that can use the device."},
    {"BasicDevice", "allNodes", "Every node can use the device."},
    {"BasicDevice", "taints", "What keeps claims away that do not tolerate it."},
    {"BasicDevice", "bindsToNode", "The claim is bound to the node of its first pod."},
    {"BasicDevice", "bindingConditions", "Conditions that must become true before a pod is bound."},
    {"BasicDevice", "bindingFailureConditions",
     "Conditions that end an attempt when one becomes true."},
    {"BasicDevice", "allowMultipleAllocations", "Several claims may share the device."},
    {"BasicDevice", "nodeAllocatableResources",
     "What the device is or costs of the node's resources."},
    {"DeviceCounterConsumption", "counterSet", "Name of the set of counters."},
    {"DeviceCounterConsumption", "counters", "Amounts by name of the counter."},
    {"DeviceCounterConsumption", "compatibilityGroups",
     "Only devices of a common group go together."},
    {"DeviceAttribute", "int", "A number."},
    {"DeviceAttribute", "bool", "True or false."},
    {"DeviceAttribute", "string", "A text of at most 64 characters."},
    {"DeviceAttribute", "version", "A semantic version."},
    {"DeviceAttribute", "ints", "Several numbers."},
    {"DeviceAttribute", "bools", "Several truth values."},
    {"DeviceAttribute", "strings", "Several texts."},
    {"DeviceAttribute", "versions", "Several versions."},
    {"DeviceCapacity", "value", "How much there is."},
    {"DeviceCapacity", "requestPolicy", "How much of it one request may take."},
    {"CapacityRequestPolicy", "default", "Amount for requests that name none."},
    {"CapacityRequestPolicy", "validValues", "The amounts to choose from."},
    {"CapacityRequestPolicy", "validRange", "The amounts between a least and a greatest one."},
    {"CapacityRequestPolicyRange", "min", "Least amount."},
    {"CapacityRequestPolicyRange", "max", "Greatest amount."},
    {"CapacityRequestPolicyRange", "step", "Amounts are the least one plus multiples of this."},
    {"DeviceTaint", "key", "Key of the taint."},
    {"DeviceTaint", "value", "Value of the taint."},
    {"DeviceTaint", "effect",
     "NoSchedule keeps new pods away, NoExecute also evicts running ones, None only tells."},
    {"DeviceTaint", "timeAdded", "Since when the taint is there."},

    {"DeviceTaintRule", "", "A taint for all devices that match."},
    {"DeviceTaintRuleSpec", "deviceSelector", "The devices that are tainted."},
    {"DeviceTaintRuleSpec", "taint", "The taint."},
    {"DeviceTaintRuleStatus", "conditions", "How far the eviction of pods has come."},
    {"DeviceTaintSelector", "driver", "Driver of the devices."},
    {"DeviceTaintSelector", "pool", "Pool of the devices."},
    {"DeviceTaintSelector", "device", "Name of the device."},

    {"ResourcePoolStatusRequest", "", "A question about the pools of a driver, answered once."},
    {"ResourcePoolStatusRequestSpec", "driver", "Driver of the pools."},
    {"ResourcePoolStatusRequestSpec", "poolName", "One pool only."},
    {"ResourcePoolStatusRequestSpec", "limit", "At most so many pools in the answer."},
    {"ResourcePoolStatusRequestStatus", "poolCount", "How many pools matched."},
    {"ResourcePoolStatusRequestStatus", "pools", "The pools."},
    {"ResourcePoolStatusRequestStatus", "conditions", "Whether the answer is complete."},
};

bool IsDra(const TypeInfo& type) { return type.go_name.starts_with("k8s.io/api/resource/"); }

// Requests and devices have the same fields in another struct in each version.
std::string_view Family(std::string_view type) {
  if (type == "ExactDeviceRequest" || type == "DeviceSubRequest" || type == "DeviceRequest") {
    return "DeviceCommonRequest";
  }
  return type == "Device" ? "BasicDevice" : std::string_view();
}

template <std::size_t kSize>
std::string_view Find(const Row (&rows)[kSize], std::string_view type, std::string_view field) {
  for (const Row& row : rows) {
    if (row.type == type && row.field == field) return row.text;
  }
  return {};
}

}  // namespace

std::string DescriptionOf(const TypeInfo& type) {
  if (IsDra(type)) {
    if (const auto text = Find(kDra, type.BareName(), ""); !text.empty()) return std::string(text);
  }
  const std::string_view short_name = type.ShortName();
  return fmt::format("{} ({}).", type.BareName(), short_name.substr(0, short_name.rfind('.')));
}

std::string_view DescriptionOf(const TypeInfo& type, std::string_view field) {
  if (IsDra(type)) {
    std::string_view text = Find(kDra, type.BareName(), field);
    if (text.empty()) text = Find(kDra, Family(type.BareName()), field);
    if (!text.empty()) return text;
  }
  return Find(kCommon, "", field);
}

}  // namespace drachma::api
