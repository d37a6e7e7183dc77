#include "api/openapi_schema.h"

#include "api/descriptions.h"
#include "api/flat_type.h"
#include "json/json.h"

namespace drachma::api {

namespace {

using json::Value;

constexpr std::string_view kMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.";
constexpr std::string_view kExtensions =
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.";

Value Typed(std::string_view type, std::string_view format = {}) {
  Value schema = Value::Object({{"type", type}});
  if (!format.empty()) schema.Set("format", format);
  return schema;
}

Value SplitList(std::string_view text) {
  Value list = Value::Array();
  for (;;) {
    const std::size_t comma = text.find(',');
    list.Append(Value(text.substr(0, comma)));
    if (comma == std::string_view::npos) return list;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace

std::string OpenApiName(std::string_view go_name) {
  std::string name(go_name);
  constexpr std::string_view kHost = "k8s.io/";
  if (name.starts_with(kHost)) name = "io.k8s." + name.substr(kHost.size());
  for (char& c : name) {
    if (c == '/') c = '.';
  }
  return name;
}

Value SchemaWriter::Ref(std::string_view name) const {
  const std::string_view prefix =
      version_ == Version::kV3 ? "#/components/schemas/" : "#/definitions/";
  return Value::Object({{"$ref", std::string(prefix) + std::string(name)}});
}

Value SchemaWriter::OneOf(std::string_view a, std::string_view b) const {
  if (version_ == Version::kV2) return Typed("string");
  return Value::Object({{"oneOf", Value::Array({Typed(a), Typed(b)})}});
}

void SchemaWriter::AddBeside(Value& schema, std::string_view key, Value value) const {
  if (version_ == Version::kV3 && schema.Has("$ref")) {
    schema = Value::Object({{"allOf", Value::Array({schema})}});
  }
  schema.Set(key, std::move(value));
}

Value SchemaWriter::SpecialRef(std::string_view name, Value schema) {
  if (!schemas_.Has(name)) schemas_.Set(name, std::move(schema));
  return Ref(name);
}

void SchemaWriter::Add(const TypeInfo& type) {
  const std::string name = OpenApiName(type.go_name);
  if (schemas_.Has(name)) return;
  // The place is taken first, since structs refer to themselves.
  schemas_.Set(name, Value::Object());
  Value schema = StructSchema(type);
  schemas_.Set(name, std::move(schema));
}

void SchemaWriter::AddKind(const TypeInfo& type, std::string_view group, std::string_view version,
                           std::string_view kind) {
  Add(type);
  Value& schema = schemas_.Edit(OpenApiName(type.go_name));
  schema.Edit("x-kubernetes-group-version-kind")
      .Append(Value::Object({{"group", group}, {"kind", kind}, {"version", version}}));
}

Value SchemaWriter::StructSchema(const TypeInfo& type) {
  Value properties = Value::Object();
  Value required = Value::Array();
  for (const FlatField& flat : Flat(type).fields) {
    const FieldInfo& field = *flat.field;
    properties.Set(field.json_name, FieldSchema(field, DescriptionOf(type, field.json_name)));
    if (field.required) required.Append(Value(field.json_name));
  }
  Value schema = Value::Object({{"description", DescriptionOf(type)}, {"type", "object"}});
  if (!properties.empty()) schema.Set("properties", std::move(properties));
  if (!required.empty()) schema.Set("required", std::move(required));
  if (!type.map_type.empty()) schema.Set("x-kubernetes-map-type", type.map_type);
  return schema;
}

Value SchemaWriter::FieldSchema(const FieldInfo& field, std::string_view description) {
  Value schema = Element(field);
  const FieldExtras& extras = *field.extras;
  const auto element_default = [&field] {
    return field.scalar == Scalar::kStruct ? Value::Object() : Value("");
  };
  switch (field.shape) {
    case Shape::kOne:
      if (!extras.default_json.empty()) {
        AddBeside(schema, "default", json::Read(extras.default_json).value_or(Value()));
      }
      if (!extras.enum_values.empty()) schema.Set("enum", SplitList(extras.enum_values));
      break;
    case Shape::kList:
      if (field.scalar == Scalar::kStruct || field.scalar == Scalar::kString) {
        AddBeside(schema, "default", element_default());
      }
      schema = Value::Object({{"type", "array"}, {"items", std::move(schema)}});
      break;
    case Shape::kMap:
      if (field.scalar == Scalar::kStruct || field.scalar == Scalar::kString) {
        AddBeside(schema, "default", element_default());
      }
      schema = Value::Object({{"type", "object"}, {"additionalProperties", std::move(schema)}});
      break;
    case Shape::kMapOfLists:
      schema = Value::Object({{"type", "object"},
                              {"additionalProperties",
                               Value::Object({{"type", "array"}, {"items", std::move(schema)}})}});
      break;
  }
  if (!description.empty()) AddBeside(schema, "description", Value(description));
  const std::pair<std::string_view, std::string_view> kExtensionsOfField[] = {
      {"x-kubernetes-list-type", extras.list_type},
      {"x-kubernetes-map-type", extras.map_type},
      {"x-kubernetes-patch-merge-key", extras.merge_key},
      {"x-kubernetes-patch-strategy", extras.patch_strategy},
  };
  for (const auto& [name, value] : kExtensionsOfField) {
    if (!value.empty()) AddBeside(schema, name, Value(value));
  }
  if (!extras.list_map_keys.empty()) {
    schema.Set("x-kubernetes-list-map-keys", SplitList(extras.list_map_keys));
  }
  return schema;
}

Value SchemaWriter::Element(const FieldInfo& field) {
  switch (field.scalar) {
    case Scalar::kString:
      return Typed("string");
    case Scalar::kBool:
      return Typed("boolean");
    case Scalar::kInt32:
      return Typed("integer", "int32");
    case Scalar::kInt64:
      return Typed("integer", "int64");
    case Scalar::kDouble:
      return Typed("number", "double");
    case Scalar::kBytes:
      return Typed("string", "byte");
    case Scalar::kStruct:
      Add(*field.type);
      return Ref(OpenApiName(field.type->go_name));
    case Scalar::kQuantity:
      return SpecialRef("io.k8s.apimachinery.pkg.api.resource.Quantity", OneOf("string", "number"));
    case Scalar::kTime:
      return SpecialRef(std::string(kMeta) + "Time", Typed("string", "date-time"));
    case Scalar::kMicroTime:
      return SpecialRef(std::string(kMeta) + "MicroTime", Typed("string", "date-time"));
    case Scalar::kIntOrString: {
      Value schema = OneOf("integer", "string");
      schema.Set("format", "int-or-string");
      return SpecialRef("io.k8s.apimachinery.pkg.util.intstr.IntOrString", std::move(schema));
    }
    case Scalar::kAny:
      if (field.go_type.ends_with("RawExtension")) {
        return SpecialRef("io.k8s.apimachinery.pkg.runtime.RawExtension", Typed("object"));
      }
      if (field.go_type.ends_with("FieldsV1")) {
        return SpecialRef(std::string(kMeta) + "FieldsV1", Typed("object"));
      }
      return SpecialRef(std::string(kExtensions) + "JSON",
                        Value::Object({{"description", "Any JSON value."}}));
    case Scalar::kSchemaOrAny: {
      const std::string_view bare = field.go_type.substr(field.go_type.rfind('.') + 1);
      const std::string name =
          std::string(kExtensions) +
          std::string(bare == "JSONSchemaDependencies" ? "JSONSchemaPropsOrStringArray" : bare);
      return SpecialRef(name, Value::Object({{"description", "A schema, or its shorter form."}}));
    }
  }
  return {};
}

}  // namespace drachma::api
