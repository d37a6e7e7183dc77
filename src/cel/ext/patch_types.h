#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "cel/eval/plan.h"
#include "cel/ext/library.h"

namespace drachma::cel {

// The types that policies make their changes of (apiserver's pkg/cel/mutation): `Object` and all
// names below it (`Object.spec.containers`) with any fields, and `JSONPatch` with op, path, from
// and value. Their literals need PatchStructs() in the plan.
void AddPatchTypes(Environment& env);
[[nodiscard]] const StructMaker& PatchStructs();

// A value of an Object type; nothing for others. Lives as long as the value.
struct ObjectView {
  std::string_view type;  // "Object.metadata"
  std::span<const StructMaker::Field> fields;
};
[[nodiscard]] std::optional<ObjectView> ViewObject(const Value& value);

// A JSONPatch; nothing for other values. Texts that were not given are empty.
struct PatchView {
  std::string_view op;
  std::string_view path;
  std::string_view from;
  const Value* value = nullptr;  // null: not given
};
[[nodiscard]] std::optional<PatchView> ViewPatch(const Value& value);

}  // namespace drachma::cel
