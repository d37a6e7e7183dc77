#pragma once

#include <string_view>

#include "apiserver/admission.h"
#include "json/value.h"
#include "validation/field_error.h"

namespace drachma::apiserver {

// What is wrong with a CustomResourceDefinition (with defaults); `old` is the one it replaces, null
// for a create. Paths are those of upstream's internal form, where what is the same in all versions
// stands above them ("spec.validation.openAPIV3Schema"). Pure; any thread.
[[nodiscard]] validation::ErrorList DefinitionFaults(const json::Value& definition,
                                                     const json::Value& old);

// Whether a schema is structural, and what of it a custom resource may not use
// (apiextensions' ValidateStructural and ValidateCustomResourceDefinitionOpenAPISchema).
[[nodiscard]] validation::ErrorList SchemaFaults(const json::Value& schema, std::string_view path);

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
