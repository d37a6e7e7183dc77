// Rules of the schemas of custom resources: structural schemas.
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apiserver/definition_rules.h"
#include "apiserver/structural_schema.h"

namespace drachma::apiserver {
namespace {

using json::Value;
using validation::Child;
using validation::ErrorList;
using validation::Forbidden;
using validation::Invalid;
using validation::Key;
using validation::Required;
using validation::Shown;
using validation::ShownText;

constexpr std::string_view kPreserve = "x-kubernetes-preserve-unknown-fields";
constexpr std::string_view kEmbedded = "x-kubernetes-embedded-resource";
constexpr std::string_view kIntOrString = "x-kubernetes-int-or-string";
constexpr std::string_view kListType = "x-kubernetes-list-type";
constexpr std::string_view kListMapKeys = "x-kubernetes-list-map-keys";
constexpr std::string_view kMapType = "x-kubernetes-map-type";
constexpr auto kTypes =
    std::to_array<std::string_view>({"array", "boolean", "integer", "number", "object", "string"});
constexpr auto kJunctors = std::to_array<std::string_view>({"allOf", "anyOf", "oneOf"});

// Where a schema stands, with the words for a missing type there.
struct Level {
  enum class Place : std::uint8_t { kRoot, kItem, kField } place;
  std::string_view missing_type;
};
constexpr Level kRoot{Level::Place::kRoot, "must not be empty at the root"};
constexpr Level kItem{Level::Place::kItem, "must not be empty for specified array items"};
constexpr Level kField{Level::Place::kField, "must not be empty for specified object fields"};

// Fields that must not stand inside a junctor, and the words for it.
struct Barred {
  std::string_view field;
  std::string_view words;
};
constexpr auto kBarredInside = std::to_array<Barred>({
    {"type", "must be empty to be structural"},
    {"additionalProperties", "must be undefined to be structural"},
    {"default", "must be undefined to be structural"},
    {"title", "must be empty to be structural"},
    {"description", "must be empty to be structural"},
    {"nullable", "must be false to be structural"},
    {kPreserve, "must be false to be structural"},
    {kEmbedded, "must be false to be structural"},
    {kIntOrString, "must be false to be structural"},
    {kListMapKeys, "must be empty to be structural"},
    {kListType, "must be undefined to be structural"},
    {kMapType, "must be undefined to be structural"},
    {"x-kubernetes-validations", "must be empty to be structural"},
});

// Fields that no schema of a custom resource may use at all.
constexpr auto kUnsupported = std::to_array<Barred>({
    {"id", "id is not supported"},
    {"additionalItems", "additionalItems is not supported"},
    {"patternProperties", "patternProperties is not supported"},
    {"definitions", "definitions is not supported"},
    {"dependencies", "dependencies is not supported"},
    {"$ref", "$ref is not supported"},
});

bool IsSet(const Value& value) {
  return !value.IsNull() && !(value.IsBool() && !value.AsBool()) &&
         !(value.IsString() && value.AsString().empty()) && !(value.IsArray() && value.empty());
}

bool IsIntOrStringPattern(const Value& any_of) {
  const auto items = any_of.Items();
  return items.size() == 2 && items[0].size() == 1 && items[1].size() == 1 &&
         items[0]["type"].AsString() == "integer" && items[1]["type"].AsString() == "string";
}

class StructuralRules {
 public:
  ErrorList Take() {
    std::ranges::stable_sort(errors_, {}, [](const auto& error) { return error.Text(); });
    return std::move(errors_);
  }

  void Check(const Value& schema, const Level& level, const std::string& path, int depth = 0) {
    if (depth > StructuralSchema::kDepthMax) {
      errors_.push_back(Forbidden(path, "the schema is nested too deep"));
      return;
    }
    const std::string_view type = schema["type"].AsString();
    if (type == "array" && !schema["items"].IsObject()) {
      errors_.push_back(Required(Child(path, "items"), "must be specified"));
    }
    if (schema["items"].IsObject()) {
      Check(schema["items"], kItem, Child(path, "items"), depth + 1);
    }
    for (const json::Member& property : schema["properties"].Members()) {
      Check(property.value, kField, Key(Child(path, "properties"), property.key()), depth + 1);
    }
    if (const Value& more = schema["additionalProperties"]; !more.IsNull()) {
      const std::string below = Child(path, "additionalProperties");
      if (level.place == Level::Place::kRoot) {
        errors_.push_back(Forbidden(below, "must not be used at the root"));
      }
      if (more.IsObject()) Check(more, kField, below, depth + 1);
    }
    CheckExtensions(schema, path);
    CheckValues(schema, path, depth);
    CheckType(schema, level, path);
    CheckResource(schema, level, path);
    for (const std::string_view junctor : kJunctors) {
      std::size_t index = 0;
      for (const Value& inner : schema[junctor].Items()) {
        Complete(inner, schema, validation::Index(Child(path, junctor), index++), path, depth + 1);
      }
    }
    if (schema["not"].IsObject()) {
      Complete(schema["not"], schema, Child(path, "not"), path, depth + 1);
    }
  }

 private:
  void CheckExtensions(const Value& schema, const std::string& path) {
    if (!schema[kIntOrString].AsBool()) return;
    for (const std::string_view field : {kPreserve, kEmbedded}) {
      if (schema[field].AsBool()) {
        errors_.push_back(Invalid(Child(path, field), "true",
                                  "must be false if x-kubernetes-int-or-string is true"));
      }
    }
  }

  // What junctors may not say: the shape of objects is told outside of them.
  void CheckValues(const Value& schema, const std::string& path, int depth) {
    if (const std::string_view pattern = schema["pattern"].AsString(); !pattern.empty()) {
      const RE2 compiled(pattern, RE2::Quiet);
      if (!compiled.ok()) {
        errors_.push_back(Invalid(Child(path, "pattern"), ShownText(pattern),
                                  "must be a valid regular expression, but isn't: error parsing "
                                  "regexp: " +
                                      compiled.error()));
      }
    }
    for (const std::string_view junctor : kJunctors) {
      const Value& list = schema[junctor];
      if (junctor == "anyOf" && schema[kIntOrString].AsBool() && IsIntOrStringPattern(list)) {
        continue;
      }
      std::size_t index = 0;
      for (const Value& inner : list.Items()) {
        const bool pattern = junctor == "allOf" && index == 0 && schema[kIntOrString].AsBool() &&
                             IsIntOrStringPattern(inner["anyOf"]);
        const std::string below = validation::Index(Child(path, junctor), index++);
        if (!pattern) CheckInside(inner, below, depth + 1);
      }
    }
    if (schema["not"].IsObject()) CheckInside(schema["not"], Child(path, "not"), depth + 1);
  }

  void CheckInside(const Value& schema, const std::string& path, int depth) {
    if (depth > StructuralSchema::kDepthMax) return;
    for (const Barred& barred : kBarredInside) {
      if (IsSet(schema[barred.field])) {
        errors_.push_back(Forbidden(Child(path, barred.field), std::string(barred.words)));
      }
    }
    CheckValues(schema, path, depth);
    if (schema["items"].IsObject()) CheckInside(schema["items"], Child(path, "items"), depth + 1);
    for (const json::Member& property : schema["properties"].Members()) {
      const std::string below = Key(Child(path, "properties"), property.key());
      if (property.key() == "metadata") {
        errors_.push_back(Forbidden(below, "must not be specified in a nested context"));
      }
      CheckInside(property.value, below, depth + 1);
    }
  }

  void CheckType(const Value& schema, const Level& level, const std::string& path) {
    const std::string_view type = schema["type"].AsString();
    const bool embedded = schema[kEmbedded].AsBool();
    if (embedded && type != "object") {
      constexpr const char* kWords = "must be object if x-kubernetes-embedded-resource is true";
      errors_.push_back(type.empty() ? Required(Child(path, "type"), kWords)
                                     : Invalid(Child(path, "type"), ShownText(type), kWords));
    } else if (type.empty() && !schema[kIntOrString].AsBool() && !schema[kPreserve].AsBool()) {
      errors_.push_back(Required(Child(path, "type"), std::string(level.missing_type)));
    }
    if (embedded && !schema["additionalProperties"].IsNull()) {
      errors_.push_back(Forbidden(Child(path, "additionalProperties"),
                                  "must not be used if x-kubernetes-embedded-resource is set"));
    }
    if (level.place == Level::Place::kRoot && !type.empty() && type != "object") {
      errors_.push_back(
          Invalid(Child(path, "type"), ShownText(type), "must be object at the root"));
    }
  }

  // apiVersion, kind and metadata of the object itself and of embedded ones.
  void CheckResource(const Value& schema, const Level& level, const std::string& path) {
    const bool root = level.place == Level::Place::kRoot;
    const bool resource = root || schema[kEmbedded].AsBool();
    const Value& properties = schema["properties"];
    const auto type_of = [&](std::string_view field) {
      return Child(Key(Child(path, "properties"), field), "type");
    };
    for (const std::string_view field : {"kind", "apiVersion"}) {
      const Value* given = properties.Find(field);
      if (resource && given != nullptr && (*given)["type"].AsString() != "string") {
        errors_.push_back(
            Invalid(type_of(field), ShownText((*given)["type"].AsString()), "must be string"));
      }
    }
    if (const Value* metadata = properties.Find("metadata")) {
      if (resource && (*metadata)["type"].AsString() != "object") {
        errors_.push_back(Invalid(type_of("metadata"), ShownText((*metadata)["type"].AsString()),
                                  "must be object"));
      }
      if (root && !RestrictsNamesOnly(*metadata)) {
        errors_.push_back(Forbidden(Key(Child(path, "properties"), "metadata"),
                                    "must not specify anything other than name and generateName, "
                                    "but metadata is implicitly specified"));
      }
    }
    if (schema[kEmbedded].AsBool() && !schema[kPreserve].AsBool() && properties.empty()) {
      errors_.push_back(Required(Child(path, "properties"),
                                 "must not be empty if x-kubernetes-embedded-resource is true "
                                 "without x-kubernetes-preserve-unknown-fields"));
    }
  }

  static bool RestrictsNamesOnly(const Value& metadata) {
    const auto properties = metadata["properties"].Members();
    const auto members = metadata.Members();
    return std::ranges::all_of(properties,
                               [](const json::Member& property) {
                                 return property.key() == "name" ||
                                        property.key() == "generateName";
                               }) &&
           std::ranges::all_of(members, [](const json::Member& member) {
             return member.key() == "type" || member.key() == "properties" ||
                    member.key() == "default" || !IsSet(member.value);
           });
  }

  // Every field that a junctor speaks of is also specified outside (complete.go).
  void Complete(const Value& inner, const Value& outer, const std::string& inner_path,
                const std::string& outer_path, int depth) {
    if (depth > StructuralSchema::kDepthMax) return;
    if (inner["items"].IsObject()) {
      const std::string below = Child(inner_path, "items");
      if (!outer["items"].IsObject()) {
        errors_.push_back(
            Required(Child(outer_path, "items"), "because it is defined in " + below));
      } else {
        Complete(inner["items"], outer["items"], below, Child(outer_path, "items"), depth + 1);
      }
    }
    for (const json::Member& property : inner["properties"].Members()) {
      const std::string below = Key(Child(inner_path, "properties"), property.key());
      const std::string there = Key(Child(outer_path, "properties"), property.key());
      if (const Value* known = outer["properties"].Find(property.key())) {
        Complete(property.value, *known, below, there, depth + 1);
      } else if (!outer[kPreserve].AsBool()) {
        errors_.push_back(Required(there, "because it is defined in " + below));
      }
    }
    for (const std::string_view junctor : kJunctors) {
      std::size_t index = 0;
      for (const Value& deeper : inner[junctor].Items()) {
        Complete(deeper, outer, validation::Index(Child(inner_path, junctor), index++), outer_path,
                 depth + 1);
      }
    }
    if (inner["not"].IsObject()) {
      Complete(inner["not"], outer, Child(inner_path, "not"), outer_path, depth + 1);
    }
  }

  ErrorList errors_;
};

// The rules that hold in all parts of a schema.
class OpenApiRules {
 public:
  ErrorList Take() { return std::move(errors_); }

  void Check(const Value& schema, const std::string& path, int depth = 0) {
    if (depth > StructuralSchema::kDepthMax || !schema.IsObject()) return;
    CheckForms(schema, path);
    CheckLists(schema, path);
    if (schema["additionalProperties"].IsObject()) {
      Check(schema["additionalProperties"], Child(path, "additionalProperties"), depth + 1);
    }
    for (const json::Member& property : schema["properties"].Members()) {
      Check(property.value, Key(Child(path, "properties"), property.key()), depth + 1);
    }
    if (schema["not"].IsObject()) Check(schema["not"], Child(path, "not"), depth + 1);
    for (const std::string_view junctor : kJunctors) {
      std::size_t index = 0;
      for (const Value& inner : schema[junctor].Items()) {
        Check(inner, validation::Index(Child(path, junctor), index++), depth + 1);
      }
    }
    if (schema["items"].IsObject()) Check(schema["items"], Child(path, "items"), depth + 1);
  }

 private:
  void CheckForms(const Value& schema, const std::string& path) {
    if (schema["uniqueItems"].AsBool()) {
      errors_.push_back(Forbidden(
          Child(path, "uniqueItems"),
          "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"));
    }
    if (!schema["properties"].empty() && IsSet(schema["additionalProperties"])) {
      errors_.push_back(Forbidden(Child(path, "additionalProperties"),
                                  "additionalProperties and properties are mutual exclusive"));
    }
    if (const Value* preserve = schema.Find(kPreserve);
        preserve != nullptr && preserve->IsBool() && !preserve->AsBool()) {
      errors_.push_back(Invalid(Child(path, kPreserve), "false", "must be true or undefined"));
    }
    const std::string_view type = schema["type"].AsString();
    if (type == "null") {
      errors_.push_back(Forbidden(Child(path, "type"),
                                  "type cannot be set to null, use nullable as an alternative"));
    }
    if (!type.empty() && std::ranges::find(kTypes, type) == kTypes.end()) {
      errors_.push_back(validation::NotSupported(Child(path, "type"), ShownText(type), kTypes));
    }
    if (schema["items"].IsArray()) {
      errors_.push_back(
          Forbidden(Child(path, "items"), "items must be a schema object and not an array"));
    }
    for (const Barred& barred : kUnsupported) {
      if (IsSet(schema[barred.field])) {
        errors_.push_back(Forbidden(Child(path, barred.field), std::string(barred.words)));
      }
    }
  }

  void CheckLists(const Value& schema, const std::string& path) {
    static constexpr auto kListTypes = std::to_array<std::string_view>({"atomic", "set", "map"});
    static constexpr auto kMapTypes = std::to_array<std::string_view>({"atomic", "granular"});
    const std::string_view type = schema["type"].AsString();
    const auto wants = [&](std::string_view wanted, std::string words) {
      if (type == wanted) return;
      errors_.push_back(type.empty()
                            ? Required(Child(path, "type"), std::move(words))
                            : Invalid(Child(path, "type"), ShownText(type), std::move(words)));
    };
    if (const std::string_view map_type = schema[kMapType].AsString(); !map_type.empty()) {
      wants("object", "must be object if x-kubernetes-map-type is specified");
      if (std::ranges::find(kMapTypes, map_type) == kMapTypes.end()) {
        errors_.push_back(
            validation::NotSupported(Child(path, kMapType), ShownText(map_type), kMapTypes));
      }
    }
    const std::string_view list_type = schema[kListType].AsString();
    if (!list_type.empty()) {
      wants("array", "must be array if x-kubernetes-list-type is specified");
      if (std::ranges::find(kListTypes, list_type) == kListTypes.end()) {
        errors_.push_back(
            validation::NotSupported(Child(path, kListType), ShownText(list_type), kListTypes));
      }
    }
    const Value& keys = schema[kListMapKeys];
    if (!keys.empty() && list_type != "map") {
      constexpr const char* kWords = "must be map if x-kubernetes-list-map-keys is non-empty";
      errors_.push_back(list_type.empty()
                            ? Required(Child(path, kListType), kWords)
                            : Invalid(Child(path, kListType), ShownText(list_type), kWords));
    }
    if (list_type != "map") return;
    if (keys.empty()) {
      errors_.push_back(Required(Child(path, kListMapKeys),
                                 "must not be empty if x-kubernetes-list-type is map"));
    }
    const Value& items = schema["items"];
    if (!items.IsObject()) {
      errors_.push_back(
          Required(Child(path, "items"), "must have a schema if x-kubernetes-list-type is map"));
      return;
    }
    if (items["type"].AsString() != "object") {
      errors_.push_back(Invalid(Child(path, "items.type"), ShownText(items["type"].AsString()),
                                "must be object if parent array's x-kubernetes-list-type is map"));
    }
    CheckMapKeys(keys, items, path);
  }

  void CheckMapKeys(const Value& keys, const Value& items, const std::string& path) {
    std::set<std::string_view> seen;
    for (const Value& key : keys.Items()) {
      if (!seen.insert(key.AsString()).second) {
        errors_.push_back(
            Invalid(Child(path, kListMapKeys), Shown(keys), "must not contain duplicate entries"));
      }
      const Value* property = items["properties"].Find(key.AsString());
      if (property == nullptr) {
        errors_.push_back(Invalid(Child(path, kListMapKeys), Shown(keys),
                                  "entries must all be names of item properties"));
        continue;
      }
      const auto required = items["required"].Items();
      const bool given =
          std::ranges::any_of(required, [&](const Value& name) { return name == key; });
      if (!given && !property->Has("default")) {
        errors_.push_back(Required(
            Child(Key(Child(path, "items.properties"), key.AsString()), "default"),
            "this property is in x-kubernetes-list-map-keys, so it must have a default or be a "
            "required property"));
      }
    }
  }

  ErrorList errors_;
};

}  // namespace

ErrorList SchemaFaults(const Value& schema, std::string_view path, StatusPart status,
                       CostLimits limits) {
  StructuralRules structural;
  structural.Check(schema, kRoot, std::string(path));
  ErrorList errors = structural.Take();
  if (errors.empty()) errors = DefaultFaults(schema, path);
  const bool structural_fine = errors.empty();
  OpenApiRules open_api;
  open_api.Check(schema, std::string(path));
  const ErrorList found = open_api.Take();
  validation::Append(errors, found);
  validation::Append(errors,
                     RulesFaults(schema, std::string(path), found,
                                 structural_fine ? Structural::kYes : Structural::kNo, limits));
  const std::string_view type = schema["type"].AsString();
  if (schema["nullable"].AsBool()) {
    errors.insert(errors.begin(),
                  Forbidden(Child(path, "nullable"), "nullable cannot be true at the root"));
  }
  if (status == StatusPart::kYes && !type.empty() && type != "object") {
    errors.insert(errors.begin(),
                  Invalid(Child(path, "type"), ShownText(type),
                          "only \"object\" is allowed as the type at the root of the schema if "
                          "the status subresource is enabled"));
  }
  return errors;
}

}  // namespace drachma::apiserver
