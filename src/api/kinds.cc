#include "api/kinds.h"

#include <algorithm>

#include "api/kinds_table.h"

namespace drachma::api {

namespace {

std::vector<std::string_view> SplitWords(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const std::size_t space = text.find(' ');
    words.push_back(text.substr(0, space));
    text.remove_prefix(space == std::string_view::npos ? text.size() : space + 1);
  }
  return words;
}

// Names of list kinds live as long as the table.
std::string_view ListKind(std::string_view group, std::string_view version, std::string_view kind) {
  const TypeInfo* type = FindTypeOfKind(GroupVersion(group, version), std::string(kind) + "List");
  return type == nullptr ? std::string_view() : type->BareName();
}

KindInfo Expand(const KindEntry& entry) {
  KindInfo info{
      .group = entry.group,
      .kind = entry.kind,
      .list_kind = {},
      .plural = entry.plural,
      .singular = entry.singular,
      .short_names = SplitWords(entry.short_names),
      .categories = SplitWords(entry.categories),
      .scope = entry.scope,
      .verbs = entry.verbs,
      .traits = static_cast<std::uint16_t>(entry.traits),
      .versions = {},
      .storage_group = entry.storage_group == "=" ? entry.group : entry.storage_group,
      .storage_version = {},
      .storage_type = nullptr,
      .subresources = entry.subresources,
      .columns = entry.columns,
      .field_labels = entry.field_labels,
      .gate = entry.gate,
  };
  for (const std::string_view version : SplitWords(entry.versions)) {
    info.versions.push_back(
        {version, FindTypeOfKind(GroupVersion(entry.group, version), entry.kind)});
  }
  info.storage_version = info.versions.front().version;
  info.storage_type =
      FindTypeOfKind(GroupVersion(info.storage_group, info.storage_version), entry.kind);
  info.list_kind = ListKind(entry.group, info.storage_version, entry.kind);
  return info;
}

}  // namespace

std::vector<std::string_view> VerbNames(std::uint16_t verbs) {
  static constexpr std::string_view kNames[] = {"create", "delete", "deletecollection", "get",
                                                "list",   "patch",  "update",           "watch"};
  std::vector<std::string_view> names;
  for (std::size_t bit = 0; bit < std::size(kNames); ++bit) {
    if ((verbs >> bit & 1) != 0) names.push_back(kNames[bit]);
  }
  return names;
}

const VersionInfo* KindInfo::FindVersion(std::string_view version) const {
  const auto found = std::ranges::find(versions, version, &VersionInfo::version);
  return found == versions.end() ? nullptr : &*found;
}

const SubresourceInfo* KindInfo::FindSubresource(std::string_view name) const {
  const auto found = std::ranges::find(subresources, name, &SubresourceInfo::name);
  return found == subresources.end() ? nullptr : &*found;
}

std::span<const KindInfo> AllKinds() {
  static const std::vector<KindInfo> kinds = [] {
    std::vector<KindInfo> expanded;
    for (const KindEntry& entry : KindEntries()) expanded.push_back(Expand(entry));
    return expanded;
  }();
  return kinds;
}

const KindInfo* FindResource(std::string_view group, std::string_view plural) {
  for (const KindInfo& info : AllKinds()) {
    if (info.plural == plural && info.group == group) return &info;
  }
  return nullptr;
}

const KindInfo* FindKind(std::string_view group, std::string_view kind) {
  for (const KindInfo& info : AllKinds()) {
    if (info.kind == kind && info.group == group) return &info;
  }
  return nullptr;
}

const KindInfo* FindResource(std::string_view group, std::string_view version,
                             std::string_view plural) {
  const KindInfo* info = FindResource(group, plural);
  return info != nullptr && info->FindVersion(version) != nullptr ? info : nullptr;
}

const KindInfo* FindKind(std::string_view group, std::string_view version, std::string_view kind) {
  const KindInfo* info = FindKind(group, kind);
  return info != nullptr && info->FindVersion(version) != nullptr ? info : nullptr;
}

std::span<const GroupInfo> AllGroups() {
  static const std::vector<GroupInfo> groups = [] {
    std::vector<GroupInfo> expanded;
    for (const GroupEntry& entry : GroupEntries()) {
      expanded.push_back({entry.name, SplitWords(entry.versions)});
    }
    return expanded;
  }();
  return groups;
}

std::string GroupVersion(std::string_view group, std::string_view version) {
  std::string text(group);
  if (!text.empty()) text += '/';
  text += version;
  return text;
}

GroupVersionParts SplitGroupVersion(std::string_view group_version) {
  const std::size_t slash = group_version.find('/');
  if (slash == std::string_view::npos) return {{}, group_version};
  return {group_version.substr(0, slash), group_version.substr(slash + 1)};
}

}  // namespace drachma::api
