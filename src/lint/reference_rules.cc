#include "lint/reference_rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "gpu/driver.h"
#include "lint/classic_rules.h"
#include "lint/container_rules.h"
#include "lint/path.h"
#include "lint/tree.h"

namespace drachma::lint {
namespace {

using json::Value;

// Every DeviceClass may be asked for by this and its name (KEP-5004).
constexpr std::string_view kImplicitPrefix = "deviceclass.resource.kubernetes.io/";

std::string_view NamespaceOf(const Value& object) {
  return object["metadata"]["namespace"].AsString("default");
}

// The object of the input that an entry of resourceClaims names; null when it is not there.
const Value* ClaimOf(const Value& entry, std::string_view ns, const RuleContext& context) {
  const Value& owner = entry["source"].IsObject() ? entry["source"] : entry;
  const bool is_template = owner.Has("resourceClaimTemplateName");
  const std::string_view kind = is_template ? "ResourceClaimTemplate" : "ResourceClaim";
  const std::string_view name =
      owner[is_template ? "resourceClaimTemplateName" : "resourceClaimName"].AsString();
  const auto found = std::ranges::find_if(context.objects, [&](const Value& object) {
    return object["kind"].AsString() == kind && object["metadata"]["name"].AsString() == name &&
           NamespaceOf(object) == ns;
  });
  return found == context.objects.end() ? nullptr : &*found;
}

std::vector<std::string_view> RequestsOf(const Value& claim) {
  std::vector<std::string_view> names;
  const std::string path = Child(ClaimSpecPath(claim), "devices.requests");
  for (const Value& request : ValueAt(claim, path).Items()) {
    names.push_back(request["name"].AsString());
  }
  return names;
}

// A DeviceClass of the input or of the GPU drivers; null when the name is neither's.
Value FindClass(std::string_view name, const RuleContext& context) {
  for (const Value& object : context.objects) {
    const bool is_class = object["kind"].AsString() == "DeviceClass";
    if (is_class && object["metadata"]["name"].AsString() == name) return object;
  }
  for (const Value& shipped : gpu::DeviceClasses()) {
    if (shipped["metadata"]["name"].AsString() == name) return shipped;
  }
  return {};
}

void FindClassNames(const Value& amounts, const std::string& path, const RuleContext& context,
                    std::vector<Found>& found) {
  for (const json::Member& member : amounts.Members()) {
    const std::string_view name = member.key();
    if (name.contains('/')) continue;
    const Value deviceclass = FindClass(DriverToday(name), context);
    const bool known = !deviceclass.IsNull() || name == context.driver;
    // Other names without a slash are Kubernetes' own, which have no dots.
    if (!known && !name.contains('.')) continue;
    const std::string resource(deviceclass["spec"]["extendedResourceName"].AsString(
        fmt::format("{}{}", kImplicitPrefix, DriverToday(name))));
    Found made = MakeFound(
        Child(path, name), "resource-names-class",
        fmt::format("\"{}\" is no resource: the devices of a DeviceClass are asked for {}as "
                    "{}CLASS, or with a claim",
                    name,
                    resource.starts_with(kImplicitPrefix) ? "" : fmt::format("as {}, ", resource),
                    kImplicitPrefix),
        fmt::format("{}: …", resource));
    if (known) {
      made.finding.changes = {{.type = Change::Type::kReplaceMember,
                               .path = Child(path, name),
                               .key = resource,
                               .value = member.value}};
    }
    found.push_back(std::move(made));
  }
}

}  // namespace

void UnknownClaimRequest(const Value& object, const RuleContext& context,
                         std::vector<Found>& found) {
  const Value& entries = ValueAt(object, Child(PodSpecPath(object), "resourceClaims"));
  ForEachContainer(object, [&](const Value& container, const std::string& path) {
    const auto listed = container["resources"]["claims"].Items();
    for (std::size_t i = 0; i < listed.size(); ++i) {
      const std::string_view request = listed[i]["request"].AsString();
      const auto entry = std::ranges::find_if(entries.Items(), [&](const Value& candidate) {
        return candidate["name"].AsString() == listed[i]["name"].AsString();
      });
      if (request.empty() || entry == entries.Items().end()) continue;
      const Value* claim = ClaimOf(*entry, NamespaceOf(object), context);
      if (claim == nullptr) continue;
      const std::vector<std::string_view> names = RequestsOf(*claim);
      if (names.empty() || std::ranges::find(names, request) != names.end()) continue;
      const std::string at = Child(Item(Child(path, "resources.claims"), i), "request");
      Found made = MakeFound(
          at, "unknown-claim-request",
          fmt::format("{} \"{}\" has no request \"{}\" but {}: the container would get none of its "
                      "devices",
                      (*claim)["kind"].AsString(), (*claim)["metadata"]["name"].AsString(), request,
                      fmt::join(names, ", ")),
          "");
      if (names.size() == 1) {
        made.finding.fix = fmt::format("request: {}", names[0]);
        made.finding.changes = {{.path = at, .value = names[0]}};
      }
      found.push_back(std::move(made));
    }
  });
}

void ResourceNamesClass(const Value& object, const RuleContext& context,
                        std::vector<Found>& found) {
  ForEachContainer(object, [&](const Value& container, const std::string& path) {
    const std::string resources = Child(path, "resources");
    for (const std::string_view list : {"requests", "limits"}) {
      FindClassNames(container["resources"][list], Child(resources, list), context, found);
    }
  });
}

}  // namespace drachma::lint
