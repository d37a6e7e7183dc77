#include "validation/shown_internal.h"

#include <utility>

#include "api/types.h"
#include "base/check.h"
#include "json/json.h"
#include "validation/field_error.h"

namespace drachma::validation {
namespace {

using api::FieldInfo;
using api::Scalar;
using api::Shape;
using api::TypeInfo;
using json::Member;
using json::Value;

bool IsOfApimachinery(const TypeInfo& type) {
  return type.go_name.starts_with("k8s.io/apimachinery/");
}

Value Internal(const Value& value, const TypeInfo& type);

Value One(const Value& value, const FieldInfo& field) {
  if (field.scalar == Scalar::kStruct) {
    if (value.IsNull() && field.pointer) return nullptr;
    return IsOfApimachinery(*field.type) ? value : Internal(value, *field.type);
  }
  if (!value.IsNull() || field.pointer) return value;
  switch (field.scalar) {
    case Scalar::kString:
      return "";
    case Scalar::kBool:
      return false;
    case Scalar::kInt32:
    case Scalar::kInt64:
    case Scalar::kDouble:
      return 0;
    case Scalar::kQuantity:
      return "0";
    default:
      return nullptr;
  }
}

Value FieldValue(const Value& value, const FieldInfo& field) {
  if (field.shape == Shape::kOne) return One(value, field);
  if (value.IsNull()) return nullptr;
  if (field.shape == Shape::kList) {
    Value items = Value::Array();
    for (const Value& item : value.Items()) items.Append(One(item, field));
    return items;
  }
  if (field.scalar != Scalar::kStruct) return value;
  Value members = Value::Object();
  for (const Member& member : value.Members()) members.Set(member.key(), One(member.value, field));
  return members;
}

void Embed(const Value& members, Value& out) {
  for (const Member& member : members.Members()) out.Set(member.key(), member.value);
}

void AddFields(const Value& value, const TypeInfo& type, Value& out) {
  for (const FieldInfo& field : type.fields) {
    if (field.inlined) {
      if (!IsOfApimachinery(*field.type)) AddFields(value, *field.type, out);
    } else if (field.go_name == "ObjectMeta") {
      Embed(value[field.json_name], out);
    } else {
      out.Set(field.go_name, FieldValue(value[field.json_name], field));
    }
  }
}

Value Internal(const Value& value, const TypeInfo& type) {
  Value out = Value::Object();
  AddFields(value, type, out);
  return out;
}

}  // namespace

Value InternalForm(const Value& value, std::string_view go_type) {
  const TypeInfo* type = api::FindType(go_type);
  DRA_CHECK(type != nullptr);
  if (value.IsNull()) return nullptr;
  if (!value.IsArray()) return Internal(value, *type);
  Value items = Value::Array();
  for (const Value& item : value.Items()) items.Append(Internal(item, *type));
  return items;
}

std::string ShownInternal(const Value& value, std::string_view go_type) {
  const Value form = InternalForm(value, go_type);
  return form.IsNull() ? "null" : Shown(form);
}

}  // namespace drachma::validation
