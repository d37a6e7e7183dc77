#include "node/admission.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string_view>

#include "num/quantity.h"
#include "validation/names.h"

namespace drachma::node {
namespace {

using json::Value;

constexpr std::string_view kOfClass = "deviceclass.resource.kubernetes.io/";

bool MayBeDevices(std::string_view resource) {
  return validation::IsExtendedResourceName(resource) || resource.starts_with(kOfClass);
}

std::int64_t AmountOf(const Value& quantities, std::string_view resource) {
  const Value& amount = quantities[resource];
  if (amount.IsInt()) return amount.AsInt();
  const auto quantity = Quantity::Parse(amount.AsString());
  return quantity ? quantity->Value() : 0;
}

bool CoveredByClaim(const Value& pod, const Value& container, std::string_view resource) {
  const Value& mappings = pod["status"]["extendedResourceClaimStatus"]["requestMappings"];
  return std::ranges::any_of(mappings.Items(), [&](const Value& mapping) {
    return mapping["resourceName"].AsString() == resource &&
           mapping["containerName"].AsString() == container["name"].AsString();
  });
}

// What the pod needs of the node's own `resource` at once: its containers and sidecars together, or
// an init container.
std::int64_t RequestOf(const Value& pod, std::string_view resource) {
  std::int64_t together = 0;
  std::int64_t alone = 0;
  for (const std::string_view list : {"initContainers", "containers"}) {
    for (const Value& container : pod["spec"][list].Items()) {
      if (CoveredByClaim(pod, container, resource)) continue;
      const std::int64_t amount = AmountOf(container["resources"]["requests"], resource);
      const bool stays = list == "containers" || container["restartPolicy"].AsString() == "Always";
      if (stays) {
        together += amount;
      } else {
        alone = std::max(alone, amount);
      }
    }
  }
  return std::max(together, alone);
}

std::set<std::string_view> ResourcesOf(const Value& pod) {
  std::set<std::string_view> resources;
  for (const std::string_view list : {"initContainers", "containers"}) {
    for (const Value& container : pod["spec"][list].Items()) {
      for (const json::Member& member : container["resources"]["requests"].Members()) {
        if (MayBeDevices(member.key())) resources.insert(member.key());
      }
    }
  }
  return resources;
}

}  // namespace

std::optional<Rejection> RejectionOf(const Value& pod, const Value& node,
                                     const std::function<std::vector<const Value*>()>& others) {
  for (const std::string_view resource : ResourcesOf(pod)) {
    const std::int64_t requested = RequestOf(pod, resource);
    if (requested == 0) continue;
    const std::int64_t capacity = AmountOf(node["status"]["allocatable"], resource);
    std::int64_t used = 0;
    for (const Value* other : others()) used += RequestOf(*other, resource);
    if (requested <= capacity - used) continue;
    return Rejection{
        .reason = fmt::format("OutOf{}", resource),
        .message = fmt::format(
            "Node didn't have enough resource: {}, requested: {}, used: {}, capacity: {}", resource,
            requested, used, capacity)};
  }
  return std::nullopt;
}

}  // namespace drachma::node
