#include "apiserver/definition_rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>

#include "validation/names.h"

namespace drachma::apiserver {
namespace {

using json::Value;
using validation::Child;
using validation::ErrorList;
using validation::Index;
using validation::Invalid;
using validation::Required;
using validation::ShownText;

constexpr std::string_view kGroup = "apiextensions.k8s.io";
constexpr std::string_view kKind = "CustomResourceDefinition";

std::string Joined(const validation::Faults& faults) {
  return fmt::format("{}", fmt::join(faults, ","));
}

void CheckLabel(std::string path, std::string_view text, ErrorList& errors) {
  if (text.empty()) return;
  if (const auto faults = validation::IsDns1035Label(text); !faults.empty()) {
    errors.push_back(Invalid(std::move(path), ShownText(text), Joined(faults)));
  }
}

// The versions as upstream's internal type shows them.
std::string ShownVersions(const Value& versions) {
  Value list = Value::Array();
  for (const Value& version : versions.Items()) {
    list.Append(Value::Object({{"Name", version["name"]},
                               {"Served", version["served"].AsBool()},
                               {"Storage", version["storage"].AsBool()},
                               {"Deprecated", version["deprecated"].AsBool()},
                               {"DeprecationWarning", version["deprecationWarning"]},
                               {"Schema", nullptr},
                               {"Subresources", nullptr},
                               {"AdditionalPrinterColumns", nullptr},
                               {"SelectableFields", nullptr}}));
  }
  return validation::Shown(list);
}

// Whether all versions say the same in `field`: then it counts as said above them.
bool SameInAll(const Value& versions, std::string_view field) {
  const auto items = versions.Items();
  return !items.empty() && std::ranges::all_of(items, [&](const Value& version) {
    return version[field] == items.front()[field];
  });
}

void CheckGroup(const Value& spec, ErrorList& errors) {
  const std::string_view group = spec["group"].AsString();
  if (group.empty()) {
    errors.push_back(Required("spec.group"));
  } else if (const auto faults = validation::IsDns1123Subdomain(group); !faults.empty()) {
    errors.push_back(Invalid("spec.group", ShownText(group), Joined(faults)));
  } else if (group.find('.') == std::string_view::npos) {
    errors.push_back(
        Invalid("spec.group", ShownText(group), "should be a domain with at least one dot"));
  }
}

void CheckScope(const Value& spec, ErrorList& errors) {
  static constexpr auto kScopes = std::to_array<std::string_view>({"Cluster", "Namespaced"});
  const std::string_view scope = spec["scope"].AsString();
  if (scope.empty()) {
    errors.push_back(Required("spec.scope"));
  } else if (std::ranges::find(kScopes, scope) == kScopes.end()) {
    errors.push_back(validation::NotSupported("spec.scope", ShownText(scope), kScopes));
  }
}

void CheckPath(std::string path, std::string_view text, std::string_view prefix, std::string words,
               ErrorList& errors) {
  if (!text.starts_with('.')) {
    errors.push_back(
        Invalid(std::move(path), ShownText(text), "must be a simple json path starting with ."));
  } else if (!text.starts_with(prefix)) {
    errors.push_back(Invalid(std::move(path), ShownText(text), std::move(words)));
  }
}

void CheckSubresources(const Value& subresources, const std::string& path, ErrorList& errors) {
  const Value& scale = subresources["scale"];
  if (!scale.IsObject()) return;
  struct Row {
    std::string_view field;
    std::string_view prefix;
    const char* words;
  };
  static constexpr auto kRows = std::to_array<Row>({
      {"specReplicasPath", ".spec.", "should be a json path under .spec"},
      {"statusReplicasPath", ".status.", "should be a json path under .status"},
  });
  for (const Row& row : kRows) {
    const std::string at = Child(path, fmt::format("scale.{}", row.field));
    const std::string_view text = scale[row.field].AsString();
    if (text.empty()) {
      errors.push_back(Required(at));
    } else {
      CheckPath(at, text, row.prefix, row.words, errors);
    }
  }
  const std::string_view selector = scale["labelSelectorPath"].AsString();
  if (!selector.empty() && !selector.starts_with(".spec.")) {
    CheckPath(Child(path, "scale.labelSelectorPath"), selector, ".status.",
              "should be a json path under either .spec or .status", errors);
  }
}

void CheckColumn(const Value& column, const std::string& path, ErrorList& errors) {
  static constexpr auto kTypes =
      std::to_array<std::string_view>({"boolean", "date", "integer", "number", "string"});
  static constexpr auto kFormats = std::to_array<std::string_view>(
      {"byte", "date", "date-time", "double", "float", "int32", "int64", "password"});
  if (column["name"].AsString().empty()) errors.push_back(Required(Child(path, "name")));
  const std::string_view type = column["type"].AsString();
  const std::string one_of = fmt::format("must be one of {}", fmt::join(kTypes, ","));
  if (type.empty()) {
    errors.push_back(Required(Child(path, "type"), one_of));
  } else if (std::ranges::find(kTypes, type) == kTypes.end()) {
    errors.push_back(Invalid(Child(path, "type"), ShownText(type), one_of));
  }
  const std::string_view format = column["format"].AsString();
  if (!format.empty() && std::ranges::find(kFormats, format) == kFormats.end()) {
    errors.push_back(Invalid(Child(path, "format"), ShownText(format),
                             fmt::format("must be one of {}", fmt::join(kFormats, ","))));
  }
  const std::string_view json_path = column["jsonPath"].AsString();
  if (json_path.empty()) {
    errors.push_back(Required(Child(path, "JSONPath")));
  } else {
    CheckPath(Child(path, "JSONPath"), json_path, ".", {}, errors);
  }
}

// The parts that a version may have for itself. `version` is any one of them when all agree; `old`
// is the spec that is replaced, null for a create.
void CheckSchemaOf(const Value& version, const std::string& path, const Value& old,
                   ErrorList& errors) {
  const Value& schema = version["schema"]["openAPIV3Schema"];
  const bool status = version["subresources"]["status"].IsObject();
  if (!schema.IsObject()) return;
  const bool unchanged = std::ranges::any_of(old["versions"].Items(), [&](const Value& before) {
    return before["name"] == version["name"] && before["schema"] == version["schema"];
  });
  validation::Append(errors, SchemaFaults(schema, path, status ? StatusPart::kYes : StatusPart::kNo,
                                          unchanged ? CostLimits::kTotal : CostLimits::kEach));
}
void CheckSelectableOf(const Value& version, const std::string& path, ErrorList& errors) {
  const Value& schema = version["schema"]["openAPIV3Schema"];
  if (schema.IsObject()) {
    validation::Append(errors, SelectableFieldFaults(version["selectableFields"], schema, path));
  }
}
void CheckColumnsOf(const Value& version, const std::string& path, ErrorList& errors) {
  std::size_t index = 0;
  for (const Value& column : version["additionalPrinterColumns"].Items()) {
    CheckColumn(column, Index(path, index++), errors);
  }
}

void CheckVersions(const Value& spec, const Value& old, ErrorList& errors) {
  const Value& versions = spec["versions"];
  const bool same_schema = SameInAll(versions, "schema");
  const bool same_subresources = SameInAll(versions, "subresources");
  const bool same_columns = SameInAll(versions, "additionalPrinterColumns");
  const bool same_selectable = SameInAll(versions, "selectableFields");
  std::size_t index = 0;
  for (const Value& version : versions.Items()) {
    if (!version["schema"]["openAPIV3Schema"].IsObject()) {
      errors.push_back(Required(Child(Index("spec.versions", index), "schema.openAPIV3Schema")));
    }
    ++index;
  }
  std::set<std::string_view> names;
  int stored = 0;
  index = 0;
  for (const Value& version : versions.Items()) {
    const std::string path = Index("spec.versions", index++);
    const std::string_view name = version["name"].AsString();
    names.insert(name);
    stored += version["storage"].AsBool() ? 1 : 0;
    if (const auto faults = validation::IsDns1035Label(name); !faults.empty()) {
      errors.push_back(Invalid(Child(path, "name"), ShownText(name), Joined(faults)));
    }
    if (!same_schema) CheckSchemaOf(version, Child(path, "schema.openAPIV3Schema"), old, errors);
    if (!same_subresources) {
      CheckSubresources(version["subresources"], Child(path, "subresources"), errors);
    }
    if (!same_columns) {
      CheckColumnsOf(version, Child(path, "additionalPrinterColumns"), errors);
    }
    if (!same_selectable) CheckSelectableOf(version, Child(path, "selectableFields"), errors);
  }
  if (names.size() != versions.size()) {
    errors.push_back(
        Invalid("spec.versions", ShownVersions(versions), "must contain unique version names"));
  }
  if (stored != 1) {
    errors.push_back(Invalid("spec.versions", ShownVersions(versions),
                             "must have exactly one version marked as storage version"));
  }
  if (!versions.empty()) {
    CheckLabel("spec.version", versions.Items()[0]["name"].AsString(), errors);
  }
}

void CheckNames(const Value& names, ErrorList& errors) {
  for (const std::string_view field : {"plural", "singular", "kind", "listKind"}) {
    if (names[field].AsString().empty()) errors.push_back(Required(Child("spec.names", field)));
  }
  CheckLabel("spec.names.plural", names["plural"].AsString(), errors);
  CheckLabel("spec.names.singular", names["singular"].AsString(), errors);
  for (const std::string_view field : {"kind", "listKind"}) {
    const std::string_view text = names[field].AsString();
    if (text.empty()) continue;
    const auto faults = validation::IsDns1035Label(validation::AsciiLower(text));
    if (faults.empty()) continue;
    errors.push_back(Invalid(Child("spec.names", field), ShownText(text),
                             "may have mixed case, but should otherwise match: " + Joined(faults)));
  }
  std::size_t index = 0;
  for (const Value& name : names["shortNames"].Items()) {
    CheckLabel(Index("spec.names.shortNames", index++), name.AsString(), errors);
  }
  const std::string_view kind = names["kind"].AsString();
  if (!kind.empty() && names["listKind"].AsString() == kind) {
    errors.push_back(
        Invalid("spec.names.listKind", ShownText(kind), "kind and listKind may not be the same"));
  }
  index = 0;
  for (const Value& category : names["categories"].Items()) {
    CheckLabel(Index("spec.names.categories", index++), category.AsString(), errors);
  }
}

// What all versions have in common.
void CheckCommon(const Value& versions, const Value& old, ErrorList& errors) {
  if (versions.empty()) return;
  const Value& first = versions.Items().front();
  if (SameInAll(versions, "schema")) {
    CheckSchemaOf(first, "spec.validation.openAPIV3Schema", old, errors);
  }
  if (SameInAll(versions, "subresources")) {
    CheckSubresources(first["subresources"], "spec.subresources", errors);
  }
  if (SameInAll(versions, "additionalPrinterColumns")) {
    CheckColumnsOf(first, "spec.additionalPrinterColumns", errors);
  }
  if (SameInAll(versions, "selectableFields")) {
    CheckSelectableOf(first, "spec.selectableFields", errors);
  }
}

bool IsEstablished(const Value& definition) {
  const auto conditions = definition["status"]["conditions"].Items();
  return std::ranges::any_of(conditions, [](const Value& condition) {
    return condition["type"].AsString() == "Established" &&
           condition["status"].AsString() == "True";
  });
}

// What an established definition keeps.
void CheckImmutable(const Value& spec, const Value& old, ErrorList& errors) {
  const Value& before = old["spec"];
  const auto keep = [&](const Value& now, const Value& then, std::string path) {
    if (now == then) return;
    errors.push_back(Invalid(std::move(path), ShownText(now.AsString()), "field is immutable"));
  };
  if (IsEstablished(old)) {
    keep(spec["scope"], before["scope"], "spec.scope");
    keep(spec["names"]["kind"], before["names"]["kind"], "spec.names.kind");
  }
  keep(spec["group"], before["group"], "spec.group");
  keep(spec["names"]["plural"], before["names"]["plural"], "spec.names.plural");
}

// Versions that objects may be stored in stay.
void CheckStoredVersions(const Value& definition, ErrorList& errors) {
  constexpr const char* kPath = "status.storedVersions";
  const Value& all = definition["status"]["storedVersions"];
  if (all.empty()) {
    errors.push_back(Invalid(kPath, "null", "must have at least one stored version"));
    return;
  }
  for (const Value& version : definition["spec"]["versions"].Items()) {
    const bool known = std::ranges::any_of(
        all.Items(), [&](const Value& stored) { return stored == version["name"]; });
    if (!version["storage"].AsBool() || known) continue;
    errors.push_back(
        Invalid(kPath, validation::Shown(all),
                fmt::format("must have the storage version {}", version["name"].AsString())));
  }
  std::size_t index = 0;
  for (const Value& stored : all.Items()) {
    const std::string path = Index(kPath, index++);
    const auto versions = definition["spec"]["versions"].Items();
    const bool there = std::ranges::any_of(
        versions, [&](const Value& version) { return version["name"] == stored; });
    if (there) continue;
    const std::string_view name = stored.AsString();
    errors.push_back(
        Invalid(path, ShownText(name),
                fmt::format("missing from spec.versions; {0} was previously a storage version, and "
                            "must remain in spec.versions until a storage migration ensures no "
                            "data remains persisted in {0} and removes {0} from "
                            "status.storedVersions",
                            name)));
  }
}

}  // namespace

ErrorList DefinitionFaults(const Value& definition, const Value& old) {
  ErrorList errors;
  const Value& spec = definition["spec"];
  const std::string_view name = definition["metadata"]["name"].AsString();
  const std::string wanted =
      fmt::format("{}.{}", spec["names"]["plural"].AsString(), spec["group"].AsString());
  if (old.IsNull() && name != wanted) {
    errors.push_back(
        Invalid("metadata.name", ShownText(name), "must be spec.names.plural+\".\"+spec.group"));
  }
  CheckGroup(spec, errors);
  CheckScope(spec, errors);
  CheckVersions(spec, old["spec"], errors);
  CheckNames(spec["names"], errors);
  CheckCommon(spec["versions"], old["spec"], errors);
  if (!old.IsNull()) {
    CheckImmutable(spec, old, errors);
  }
  CheckStoredVersions(definition, errors);
  return errors;
}

Status DefinitionRules::Validate(AdmissionRequest& request, const ObjectReader& /*objects*/) {
  if (request.group != kGroup || request.kind != kKind || !request.subresource.empty() ||
      request.object.IsNull()) {
    return {};
  }
  const ErrorList errors = DefinitionFaults(request.object, request.old_object);
  if (errors.empty()) return {};
  return std::unexpected(validation::InvalidObject(
      kGroup, kKind, request.object["metadata"]["name"].AsString(), errors));
}

}  // namespace drachma::apiserver
