#include "scheduler/extended.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "num/quantity.h"

namespace drachma::scheduler {
namespace {

using json::Value;

struct Request {
  std::string name;
  std::string device_class;
  std::int64_t count = 0;
};

struct Mapping {
  std::string container;
  std::string resource;
  std::string request;
};

// Containers in upstream's order of indices: init containers first.
struct Container {
  const Value* json;
  bool long_lived;  // a sidecar or a regular container
};

std::vector<Container> ContainersOf(const Value& spec) {
  std::vector<Container> containers;
  for (const Value& container : spec["initContainers"].Items()) {
    containers.push_back({&container, container["restartPolicy"].AsString() == "Always"});
  }
  for (const Value& container : spec["containers"].Items())
    containers.push_back({&container, true});
  return containers;
}

// How many whole units the container asks for; nothing for fractions, zero and none.
std::optional<std::int64_t> WholeAmount(const Value& container, const std::string& resource) {
  const Value& value = container["resources"]["requests"][resource];
  if (value.IsNull()) return std::nullopt;
  const auto quantity = value.IsInt() ? Quantity::FromInt(value.AsInt(), QuantityFormat::kDecimalSI)
                                      : Quantity::Parse(value.AsString()).value_or(Quantity());
  const auto amount = quantity.AsInt64();
  if (!amount || *amount == 0) return std::nullopt;
  return amount;
}

// The place of `resource` among all resources that the container requests, by name.
std::size_t IndexOfResource(const Value& container, const std::string& resource) {
  return static_cast<std::size_t>(std::ranges::count_if(
      container["resources"]["requests"].Members(),
      [&resource](const json::Member& member) { return member.key() < resource; }));
}

std::string RequestName(std::size_t container_index, const Value& container,
                        const std::string& resource) {
  return fmt::format("container-{}-request-{}", container_index,
                     IndexOfResource(container, resource));
}

// The requests and mappings of one resource (upstream's createRequestsAndMappings): containers that
// live as long as the pod each have their own; init containers that end use those of later
// containers first, and share one request for the rest, the greatest.
class ResourcePlan {
 public:
  ResourcePlan(const std::vector<Container>& containers, const MappedResource& resource)
      : containers_(containers), resource_(resource), long_lived_(containers.size()) {
    for (std::size_t i = 0; i < containers.size(); ++i) {
      if (containers[i].long_lived) long_lived_[i] = Plan(i, {}, mappings_);
    }
    for (std::size_t i = 0; i < containers.size(); ++i) {
      if (!containers[i].long_lived) PlanShortLived(i);
    }
    for (Mapping& mapping : short_mappings_) {
      if (greatest_ && std::ranges::find(short_names_, mapping.request) != short_names_.end()) {
        mapping.request = greatest_->name;
      }
    }
  }

  void AppendTo(std::vector<Request>& requests, std::vector<Mapping>& mappings) const {
    if (greatest_) requests.push_back(*greatest_);
    for (const auto& request : long_lived_) {
      if (request) requests.push_back(*request);
    }
    mappings.insert(mappings.end(), mappings_.begin(), mappings_.end());
    mappings.insert(mappings.end(), short_mappings_.begin(), short_mappings_.end());
  }

 private:
  void PlanShortLived(std::size_t index) {
    auto request =
        Plan(index, {long_lived_.begin() + static_cast<std::ptrdiff_t>(index), long_lived_.end()},
             short_mappings_);
    if (!request) return;
    short_names_.push_back(request->name);
    if (!greatest_ || greatest_->count < request->count) greatest_ = std::move(request);
  }

  std::optional<Request> Plan(std::size_t index,
                              const std::vector<std::optional<Request>>& reusable,
                              std::vector<Mapping>& mappings) const {
    const Value& container = *containers_[index].json;
    const auto amount = WholeAmount(container, resource_.name);
    if (!amount) return std::nullopt;
    const std::string container_name(container["name"].AsString());
    std::int64_t covered = 0;
    for (const auto& request : reusable) {
      if (!request) continue;
      covered += request->count;
      mappings.push_back({container_name, resource_.name, request->name});
      if (covered >= *amount) return std::nullopt;
    }
    Request request{RequestName(index, container, resource_.name), resource_.device_class,
                    *amount - covered};
    mappings.push_back({container_name, resource_.name, request.name});
    return request;
  }

  const std::vector<Container>& containers_;
  const MappedResource& resource_;
  std::vector<std::optional<Request>> long_lived_;
  std::vector<Mapping> mappings_;
  std::vector<Mapping> short_mappings_;
  std::vector<std::string> short_names_;
  std::optional<Request> greatest_;
};

Value RequestsJson(const std::vector<Request>& requests) {
  Value list = Value::Array();
  for (const Request& request : requests) {
    list.Append(Value::Object({{"name", request.name},
                               {"exactly", Value::Object({{"deviceClassName", request.device_class},
                                                          {"allocationMode", "ExactCount"},
                                                          {"count", request.count}})}}));
  }
  return list;
}

}  // namespace

std::vector<MappedResource> MappedResources(const state::PodView& pod,
                                            const allocator::Inventory& inventory,
                                            const state::ResourceNames& names) {
  std::vector<MappedResource> mapped;
  for (const auto& [id, amount] : pod.requests.others) {
    const std::string& name = names.NameOf(id);
    if (name.find('/') == std::string::npos) continue;  // hugepages and the like are native
    std::string device_class = inventory.ClassOfExtendedResource(name);
    if (!device_class.empty()) mapped.push_back({id, name, std::move(device_class)});
  }
  std::ranges::sort(mapped, {}, &MappedResource::name);
  return mapped;
}

std::vector<state::ResourceId> Delegated(const std::vector<MappedResource>& mapped,
                                         const state::NodeInfo& node) {
  std::vector<state::ResourceId> delegated;
  for (const MappedResource& resource : mapped) {
    if (node.allocatable.Other(resource.id) == 0) delegated.push_back(resource.id);
  }
  return delegated;
}

ExtendedClaim MakeExtendedClaim(const state::PodView& pod,
                                const std::vector<MappedResource>& mapped,
                                const std::vector<state::ResourceId>& delegated) {
  const std::vector<Container> containers = ContainersOf(pod.object["spec"]);
  std::vector<Request> requests;
  std::vector<Mapping> mappings;
  for (const MappedResource& resource : mapped) {
    if (std::ranges::find(delegated, resource.id) == delegated.end()) continue;
    ResourcePlan(containers, resource).AppendTo(requests, mappings);
  }
  std::ranges::sort(requests, {}, &Request::name);

  ExtendedClaim extended;
  extended.mappings = Value::Array();
  for (const Mapping& mapping : mappings) {
    extended.mappings.Append(Value::Object({{"containerName", mapping.container},
                                            {"resourceName", mapping.resource},
                                            {"requestName", mapping.request}}));
  }
  Value owner = Value::Object({{"apiVersion", "v1"},
                               {"kind", "Pod"},
                               {"name", pod.name},
                               {"uid", pod.uid},
                               {"controller", true}});
  Value metadata =
      Value::Object({{"generateName", pod.name + std::string(kExtendedClaimSuffix)},
                     {"namespace", pod.ns},
                     {"annotations", Value::Object({{kExtendedClaimAnnotation, "true"}})},
                     {"finalizers", Value::Array({"resource.kubernetes.io/delete-protection"})},
                     {"ownerReferences", Value::Array({std::move(owner)})}});
  extended.claim = Value::Object(
      {{"apiVersion", "resource.k8s.io/v1"},
       {"kind", "ResourceClaim"},
       {"metadata", std::move(metadata)},
       {"spec",
        Value::Object({{"devices", Value::Object({{"requests", RequestsJson(requests)}})}})}});
  return extended;
}

std::map<std::string, std::string> TitlesOfRequests(const state::PodView& pod) {
  std::map<std::string, std::string> titles;
  const std::vector<Container> containers = ContainersOf(pod.object["spec"]);
  for (std::size_t i = 0; i < containers.size(); ++i) {
    const Value& container = *containers[i].json;
    for (const json::Member& member : container["resources"]["requests"].Members()) {
      const std::string resource(member.key());
      if (!WholeAmount(container, resource)) continue;
      titles.emplace(RequestName(i, container, resource),
                     fmt::format("{} of container {}", resource, container["name"].AsString()));
    }
  }
  return titles;
}

}  // namespace drachma::scheduler
