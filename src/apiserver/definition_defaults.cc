// Defaults in the schemas of custom resources fit these schemas
// (apiextensions' pkg/apiserver/schema/defaulting/validation.go).
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apiserver/definition_rules.h"
#include "apiserver/schema_rules.h"
#include "apiserver/structural_schema.h"

namespace drachma::apiserver {
namespace {

using json::Value;
using validation::Child;
using validation::ErrorList;
using validation::Key;

constexpr std::string_view kEmbedded = "x-kubernetes-embedded-resource";

// Whether a default has fields that its schema does not know: they would be set and pruned again.
bool HasUnknownFields(const Value& schema) {
  // As a field of an object, because the outermost object may always have metadata.
  const auto around = StructuralSchema::Parse(
      Value::Object({{"properties", Value::Object({{"default", schema}})}}));
  if (!around) return false;
  Value object = Value::Object({{"default", schema["default"]}});
  std::vector<std::string> unknown;
  (*around)->Prune(object, &unknown);
  return !unknown.empty();
}

// What the schema says about its own default. Paths are relative to the default.
ErrorList FaultsOfOne(const Value& schema) {
  const Value& preset = schema["default"];
  const auto parsed = StructuralSchema::Parse(schema);
  if (!parsed) return {};  // a bad pattern, which is a fault of its own
  ErrorList errors = (*parsed)->Validate(preset);
  // Whether lists repeat themselves is looked at in objects only.
  std::erase_if(errors,
                [](const auto& error) { return error.type == validation::ErrorType::kDuplicate; });
  const auto rules = SchemaRules::Parse(schema);
  if (!errors.empty() || rules == nullptr) return errors;
  // The default must be good both as a value that stays and as a new one.
  errors = rules->Validate(preset, preset);
  if (errors.empty()) errors = rules->Validate(preset, nullptr);
  return errors;
}

void CheckDefault(const Value& schema, bool in_metadata, const std::string& path,
                  ErrorList& errors) {
  const Value& preset = schema["default"];
  if (preset.IsNull()) return;
  const std::string at = Child(path, "default");
  if (!in_metadata && HasUnknownFields(schema)) {
    errors.push_back(
        validation::Invalid(at, validation::Shown(preset), "must not have unknown fields"));
  }
  for (validation::FieldError& error : FaultsOfOne(schema)) {
    error.path = error.path.empty() || error.path == "<nil>" ? at : Child(at, error.path);
    errors.push_back(std::move(error));
  }
}

void Check(const Value& schema, bool resource, bool in_metadata, const std::string& path,
           ErrorList& errors) {
  static constexpr auto kMetadata =
      std::to_array<std::string_view>({"apiVersion", "kind", "metadata"});
  if (!schema.IsObject()) return;
  if (resource) in_metadata = false;
  CheckDefault(schema, in_metadata, path, errors);
  const Value& items = schema["items"];
  Check(items, items[kEmbedded].AsBool(), in_metadata, Child(path, "items"), errors);
  for (const json::Member& property : schema["properties"].Members()) {
    const bool enters = resource && std::ranges::find(kMetadata, property.key()) != kMetadata.end();
    Check(property.value, property.value[kEmbedded].AsBool(), in_metadata || enters,
          Key(Child(path, "properties"), property.key()), errors);
  }
}

}  // namespace

ErrorList DefaultFaults(const Value& schema, std::string_view path) {
  ErrorList errors;
  Check(schema, /*resource=*/true, /*in_metadata=*/false, std::string(path), errors);
  return errors;
}

}  // namespace drachma::apiserver
