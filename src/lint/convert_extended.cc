#include "lint/convert_extended.h"

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "lint/path.h"
#include "lint/tree.h"

namespace drachma::lint {
namespace {

using json::Value;

// What a request can say and the name of a resource cannot.
constexpr std::pair<std::string_view, std::string_view> kUnsayable[] = {
    {"selectors", "selectors are said by the DeviceClass alone"},
    {"adminAccess", "admin access is for claims"},
    {"tolerations", "taints of devices are tolerated by claims"},
    {"capacity", "parts of a device's capacity are asked for by claims"},
    {"derivedAttributes", "derived attributes are of claims"},
};

// Why the claims of a spec say more than numbers of devices; empty when they do not.
std::string WhyNot(const Value& devices) {
  if (!devices["constraints"].empty()) return "constraints between devices are of claims";
  if (!devices["config"].empty()) return "config for the driver is of claims, or of a DeviceClass";
  for (const Value& request : devices["requests"].Items()) {
    const std::string_view name = request["name"].AsString();
    if (request.Has("firstAvailable")) {
      return fmt::format("request {}: alternatives are of claims", name);
    }
    const Value& exactly = request["exactly"];
    if (exactly["allocationMode"].AsString() == "All") {
      return fmt::format("request {}: all devices of a node are no number", name);
    }
    for (const auto& [field, why] : kUnsayable) {
      if (exactly.Has(field)) return fmt::format("request {}: {}", name, why);
    }
  }
  return {};
}

// The class by which the resource of `mapping` is offered, unless there is one already.
void Offer(const std::optional<PluginMapping>& mapping, std::set<std::string>& offered,
           Conversion& out) {
  if (!mapping || mapping->own_class) return;
  if (offered.insert(mapping->resource).second) out.made.push_back(MakeOfferingClass(*mapping));
}

class ClaimConverter {
 public:
  ClaimConverter(const Value& object, std::string pod_path, const PluginCatalog& catalog,
                 const ClaimTemplates& templates, std::set<std::string>& offered, Conversion& out)
      : object_(object),
        pod_path_(std::move(pod_path)),
        catalog_(catalog),
        templates_(templates),
        offered_(offered),
        out_(out) {}

  void Run() {
    const std::string path = Child(pod_path_, "resourceClaims");
    const Value& claims = ValueAt(object_, path);
    for (std::size_t i = 0; i < claims.size(); ++i) Convert(claims.Items()[i], Item(path, i));
    if (claims.empty() || out_.refused()) return;
    EditContainers();
    out_.changes.push_back({.type = Change::Type::kRemoveMember, .path = path});
  }

 private:
  void Convert(const Value& claim, const std::string& path) {
    const std::string_view name = claim["resourceClaimTemplateName"].AsString();
    if (name.empty()) {
      return out_.Refuse(path, "shared-claim",
                         "a claim that has its own name may be used by several pods; extended "
                         "resources are of one pod");
    }
    const std::string_view ns = object_["metadata"]["namespace"].AsString("default");
    const auto found = templates_.find(fmt::format("{}/{}", ns, name));
    if (found == templates_.end()) {
      return out_.Refuse(path, "template-not-given",
                         fmt::format("ResourceClaimTemplate {} is not among the files", name));
    }
    const Value& devices = found->second.At({"spec", "spec", "devices"});
    if (const std::string why = WhyNot(devices); !why.empty()) {
      return out_.Refuse(path, "claim-says-more", why);
    }
    for (const Value& request : devices["requests"].Items()) {
      Assign(claim["name"].AsString(), request, path);
    }
  }

  // The one container that uses the request asks for the devices.
  void Assign(std::string_view claim, const Value& request, const std::string& path) {
    const std::string_view name = request["name"].AsString();
    std::vector<std::string> users;
    ForEachContainerOf([&](const Value& container, const std::string& at) {
      for (const Value& entry : container["resources"]["claims"].Items()) {
        const std::string_view of = entry["request"].AsString();
        if (entry["name"].AsString() == claim && (of.empty() || of == name)) users.push_back(at);
      }
    });
    if (users.size() != 1) {
      return out_.Refuse(path, "claim-of-containers",
                         fmt::format("request {} is used by {} containers; an extended resource "
                                     "is of one",
                                     name, users.size()));
    }
    const Value& exactly = request["exactly"];
    const std::string resource = catalog_.ResourceOf(exactly["deviceClassName"].AsString());
    limits_[users.front()][resource] += exactly["count"].AsInt(1);
  }

  void ForEachContainerOf(const std::function<void(const Value&, const std::string&)>& visit) {
    for (const std::string_view list : {"initContainers", "containers"}) {
      const std::string path = Child(pod_path_, list);
      const Value& containers = ValueAt(object_, path);
      for (std::size_t i = 0; i < containers.size(); ++i) {
        visit(containers.Items()[i], Item(path, i));
      }
    }
  }

  void EditContainers() {
    for (const auto& [container, amounts] : limits_) {
      for (const auto& [resource, count] : amounts) Offer(catalog_.Find(resource), offered_, out_);
      const std::string resources = Child(container, "resources");
      const Value& limits = ValueAt(object_, resources)["limits"];
      Value added = Value::Object();
      for (const auto& [resource, count] : amounts) {
        if (limits.Has(resource)) {
          out_.Refuse(Child(Child(resources, "limits"), resource), "resource-twice",
                      fmt::format("{} is asked for beside the claim", resource));
        }
        added.Set(resource, count);
      }
      if (limits.empty()) {
        out_.changes.push_back({.type = Change::Type::kInsertMember,
                                .path = resources,
                                .key = "limits",
                                .value = std::move(added)});
      } else {
        for (const json::Member& member : added.Members()) {
          out_.changes.push_back({.type = Change::Type::kInsertMember,
                                  .path = Child(resources, "limits"),
                                  .key = std::string(member.key()),
                                  .value = member.value});
        }
      }
    }
    ForEachContainerOf([&](const Value& container, const std::string& path) {
      if (!container["resources"].Has("claims")) return;
      out_.changes.push_back(
          {.type = Change::Type::kRemoveMember, .path = Child(path, "resources.claims")});
    });
  }

  const Value& object_;
  const std::string pod_path_;
  const PluginCatalog& catalog_;
  const ClaimTemplates& templates_;
  std::set<std::string>& offered_;
  Conversion& out_;
  std::map<std::string, std::map<std::string, std::int64_t>> limits_;  // by container, resource
};

// The classes that offer what a container asks for.
void OfferAll(const Value& container, const std::string& path, const PluginCatalog& catalog,
              std::set<std::string>& offered, Conversion& out) {
  for (const json::Member& member : container["resources"]["limits"].Members()) {
    const std::optional<PluginMapping> mapping = catalog.Find(member.key());
    if (mapping && mapping->shared) {
      out.Refuse(Child(Child(path, "resources.limits"), member.key()), "shared-extended-resource",
                 fmt::format("devices by the name of {} are whole: shares of them want claims "
                             "(--to claims)",
                             mapping->resource));
    } else {
      Offer(mapping, offered, out);
    }
  }
}

}  // namespace

Conversion PodToExtended(const Value& object, const PluginCatalog& catalog,
                         const ClaimTemplates& templates, std::set<std::string>& offered) {
  Conversion conversion;
  for (const std::string& path : PodSpecPathsOf(object)) {
    for (const std::string_view list : {"initContainers", "containers"}) {
      const Value& containers = ValueAt(object, Child(path, list));
      for (std::size_t i = 0; i < containers.size(); ++i) {
        OfferAll(containers.Items()[i], Item(Child(path, list), i), catalog, offered, conversion);
      }
    }
    ClaimConverter(object, path, catalog, templates, offered, conversion).Run();
  }
  return conversion;
}

}  // namespace drachma::lint
