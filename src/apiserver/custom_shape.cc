#include "apiserver/custom_shape.h"

#include "api/types.h"
#include "apiserver/kind.h"

namespace drachma::apiserver {
namespace {

using json::Value;

constexpr std::string_view kPreserve = "x-kubernetes-preserve-unknown-fields";
constexpr std::string_view kObjectMeta = "k8s.io/apimachinery/pkg/apis/meta/v1.ObjectMeta";

Shape ShapeOfSchema(const Value& schema);

bool IsStruct(const Value& schema) { return !schema["properties"].empty(); }

Shape Leaf(Shape::Scalar scalar) { return {.scalar = scalar}; }

// The node of a shape is the schema itself.
class SchemaSource : public ShapeSource {
 public:
  std::optional<Shape> Field(const void* node, std::string_view name) const override {
    const Value& schema = *static_cast<const Value*>(node);
    if (const Value* property = schema["properties"].Find(name)) return ShapeOfSchema(*property);
    if (schema["additionalProperties"].IsObject()) {
      return ShapeOfSchema(schema["additionalProperties"]);
    }
    if (schema[kPreserve].AsBool()) return Shape{.form = Shape::Form::kDeduced};
    return std::nullopt;
  }
  Shape Element(const void* node) const override {
    const Value& schema = *static_cast<const Value*>(node);
    return ShapeOfSchema(schema["type"].AsString() == "array" ? schema["items"]
                                                              : schema["additionalProperties"]);
  }
  std::vector<std::string_view> Keys(const void* node) const override {
    std::vector<std::string_view> keys;
    for (const Value& key :
         (*static_cast<const Value*>(node))["x-kubernetes-list-map-keys"].Items()) {
      keys.push_back(key.AsString());
    }
    return keys;
  }
  Value KeyDefault(const void* node, std::string_view key) const override {
    return static_cast<const Value*>(node)->At({"items", "properties", key, "default"});
  }
};

// The object itself, or an embedded one: type and metadata are built in.
class ResourceSource final : public SchemaSource {
 public:
  std::optional<Shape> Field(const void* node, std::string_view name) const override {
    if (name == "apiVersion" || name == "kind") return Leaf(Shape::Scalar::kString);
    if (name == "metadata") return ShapeOfType(*api::FindType(kObjectMeta));
    return SchemaSource::Field(node, name);
  }
};

const SchemaSource kSchemaSource;
const ResourceSource kResourceSource;

Shape ShapeOfList(const Value& schema, Shape shape) {
  const std::string_view type = schema["x-kubernetes-list-type"].AsString();
  shape.form = type == "map"   ? Shape::Form::kListMap
               : type == "set" ? Shape::Form::kSet
                               : Shape::Form::kList;
  return shape;
}

Shape ShapeOfSchema(const Value& schema) {
  Shape shape{.source = &kSchemaSource, .node = &schema};
  const std::string_view type = schema["type"].AsString();
  if (type == "array") return ShapeOfList(schema, shape);
  if (type == "string") return Leaf(Shape::Scalar::kString);
  if (type == "boolean") return Leaf(Shape::Scalar::kBool);
  if (type == "integer" || type == "number") return Leaf(Shape::Scalar::kNumber);
  if (schema["x-kubernetes-int-or-string"].AsBool()) return Leaf(Shape::Scalar::kAny);
  shape.atomic = schema["x-kubernetes-map-type"].AsString() == "atomic";
  if (schema["x-kubernetes-embedded-resource"].AsBool()) shape.source = &kResourceSource;
  if (IsStruct(schema) || shape.source == &kResourceSource) {
    shape.form = Shape::Form::kStruct;
  } else if (schema["additionalProperties"].IsObject()) {
    shape.form = Shape::Form::kMap;
  } else {
    shape.form = Shape::Form::kDeduced;
  }
  return shape;
}

}  // namespace

Shape ShapeOfCustomResource(const Value& schema) {
  return {.form = Shape::Form::kStruct, .source = &kResourceSource, .node = &schema};
}

}  // namespace drachma::apiserver
