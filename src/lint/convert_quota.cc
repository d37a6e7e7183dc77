#include <fmt/format.h>

#include <optional>
#include <string_view>

#include "lint/convert_pod.h"
#include "lint/path.h"

namespace drachma::lint {

using json::Value;

Conversion QuotaToClaims(const Value& object, const PluginCatalog& catalog) {
  constexpr std::string_view kRequests = "requests.";
  Conversion conversion;
  const std::string_view kind = object["kind"].AsString();
  if (kind == "LimitRange") {
    const Value& limits = object["spec"]["limits"];
    for (std::size_t i = 0; i < limits.size(); ++i) {
      for (const json::Member& bound : limits.Items()[i].Members()) {
        for (const json::Member& amount : bound.value.Members()) {
          if (!catalog.Find(amount.key())) continue;
          conversion.Warn(Child(Child(Item("spec.limits", i), bound.key()), amount.key()),
                          "limit-range", "LimitRanges do not look at claims; a ResourceQuota does");
        }
      }
    }
  }
  if (kind != "ResourceQuota") return conversion;
  for (const json::Member& hard : object["spec"]["hard"].Members()) {
    if (!hard.key().starts_with(kRequests)) continue;
    const std::optional<PluginMapping> mapping = catalog.Find(hard.key().substr(kRequests.size()));
    if (!mapping) continue;
    const std::string path = Child("spec.hard", hard.key());
    const std::string key =
        fmt::format("{}.deviceclass.resource.k8s.io/devices", mapping->device_class);
    if (mapping->shared || !mapping->Selectors().empty()) {
      conversion.Refuse(
          path, "quota-of-part",
          fmt::format("a quota counts the devices of a DeviceClass, and {} has more than these: "
                      "add a file with a DeviceClass whose extendedResourceName is {}",
                      mapping->device_class, mapping->resource));
    } else if (object["spec"]["hard"].Has(key)) {
      conversion.Refuse(path, "quota-twice", fmt::format("{} is limited already", key));
    } else {
      conversion.changes.push_back(
          {.type = Change::Type::kReplaceMember, .path = path, .key = key, .value = hard.value});
    }
  }
  return conversion;
}

}  // namespace drachma::lint
