#include "apiserver/custom_openapi.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "api/openapi_schema.h"
#include "api/types.h"
#include "apiserver/custom_kind.h"
#include "apiserver/structural_schema.h"
#include "validation/names.h"

namespace drachma::apiserver {
namespace {

using json::Value;

constexpr std::string_view kObjectMeta = "k8s.io/apimachinery/pkg/apis/meta/v1.ObjectMeta";
constexpr std::string_view kListMeta = "k8s.io/apimachinery/pkg/apis/meta/v1.ListMeta";
constexpr std::string_view kDeleteOptions = "k8s.io/apimachinery/pkg/apis/meta/v1.DeleteOptions";

// Keywords that OpenAPI v2 does not know (apiextensions' ToStructuralOpenAPIV2 drops them).
constexpr auto kV3Only =
    std::to_array<std::string_view>({"oneOf", "anyOf", "allOf", "not", "nullable", "default"});

Value WithoutV3(const Value& schema, int depth) {
  if (depth > StructuralSchema::kDepthMax || !schema.IsObject()) return schema;
  Value plain = Value::Object();
  for (const json::Member& member : schema.Members()) {
    if (std::ranges::find(kV3Only, member.key()) != kV3Only.end()) continue;
    if (member.key() == "properties") {
      Value properties = Value::Object();
      for (const json::Member& property : member.value.Members()) {
        properties.Set(property.key(), WithoutV3(property.value, depth + 1));
      }
      plain.Set("properties", std::move(properties));
    } else if (member.key() == "items" || member.key() == "additionalProperties") {
      plain.Set(member.key(), WithoutV3(member.value, depth + 1));
    } else {
      plain.Set(member.key(), member.value);
    }
  }
  return plain;
}

class Writer {
 public:
  Writer(std::string_view group, std::string_view version, OpenApiVersion form)
      : group_(group), version_(version), v2_(form == OpenApiVersion::kV2) {}

  void AddSchemas(const CustomKind& kind, Value& schemas) const {
    const api::KindInfo& info = kind.info();
    const std::string name = CustomSchemaName(group_, version_, info.kind);
    const std::string list = CustomSchemaName(group_, version_, info.list_kind);
    schemas.Set(name, ObjectSchema(kind));
    schemas.Set(list, ListSchema(name, info));
    api::SchemaWriter meta(v2_ ? api::SchemaWriter::Version::kV2 : api::SchemaWriter::Version::kV3);
    for (const std::string_view type : {kObjectMeta, kListMeta, kDeleteOptions}) {
      if (const api::TypeInfo* found = api::FindType(type)) meta.Add(*found);
    }
    const Value taken = meta.Take();
    for (const json::Member& member : taken.Members()) {
      if (!schemas.Has(member.key())) schemas.Set(member.key(), member.value);
    }
  }

  void AddPaths(const CustomKind& kind, Value& paths) const {
    const api::KindInfo& info = kind.info();
    std::string place = fmt::format("/apis/{}/{}", group_, version_);
    if (info.namespaced()) {
      paths.Set(fmt::format("{}/{}", place, info.plural),
                Value::Object({{"get", Operation("list", info)}}));
      place += "/namespaces/{namespace}";
    }
    place += fmt::format("/{}", info.plural);
    paths.Set(place, Value::Object({{"get", Operation("list", info)},
                                    {"post", Write("post", info)},
                                    {"delete", Operation("deletecollection", info)}}));
    const std::string item = place + "/{name}";
    paths.Set(item, Value::Object({{"get", Operation("get", info)},
                                   {"put", Write("put", info)},
                                   {"patch", Write("patch", info)},
                                   {"delete", Operation("delete", info)}}));
    for (const api::SubresourceInfo& sub : info.subresources) {
      if (sub.name != "status") continue;
      paths.Set(item + "/status", Value::Object({{"get", Operation("get", info)},
                                                 {"put", Write("put", info)},
                                                 {"patch", Write("patch", info)}}));
    }
  }

 private:
  [[nodiscard]] Value Gvk(std::string_view kind) const {
    return Value::Object({{"group", group_}, {"kind", kind}, {"version", version_}});
  }
  [[nodiscard]] Value Ref(std::string_view name) const {
    return Value::Object(
        {{"$ref", fmt::format("#/{}/{}", v2_ ? "definitions" : "components/schemas", name)}});
  }
  // A reference with words beside it: OpenAPI 3.0 ignores what stands beside a $ref.
  [[nodiscard]] Value RefWith(std::string_view name, std::string_view description) const {
    Value ref = Ref(name);
    if (v2_) {
      ref.Set("description", description);
      return ref;
    }
    return Value::Object({{"allOf", Value::Array({std::move(ref)})}, {"description", description}});
  }

  [[nodiscard]] Value ObjectSchema(const CustomKind& kind) const {
    const Value& given = kind.SchemaOf(version_);
    Value schema = v2_ ? WithoutV3(given, 0) : given;
    if (schema.IsNull()) {
      schema = Value::Object({{"x-kubernetes-preserve-unknown-fields", true}});
    }
    schema.Set("type", "object");
    // A path may hold its own description of them; the object's metadata is always ObjectMeta.
    Value& properties = schema.Edit("properties");
    if (properties.IsNull()) properties = Value::Object();
    const auto text = [&](const char* field, const char* description) {
      if (properties.Has(field) && !properties[field]["description"].IsNull()) return;
      properties.Set(field, Value::Object({{"description", description}, {"type", "string"}}));
    };
    text("apiVersion", "The version of the schema that this object is written in.");
    text("kind", "The kind of object that this is.");
    properties.Set("metadata", RefWith(api::OpenApiName(kObjectMeta),
                                       "Name, labels and the like: what all objects have."));
    schema.Set("x-kubernetes-group-version-kind", Value::Array({Gvk(kind.info().kind)}));
    return schema;
  }

  [[nodiscard]] Value ListSchema(const std::string& name, const api::KindInfo& info) const {
    return Value::Object(
        {{"description", fmt::format("{} is a list of {}", info.list_kind, info.kind)},
         {"type", "object"},
         {"required", Value::Array({"items"})},
         {"properties",
          Value::Object(
              {{"apiVersion",
                Value::Object({{"description", "The version of the schema."}, {"type", "string"}})},
               {"items",
                Value::Object(
                    {{"description", "The objects."}, {"items", Ref(name)}, {"type", "array"}})},
               {"kind", Value::Object({{"description", "The kind of list."}, {"type", "string"}})},
               {"metadata", RefWith(api::OpenApiName(kListMeta),
                                    "The state of the list and where it goes on.")}})},
         {"x-kubernetes-group-version-kind", Value::Array({Gvk(info.list_kind)})}});
  }

  [[nodiscard]] Value Operation(std::string_view action, const api::KindInfo& info) const {
    const bool list = action == "list";
    const Value schema = Ref(CustomSchemaName(group_, version_, list ? info.list_kind : info.kind));
    Value answer = Value::Object({{"description", "OK"}});
    if (v2_) {
      answer.Set("schema", schema);
    } else {
      answer.Set("content",
                 Value::Object({{"application/json", Value::Object({{"schema", schema}})}}));
    }
    return Value::Object({{"responses", Value::Object({{"200", std::move(answer)}})},
                          {"x-kubernetes-action", action},
                          {"x-kubernetes-group-version-kind", Gvk(info.kind)}});
  }

  [[nodiscard]] Value Parameter(std::string_view name, std::string_view description) const {
    Value parameter = Value::Object(
        {{"name", name}, {"in", "query"}, {"description", description}, {"uniqueItems", true}});
    if (v2_) {
      parameter.Set("type", "string");
    } else {
      parameter.Set("schema", Value::Object({{"type", "string"}, {"uniqueItems", true}}));
    }
    return parameter;
  }

  // kubectl looks here whether the server checks fields and knows dry runs.
  [[nodiscard]] Value Write(std::string_view action, const api::KindInfo& info) const {
    Value operation = Operation(action, info);
    operation.Set(
        "parameters",
        Value::Array({Parameter("dryRun", "All: nothing is stored."),
                      Parameter("fieldManager", "Who makes the change."),
                      Parameter("fieldValidation", "Strict, Warn or Ignore: unknown fields.")}));
    return operation;
  }

  const std::string_view group_;
  const std::string_view version_;
  const bool v2_;
};

}  // namespace

std::string CustomSchemaName(std::string_view group, std::string_view version,
                             std::string_view kind) {
  std::vector<std::string_view> parts = validation::Split(group, '.');
  std::ranges::reverse(parts);
  return fmt::format("{}.{}.{}", fmt::join(parts, "."), version, kind);
}

void AddCustomOpenApi(const std::vector<KindPtr>& kinds, std::string_view group,
                      std::string_view version, OpenApiVersion form, Value& schemas, Value& paths) {
  const Writer writer(group, version, form);
  for (const KindPtr& kind : kinds) {
    const auto* custom = dynamic_cast<const CustomKind*>(kind.get());
    if (custom == nullptr || custom->group() != group ||
        custom->info().FindVersion(version) == nullptr) {
      continue;
    }
    writer.AddSchemas(*custom, schemas);
    writer.AddPaths(*custom, paths);
  }
}

Value CustomOpenApiDocument(const std::vector<KindPtr>& kinds, std::string_view group,
                            std::string_view version) {
  Value schemas = Value::Object();
  Value paths = Value::Object();
  AddCustomOpenApi(kinds, group, version, OpenApiVersion::kV3, schemas, paths);
  if (schemas.empty()) return nullptr;
  return Value::Object(
      {{"openapi", "3.0.0"},
       {"info", Value::Object({{"title", "Kubernetes CRD Swagger"}, {"version", "v0.1.0"}})},
       {"paths", std::move(paths)},
       {"components", Value::Object({{"schemas", std::move(schemas)}})}});
}

}  // namespace drachma::apiserver
