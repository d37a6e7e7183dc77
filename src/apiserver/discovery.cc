#include "apiserver/discovery.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "api/emulated_gates.h"
#include "api/kinds.h"
#include "api/openapi.h"
#include "apiserver/custom_openapi.h"
#include "json/json.h"
#include "net/signing.h"

namespace drachma::apiserver {
namespace {

json::Value Names(std::span<const std::string_view> names) {
  json::Value list = json::Value::Array();
  for (const std::string_view name : names) list.Append(name);
  return list;
}

json::Value ResponseKind(std::string_view group, std::string_view version, std::string_view kind) {
  return json::Value::Object({{"group", group}, {"version", version}, {"kind", kind}});
}

// The group, version and kind that a subresource speaks.
struct SpokenKind {
  std::string_view group;
  std::string_view version;
  std::string_view kind;
};

SpokenKind SpokenBy(const api::KindInfo& info, std::string_view version,
                    const api::SubresourceInfo& subresource) {
  SpokenKind spoken{.group = info.group, .version = version, .kind = info.kind};
  if (!subresource.group_version.empty()) {
    const auto parts = api::SplitGroupVersion(subresource.group_version);
    spoken.group = parts.group;
    spoken.version = parts.version;
  }
  if (!subresource.kind.empty()) spoken.kind = subresource.kind;
  return spoken;
}

json::Value AggregatedResource(const api::KindInfo& info, std::string_view version) {
  json::Value resource =
      json::Value::Object({{"resource", info.plural},
                           {"responseKind", ResponseKind(info.group, version, info.kind)},
                           {"scope", info.namespaced() ? "Namespaced" : "Cluster"},
                           {"singularResource", info.singular},
                           {"verbs", Names(api::VerbNames(info.verbs))}});
  if (!info.short_names.empty()) resource.Set("shortNames", Names(info.short_names));
  if (!info.categories.empty()) resource.Set("categories", Names(info.categories));
  json::Value subresources = json::Value::Array();
  for (const api::SubresourceInfo& subresource : info.subresources) {
    const SpokenKind spoken = SpokenBy(info, version, subresource);
    subresources.Append(json::Value::Object(
        {{"subresource", subresource.name},
         {"responseKind", ResponseKind(spoken.group, spoken.version, spoken.kind)},
         {"verbs", Names(api::VerbNames(subresource.verbs))}}));
  }
  if (!subresources.empty()) resource.Set("subresources", std::move(subresources));
  return resource;
}

void AppendLegacyResources(const api::KindInfo& info, std::string_view version,
                           json::Value& resources) {
  json::Value resource = json::Value::Object({{"name", info.plural},
                                              {"singularName", info.singular},
                                              {"namespaced", info.namespaced()},
                                              {"kind", info.kind},
                                              {"verbs", Names(api::VerbNames(info.verbs))}});
  if (!info.short_names.empty()) resource.Set("shortNames", Names(info.short_names));
  if (!info.categories.empty()) resource.Set("categories", Names(info.categories));
  resources.Append(std::move(resource));
  for (const api::SubresourceInfo& subresource : info.subresources) {
    const SpokenKind spoken = SpokenBy(info, version, subresource);
    json::Value entry =
        json::Value::Object({{"name", fmt::format("{}/{}", info.plural, subresource.name)},
                             {"singularName", ""},
                             {"namespaced", info.namespaced()},
                             {"kind", spoken.kind},
                             {"verbs", Names(api::VerbNames(subresource.verbs))}});
    if (spoken.group != info.group || spoken.version != version) {
      if (!spoken.group.empty()) entry.Set("group", spoken.group);
      entry.Set("version", spoken.version);
    }
    resources.Append(std::move(entry));
  }
}

json::Value GroupVersionEntry(std::string_view group, std::string_view version) {
  return json::Value::Object(
      {{"groupVersion", api::GroupVersion(group, version)}, {"version", version}});
}

json::Value GroupEntry(std::string_view name, const std::vector<std::string>& versions) {
  json::Value list = json::Value::Array();
  for (const std::string& version : versions) list.Append(GroupVersionEntry(name, version));
  return json::Value::Object({{"name", name},
                              {"versions", std::move(list)},
                              {"preferredVersion", GroupVersionEntry(name, versions.front())}});
}

}  // namespace

json::Value Discovery::Version(int emulated_minor) {
  return json::Value::Object(
      {{"major", "1"},
       {"minor", "37"},
       {"emulationMajor", "1"},
       {"emulationMinor", std::to_string(emulated_minor)},
       {"minCompatibilityMajor", "1"},
       {"minCompatibilityMinor", std::to_string(std::max(emulated_minor - 1, api::kMinorMin))},
       {"gitVersion", "v1.37.2"},
       {"gitCommit", "drachma"},
       {"gitTreeState", "clean"},
       {"buildDate", "1970-01-01T00:00:00Z"},
       {"goVersion", "none"},
       {"compiler", "gcc"},
       {"platform", "linux/amd64"}});
}

// Documents are forgotten when what is served has changed.
void Discovery::Refresh() {
  if (generation_ == core_.served_generation()) return;
  generation_ = core_.served_generation();
  documents_.clear();
  openapi_hashes_.clear();
  for (const api::OpenApiEntry& entry : api::OpenApiIndex(core_.gates())) {
    openapi_hashes_[entry.path] = entry.hash;
  }
  for (const Group& group : Groups()) {
    for (const std::string& version : group.versions) {
      const std::string path = fmt::format("apis/{}/{}", group.name, version);
      if (openapi_hashes_.contains(path)) continue;
      const json::Value custom = CustomOpenApiDocument(core_.kinds().all(), group.name, version);
      if (!custom.IsNull()) openapi_hashes_[path] = net::Sha256Hex(json::Write(custom));
    }
  }
}

std::vector<Discovery::Group> Discovery::Groups() const {
  std::vector<Group> groups;
  const auto add = [&](std::string_view name, std::string_view version) {
    auto group = std::ranges::find(groups, name, &Group::name);
    if (group == groups.end()) {
      groups.push_back({.name = std::string(name)});
      group = groups.end() - 1;
    }
    if (std::ranges::find(group->versions, version) == group->versions.end()) {
      group->versions.emplace_back(version);
    }
  };
  for (const api::GroupInfo& group : api::AllGroups()) {
    for (const std::string_view version : group.versions) {
      if (!KindsOf(group.name, version).empty()) add(group.name, version);
    }
  }
  for (const KindPtr& kind : core_.kinds().all()) {
    for (const api::VersionInfo& version : kind->info().versions) {
      add(kind->group(), version.version);
    }
  }
  return groups;
}

std::vector<KindPtr> Discovery::KindsOf(std::string_view group, std::string_view version) const {
  std::vector<KindPtr> kinds;
  for (const KindPtr& kind : core_.kinds().all()) {
    if (kind->group() == group && kind->info().FindVersion(version) != nullptr) {
      kinds.push_back(kind);
    }
  }
  return kinds;
}

json::Value Discovery::Aggregated(bool core_group, std::string_view api_version) const {
  json::Value items = json::Value::Array();
  for (const Group& group : Groups()) {
    if (group.name.empty() != core_group) continue;
    json::Value versions = json::Value::Array();
    for (const std::string& version : group.versions) {
      json::Value resources = json::Value::Array();
      for (const KindPtr& kind : KindsOf(group.name, version)) {
        resources.Append(AggregatedResource(kind->info(), version));
      }
      versions.Append(json::Value::Object(
          {{"version", version}, {"resources", std::move(resources)}, {"freshness", "Current"}}));
    }
    json::Value metadata = json::Value::Object();
    if (!group.name.empty()) metadata.Set("name", group.name);
    items.Append(json::Value::Object(
        {{"metadata", std::move(metadata)}, {"versions", std::move(versions)}}));
  }
  return json::Value::Object({{"kind", "APIGroupDiscoveryList"},
                              {"apiVersion", api_version},
                              {"metadata", json::Value::Object()},
                              {"items", std::move(items)}});
}

json::Value Discovery::GroupList() const {
  json::Value groups = json::Value::Array();
  for (const Group& group : Groups()) {
    if (!group.name.empty()) groups.Append(GroupEntry(group.name, group.versions));
  }
  return json::Value::Object(
      {{"kind", "APIGroupList"}, {"apiVersion", "v1"}, {"groups", std::move(groups)}});
}

json::Value Discovery::ResourceList(std::string_view group, std::string_view version) const {
  json::Value resources = json::Value::Array();
  for (const KindPtr& kind : KindsOf(group, version)) {
    AppendLegacyResources(kind->info(), version, resources);
  }
  json::Value list = json::Value::Object({{"kind", "APIResourceList"}});
  if (!group.empty()) list.Set("apiVersion", "v1");
  list.Set("groupVersion", api::GroupVersion(group, version));
  list.Set("resources", std::move(resources));
  return list;
}

std::optional<json::Value> Discovery::Legacy(std::string_view path) const {
  if (path == "/api") {
    return json::Value::Object(
        {{"kind", "APIVersions"},
         {"versions", json::Value::Array({"v1"})},
         {"serverAddressByClientCIDRs",
          json::Value::Array({json::Value::Object(
              {{"clientCIDR", "0.0.0.0/0"}, {"serverAddress", server_address_}})})}});
  }
  if (path == "/apis") return GroupList();
  if (path == "/api/v1") return ResourceList("", "v1");
  if (!path.starts_with("/apis/")) return std::nullopt;
  path.remove_prefix(std::string_view("/apis/").size());
  const std::size_t slash = path.find('/');
  const std::string_view name = path.substr(0, slash);
  for (const Group& group : Groups()) {
    if (group.name != name || name.empty()) continue;
    if (slash == std::string_view::npos) {
      json::Value entry = json::Value::Object({{"kind", "APIGroup"}, {"apiVersion", "v1"}});
      const json::Value facts = GroupEntry(group.name, group.versions);
      for (const json::Member& member : facts.Members()) {
        entry.Set(member.key(), member.value);
      }
      return entry;
    }
    const std::string_view version = path.substr(slash + 1);
    if (std::ranges::find(group.versions, version) == group.versions.end()) return std::nullopt;
    return ResourceList(name, version);
  }
  return std::nullopt;
}

const Discovery::Document& Discovery::Keep(const std::string& key, std::string body,
                                           std::string content_type) {
  Document document{.content_type = std::move(content_type),
                    .etag = fmt::format("\"{}\"", net::Sha256Hex(body))};
  document.body = net::Share(std::move(body));
  return documents_[key] = std::move(document);
}

std::optional<Discovery::Document> Discovery::At(std::string_view path, std::string_view accept) {
  Refresh();
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  DiscoveryForm form = DiscoveryForm::kLegacy;
  if (path == "/api" || path == "/apis") form = NegotiateDiscovery(accept);
  const std::string key = fmt::format("{} {}", static_cast<int>(form), path);
  if (const auto kept = documents_.find(key); kept != documents_.end()) return kept->second;
  if (form == DiscoveryForm::kLegacy) {
    const std::optional<json::Value> document = Legacy(path);
    if (!document) return std::nullopt;
    return Keep(key, json::Write(*document) + "\n", "application/json");
  }
  const char* version = form == DiscoveryForm::kAggregatedV2 ? "v2" : "v2beta1";
  return Keep(
      key,
      json::Write(Aggregated(path == "/api", fmt::format("apidiscovery.k8s.io/{}", version))) +
          "\n",
      fmt::format("application/json;g=apidiscovery.k8s.io;v={};as=APIGroupDiscoveryList", version));
}

std::string Discovery::OpenApiHash(std::string_view path) {
  Refresh();
  const auto found = openapi_hashes_.find(std::string(path));
  return found == openapi_hashes_.end() ? std::string() : found->second;
}

std::optional<Discovery::Document> Discovery::OpenApiAt(std::string_view path,
                                                        std::string_view accept) {
  constexpr std::string_view kV3 = "/openapi/v3";
  constexpr const char* kProtobuf = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
  Refresh();
  const bool protobuf = path == "/openapi/v2" && accept.find("protobuf") != std::string_view::npos;
  const std::string key = fmt::format("{}{}", path, protobuf ? " pb" : "");
  if (const auto kept = documents_.find(key); kept != documents_.end()) return kept->second;
  if (path == kV3) {
    json::Value paths = json::Value::Object();
    for (const auto& [place, hash] : openapi_hashes_) {
      paths.Set(place, json::Value::Object({{"serverRelativeURL",
                                             fmt::format("{}/{}?hash={}", kV3, place, hash)}}));
    }
    return Keep(key, json::Write(json::Value::Object({{"paths", std::move(paths)}})),
                "application/json");
  }
  if (path == "/openapi/v2") {
    json::Value swagger = api::OpenApiV2(core_.gates());
    for (const Group& group : Groups()) {
      for (const std::string& version : group.versions) {
        AddCustomOpenApi(core_.kinds().all(), group.name, version, OpenApiVersion::kV2,
                         swagger.Edit("definitions"), swagger.Edit("paths"));
      }
    }
    if (protobuf) return Keep(key, api::GnosticBytes(swagger), kProtobuf);
    return Keep(key, json::Write(swagger), "application/json");
  }
  if (!path.starts_with("/openapi/v3/")) return std::nullopt;
  json::Value document = api::OpenApiDocument(path.substr(kV3.size() + 1), core_.gates());
  constexpr std::string_view kGroups = "/openapi/v3/apis/";
  if (document.IsNull() && path.starts_with(kGroups)) {
    const auto [group, version] = api::SplitGroupVersion(path.substr(kGroups.size()));
    document = CustomOpenApiDocument(core_.kinds().all(), group, version);
  }
  if (document.IsNull()) return std::nullopt;
  return Keep(key, json::Write(document), "application/json");
}

}  // namespace drachma::apiserver
