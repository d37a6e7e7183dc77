#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "api/types.h"
#include "json/value.h"

namespace drachma::api {

// Writes the schemas of structs as OpenAPI components.
class SchemaWriter {
 public:
  enum class Version : std::uint8_t { kV2, kV3 };
  explicit SchemaWriter(Version version) : version_(version) {}

  // Adds the schema of a struct and of all that it refers to.
  void Add(const TypeInfo& type);
  // Notes that a struct is the form of a kind (x-kubernetes-group-version-kind); adds it.
  void AddKind(const TypeInfo& type, std::string_view group, std::string_view version,
               std::string_view kind);
  [[nodiscard]] json::Value Ref(std::string_view name) const;
  // An object of all schemas by name, sorted.
  [[nodiscard]] json::Value Take() { return std::move(schemas_); }

 private:
  [[nodiscard]] json::Value StructSchema(const TypeInfo& type);
  [[nodiscard]] json::Value FieldSchema(const FieldInfo& field, std::string_view description);
  // The schema of one element; structs and special types are references.
  [[nodiscard]] json::Value Element(const FieldInfo& field);
  // A reference to one of the types with a JSON form of their own, whose schema is added.
  [[nodiscard]] json::Value SpecialRef(std::string_view name, json::Value schema);

  // OpenAPI 3.0 ignores what stands beside a $ref, so there a reference with company goes into
  // allOf; in version 2 kubectl expects it beside.
  void AddBeside(json::Value& schema, std::string_view key, json::Value value) const;
  // Version 2 has no oneOf; there such values are called strings.
  [[nodiscard]] json::Value OneOf(std::string_view a, std::string_view b) const;

  const Version version_;
  json::Value schemas_ = json::Value::Object();
};

// "io.k8s.api.core.v1.Pod" for a Go type name.
[[nodiscard]] std::string OpenApiName(std::string_view go_name);

}  // namespace drachma::api
