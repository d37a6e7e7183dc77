#include "api/types.h"

#include <algorithm>
#include <string>

#include "api/type_table.h"

namespace drachma::api {

std::string_view TypeInfo::ShortName() const { return go_name.substr(go_name.rfind('/') + 1); }

std::string_view TypeInfo::BareName() const { return go_name.substr(go_name.rfind('.') + 1); }

const FieldInfo* TypeInfo::Find(std::string_view json_name) const {
  for (const FieldInfo& field : fields) {
    if (!field.inlined && field.json_name == json_name) return &field;
  }
  for (const FieldInfo& field : fields) {
    if (!field.inlined) continue;
    if (const FieldInfo* found = field.type->Find(json_name)) return found;
  }
  return nullptr;
}

const FieldInfo* TypeInfo::FindProto(std::uint32_t number) const {
  for (const FieldInfo& field : fields) {
    if (field.proto_number == number && number != 0) return &field;
  }
  return nullptr;
}

const TypeInfo* FindType(std::string_view go_name) {
  const auto rows = TypeRows();
  const auto found = std::ranges::lower_bound(rows, go_name, {}, &TypeInfo::go_name);
  return found != rows.end() && found->go_name == go_name ? &*found : nullptr;
}

const TypeInfo* FindTypeOfKind(std::string_view group_version, std::string_view kind) {
  std::string name(group_version);
  name += '/';
  name += kind;
  const auto rows = KindRows();
  const auto found = std::ranges::lower_bound(rows, std::string_view(name), {}, &KindRow::name);
  return found != rows.end() && found->name == name ? found->type : nullptr;
}

std::span<const TypeInfo> AllTypes() { return TypeRows(); }

}  // namespace drachma::api
