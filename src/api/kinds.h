#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/features.h"
#include "api/types.h"

namespace drachma::api {

// Verbs as bits; VerbNames spells them as discovery does.
enum Verbs : std::uint16_t {
  kVerbCreate = 1,
  kVerbDelete = 2,
  kVerbDeleteCollection = 4,
  kVerbGet = 8,
  kVerbList = 16,
  kVerbPatch = 32,
  kVerbUpdate = 64,
  kVerbWatch = 128,
};
inline constexpr std::uint16_t kAllVerbs = 255;
// "create", "delete", … in discovery's (alphabetical) order.
[[nodiscard]] std::vector<std::string_view> VerbNames(std::uint16_t verbs);

enum class Scope : std::uint8_t { kCluster, kNamespaced };

struct SubresourceInfo {
  std::string_view name;           // "status"
  std::string_view group_version;  // of the kind that it speaks: "" means that of the resource
  std::string_view kind;           // "Scale"; "" means that of the resource
  std::uint16_t verbs;
};

// A column of a Table answer (columnDefinitions). The cells are computed by the API server.
struct ColumnInfo {
  std::string_view name;
  std::string_view type;    // "string", "integer", "date", …
  std::string_view format;  // "name" or ""
  std::string_view description;
  std::uint8_t priority;  // above 0 only with -o wide
};

// A field label that may stand in a field selector, and where its value is: a path from the
// object's root ("spec.nodeName"). metadata.name and metadata.namespace need no entry.
struct FieldLabelInfo {
  std::string_view label;
  // "" means the label itself is the path. Steps are members and [n]; "a|b" takes b when a is
  // empty; "#" at the end: a missing number is "0", "?": a missing bool is "false".
  std::string_view path;
};

// What a resource's strategy (pkg/registry) does, as bits.
enum Traits : std::uint16_t {
  kHasStatus = 1,              // main writes ignore status, status writes ignore the rest
  kHasGeneration = 2,          // metadata.generation counts changes of spec
  kNoUnconditionalUpdate = 4,  // PUT without resourceVersion is refused (422)
  kGracefulDelete = 8,         // deletion waits for a grace period (pods)
  kCreateOnUpdate = 16,        // PUT of a missing object creates it
  kNotStored = 32,             // answered, not kept: reviews, bindings
  kOrphanByDefault = 64,       // propagationPolicy without any wish is Orphan
};

struct VersionInfo {
  std::string_view version;
  const TypeInfo* type;
};

// A resource the API server serves, in all its versions. A new kind is one entry of the table in
// kinds_table.cc. Constants once made, safe
// from every thread.
struct KindInfo {
  std::string_view group;  // "" is core
  std::string_view kind;
  std::string_view list_kind;
  std::string_view plural;
  std::string_view singular;
  std::vector<std::string_view> short_names;
  std::vector<std::string_view> categories;
  Scope scope;
  std::uint16_t verbs;
  std::uint16_t traits;  // Traits
  // Preferred first. All versions hold the same objects (conversion.h).
  std::vector<VersionInfo> versions;
  // The group and version objects are kept in: its own preferred one, except for events.k8s.io
  // whose events are core ones.
  std::string_view storage_group;
  std::string_view storage_version;
  const TypeInfo* storage_type;
  std::span<const SubresourceInfo> subresources;
  std::span<const ColumnInfo> columns;
  std::span<const FieldLabelInfo> field_labels;
  // A gate without which neither discovery nor requests know the resource; kNone for most.
  Gate gate;

  [[nodiscard]] bool Has(Traits trait) const { return (traits & trait) != 0; }
  [[nodiscard]] bool namespaced() const { return scope == Scope::kNamespaced; }
  // Null when the version is not one of this resource.
  [[nodiscard]] const VersionInfo* FindVersion(std::string_view version) const;
  [[nodiscard]] const SubresourceInfo* FindSubresource(std::string_view name) const;
};

// Every resource, in discovery's order of groups, by plural within a group.
[[nodiscard]] std::span<const KindInfo> AllKinds();
// By ("resource.k8s.io", "v1", "resourceclaims"); null when not served. Gates are the caller's.
[[nodiscard]] const KindInfo* FindResource(std::string_view group, std::string_view version,
                                           std::string_view plural);
// By ("resource.k8s.io", "v1", "ResourceClaim").
[[nodiscard]] const KindInfo* FindKind(std::string_view group, std::string_view version,
                                       std::string_view kind);
// By group and plural or kind, in whatever version.
[[nodiscard]] const KindInfo* FindResource(std::string_view group, std::string_view plural);
[[nodiscard]] const KindInfo* FindKind(std::string_view group, std::string_view kind);

// A group's versions in order of preference, as discovery lists them.
struct GroupInfo {
  std::string_view name;
  std::vector<std::string_view> versions;
};
[[nodiscard]] std::span<const GroupInfo> AllGroups();

// "resource.k8s.io/v1", "v1" for the core group; and back.
[[nodiscard]] std::string GroupVersion(std::string_view group, std::string_view version);
struct GroupVersionParts {
  std::string_view group;
  std::string_view version;
};
[[nodiscard]] GroupVersionParts SplitGroupVersion(std::string_view group_version);

}  // namespace drachma::api
