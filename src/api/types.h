#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

namespace drachma::api {

struct TypeInfo;

// What one value of a field is. The special codecs of upstream (those with their own JSON form)
// are kinds of their own.
enum class Scalar : std::uint8_t {
  kString,
  kBool,
  kInt32,
  kInt64,
  kDouble,
  kBytes,        // base64 in JSON
  kStruct,       // FieldInfo::type says which
  kQuantity,     // resource.Quantity: string or number in, canonical string out
  kTime,         // metav1.Time: RFC 3339, whole seconds
  kMicroTime,    // metav1.MicroTime: RFC 3339 with six digits
  kIntOrString,  // intstr.IntOrString
  kAny,          // RawExtension, FieldsV1, apiextensions' JSON: any JSON, kept as it is
  kSchemaOrAny,  // apiextensions' JSONSchemaPropsOrBool, OrArray, OrStringArray: kept as it is
};

// How many values a field holds.
enum class Shape : std::uint8_t {
  kOne,
  kList,
  kMap,         // string keys
  kMapOfLists,  // string keys, lists of strings
};

// The rarer facts about a field; most fields share one empty entry.
struct FieldExtras {
  std::string_view patch_strategy;  // "merge", "replace", "retainKeys", "merge,retainKeys"
  std::string_view merge_key;       // of strategic merge patches
  std::string_view list_type;       // server-side apply: "atomic", "set", "map" or ""
  std::string_view list_map_keys;   // comma separated, in order
  std::string_view map_type;        // "atomic" or ""
  std::string_view default_json;    // of OpenAPI ("\"TCP\"", "{}"), or ""
  std::string_view enum_values;     // comma separated, sorted, or ""
};

// One field of an API struct. All of it are facts of the Go struct and its OpenAPI schema.
struct FieldInfo {
  std::string_view json_name;  // "" for inlined structs
  std::string_view go_name;
  std::string_view go_type;  // "[]v1.Container", "types.UID": as Go's errors name it
  const TypeInfo* type;      // of kStruct, else null
  const FieldExtras* extras;
  std::uint16_t proto_number;  // 0: has none (inlined TypeMeta)
  Scalar scalar;
  Shape shape;
  bool pointer;     // null means absent and zero is a value
  bool omit_empty;  // zero values are not written
  bool omit_zero;   // as omit_empty also for structs (Go's omitzero)
  bool inlined;     // its members stand in the JSON object of the struct around it
  bool required;    // OpenAPI's "required"
};

// One Go struct of the Kubernetes API. All TypeInfos are constants, never freed, safe from every
// thread.
struct TypeInfo {
  std::string_view go_name;   // "k8s.io/api/core/v1.Pod"
  std::string_view map_type;  // server-side apply: "atomic" for the whole struct, or ""
  std::span<const FieldInfo> fields;

  // "v1.Pod": as Go's decoder names the type in its errors.
  [[nodiscard]] std::string_view ShortName() const;
  // "Pod".
  [[nodiscard]] std::string_view BareName() const;
  // The field `json_name`, also when it comes from an inlined struct; null when there is none.
  [[nodiscard]] const FieldInfo* Find(std::string_view json_name) const;
  // The field with a Protobuf number of this struct itself (inlined structs are one such field).
  [[nodiscard]] const FieldInfo* FindProto(std::uint32_t number) const;
};

// The struct with a Go name ("k8s.io/api/core/v1.Pod"); null when there is none.
[[nodiscard]] const TypeInfo* FindType(std::string_view go_name);
// The struct of a kind of any group-version that upstream knows, served or not ("v1",
// "DeleteOptions"; "resource.k8s.io/v1", "ResourceClaim"); null when there is none.
// `group_version` is an apiVersion.
[[nodiscard]] const TypeInfo* FindTypeOfKind(std::string_view group_version, std::string_view kind);
// All structs, sorted by Go name.
[[nodiscard]] std::span<const TypeInfo> AllTypes();

}  // namespace drachma::api
