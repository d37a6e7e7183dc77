#pragma once

#include <string_view>

#include "apiserver/admission.h"
#include "apiserver/rule_costs.h"
#include "json/value.h"
#include "validation/field_error.h"

namespace drachma::apiserver {

// What is wrong with a CustomResourceDefinition (with defaults); `old` is the one it replaces, null
// for a create. Paths are those of upstream's internal form, where what is the same in all versions
// stands above them ("spec.validation.openAPIV3Schema"). Pure; any thread.
[[nodiscard]] validation::ErrorList DefinitionFaults(const json::Value& definition,
                                                     const json::Value& old);

// Whether a schema is structural, and what of it a custom resource may not use
// (apiextensions' ValidateStructural and ValidateCustomResourceDefinitionOpenAPISchema). With a
// status subresource the root must be an object.
enum class StatusPart : std::uint8_t { kNo, kYes };
[[nodiscard]] validation::ErrorList SchemaFaults(const json::Value& schema, std::string_view path,
                                                 StatusPart status = StatusPart::kNo,
                                                 CostLimits limits = CostLimits::kEach);

// Where a JSON path (".spec.size", ".spec['a.b']") leads in a schema.
struct SchemaPlace {
  std::string path;  // as errors write it
  json::Value schema;
};
enum class ArrayNotation : std::uint8_t { kAllowed, kRefused };
// ERRORS: kBadRequest with upstream's words for a path that is none or leads nowhere.
[[nodiscard]] Result<SchemaPlace> FindSchemaPlace(const json::Value& schema,
                                                  std::string_view json_path,
                                                  ArrayNotation notation);
// What is wrong with the selectable fields of a version.
[[nodiscard]] validation::ErrorList SelectableFieldFaults(const json::Value& fields,
                                                          const json::Value& schema,
                                                          const std::string& path);

// What is wrong with the rules in CEL of all parts of a schema; `known` is what other checks found.
// Expressions of a schema that is not structural are not looked at.
enum class Structural : std::uint8_t { kNo, kYes };
[[nodiscard]] validation::ErrorList RulesFaults(const json::Value& schema, const std::string& path,
                                                const validation::ErrorList& known,
                                                Structural structural, CostLimits limits);

// Defaults in a schema that break the part of the schema that they stand in (apiextensions'
// ValidateDefaults). REQUIRES: the schema is structural.
[[nodiscard]] validation::ErrorList DefaultFaults(const json::Value& schema, std::string_view path);

// Refuses definitions with faults.
class DefinitionRules final : public AdmissionPlugin {
 public:
  [[nodiscard]] std::string_view name() const override { return "CustomResourceDefinitions"; }
  // ERRORS: kInvalid with all faults.
  [[nodiscard]] Status Validate(AdmissionRequest& request, const ObjectReader& objects) override;
};

}  // namespace drachma::apiserver
