#include "apiserver/managed_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace drachma::apiserver {
namespace {

constexpr std::string_view kBeforeFirstApply = "before-first-apply";
constexpr std::string_view kAncientChanges = "ancient-changes";

// One entry of metadata.managedFields, decoded.
struct Manager {
  std::string name;
  bool applies = false;
  std::string api_version;
  std::string subresource;
  std::string time;
  FieldSet fields;
};

// Entries of one manager are told apart by version for updates, but not for applies: a manager that
// applies another version replaces its entry.
bool SameManager(const Manager& a, const Manager& b) {
  return a.name == b.name && a.applies == b.applies && a.subresource == b.subresource &&
         (a.applies || a.api_version == b.api_version);
}

using Managers = std::vector<Manager>;

Manager* FindManager(Managers& managers, const Manager& wanted) {
  const auto found = std::ranges::find_if(
      managers, [&](const Manager& manager) { return SameManager(manager, wanted); });
  return found == managers.end() ? nullptr : &*found;
}

void DropEmpty(Managers& managers) {
  std::erase_if(managers, [](const Manager& manager) { return manager.fields.Empty(); });
}

Result<Managers> Decode(const json::Value& entries) {
  Managers managers;
  for (const json::Value& entry : entries.Items()) {
    const std::string_view operation = entry["operation"].AsString();
    if (operation != "Apply" && operation != "Update") {
      return BadInput("operation must be `Apply` or `Update`");
    }
    if (entry["apiVersion"].AsString().empty()) return BadInput("apiVersion must not be empty");
    if (entry["fieldsType"].AsString() != "FieldsV1") return BadInput("missing fieldsType");
    Manager manager{.name = std::string(entry["manager"].AsString()),
                    .applies = operation == "Apply",
                    .api_version = std::string(entry["apiVersion"].AsString()),
                    .subresource = std::string(entry["subresource"].AsString()),
                    .time = std::string(entry["time"].AsString())};
    DRA_ASSIGN(manager.fields, FieldSet::FromFieldsV1(entry["fieldsV1"]));
    managers.push_back(std::move(manager));
  }
  return managers;
}

json::Value Encode(Managers managers) {
  if (managers.empty()) return nullptr;
  std::ranges::stable_sort(managers, {}, [](const Manager& m) {
    return std::tuple(m.applies ? 0 : 1, m.time, m.name, m.api_version, m.subresource);
  });
  json::Value entries = json::Value::Array();
  entries.Reserve(managers.size());
  for (const Manager& manager : managers) {
    json::Value entry = json::Value::Object();
    entry.Set("manager", manager.name);
    entry.Set("operation", manager.applies ? "Apply" : "Update");
    entry.Set("apiVersion", manager.api_version);
    if (!manager.time.empty()) entry.Set("time", manager.time);
    entry.Set("fieldsType", "FieldsV1");
    entry.Set("fieldsV1", manager.fields.ToFieldsV1());
    if (!manager.subresource.empty()) entry.Set("subresource", manager.subresource);
    entries.Append(std::move(entry));
  }
  return entries;
}

// Fields that the server writes itself: nobody owns them (managedfields' stripMetaManager).
const FieldSet& StrippedFields() {
  static const FieldSet kStripped = [] {
    FieldSet set;
    for (const char* field : {"apiVersion", "kind", "metadata"}) set.Insert({FieldElement(field)});
    for (const char* field : {"name", "namespace", "creationTimestamp", "selfLink", "uid",
                              "clusterName", "generation", "managedFields", "resourceVersion"}) {
      set.Insert({"f:metadata", FieldElement(field)});
    }
    return set;
  }();
  return kStripped;
}

// What changed, in every version that a manager recorded its fields in.
class VersionedComparison {
 public:
  VersionedComparison(const json::Value& before, const json::Value& after, const FieldWrite& write,
                      const KindVersions& versions)
      : before_(before), after_(after), write_(write), versions_(versions) {}

  // Null for a version that is not served any more.
  const Comparison* In(const std::string& api_version) {
    const auto found = comparisons_.find(api_version);
    if (found != comparisons_.end()) return &found->second;
    const std::optional<Shape> shape = versions_.ShapeOf(api_version);
    if (!shape) return nullptr;
    Comparison comparison = api_version == write_.api_version
                                ? Compare(before_, after_, *shape)
                                : Compare(versions_.Convert(before_, api_version),
                                          versions_.Convert(after_, api_version), *shape);
    for (FieldSet* set : {&comparison.removed, &comparison.modified, &comparison.added}) {
      *set = set->RecursiveDifference(write_.reset_fields);
    }
    return &comparisons_.emplace(api_version, std::move(comparison)).first->second;
  }

 private:
  const json::Value& before_;
  const json::Value& after_;
  const FieldWrite& write_;
  const KindVersions& versions_;
  std::map<std::string, Comparison> comparisons_;
};

// A manager with the fields that somebody else is about to change.
struct Conflict {
  const Manager* manager;
  FieldSet fields;
};

// Takes changed and removed fields from all managers but `writer`; returns what was in conflict.
// Nothing is taken when `force` is no and there is a conflict (merge.Updater.update).
std::vector<Conflict> TakeOver(Managers& managers, const Manager* writer,
                               VersionedComparison& changes, Force force) {
  std::vector<Conflict> conflicts;
  std::erase_if(managers,
                [&](const Manager& manager) { return changes.In(manager.api_version) == nullptr; });
  for (const Manager& manager : managers) {
    if (writer != nullptr && SameManager(manager, *writer)) continue;
    const Comparison& comparison = *changes.In(manager.api_version);
    FieldSet fields = manager.fields.Intersection(comparison.modified.Union(comparison.added));
    if (!fields.Empty()) conflicts.push_back({&manager, std::move(fields)});
  }
  if (force == Force::kNo && !conflicts.empty()) return conflicts;
  for (Manager& manager : managers) {
    if (writer != nullptr && SameManager(manager, *writer)) continue;
    const Comparison& comparison = *changes.In(manager.api_version);
    manager.fields = manager.fields.Difference(comparison.modified.Union(comparison.added))
                         .Difference(comparison.removed);
  }
  return {};
}

void CapUpdateManagers(Managers& managers) {
  std::vector<std::size_t> updaters;
  for (std::size_t i = 0; i < managers.size(); ++i) {
    if (!managers[i].applies) updaters.push_back(i);
  }
  if (updaters.size() <= kUpdateManagersMax) return;
  std::ranges::sort(updaters, {}, [&](std::size_t i) {
    return std::tuple(std::string_view(managers[i].time), std::string_view(managers[i].name));
  });
  std::size_t left = updaters.size();
  std::map<std::string, std::size_t> first_of_version;
  std::vector<bool> gone(managers.size());
  for (const std::size_t i : updaters) {
    if (left <= kUpdateManagersMax) break;
    const auto [first, inserted] = first_of_version.emplace(managers[i].api_version, i);
    if (inserted) continue;
    Manager& bucket = managers[first->second];
    bucket.name = kAncientChanges;
    bucket.subresource.clear();
    bucket.fields = bucket.fields.Union(managers[i].fields);
    bucket.time = managers[i].time;
    gone[i] = true;
    --left;
  }
  Managers kept;
  for (std::size_t i = 0; i < managers.size(); ++i) {
    if (!gone[i]) kept.push_back(std::move(managers[i]));
  }
  managers = std::move(kept);
}

json::Value WithoutManagedFields(const json::Value& object) {
  if (!object["metadata"].Has("managedFields")) return object;
  json::Value stripped = object;
  stripped.Edit("metadata").Erase("managedFields");
  return stripped;
}

// What the writer changed from `before` to `after` becomes its own.
void FollowChanges(const json::Value& before, const json::Value& after, const FieldWrite& write,
                   std::string_view name, const KindVersions& versions, Managers& managers) {
  VersionedComparison changes(before, after, write, versions);
  TakeOver(managers, nullptr, changes, Force::kYes);
  DropEmpty(managers);
  const Comparison* comparison = changes.In(write.api_version);
  FieldSet fields = comparison->modified.Union(comparison->added).Difference(StrippedFields());
  if (fields.Empty()) return;
  Manager writer{.name = std::string(name),
                 .api_version = write.api_version,
                 .subresource = write.subresource,
                 .time = write.time,
                 .fields = std::move(fields)};
  if (Manager* known = FindManager(managers, writer); known != nullptr) {
    known->fields = known->fields.Union(writer.fields);
    known->time = write.time;
  } else {
    managers.push_back(std::move(writer));
  }
}

bool AsksToForget(const json::Value& entries) {
  return entries.IsArray() &&
         (entries.empty() || (entries.size() == 1 && entries.Items()[0].empty()));
}

// The managers that a write starts from: those it edits, or the present ones.
Managers StartingManagers(const json::Value& live, const json::Value& object,
                          const FieldWrite& write) {
  const json::Value& wished = object["metadata"]["managedFields"];
  if (write.subresource.empty()) {
    if (AsksToForget(wished)) return {};
    Result<Managers> managers = Decode(wished);
    if (managers && !managers->empty()) return std::move(*managers);
  }
  return Decode(live["metadata"]["managedFields"]).value_or(Managers{});
}

std::string_view ManagerName(const FieldWrite& write) {
  return write.manager.empty() ? std::string_view("unknown") : std::string_view(write.manager);
}

}  // namespace

json::Value TrackUpdate(const json::Value& live, const json::Value& object, const FieldWrite& write,
                        const KindVersions& versions) {
  Managers managers = StartingManagers(live, object, write);
  if (managers.empty() && live.IsObject()) return nullptr;
  if (!versions.ShapeOf(write.api_version)) return Encode(std::move(managers));
  FollowChanges(live.IsObject() ? WithoutManagedFields(live) : versions.Nothing(write.api_version),
                WithoutManagedFields(object), write, ManagerName(write), versions, managers);
  CapUpdateManagers(managers);
  return Encode(std::move(managers));
}

namespace {

std::string QuotedManager(const Manager& manager) {
  std::string text = fmt::format("\"{}\"", manager.name);
  if (!manager.subresource.empty()) {
    text += fmt::format(" with subresource \"{}\"", manager.subresource);
  }
  if (!manager.applies) text += fmt::format(" using {}", manager.api_version);
  return text;
}

Error ConflictError(const std::vector<Conflict>& conflicts) {
  Error error{.code = Code::kConflict};
  std::map<std::string, std::vector<std::string>> paths;
  for (const Conflict& conflict : conflicts) {
    const std::string manager = QuotedManager(*conflict.manager);
    conflict.fields.ForEach([&](const std::vector<std::string>& path) {
      paths[manager].push_back(PathText(path));
      error.causes.push_back({.reason = "FieldManagerConflict",
                              .field = PathText(path),
                              .message = "conflict with " + manager});
    });
  }
  if (error.causes.size() == 1) {
    error.message = fmt::format("Apply failed with 1 conflict: {}: {}", error.causes[0].message,
                                error.causes[0].field);
    return error;
  }
  error.message = fmt::format("Apply failed with {} conflicts: ", error.causes.size());
  bool first = true;
  for (const auto& [manager, fields] : paths) {
    error.message += fmt::format("{}conflicts with {}:", first ? "" : "\n", manager);
    first = false;
    for (const std::string& field : fields) error.message += fmt::format("\n- {}", field);
  }
  return error;
}

// Takes out what the manager applied before and does not any more, unless somebody else owns it
// (merge.Updater.prune).
class Pruner {
 public:
  Pruner(const FieldWrite& write, const KindVersions& versions)
      : write_(write), versions_(versions) {}

  json::Value Run(const json::Value& merged, const Manager& last, const Managers& managers) {
    const std::optional<Shape> shape = versions_.ShapeOf(last.api_version);
    if (last.fields.Empty() || !shape) return merged;
    const json::Value in_last = Converted(merged, last.api_version);
    json::Value pruned = RemoveFields(in_last, WithNamedFields(last.fields, *shape), *shape);
    pruned = AddBackOwned(in_last, std::move(pruned), last.api_version, managers);
    const FieldSet pruned_fields = WithNamedFields(FieldsOf(pruned, *shape), *shape);
    const FieldSet merged_fields = WithNamedFields(FieldsOf(in_last, *shape), *shape);
    const FieldSet gone =
        merged_fields.Difference(pruned_fields).Intersection(WithNamedFields(last.fields, *shape));
    const json::Value result = RemoveFields(in_last, gone, *shape);
    return Converted(result, write_.api_version, last.api_version);
  }

 private:
  json::Value Converted(const json::Value& object, const std::string& to,
                        const std::string& from = {}) const {
    const std::string& source = from.empty() ? write_.api_version : from;
    return source == to ? object : versions_.Convert(object, to);
  }

  json::Value AddBackOwned(const json::Value& merged, json::Value pruned,
                           const std::string& version, const Managers& managers) const {
    std::map<std::string, FieldSet> owned;
    for (const Manager& manager : managers) {
      FieldSet& fields = owned[manager.api_version];
      fields = fields.Union(manager.fields);
    }
    // The version that was pruned comes first: other versions may need its fields to convert.
    if (const auto same = owned.find(version); same != owned.end()) {
      pruned = AddBack(merged, pruned, same->second, *versions_.ShapeOf(version));
      owned.erase(same);
    }
    for (const auto& [other, fields] : owned) {
      const std::optional<Shape> shape = versions_.ShapeOf(other);
      if (!shape) continue;
      pruned = Converted(AddBack(Converted(merged, other, version),
                                 Converted(pruned, other, version), fields, *shape),
                         version, other);
    }
    return pruned;
  }

  static json::Value AddBack(const json::Value& merged, const json::Value& pruned,
                             const FieldSet& owned, const Shape& shape) {
    const FieldSet all = WithNamedFields(FieldsOf(merged, shape), shape);
    const FieldSet kept =
        WithNamedFields(FieldsOf(pruned, shape), shape).Union(WithNamedFields(owned, shape));
    return RemoveFields(merged, all.Difference(kept), shape);
  }

  const FieldWrite& write_;
  const KindVersions& versions_;
};

Status CheckConfig(const json::Value& config, const Shape& shape) {
  if (!config["metadata"]["managedFields"].IsNull()) {
    return BadInput("metadata.managedFields must be nil");
  }
  const std::vector<std::string> errors = ShapeErrors(config, shape, Duplicates::kRefused);
  if (errors.empty()) return {};
  const std::string text =
      errors.size() == 1 ? errors[0] : fmt::format("errors:\n  {}", fmt::join(errors, "\n  "));
  const std::string_view ns = config["metadata"]["namespace"].AsString();
  const std::string_view version = config["apiVersion"].AsString();
  return Fail(Code::kUnknown,
              fmt::format("failed to create typed patch object ({}/{}; {}, Kind={}): {}", ns,
                          config["metadata"]["name"].AsString(),
                          version.find('/') == std::string_view::npos ? fmt::format("/{}", version)
                                                                      : std::string(version),
                          config["kind"].AsString(), text));
}

}  // namespace

Result<Applied> Apply(const json::Value& live, const json::Value& config, const FieldWrite& write,
                      Force force, const KindVersions& versions) {
  const Shape shape = versions.ShapeOf(write.api_version).value_or(Shape{});
  DRA_TRY(CheckConfig(config, shape));
  Result<Managers> decoded = Decode(live["metadata"]["managedFields"]);
  if (!decoded) {
    return Fail(Code::kUnknown, "failed to decode managed fields: " + decoded.error().message);
  }
  Managers managers = std::move(*decoded);
  const json::Value base = WithoutManagedFields(live);
  if (managers.empty()) {
    // Somebody wrote these fields before anybody applied: nobody may take them unasked.
    FollowChanges(versions.Nothing(write.api_version), base, write, kBeforeFirstApply, versions,
                  managers);
  }

  DRA_ASSIGN(json::Value merged, MergeConfig(base, config, shape));
  Manager writer{.name = std::string(ManagerName(write)),
                 .applies = true,
                 .api_version = write.api_version,
                 .subresource = write.subresource};
  Manager last = writer;
  if (const Manager* known = FindManager(managers, writer); known != nullptr) last = *known;
  std::erase_if(managers, [&](const Manager& manager) { return SameManager(manager, writer); });
  writer.fields = FieldsOf(config, shape).RecursiveDifference(write.reset_fields);
  writer.time = last.time;
  managers.push_back(writer);
  merged = Pruner(write, versions).Run(merged, last, managers);

  VersionedComparison changes(base, merged, write, versions);
  if (const std::vector<Conflict> conflicts = TakeOver(managers, &writer, changes, force);
      !conflicts.empty()) {
    return std::unexpected(ConflictError(conflicts));
  }
  Manager* own = FindManager(managers, writer);
  own->fields = own->fields.Difference(StrippedFields());
  if (base != merged) own->time = write.time;
  DropEmpty(managers);
  return Applied{.object = std::move(merged), .managed_fields = Encode(std::move(managers))};
}

bool SameButForTimes(const json::Value& a, const json::Value& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    json::Value left = a.Items()[i];
    json::Value right = b.Items()[i];
    left.Erase("time");
    right.Erase("time");
    if (left != right) return false;
  }
  return true;
}

}  // namespace drachma::apiserver
