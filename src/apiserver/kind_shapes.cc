// Shapes of built-in types for server-side apply, read from the field tables.
#include <algorithm>

#include "api/types.h"
#include "apiserver/kind.h"
#include "json/json.h"

namespace drachma::apiserver {
namespace {

Shape ShapeOfValue(const api::FieldInfo& field);

// The node of a struct's shape is its api::TypeInfo.
class StructSource final : public ShapeSource {
 public:
  std::optional<Shape> Field(const void* node, std::string_view name) const override;
  Shape Element(const void* /*node*/) const override { return {}; }
  std::vector<std::string_view> Keys(const void* /*node*/) const override { return {}; }
  json::Value KeyDefault(const void* /*node*/, std::string_view /*key*/) const override {
    return nullptr;
  }
};

// The node of a list's or map's shape is its api::FieldInfo.
class ContainerSource final : public ShapeSource {
 public:
  std::optional<Shape> Field(const void* node, std::string_view /*name*/) const override {
    return Element(node);
  }
  Shape Element(const void* node) const override {
    const auto& field = *static_cast<const api::FieldInfo*>(node);
    return field.shape == api::Shape::kMapOfLists ? Shape{} : ShapeOfValue(field);
  }
  std::vector<std::string_view> Keys(const void* node) const override;
  json::Value KeyDefault(const void* node, std::string_view key) const override;
};

const StructSource kStructSource;
const ContainerSource kContainerSource;

Shape::Scalar ScalarOf(api::Scalar scalar) {
  switch (scalar) {
    case api::Scalar::kString:
    case api::Scalar::kBytes:
      return Shape::Scalar::kString;
    case api::Scalar::kBool:
      return Shape::Scalar::kBool;
    case api::Scalar::kInt32:
    case api::Scalar::kInt64:
    case api::Scalar::kDouble:
      return Shape::Scalar::kNumber;
    default:
      return Shape::Scalar::kAny;
  }
}

Shape ShapeOfValue(const api::FieldInfo& field) {
  if (field.scalar != api::Scalar::kStruct) return {.scalar = ScalarOf(field.scalar)};
  Shape shape = ShapeOfType(*field.type);
  shape.atomic |= field.shape == api::Shape::kOne && field.extras->map_type == "atomic";
  return shape;
}

// Lists without a list type follow the keys of strategic merge, as kube-openapi's schema
// conversion does; all others are atomic.
Shape::Form ListForm(const api::FieldInfo& field) {
  const api::FieldExtras& extras = *field.extras;
  if (extras.list_type == "map") return Shape::Form::kListMap;
  if (extras.list_type == "set") return Shape::Form::kSet;
  if (!extras.list_type.empty() || extras.patch_strategy.find("merge") == std::string_view::npos) {
    return Shape::Form::kList;
  }
  return extras.merge_key.empty() ? Shape::Form::kSet : Shape::Form::kListMap;
}

Shape ShapeOfField(const api::FieldInfo& field) {
  switch (field.shape) {
    case api::Shape::kOne:
      return ShapeOfValue(field);
    case api::Shape::kList:
      return {.form = ListForm(field), .source = &kContainerSource, .node = &field};
    case api::Shape::kMap:
    case api::Shape::kMapOfLists:
      return {.form = Shape::Form::kMap,
              .atomic = field.extras->map_type == "atomic",
              .source = &kContainerSource,
              .node = &field};
  }
  return {};
}

std::optional<Shape> StructSource::Field(const void* node, std::string_view name) const {
  const api::FieldInfo* field = static_cast<const api::TypeInfo*>(node)->Find(name);
  if (field == nullptr) return std::nullopt;
  return ShapeOfField(*field);
}

std::vector<std::string_view> ContainerSource::Keys(const void* node) const {
  const api::FieldExtras& extras = *static_cast<const api::FieldInfo*>(node)->extras;
  std::string_view text = extras.list_map_keys.empty() ? extras.merge_key : extras.list_map_keys;
  std::vector<std::string_view> keys;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    keys.push_back(text.substr(0, comma));
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
  }
  return keys;
}

json::Value ContainerSource::KeyDefault(const void* node, std::string_view key) const {
  const api::TypeInfo* type = static_cast<const api::FieldInfo*>(node)->type;
  const api::FieldInfo* field = type == nullptr ? nullptr : type->Find(key);
  if (field == nullptr || field->extras->default_json.empty()) return nullptr;
  return json::Read(field->extras->default_json).value_or(json::Value());
}

}  // namespace

Shape ShapeOfType(const api::TypeInfo& type) {
  return {.form = Shape::Form::kStruct,
          .atomic = type.map_type == "atomic",
          .source = &kStructSource,
          .node = &type};
}

}  // namespace drachma::apiserver
