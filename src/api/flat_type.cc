#include "api/flat_type.h"

#include "base/check.h"

namespace drachma::api {

namespace {

void Collect(const TypeInfo& type, std::vector<std::string_view>& through,
             std::vector<FlatField>& out) {
  for (const FieldInfo& field : type.fields) {
    if (!field.inlined) {
      out.push_back({&field, through});
      continue;
    }
    through.push_back(field.go_name);
    Collect(*field.type, through, out);
    through.pop_back();
  }
}

std::vector<FlatType> FlattenAll() {
  std::vector<FlatType> all;
  all.reserve(AllTypes().size());
  for (const TypeInfo& type : AllTypes()) {
    FlatType flat{&type, {}};
    std::vector<std::string_view> through;
    Collect(type, through, flat.fields);
    all.push_back(std::move(flat));
  }
  return all;
}

}  // namespace

int FlatType::Find(std::string_view name, std::size_t hint) const {
  for (std::size_t i = hint; i < fields.size(); ++i) {
    if (fields[i].field->json_name == name) return static_cast<int>(i);
  }
  for (std::size_t i = 0; i < hint && i < fields.size(); ++i) {
    if (fields[i].field->json_name == name) return static_cast<int>(i);
  }
  return -1;
}

const FlatType& Flat(const TypeInfo& type) {
  static const std::vector<FlatType> all = FlattenAll();
  const auto number = static_cast<std::size_t>(&type - AllTypes().data());
  DRA_CHECK(number < all.size());
  return all[number];
}

std::string_view ElementType(const FieldInfo& field, std::string_view go_type) {
  if (go_type.starts_with("[]")) return go_type.substr(2);
  constexpr std::string_view kMap = "map[string]";
  if (go_type.starts_with(kMap)) return go_type.substr(kMap.size());
  return field.scalar == Scalar::kStruct ? field.type->ShortName() : "string";
}

}  // namespace drachma::api
