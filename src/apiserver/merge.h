#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/field_set.h"
#include "base/result.h"
#include "json/value.h"

namespace drachma::apiserver {

class ShapeSource;

// How server-side apply treats one value: as a unit, field by field, or item by item. What upstream
// derives from x-kubernetes-list-type, -list-map-keys and -map-type. A small value; `source` knows
// what is below it.
struct Shape {
  enum class Form : std::uint8_t {
    kLeaf,     // a scalar
    kStruct,   // known fields, each with an owner
    kMap,      // any keys, each with an owner
    kSet,      // a list of scalars, each with an owner
    kListMap,  // a list of structs that are told apart by key fields
    kList,     // a list that has one owner as a whole
    kDeduced,  // maps are kMap, all else is a leaf (fields that a CRD preserves)
  };
  // What a scalar must be; kAny for leaves that are no plain scalars.
  enum class Scalar : std::uint8_t { kAny, kString, kNumber, kBool };

  Form form = Form::kLeaf;
  bool atomic = false;  // a struct or map that has one owner as a whole
  Scalar scalar = Scalar::kAny;
  const ShapeSource* source = nullptr;
  const void* node = nullptr;  // the source's own

  // The shape of a member of a struct or map; nothing for a field that a struct does not have.
  [[nodiscard]] std::optional<Shape> Field(std::string_view name) const;
  // Whether `name` is a declared field (members of maps are not).
  [[nodiscard]] bool Declares(std::string_view name) const;
  // The shape of the items of a list.
  [[nodiscard]] Shape Item() const;
};

// Where shapes come from: the field tables of built-in types, or the schema of a CRD. Immutable.
class ShapeSource {
 public:
  virtual ~ShapeSource() = default;
  [[nodiscard]] virtual std::optional<Shape> Field(const void* node,
                                                   std::string_view name) const = 0;
  // Items of lists, values of maps.
  [[nodiscard]] virtual Shape Element(const void* node) const = 0;
  [[nodiscard]] virtual std::vector<std::string_view> Keys(const void* node) const = 0;
  // The default of a key field of a list's items; null for none.
  [[nodiscard]] virtual json::Value KeyDefault(const void* node, std::string_view key) const = 0;
};

// What differs between two states of an object. No field is in two of the sets.
struct Comparison {
  FieldSet removed;
  FieldSet modified;
  FieldSet added;

  [[nodiscard]] bool Same() const { return removed.Empty() && modified.Empty() && added.Empty(); }
};

// All functions below follow structured-merge-diff's package typed. Pure; any thread.

// Every leaf and item that `value` mentions.
[[nodiscard]] FieldSet FieldsOf(const json::Value& value, const Shape& shape);
[[nodiscard]] Comparison Compare(const json::Value& before, const json::Value& after,
                                 const Shape& shape);
// `live` with what `config` says; lists that `config` changes take its order.
// ERRORS: kBadRequest for items without keys and repeated ones in `config`.
[[nodiscard]] Result<json::Value> MergeConfig(const json::Value& live, const json::Value& config,
                                              const Shape& shape);
// `value` without the members of `fields`. Containers that become empty vanish.
[[nodiscard]] json::Value RemoveFields(const json::Value& value, const FieldSet& fields,
                                       const Shape& shape);
// Adds the declared fields on the way to the members ("a" for "a.b", not the key of a map).
[[nodiscard]] FieldSet WithNamedFields(const FieldSet& fields, const Shape& shape);
// What does not fit the shape, as ".spec.foo: field not declared in schema"; empty when all fits.
enum class Duplicates : std::uint8_t { kAllowed, kRefused };
[[nodiscard]] std::vector<std::string> ShapeErrors(const json::Value& value, const Shape& shape,
                                                   Duplicates duplicates);

}  // namespace drachma::apiserver
